"""Limit the CPU time (setitimer) and the memory (RLIMIT_AS) of a block of code in this process."""

from __future__ import annotations

import contextlib
import gc
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

try:
    import resource
except ImportError:  # on Windows
    HAS_RLIMIT = False
else:
    HAS_RLIMIT = hasattr(resource, "RLIMIT_AS") and Path("/proc/self/statm").exists()

SHORTEST_SECONDS = 0.001  # of a timer: zero would stop it
REPEAT_SECONDS = 0.05  # before TooSlow is raised again, if code has caught it


class TooSlow(BaseException):
    """A block used more CPU time than allowed. `except Exception` in a library does not catch it.

    Python ignores, with a warning, an exception raised in a callback of the garbage collector or in
    a finalizer. So TooSlow is not raised in such a callback but after it, and is raised again in
    case a finalizer lost it.
    """


@contextlib.contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise TooSlow in the body after so many seconds of CPU time; limits can be nested.

    Only the main thread receives signals, and Windows has none of this kind. Elsewhere the body
    runs without a limit.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not (is_main and hasattr(signal, "setitimer")):
        yield
        return
    active = True

    def stop(_number: int, frame: FrameType | None) -> None:
        if active and not _is_in_callback_of_gc(frame):
            raise TooSlow(f"It took more than {seconds:g} s of CPU time.")

    began = time.process_time()
    outer_handler = signal.signal(signal.SIGPROF, stop)
    outer_left = signal.getitimer(signal.ITIMER_PROF)[0]
    shortest = min(seconds, outer_left or seconds)
    signal.setitimer(signal.ITIMER_PROF, max(shortest, SHORTEST_SECONDS), REPEAT_SECONDS)
    try:
        try:
            yield
        finally:
            active = False
    finally:  # even if TooSlow is raised once more just before the timer stops
        if outer_left:
            outer_left = max(outer_left - (time.process_time() - began), SHORTEST_SECONDS)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, outer_handler)
        signal.setitimer(signal.ITIMER_PROF, outer_left, REPEAT_SECONDS if outer_left else 0)


def _is_in_callback_of_gc(frame: FrameType | None) -> bool:
    """Tell whether a frame is in a callback of the garbage collector, or called by one."""
    codes = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    while codes and frame is not None:
        if frame.f_code in codes:
            return True
        frame = frame.f_back
    return False


@contextlib.contextmanager
def memory_limit(more_bytes: int) -> Iterator[None]:
    """Limit this process to `more_bytes` beyond its present memory; then Python raises MemoryError.

    Only Linux counts memory as needed here. Elsewhere there is no limit.
    """
    if not HAS_RLIMIT:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = _address_space() + more_bytes
    if soft != resource.RLIM_INFINITY:
        limit = min(limit, soft)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()
