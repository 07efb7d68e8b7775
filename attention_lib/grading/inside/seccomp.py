"""Install the seccomp filter that the grader's process has built."""

from __future__ import annotations

import ctypes
import struct

from attention_lib.grading.inside.kernel import Prctl, prctl

SECCOMP_MODE_FILTER = 2
INSTRUCTION_BYTES = 8  # of classic BPF


def install_filter(program: bytes) -> None:
    """Filter the system calls of this process and its descendants, irrevocably.

    PR_SET_NO_NEW_PRIVS has to be set. An empty program filters nothing; the grader warns about that
    when it starts.

    Raises
    ------
    NotEnforced
        If the kernel rejects the filter.
    """
    if not program:
        return
    memory = ctypes.create_string_buffer(program, len(program))
    count = len(program) // INSTRUCTION_BYTES
    sock_fprog = struct.pack("HP", count, ctypes.addressof(memory))
    prctl(Prctl.PR_SET_SECCOMP, SECCOMP_MODE_FILTER, sock_fprog)
