"""Install a seccomp filter: an allow-list of system calls; all others return ENOSYS.

A submission can only make kernel objects that some limit counts. Without the filter, keys would be
shared by all processes of a user, and some kinds of sockets by the whole machine. Shared memory,
message queues, shared mappings, file locks and socket buffers take memory that belongs to no process.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import socket
import struct
from dataclasses import dataclass

from attention_lib.grading.inside.kernel import Clone, Prctl, prctl
from attention_lib.grading.inside.system_calls import (
    CLONE,
    FCNTL,
    MMAP,
    SOCKETPAIR,
    SYSTEM_CALLS,
)


@dataclass(frozen=True)
class Architecture:
    """A processor architecture, as seccomp filters see it."""

    audit_arch: int  # AUDIT_ARCH_*, from <linux/audit.h>
    column: int  # of its numbers in `system_calls`


X86_64 = Architecture(0xC000003E, column=0)
AARCH64 = Architecture(0xC00000B7, column=1)
ARCHITECTURES = {"x86_64": X86_64, "aarch64": AARCH64}

SECCOMP_MODE_FILTER = 2
# Instructions of classic BPF, from <linux/bpf_common.h>.
BPF_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
BPF_AND = 0x54  # BPF_ALU | BPF_AND | BPF_K
BPF_JUMP_IF_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
BPF_JUMP_IF_ANY_BIT = 0x45  # BPF_JMP | BPF_JSET | BPF_K
BPF_RETURN = 0x06  # BPF_RET | BPF_K
# Offsets in struct seccomp_data; of each argument, the lower half.
CALL_NUMBER, CALL_ARCH = 0, 4
FIRST_ARGUMENT, SECOND_ARGUMENT, FOURTH_ARGUMENT = 16, 16 + 8, 16 + 3 * 8
MAP_SHARED, MAP_ANONYMOUS, MAP_HUGETLB = 0x01, 0x20, 0x40000
# Commands of fcntl(2) that are allowed: those for a descriptor. The others lock files, enlarge pipes
# or send signals. Nothing limits the kernel memory for file locks.
FCNTL_COMMANDS = {
    "F_DUPFD": 0,
    "F_GETFD": 1,
    "F_SETFD": 2,
    "F_GETFL": 3,
    "F_SETFL": 4,
    "F_DUPFD_CLOEXEC": 1030,
}
CLONE_FILES, CLONE_THREAD = 0x400, 0x10000
CLONE_NEW_NAMESPACE = sum(Clone)  # any of them
SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO = 0x7FFF0000, 0x00050000


def unfiltered_processor() -> str:
    """Return the processor's name if there is no filter for it, else an empty string."""
    return "" if platform.machine() in ARCHITECTURES else platform.machine() or "unknown"


def install_filter() -> None:
    """Filter the system calls of this process and its descendants, irrevocably.

    PR_SET_NO_NEW_PRIVS has to be set. On a processor without a table nothing is filtered; the grader
    warns of that when it starts.

    Raises
    ------
    NotEnforced
        If the kernel rejects the filter.
    """
    if unfiltered_processor():
        return
    steps = b"".join(filter_steps(ARCHITECTURES[platform.machine()]))
    memory = ctypes.create_string_buffer(steps, len(steps))
    program = struct.pack("HP", len(steps) // 8, ctypes.addressof(memory))  # struct sock_fprog
    prctl(Prctl.PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program)


def filter_steps(architecture: Architecture) -> list[bytes]:
    """Return the filter's instructions. A jump has two offsets: if true, and if false."""
    column = architecture.column
    steps = [
        _step(BPF_LOAD, CALL_ARCH),
        _step(BPF_JUMP_IF_EQUAL, architecture.audit_arch, 1, 0),
        REFUSE,
        _step(BPF_LOAD, CALL_NUMBER),
    ]
    for numbers in SYSTEM_CALLS.values():
        number = numbers[column]
        if number is not None:
            steps += [_step(BPF_JUMP_IF_EQUAL, number, 0, 1), ALLOW]
    for number, rule in (
        (MMAP[column], _MMAP_RULE),
        (CLONE[column], _CLONE_RULE),
        (SOCKETPAIR[column], _SOCKETPAIR_RULE),
        (FCNTL[column], _FCNTL_RULE),
    ):
        steps += [_step(BPF_JUMP_IF_EQUAL, number, 0, len(rule)), *rule]
    return [*steps, REFUSE]


def _step(instruction: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return struct.pack("HBBI", instruction, if_so, if_not, value)


ALLOW = _step(BPF_RETURN, SECCOMP_RET_ALLOW)
REFUSE = _step(BPF_RETURN, SECCOMP_RET_ERRNO | errno.ENOSYS)
_SHARED = MAP_SHARED | MAP_ANONYMOUS
_MMAP_RULE = (  # no shared anonymous memory, and no huge pages, which no process is said to have
    _step(BPF_LOAD, FOURTH_ARGUMENT),
    _step(BPF_JUMP_IF_ANY_BIT, MAP_HUGETLB, 3, 0),
    _step(BPF_AND, _SHARED),
    _step(BPF_JUMP_IF_EQUAL, _SHARED, 1, 0),
    ALLOW,
    REFUSE,
)
_CLONE_RULE = (  # no namespaces, and no threads with descriptors of their own
    _step(BPF_LOAD, FIRST_ARGUMENT),
    _step(BPF_JUMP_IF_ANY_BIT, CLONE_NEW_NAMESPACE, 3, 0),
    _step(BPF_AND, CLONE_THREAD | CLONE_FILES),
    _step(BPF_JUMP_IF_EQUAL, CLONE_THREAD, 1, 0),
    ALLOW,
    REFUSE,
)
_SOCKETPAIR_RULE = (
    _step(BPF_LOAD, FIRST_ARGUMENT),
    _step(BPF_JUMP_IF_EQUAL, socket.AF_UNIX, 0, 1),
    ALLOW,
    REFUSE,
)
_FCNTL_RULE = (
    _step(BPF_LOAD, SECOND_ARGUMENT),
    *(
        step
        for command in FCNTL_COMMANDS.values()
        for step in (_step(BPF_JUMP_IF_EQUAL, command, 0, 1), ALLOW)
    ),
    REFUSE,
)
