"""What the sandbox shows: Python and the system, read-only, and a part of this library.

It is written down as arguments for bubblewrap.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from attention_lib.grading.sandbox.library import PACKAGE

COURSE = "/course"  # where the library lies inside
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
SETTINGS = ("/etc/ld.so.cache", "/etc/fonts", "/etc/alternatives", "/etc/localtime")


def bubblewrap_arguments(files: Mapping[str, int]) -> list[str]:
    """Return bubblewrap's arguments: what there is inside, and what there is not."""
    arguments = ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    arguments += ["--unshare-cgroup-try", "--new-session", "--hostname", "sandbox"]
    if os.geteuid() == 0:  # the server then becomes nobody, before it has read a submission
        for capability in ("CAP_SETUID", "CAP_SETGID"):
            arguments += ["--cap-add", capability]
        arguments[:0] = ["--cap-drop", "ALL"]
    else:
        arguments += ["--unshare-user", "--uid", "65534", "--gid", "65534"]
    for place in SYSTEM:
        if os.path.islink(place):
            arguments += ["--symlink", os.readlink(place), place]
        elif os.path.isdir(place):
            arguments += ["--ro-bind", place, place]
    arguments += ["--perms", "0755", "--dir", "/etc"]
    for place in SETTINGS:
        arguments += ["--ro-bind-try", place, place]
    # Of /dev/zero a mapping can be made that is memory shared between processes.
    arguments += ["--proc", "/proc", "--dev", "/dev", "--dev-bind", "/dev/null", "/dev/zero"]
    arguments += ["--remount-ro", "/dev", "--perms", "1777", "--tmpfs", "/tmp"]
    arguments += _python()
    made = set()
    for name, number in files.items():
        for folder in _parents(Path(COURSE) / "attention_lib" / name, made):
            arguments += ["--perms", "0755", "--dir", folder]
        place = f"{COURSE}/attention_lib/{name}"
        arguments += ["--perms", "0444", "--ro-bind-data", str(number), place]
    arguments += ["--remount-ro", "/", "--chdir", "/tmp", "--clearenv"]
    for name, value in environment_inside(COURSE).items():
        arguments += ["--setenv", name, value]
    return [*arguments, "--"]


def _python() -> list[str]:
    """Show Python and its packages, but neither the course around them nor this library."""
    shown = shown_places()
    hidden = {PACKAGE.parent.resolve(), Path.cwd().resolve()} - shown
    visible = [Path(place) for place in SYSTEM] + list(shown)
    if PACKAGE.parent.name == "site-packages":
        hidden = hidden - {PACKAGE.parent.resolve()} | {PACKAGE.resolve()}
    arguments: list[str] = []
    covers: list[str] = []  # which nothing may be left in for later submissions
    made: set[Path] = set()
    for place in sorted(shown | hidden, key=lambda place: len(place.parts)):
        if place in shown:
            for folder in _parents(place, made):
                arguments += ["--perms", "0755", "--dir", folder]
            arguments += ["--ro-bind", str(place), str(place)]
        elif any(outer in place.parents for outer in visible):
            arguments += ["--tmpfs", str(place)]
            covers += ["--remount-ro", str(place)]
    for prefix in {sys.prefix, sys.base_prefix}:
        if Path(prefix) != Path(prefix).resolve():  # a link, which Python goes by
            for folder in _parents(Path(prefix), made):
                arguments += ["--perms", "0755", "--dir", folder]
            arguments += ["--symlink", str(Path(prefix).resolve()), prefix]
    return arguments + covers


def shown_places() -> set[Path]:
    """Return where Python and its packages lie, outside the system's own folders."""
    places = {Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve()}
    return {place for place in places if Path("/usr") not in (place, *place.parents)}


def _parents(place: Path, made: set[Path]) -> list[str]:
    """List the folders above a place that are not there yet, from the top."""
    above = [folder for folder in reversed(place.parents) if len(folder.parts) > 1]
    new = [str(folder) for folder in above if folder not in made]
    made.update(above)
    return new


def environment_inside(library: str) -> dict[str, str]:
    """Return all that a student's process has as its environment."""
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
