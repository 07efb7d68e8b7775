"""What a call costs: the memory it holds at once, and how its work grows with its input."""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

MIB = 1 << 20
ENOUGH_TO_MEASURE = 0.05  # seconds of CPU time; what takes less is never called slow


def peak_bytes(call: Callable[[], Any]) -> int:
    """Return the most memory that one call held at a time, beyond what was held before it."""
    traced_already = tracemalloc.is_tracing()
    if not traced_already:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        call()
        _, peak = tracemalloc.get_traced_memory()
        return peak - before
    finally:
        if not traced_already:
            tracemalloc.stop()


def lines_run(call: Callable[[], Any]) -> int:
    """Count the lines of Python that one call runs through, those of its helpers included."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(previous)
    return count


def grows_faster_than_its_input(
    call: Callable[[int], Callable[[], Any]], sizes: Sequence[int], tolerance: float = 2.0
) -> tuple[int, float] | None:
    """Find a size, 16 times an earlier one, whose call took far more than 16 times as long.

    `call(size)` prepares a call; `sizes` double from one to the next. CPU time is compared, so
    a busy machine changes little, and only once it is long enough to be measured well; what
    looks slow is measured again. Linear work shows a factor of 16, quadratic work up to 256.

    Returns
    -------
    tuple of int and float, or None
        The size, and the factor by which its CPU time exceeds that of a 16th of the size.
    """
    seconds: list[float] = []
    for size in sizes:
        prepared = call(size)
        seconds.append(_cpu_seconds(prepared))
        if seconds[-1] > ENOUGH_TO_MEASURE and len(seconds) > 4:
            small = max(seconds[-5], 1e-6)
            if seconds[-1] > 16 * tolerance * small:
                seconds[-1] = min(seconds[-1], _cpu_seconds(prepared))
                if seconds[-1] > 16 * tolerance * small:
                    return size, seconds[-1] / small
    return None


def _cpu_seconds(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start
