"""Call Linux functions that Python does not wrap, and raise NotEnforced if one fails.

Constants have the names and values of the kernel's headers.
"""

from __future__ import annotations

import ctypes
import enum
import errno
import functools
import os
from collections.abc import Callable
from typing import Any


class NotEnforced(Exception):
    """A restriction of the sandbox is not in force; the text names the call and its error."""


class Prctl(enum.IntEnum):
    """Options of prctl(2), from <linux/prctl.h>."""

    PR_SET_PDEATHSIG = 1
    PR_SET_DUMPABLE = 4
    PR_SET_SECCOMP = 22
    PR_CAPBSET_READ = 23
    PR_CAPBSET_DROP = 24
    PR_SET_NO_NEW_PRIVS = 38


class Clone(enum.IntFlag):
    """Namespaces of unshare(2), from <linux/sched.h>."""

    CLONE_NEWNS = 0x00020000  # mounts
    CLONE_NEWCGROUP = 0x02000000
    CLONE_NEWUTS = 0x04000000  # host name
    CLONE_NEWIPC = 0x08000000
    CLONE_NEWUSER = 0x10000000
    CLONE_NEWPID = 0x20000000
    CLONE_NEWNET = 0x40000000


class Mount(enum.IntFlag):
    """Flags of mount(2), from <linux/mount.h>."""

    MS_RDONLY = 1
    MS_NOSUID = 2
    MS_NODEV = 4
    MS_BIND = 4096
    MS_REC = 16384


_LINUX_CAPABILITY_VERSION_3 = 0x20080522  # <linux/capability.h>
_c_library = functools.cache(lambda: ctypes.CDLL(None, use_errno=True))


def prctl(option: Prctl, *arguments: Any) -> int:
    """Call prctl(2) and return its result."""
    padded = [*arguments, 0, 0, 0, 0][:4]  # some options require zeros
    return _call("prctl", option.name, option, *map(_as_long, padded))


def unshare(namespaces: Clone) -> None:
    """Move this process into new namespaces."""
    _call("unshare", str(namespaces.name), ctypes.c_int(namespaces))


def mount_tmpfs(target: str, *, size: int, files: int, mode: str, read_only: bool = False) -> None:
    """Mount a tmpfs, limited to `size` bytes and `files` inodes, its own root included.

    A limit of 0 is refused: to the kernel it means no limit.
    """
    if not (size and files):
        raise NotEnforced(f"a tmpfs on {target} without a limit was asked for")
    flags = Mount.MS_NOSUID | Mount.MS_NODEV | (Mount.MS_RDONLY if read_only else 0)
    options = f"size={size},nr_inodes={files},mode={mode}"
    arguments = (b"tmpfs", target.encode(), b"tmpfs", _as_long(flags), options.encode())
    _call("mount", f"tmpfs, {target}", *arguments)


def bind_mount(source: str, target: str) -> None:
    """Bind-mount a folder, with everything mounted below it."""
    flags = Mount.MS_BIND | Mount.MS_REC
    arguments = (source.encode(), target.encode(), None, _as_long(flags), None)
    _call("mount", f"{flags.name}, {target}", *arguments)


def drop_capabilities() -> None:
    """Drop all capabilities, and prevent programs from getting them back."""
    prctl(Prctl.PR_SET_NO_NEW_PRIVS, 1)
    for capability in range(_capability_count()):
        prctl(Prctl.PR_CAPBSET_DROP, capability)
    header = (ctypes.c_uint32 * 2)(_LINUX_CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable, in two halves
    _call("capset", "no capabilities", header, nothing)


def _capability_count() -> int:
    """Count the capabilities that this kernel knows, by reading them until one fails."""
    count = 0
    while _libc("prctl", Prctl.PR_CAPBSET_READ, *map(_as_long, (count, 0, 0, 0)))[0] >= 0:
        count += 1
    if count == 0:
        raise NotEnforced("prctl(PR_CAPBSET_READ) failed for the first capability")
    return count


def checked(name: str, function: Callable[..., Any], *arguments: Any) -> None:
    """Call a function of `os` or `resource`; if it fails, raise NotEnforced with `name`."""
    try:
        function(*arguments)
    except (OSError, ValueError) as problem:
        raise NotEnforced(f"{name} failed: {problem}") from None


def _call(function: str, what: str, *arguments: Any) -> int:
    """Call a function of the C library; raise NotEnforced if it returns a negative number."""
    result, number = _libc(function, *arguments)
    if result < 0:
        code = errno.errorcode.get(number, str(number))
        raise NotEnforced(f"{function}({what}) failed with {code} ({os.strerror(number)})")
    return result


def _libc(function: str, *arguments: Any) -> tuple[int, int]:
    """Call a function of the C library; return its result and errno."""
    ctypes.set_errno(0)
    return getattr(_c_library(), function)(*arguments), ctypes.get_errno()


def _as_long(value: Any) -> Any:
    """Convert integers to the full width of a register."""
    return ctypes.c_ulong(value) if isinstance(value, int) else value
