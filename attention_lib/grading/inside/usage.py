"""Measure the memory and CPU time of all processes of a submission, from /proc."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from attention_lib.grading import limits

POLL_SECONDS = 0.1  # the interval between measurements
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PROCESSORS = os.cpu_count() or 1
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Process:
    """One process, as /proc/PID/stat describes it."""

    parent: int
    ticks: int  # of CPU time, without its children's
    start: int  # its start time: a later process may have the same PID
    memory_bytes: int

    @classmethod
    def read(cls, pid: int | str) -> Process:
        """Read a process of this PID namespace; raise OSError if it has ended."""
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        parent, user, system, start, pages = (int(fields[i]) for i in (1, 11, 12, 19, 21))
        return cls(parent, user + system, start, pages * PAGE_BYTES)


class Usage:
    """The memory and CPU time that a process and its descendants have used so far.

    A process that starts and ends between two measurements is not seen. The kernel's last PID tells
    how many such processes there were. Each counts as half of POLL_SECONDS, because many short
    processes would otherwise cost nothing. Threads have PIDs too. Together, unseen processes count
    at most as the elapsed time on all processors.

    Shared memory is counted once, including the memory that the first process started with: a
    process may have made this its own by writing to it or by running another program.
    """

    def __init__(self, descriptor_bytes: int) -> None:
        """Start counting. A descriptor counts as `descriptor_bytes`, the buffer of a socket or pipe."""
        self.memory_bytes = 0  # in addition to what one process starts with
        self._descriptor_bytes = descriptor_bytes
        self._memory_before = Process.read("self").memory_bytes
        self._ticks: dict[tuple[int, int], int] = {}  # by PID and start time
        self._last_pid = _last_pid()
        self._last_time = time.monotonic()
        self._unseen_seconds = 0.0

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of all processes, including those that have ended."""
        return sum(self._ticks.values()) / TICKS_PER_SECOND + self._unseen_seconds

    def measure(self, first: int) -> None:
        """Measure a process and its descendants."""
        last_pid, now, seen_before = _last_pid(), time.monotonic(), len(self._ticks)
        created, elapsed = last_pid - self._last_pid, now - self._last_time
        self._last_pid, self._last_time = last_pid, now
        processes = _descendants(first)
        for pid, process in processes.items():
            self._ticks[pid, process.start] = process.ticks
        descriptors = sum(self._descriptors(pid) for pid in processes) * self._descriptor_bytes
        processes.pop(first, None)  # not the student's; it only waits
        self.memory_bytes = max(0, self._memory(processes) - self._memory_before) + descriptors
        unseen = max(0, created - (len(self._ticks) - seen_before))
        self._unseen_seconds += min(unseen * POLL_SECONDS / 2, elapsed * PROCESSORS)

    def _memory(self, processes: Mapping[int, Process]) -> int:
        """Return the memory of processes; compute what they share only if they may exceed the limit."""
        memory = sum(process.memory_bytes for process in processes.values())
        most = self._memory_before + limits.SUBMISSION_MEMORY_BYTES
        if len(processes) < 2 or memory <= most:
            return memory
        return sum(_proportional_memory(pid, process) for pid, process in processes.items())

    def _descriptors(self, pid: int) -> int:
        """Count a process's descriptors; if they cannot be read, return the most it may have."""
        try:
            return len(os.listdir(f"/proc/{pid}/fd"))
        except PermissionError:
            return limits.SUBMISSION_OPEN_FILES
        except OSError:  # it has ended
            return 0


def _proportional_memory(pid: int, process: Process) -> int:
    """Return a process's memory with its part of shared memory; if unreadable, with all of it."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return process.memory_bytes
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _descendants(first: int) -> dict[int, Process]:
    """Return a process and its descendants, by PID."""
    processes = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                processes[int(entry)] = Process.read(entry)
    found, count = {first} & set(processes), -1
    while len(found) > count:
        count = len(found)
        found |= {pid for pid, process in processes.items() if process.parent in found}
    return {pid: processes[pid] for pid in found}


def _last_pid() -> int:
    """Return the PID of the newest process or thread in this PID namespace."""
    return int(Path("/proc/loadavg").read_text().split()[-1])
