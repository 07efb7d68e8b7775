"""Measure a call: its peak memory, its CPU time and lines of Python, the overflows it hides.

Each measurement takes a function and its arguments, and runs in the process of the function.
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
FEWEST_DOUBLINGS, MOST_DOUBLINGS = 4, 6  # between the two sizes compared
ENOUGH_TO_MEASURE = 0.05  # seconds of CPU time; a shorter call is never slow
LONG_ENOUGH_TO_TRUST = 0.25  # seconds of CPU time; a longer call is measured again only once


@remote_measurement
def peak_bytes(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> int:
    """Return the peak memory of one call, beyond what was allocated before it."""
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
    """Count the lines of Python that one call runs, including its helpers'."""
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
    """Count the operations of one call that overflow, even if `np.errstate` ignores it.

    An operation on a whole array counts once.
    """
    seen: list[str] = []
    numpy: Any = np  # else mypy objects to replacing a module's attributes
    errstate: Any = numpy.errstate
    einsum: Any = numpy.einsum

    class HidesNoOverflow(errstate):
        def __init__(self, **states: Any) -> None:
            super().__init__(**{k: s for k, s in states.items() if k in ("divide", "invalid")})

    def watched_einsum(*operands: Any, **options: Any) -> Any:
        """Note infinities in the result, as most sums of `np.einsum` report no overflow."""
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
    """Return the result of one call, for an exercise that measures its bits."""
    return function(*args)


@remote_measurement
def with_result(function: Callable[..., Any], what: str, /, *args: Any, **kwargs: Any) -> Any:
    """Return a measurement of a function, and the result of its last call."""
    result: Any = None

    def keep_result(*args: Any, **kwargs: Any) -> Any:
        nonlocal result
        result = function(*args, **kwargs)
        return result

    return FUNCTIONS[what](keep_result, *args, **kwargs), result


def thread_time() -> float:
    """Return the CPU time of this thread, or of the process if there is no such clock."""
    return time.thread_time() if hasattr(time, "thread_time") else time.process_time()


@remote_measurement
def cpu_seconds(function: Callable[..., Any], /, *args: Any, calls: int = 1) -> float:
    """Return the CPU time of a number of calls.

    In a process with a limit on CPU time, Linux advances the clock of the process in steps of some
    milliseconds. That of the thread is exact, but leaves out other threads.
    """
    process, thread = time.process_time(), thread_time()
    for _ in range(calls):
        function(*args)
    return max(time.process_time() - process, thread_time() - thread)


def grows_faster_than_its_input(
    function: Callable[..., Any],
    arguments: Callable[[int], tuple[Any, ...]],
    sizes: Sequence[int],
    tolerance: float = 1.5,
) -> tuple[int, int, float] | None:
    """Find a size at which CPU time has grown far more than linearly.

    `arguments(size)` returns the arguments of a call. Each of `sizes` is twice the one before. Two
    sizes are compared that are four to six doublings apart, as the overhead of each step hides
    quadratic work at first. Over six doublings linear work grows by a factor of 64, quadratic work
    by up to 4096. A call that looks slow is measured again, beside so many calls of the smaller size
    that linear work would take as long. So neither a coarse clock nor a busy machine matters.

    Returns
    -------
    tuple of int, int and float, or None
        The smaller size, the larger size, and the ratio of their CPU times.
    """
    seconds: list[float] = []
    for number, size in enumerate(sizes):
        seconds.append(cpu_seconds(function, *arguments(size)))
        if number < FEWEST_DOUBLINGS or seconds[-1] < ENOUGH_TO_MEASURE:
            continue
        before = max(0, number - MOST_DOUBLINGS)
        in_proportion = 2 ** (number - before)
        small = seconds[before]
        # A busy machine slows down short calls.
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
