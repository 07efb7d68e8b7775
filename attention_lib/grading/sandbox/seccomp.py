"""Build a submission's seccomp filter with libseccomp: an allow-list; other calls return ENOSYS.

A submission can only make kernel objects that are under some limit. Without the filter, all
processes of a user would share keys, and the whole machine some kinds of sockets. Shared memory,
message queues, shared mappings, file locks and socket buffers use memory that is counted for no
process.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import functools
import os
import socket
import tempfile
from collections.abc import Iterator
from typing import NamedTuple

from attention_lib.grading.inside.kernel import Clone
from attention_lib.grading.sandbox.system_calls import SYSTEM_CALLS

LIBRARY = "libseccomp.so.2"
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.ENOSYS  # SCMP_ACT_ALLOW, SCMP_ACT_ERRNO
ACT_BADARCH = 2  # SCMP_FLTATR_ACT_BADARCH: the action for calls of another architecture
UNKNOWN = -1  # __NR_SCMP_ERROR
EQUAL, MASKED_EQUAL = 4, 7  # SCMP_CMP_EQ, SCMP_CMP_MASKED_EQ

MAP_SHARED, MAP_ANONYMOUS, MAP_HUGETLB = 0x01, 0x20, 0x40000
CLONE_FILES, CLONE_THREAD = 0x400, 0x10000
# Commands of fcntl(2) for a descriptor. The others lock files, enlarge pipes or send signals. The
# kernel memory for file locks has no limit.
FCNTL_COMMANDS = (
    *(fcntl.F_DUPFD, fcntl.F_DUPFD_CLOEXEC),
    *(fcntl.F_GETFD, fcntl.F_SETFD, fcntl.F_GETFL, fcntl.F_SETFL),
)


class Condition(NamedTuple):
    """The condition on an argument of a call: ``argument & mask == value``."""

    argument: int
    value: int
    mask: int | None = None


class _ScmpArgCmp(ctypes.Structure):
    """struct scmp_arg_cmp."""

    _fields_ = (
        ("arg", ctypes.c_uint),
        ("op", ctypes.c_int),
        ("datum_a", ctypes.c_uint64),
        ("datum_b", ctypes.c_uint64),
    )


@functools.cache
def filter_program() -> bytes:
    """Return the filter's instructions for this machine's processor; empty without libseccomp.

    Raises
    ------
    OSError
        If libseccomp refuses a rule.
    """
    library = _library()
    if library is None:
        return b""
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(REFUSE)))
    try:
        _checked(library.seccomp_attr_set(context, ACT_BADARCH, ctypes.c_uint32(REFUSE)))
        for name, condition in rules():
            number = library.seccomp_syscall_resolve_name(name.encode())
            if number == UNKNOWN:  # unknown to an older libseccomp: the call is refused
                continue
            compared = _as_compared(condition) if condition else None
            conditions = (_ScmpArgCmp * 1)(*([compared] if compared else []))
            count = 1 if compared else 0
            _checked(
                library.seccomp_rule_add_array(
                    context, ctypes.c_uint32(ALLOW), number, count, conditions
                )
            )
        with tempfile.TemporaryFile() as file:
            _checked(library.seccomp_export_bpf(context, file.fileno()))
            file.seek(0)
            return file.read()
    finally:
        library.seccomp_release(context)


def rules() -> Iterator[tuple[str, Condition | None]]:
    """Yield each allowed call, and the condition on one of its arguments."""
    for name in SYSTEM_CALLS:
        yield name, None
    # No shared anonymous memory, and no huge pages, which are counted for no process.
    mapped = MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB
    for flags in (0, MAP_SHARED, MAP_ANONYMOUS):
        yield "mmap", Condition(3, flags, mapped)
    # No namespaces. clone(2) may start processes, or threads that share their descriptors.
    namespaces = sum(Clone)
    yield "clone", Condition(0, 0, namespaces | CLONE_THREAD)
    with_files = CLONE_THREAD | CLONE_FILES
    yield "clone", Condition(0, with_files, namespaces | with_files)
    yield "socketpair", Condition(0, socket.AF_UNIX)
    for command in FCNTL_COMMANDS:
        yield "fcntl", Condition(1, command)


def is_missing() -> bool:
    """Tell whether libseccomp is not installed, so that nothing is filtered."""
    return _library() is None


@functools.cache
def _library() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        return None
    library.seccomp_init.restype = ctypes.c_void_p
    return library


def _as_compared(condition: Condition) -> _ScmpArgCmp:
    argument, value, mask = condition
    if mask is None:
        return _ScmpArgCmp(argument, EQUAL, value, 0)
    return _ScmpArgCmp(argument, MASKED_EQUAL, mask, value)


def _checked(result: int) -> None:
    if result < 0:
        raise OSError(-result, f"libseccomp: {os.strerror(-result)}")
