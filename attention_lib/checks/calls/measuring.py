"""What a call costs: the memory it holds at once, its work, and the overflows it hides.

Each measurement takes a function and its arguments, and is made in the process that the function
lives in.
"""

from __future__ import annotations

import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import numpy as np

from attention_lib.checks.calls.remote import FUNCTIONS, remote_measurement

MIB = 1 << 20
FEWEST_DOUBLINGS, MOST_DOUBLINGS = 4, 6  # between two sizes that are compared
ENOUGH_TO_MEASURE = 0.05  # seconds of CPU time; what takes less is never called slow
LONG_ENOUGH_TO_TRUST = 0.25  # seconds of CPU time; what takes longer is measured again only once


@remote_measurement
def peak_bytes(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> int:
    """Return the most memory that one call held at a time, beyond what was held before it."""
    traced_already = tracemalloc.is_tracing()
    if not traced_already:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        function(*args, **kwargs)
        _, peak = tracemalloc.get_traced_memory()
        return peak - before
    finally:
        if not traced_already:
            tracemalloc.stop()


@remote_measurement
def lines_run(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> int:
    """Count the lines of Python that one call runs through, those of its helpers included."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        function(*args, **kwargs)
    finally:
        sys.settrace(previous)
    return count


@remote_measurement
def overflows(function: Callable[..., Any], /, *args: Any) -> int:
    """Count the operations of one call that overflow, also where `np.errstate` ignores it.

    An operation on a whole array counts once.
    """
    seen: list[str] = []
    numpy: Any = np  # to a type checker, a module's attributes cannot be replaced
    errstate: Any = numpy.errstate
    einsum: Any = numpy.einsum

    class HidesNoOverflow(errstate):
        def __init__(self, **states: Any) -> None:
            super().__init__(**{k: s for k, s in states.items() if k in ("divide", "invalid")})

    def watched_einsum(*operands: Any, **options: Any) -> Any:
        """Look at the result: most sums of `np.einsum` do not report that they overflow."""
        before = len(seen)
        result = einsum(*operands, **options)
        arrays = [operand for operand in operands if isinstance(operand, np.ndarray)]
        if np.isinf(result).any() and all(np.isfinite(array).all() for array in arrays):
            seen[before:] = ["overflow"]
        return result

    try:
        numpy.errstate, numpy.einsum = HidesNoOverflow, watched_einsum
        with (
            errstate(over="call", call=lambda kind, _: seen.append(kind)),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            function(*args)
    finally:
        numpy.errstate, numpy.einsum = errstate, einsum
    return len(seen)


@remote_measurement
def returned(function: Callable[..., Any], /, *args: Any) -> Any:
    """Return what one call returns, of which the bits are measured."""
    return function(*args)


@remote_measurement
def with_result(function: Callable[..., Any], what: str, /, *args: Any, **kwargs: Any) -> Any:
    """Measure a function, and return the number together with what its last call returned."""
    result: Any = None

    def keep_result(*args: Any, **kwargs: Any) -> Any:
        nonlocal result
        result = function(*args, **kwargs)
        return result

    return FUNCTIONS[what](keep_result, *args, **kwargs), result


def thread_time() -> float:
    """Return the processor's time for this thread, or where there is no such clock the process."""
    return time.thread_time() if hasattr(time, "thread_time") else time.process_time()


@remote_measurement
def cpu_seconds(function: Callable[..., Any], /, *args: Any, calls: int = 1) -> float:
    """Return the processor's time that a number of calls took.

    Where a process has a limit on it, Linux advances the clock of the process by some
    milliseconds at a time, but not that of the thread.
    """
    process, thread = time.process_time(), thread_time()
    for _ in range(calls):
        function(*args)
    return max(time.process_time() - process, thread_time() - thread)


def grows_faster_than_its_input(
    function: Callable[..., Any],
    arguments: Callable[[int], tuple[Any, ...]],
    sizes: Sequence[int],
    tolerance: float = 2.0,
) -> tuple[int, int, float] | None:
    """Find a size whose call took far longer than in proportion to a smaller size.

    `arguments(size)` makes what the function is called with. Sizes double from one to the next. They
    are compared over four doublings at least, and six at most: what each step costs by itself hides
    quadratic work for a while. CPU time is compared once it is long enough to be measured well, so
    a busy machine changes little. What looks slow is measured again, beside as many calls of the
    smaller size as would take as long if the work were linear, however coarse the clock is. Over six
    doublings linear work shows a factor of 64, quadratic work up to 4096.

    Returns
    -------
    tuple of int, int and float, or None
        The smaller size, the size, and the factor between their CPU times.
    """
    seconds: list[float] = []
    for number, size in enumerate(sizes):
        seconds.append(cpu_seconds(function, *arguments(size)))
        if number < FEWEST_DOUBLINGS or seconds[-1] < ENOUGH_TO_MEASURE:
            continue
        before = max(0, number - MOST_DOUBLINGS)
        in_proportion = 2 ** (number - before)
        small = seconds[before]
        # A busy machine may have slowed a short call down.
        for _ in range(3 if seconds[-1] < LONG_ENOUGH_TO_TRUST else 1):
            if seconds[-1] <= in_proportion * tolerance * small:
                break
            seconds[-1] = min(seconds[-1], cpu_seconds(function, *arguments(size)))
            small = cpu_seconds(function, *arguments(sizes[before]), calls=in_proportion)
            small /= in_proportion
        else:
            if seconds[-1] > in_proportion * tolerance * small:
                return sizes[before], size, seconds[-1] / max(small, 1e-6)
    return None
