"""Install a seccomp filter: the system calls in these tables return ENOSYS.

No submission needs them. Keys are shared by all processes of a login, in whatever namespaces they
run. Shared memory, semaphores, queues and shared mappings take memory that belongs to no process,
so that no limit counts it. The rest are large parts of the kernel that a submission has no use for.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from dataclasses import dataclass

from attention_lib.grading.inside.kernel import Prctl, prctl


@dataclass(frozen=True)
class Architecture:
    """A processor architecture as the kernel's filters know it."""

    audit_arch: int  # AUDIT_ARCH_*, from <linux/audit.h>
    mmap: int  # the number of the system call mmap
    refused: dict[str, int]  # system calls and their numbers, from <asm/unistd.h>


X86_64 = Architecture(
    audit_arch=0xC000003E,
    mmap=9,
    refused={
        "add_key": 248,
        "request_key": 249,
        "keyctl": 250,
        "shmget": 29,
        "semget": 64,
        "msgget": 68,
        "mq_open": 240,
        "memfd_create": 319,
        "memfd_secret": 447,
        "perf_event_open": 298,
        "bpf": 321,
        "userfaultfd": 323,
        "io_uring_setup": 425,
    },
)
AARCH64 = Architecture(
    audit_arch=0xC00000B7,
    mmap=222,
    refused={
        "add_key": 217,
        "request_key": 218,
        "keyctl": 219,
        "shmget": 194,
        "semget": 190,
        "msgget": 186,
        "mq_open": 180,
        "memfd_create": 279,
        "memfd_secret": 447,
        "perf_event_open": 241,
        "bpf": 280,
        "userfaultfd": 282,
        "io_uring_setup": 425,
    },
)
ARCHITECTURES = {"x86_64": X86_64, "aarch64": AARCH64}

SECCOMP_MODE_FILTER = 2
# Instructions of classic BPF, from <linux/bpf_common.h>.
BPF_LOAD = 0x20  # BPF_LD | BPF_W | BPF_ABS
BPF_AND = 0x54  # BPF_ALU | BPF_AND | BPF_K
BPF_JUMP_IF_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
BPF_JUMP_IF_AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
BPF_RETURN = 0x06  # BPF_RET | BPF_K
# Offsets in struct seccomp_data.
CALL_NUMBER, CALL_ARCH, MMAP_FLAGS = 0, 4, 16 + 3 * 8
MAP_SHARED, MAP_ANONYMOUS = 0x01, 0x20
X32_SYSCALL_BIT = 0x40000000  # marks the same calls under other numbers
SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO = 0x7FFF0000, 0x00050000


def unfiltered_processor() -> str:
    """Return this processor's name if there is no filter for it, or an empty string."""
    return "" if platform.machine() in ARCHITECTURES else platform.machine() or "unknown"


def install_filter() -> None:
    """Filter the system calls of this process and of all that it starts, for good.

    PR_SET_NO_NEW_PRIVS has to be set. On a processor without a table nothing is filtered, of
    which the grader warns when it starts.

    Raises
    ------
    NotEnforced
        If the kernel does not take the filter.
    """
    if unfiltered_processor():
        return
    steps = b"".join(filter_steps(ARCHITECTURES[platform.machine()]))
    memory = ctypes.create_string_buffer(steps, len(steps))
    program = struct.pack("HP", len(steps) // 8, ctypes.addressof(memory))  # struct sock_fprog
    prctl(Prctl.PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program)


def filter_steps(architecture: Architecture) -> list[bytes]:
    """Return the filter's instructions; a jump says how many to skip if so, and if not."""
    shared = MAP_SHARED | MAP_ANONYMOUS
    refused = architecture.refused.values()
    refuse = len(refused) + 9  # index of the last instruction; the one before allows the call
    return [
        _step(BPF_LOAD, CALL_ARCH),
        _step(BPF_JUMP_IF_EQUAL, architecture.audit_arch, 0, refuse - 2),
        _step(BPF_LOAD, CALL_NUMBER),
        _step(BPF_JUMP_IF_AT_LEAST, X32_SYSCALL_BIT, refuse - 4, 0),
        *(_step(BPF_JUMP_IF_EQUAL, call, refuse - 5 - i, 0) for i, call in enumerate(refused)),
        _step(BPF_JUMP_IF_EQUAL, architecture.mmap, 0, 3),
        _step(BPF_LOAD, MMAP_FLAGS),
        _step(BPF_AND, shared),
        _step(BPF_JUMP_IF_EQUAL, shared, 1, 0),
        _step(BPF_RETURN, SECCOMP_RET_ALLOW),
        _step(BPF_RETURN, SECCOMP_RET_ERRNO | errno.ENOSYS),
    ]


def _step(instruction: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return struct.pack("HBBI", instruction, if_so, if_not, value)
