"""System calls that no submission needs, refused by the kernel as if it did not know them.

Keys are shared by all that a login has started, in whatever namespaces it runs. Segments,
semaphores, queues and shared mappings take memory that counts as no process's own.
"""

from __future__ import annotations

import ctypes
import platform
import struct

X86_64 = {
    "keys": (248, 249, 250),  # add_key, request_key, keyctl
    "memory": (29, 64, 68, 240, 319, 447),  # shmget, semget, msgget, mq_open, memfd_*
    "kernel": (298, 321, 323, 425),  # perf_event_open, bpf, userfaultfd, io_uring_setup
}
AARCH64 = {
    "keys": (217, 218, 219),
    "memory": (194, 190, 186, 180, 279, 447),
    "kernel": (241, 280, 282, 425),
}
# By machine: its name in a filter, the number of mmap, and those of the calls to refuse.
MACHINES = {"x86_64": (0xC000003E, 9, X86_64), "aarch64": (0xC00000B7, 222, AARCH64)}

PR_SET_SECCOMP, WITH_FILTER = 22, 2
LOAD, AND, EQUAL, AT_LEAST, RETURN = 0x20, 0x54, 0x15, 0x35, 0x06  # of a filter's steps
NUMBER, MACHINE, FLAGS_OF_MMAP = 0, 4, 16 + 3 * 8  # where they stand in what a filter sees
SHARED_WITHOUT_FILE = 0x01 | 0x20
OTHER_TABLE = 0x40000000  # of calls: numbers from here on mean the same by another way
ALLOWED, UNKNOWN = 0x7FFF0000, 0x00050000 | 38  # the latter is ENOSYS


def refuse_system_calls() -> None:
    """Refuse them to this process and all that it starts, for good.

    It has to have given up new privileges. Where a machine or its kernel cannot do so, nothing
    is refused.
    """
    if platform.machine() not in MACHINES:
        return
    steps = b"".join(_filter(*MACHINES[platform.machine()]))
    kept = ctypes.create_string_buffer(steps, len(steps))
    program = struct.pack("HP", len(steps) // 8, ctypes.addressof(kept))
    ctypes.CDLL(None).prctl(PR_SET_SECCOMP, WITH_FILTER, program, 0, 0)


def _filter(machine: int, mmap: int, calls: dict[str, tuple[int, ...]]) -> list[bytes]:
    """Return the steps of a filter; a jump says how many to skip if so, and if not."""
    refused = [number for numbers in calls.values() for number in numbers]
    last = len(refused) + 9  # where it refuses; one before, it allows
    return [
        _step(LOAD, MACHINE),
        _step(EQUAL, machine, 0, last - 2),
        _step(LOAD, NUMBER),
        _step(AT_LEAST, OTHER_TABLE, last - 4, 0),
        *(_step(EQUAL, number, last - 5 - i, 0) for i, number in enumerate(refused)),
        _step(EQUAL, mmap, 0, 3),
        _step(LOAD, FLAGS_OF_MMAP),
        _step(AND, SHARED_WITHOUT_FILE),
        _step(EQUAL, SHARED_WITHOUT_FILE, 1, 0),
        _step(RETURN, ALLOWED),
        _step(RETURN, UNKNOWN),
    ]


def _step(what: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return struct.pack("HBBI", what, if_so, if_not, value)
