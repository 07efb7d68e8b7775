"""Build bubblewrap's argument list: namespaces, read-only bind mounts, environment.

The sandbox shows Python and the system, read-only, and a part of this library.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from attention_lib.grading.sandbox.library import PACKAGE

COURSE = "/course"  # the folder of the library in the sandbox
TMP = Path("/tmp")
SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
EXCHANGE = Path("/usr/local/share/nbgrader")  # where nbgrader's default exchange lies
SYSTEM_SETTINGS = ("/etc/ld.so.cache", "/etc/fonts", "/etc/alternatives", "/etc/localtime")


def bubblewrap_arguments(files: Mapping[str, int]) -> list[str]:
    """Return bubblewrap's arguments.

    Parameters
    ----------
    files
        The library's files as open descriptors, by path below ``attention_lib``.
    """
    arguments = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    arguments += ["--unshare-cgroup-try", "--new-session", "--hostname", "sandbox"]
    if os.geteuid() == 0:  # the fork server then becomes nobody, before it serves a submission
        for capability in ("CAP_SETUID", "CAP_SETGID"):
            arguments += ["--cap-add", capability]
        arguments[:0] = ["--cap-drop", "ALL"]
    else:
        arguments += ["--unshare-user", "--uid", "65534", "--gid", "65534"]
    for folder in SYSTEM_FOLDERS:
        if os.path.islink(folder):
            arguments += ["--symlink", os.readlink(folder), folder]
        elif os.path.isdir(folder):
            arguments += ["--ro-bind", folder, folder]
    arguments += ["--perms", "0755", "--dir", "/etc"]
    for setting in SYSTEM_SETTINGS:
        arguments += ["--ro-bind-try", setting, setting]
    # A shared mapping of /dev/zero would be memory that belongs to no process.
    arguments += ["--proc", "/proc", "--dev", "/dev", "--dev-bind", "/dev/null", "/dev/zero"]
    arguments += ["--remount-ro", "/dev", "--perms", "1777", "--tmpfs", "/tmp"]
    arguments += _python()
    made: set[Path] = set()
    for name, descriptor in files.items():
        path = Path(COURSE) / "attention_lib" / name
        arguments += _make_parents(path, made)
        arguments += ["--perms", "0444", "--ro-bind-data", str(descriptor), str(path)]
    arguments += ["--remount-ro", "/", "--chdir", "/tmp", "--clearenv"]
    for name, value in environment_inside(COURSE).items():
        arguments += ["--setenv", name, value]
    return [*arguments, "--"]


def _python() -> list[str]:
    """Bind-mount Python and its packages; hide the course, this library and nbgrader's exchange.

    The exchange holds other students' submissions.
    """
    shown = python_folders()
    hidden = {PACKAGE.parent.resolve(), Path.cwd().resolve()} - shown
    if EXCHANGE.is_dir():
        hidden.add(EXCHANGE.resolve())
    visible = [Path(folder) for folder in SYSTEM_FOLDERS] + list(shown)
    if PACKAGE.parent.name == "site-packages":
        hidden = hidden - {PACKAGE.parent.resolve()} | {PACKAGE.resolve()}
    arguments: list[str] = []
    remounts: list[str] = []  # nothing may be left in a hidden folder for later submissions
    made: set[Path] = set()
    for folder in sorted(shown | hidden, key=lambda folder: len(folder.parts)):
        if folder in shown:
            arguments += _make_parents(folder, made)
            arguments += ["--ro-bind", str(folder), str(folder)]
        elif any(outer in folder.parents for outer in visible):
            arguments += ["--tmpfs", str(folder)]
            remounts += ["--remount-ro", str(folder)]
    for link, target in python_links().items():
        arguments += _make_parents(link, made)
        arguments += ["--symlink", str(target), str(link)]
    return arguments + remounts


def python_folders() -> set[Path]:
    """Return the folders of Python and its packages, outside the system's own folders."""
    folders = {Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve()}
    return {folder for folder in folders if Path("/usr") not in (folder, *folder.parents)}


def python_links() -> dict[Path, Path]:
    """Return the symbolic links by which Python finds its folders, and where they lead."""
    prefixes = {Path(sys.prefix), Path(sys.base_prefix)}
    return {prefix: prefix.resolve() for prefix in prefixes if prefix != prefix.resolve()}


def python_folders_in_tmp() -> list[str]:
    """Return Python's folders below /tmp, which a new /tmp would hide; nested ones are left out."""
    folders = {folder for folder in python_folders() if TMP in folder.parents}
    return sorted(str(folder) for folder in folders if not folders & set(folder.parents))


def python_links_in_tmp() -> dict[str, str]:
    """Return the symbolic links to Python's folders that a new /tmp would hide."""
    shown = {Path(folder) for folder in python_folders_in_tmp()}
    return {
        str(link): str(target)
        for link, target in python_links().items()
        if TMP in link.parents and not shown & set(link.parents)
    }


def _make_parents(path: Path, made: set[Path]) -> list[str]:
    """Return the arguments that make the folders above a path, unless they are in `made`."""
    above = [folder for folder in reversed(path.parents) if len(folder.parts) > 1]
    new = [str(folder) for folder in above if folder not in made]
    made.update(above)
    return [argument for folder in new for argument in ("--perms", "0755", "--dir", folder)]


def environment_inside(library: str) -> dict[str, str]:
    """Return the environment variables of a student's process."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    return {
        "HOME": "/tmp",
        "IPYTHONDIR": "/tmp/ipython",
        "LANG": "C.UTF-8",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "MPLCONFIGDIR": "/tmp/matplotlib",
        "PATH": "/usr/bin:/bin",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": library,
        **dict.fromkeys(threads, "1"),
    }
