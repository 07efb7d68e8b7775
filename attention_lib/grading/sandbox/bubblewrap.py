"""Build bubblewrap's argument list: namespaces, read-only bind mounts, environment.

The sandbox shows Python and the system, read-only, and a part of this library.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from attention_lib.grading.sandbox.errors import NoSandbox
from attention_lib.grading.sandbox.library import PACKAGE

COURSE = "/course"  # the library's folder in the sandbox
TMP = Path("/tmp")
SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
SYSTEM_PREFIXES = (Path("/usr"), Path("/usr/local"))  # of a Python that these folders already show
EXCHANGE = Path("/usr/local/share/nbgrader")  # nbgrader's default exchange
IN_A_COURSE = ("nbgrader_config.py", "classroom*", "gradebook.db")  # and in no folder of Python
NOT_PYTHONS_ALONE = (
    "Students' code is shown the whole folder of Python's environment, {environment}, and {inside} is "
    "in it: make an environment in a folder of its own (python -m venv .venv in the course's folder), "
    "install the course there, and grade with that."
)
SYSTEM_SETTINGS = ("/etc/ld.so.cache", "/etc/fonts", "/etc/alternatives", "/etc/localtime")


def bubblewrap_arguments(files: Mapping[str, int], hidden: Iterable[Path] = ()) -> list[str]:
    """Return bubblewrap's arguments.

    Parameters
    ----------
    files
        The library's files as open descriptors, by path below ``attention_lib``.
    hidden
        Folders and files that must not be visible.
    """
    arguments = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    # A new session has no terminal, so no code in it can type into the grader's.
    arguments += ["--unshare-cgroup-try", "--new-session", "--hostname", "sandbox"]
    if os.geteuid() == 0:  # the fork server becomes nobody before it serves a submission
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
    # A shared mapping of /dev/zero would be memory that is counted for no process.
    arguments += ["--proc", "/proc", "--dev", "/dev", "--dev-bind", "/dev/null", "/dev/zero"]
    arguments += ["--remount-ro", "/dev", "--perms", "1777", "--tmpfs", "/tmp"]
    arguments += _python_mounts(set(hidden))
    made: set[Path] = set()
    for name, descriptor in files.items():
        path = Path(COURSE) / "attention_lib" / name
        arguments += _make_parents(path, made)
        arguments += ["--perms", "0444", "--ro-bind-data", str(descriptor), str(path)]
    arguments += ["--remount-ro", "/", "--chdir", "/tmp", "--clearenv"]
    for name, value in environment_inside(COURSE).items():
        arguments += ["--setenv", name, value]
    return [*arguments, "--"]


def hidden_paths(private: Iterable[str] = ()) -> list[Path]:
    """Return what students' code must not see: the course, this library, and these private paths.

    This includes nbgrader's exchange, which holds other students' submissions.

    Raises
    ------
    NoSandbox
        If a folder of Python, which is shown as a whole, contains the course or a home directory.
    """
    clone = PACKAGE.parent if _is_course(PACKAGE.parent) else PACKAGE
    course = {clone.resolve(), Path.cwd().resolve()}
    for environment in python_folders():
        inside = [path for path in (*course, Path.home().resolve()) if _contains(environment, path)]
        inside = [path for path in inside if path != PACKAGE.resolve()]
        inside += [path for pattern in IN_A_COURSE for path in environment.glob(pattern)]
        if inside:
            problem = NOT_PYTHONS_ALONE.format(environment=environment, inside=inside[0])
            raise NoSandbox(problem)
    others = {path.resolve() for path in (EXCHANGE, *map(Path, private)) if path.exists()}
    return sorted(course | others)


def _is_course(folder: Path) -> bool:
    return (folder / IN_A_COURSE[0]).is_file()


def _contains(folder: Path, path: Path) -> bool:
    return folder in (path, *path.parents)


def _python_mounts(hidden: set[Path]) -> list[str]:
    """Bind-mount Python and its packages; cover hidden paths inside all folders that are shown."""
    shown = python_folders()
    visible = [Path(folder) for folder in SYSTEM_FOLDERS] + list(shown)
    arguments: list[str] = []
    remounts: list[str] = []  # so that no submission leaves files there for later ones
    made: set[Path] = set()
    for path in sorted(shown | hidden, key=lambda path: len(path.parts)):
        if path in shown:
            arguments += _make_parents(path, made)
            arguments += ["--ro-bind", str(path), str(path)]
        elif any(outer in path.parents for outer in visible):
            if path.is_dir():
                arguments += ["--tmpfs", str(path)]
                remounts += ["--remount-ro", str(path)]
            else:
                arguments += ["--ro-bind", "/dev/null", str(path)]
    for link, target in python_links().items():
        arguments += _make_parents(link, made)
        arguments += ["--symlink", str(target), str(link)]
    return arguments + remounts


def python_folders() -> set[Path]:
    """Return the folders of Python and its packages, without the system's own."""
    folders = {Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve()}
    return folders - set(SYSTEM_PREFIXES)


def python_links() -> dict[Path, Path]:
    """Return the symbolic links by which Python finds its folders, and their targets."""
    prefixes = {Path(sys.prefix), Path(sys.base_prefix)}
    return {prefix: prefix.resolve() for prefix in prefixes if prefix != prefix.resolve()}


def python_folders_in_tmp() -> list[str]:
    """Return Python's folders below /tmp, which a new /tmp would hide; leave out nested ones."""
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
    """Return the arguments that create the folders above a path, unless they are in `made`."""
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
