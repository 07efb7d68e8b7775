"""Measure a call: its peak memory, the lines of Python it runs, its work, and hidden overflows.

Each measurement takes a function and its arguments, and runs in the process of the function.
"""

from __future__ import annotations

import gc
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from attention_lib.checks.calls.remote import FUNCTIONS, remote_measurement

MIB = 1 << 20


@remote_measurement
def peak_bytes(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> int:
    """Return the peak memory of one call, in addition to what was allocated before it."""
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

    previous, collects = sys.gettrace(), gc.isenabled()
    try:
        gc.disable()  # a collection runs finalizers and callbacks of others, whose lines would count
        sys.settrace(trace)
        function(*args, **kwargs)
    finally:
        sys.settrace(previous)
        if collects:
            gc.enable()
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
        """Record infinities in the result: most sums of `np.einsum` report no overflow."""
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
        result = _uncounted(function(*args, **kwargs))
        return result

    return FUNCTIONS[what](keep_result, *args, **kwargs), result


class _Counted(np.ndarray):
    """An array that counts the numbers that NumPy's functions read or write."""

    count = 0  # of the class, for one measurement

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **options: Any
    ) -> Any:
        plain = [_uncounted(one) for one in inputs]
        if out:
            options["out"] = tuple(map(_uncounted, out))
        result = getattr(ufunc, method)(*plain, **options)
        inner = np.shape(plain[0])[-1] if ufunc is np.matmul else 1
        _Counted.count += max(np.size(result) * inner, *map(np.size, plain))
        return out[0] if len(out) == 1 else _counted(result)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        result = super().__array_function__(function, types, args, kwargs)
        sizes = (one.size for one in (*args, result) if isinstance(one, np.ndarray))
        _Counted.count += max(sizes, default=0)
        return _counted(result)


def _counted(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_counted, value))
    return value.view(_Counted) if isinstance(value, np.ndarray) else value


def _uncounted(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, _Counted) else value


@remote_measurement
def work_done(function: Callable[..., Any], /, *args: Any) -> int:
    """Count the lines of Python that one call runs, plus the numbers that NumPy computes for it."""
    numpy: Any = np  # else mypy objects to replacing a module's attributes
    makers = {name: getattr(np, name) for name in ("array", "asarray", "ascontiguousarray")}

    def kept(make: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function that makes plain arrays, so that computing with its result is counted."""

        def made(value: Any, *others: Any, **options: Any) -> Any:
            result = make(value, *others, **options)
            return _counted(result) if isinstance(value, _Counted) else result

        return made

    _Counted.count = 0
    try:
        for name, make in makers.items():
            setattr(numpy, name, kept(make))
        lines = lines_run(function, *map(_counted, args))
    finally:
        for name, make in makers.items():
            setattr(numpy, name, make)
    return lines + _Counted.count


def thread_time() -> float:
    """Return the CPU time of this thread, or of the process if there is no such clock."""
    return time.thread_time() if hasattr(time, "thread_time") else time.process_time()


def growth_of_work(
    function: Callable[..., Any],
    arguments: Callable[[int], tuple[Any, ...]],
    sizes: tuple[int, int],
) -> float:
    """Return how many times the work of a call grows between two sizes of its arguments."""
    work_done(function, *arguments(sizes[0]))  # leaves out work that only the first call does
    small, large = (work_done(function, *arguments(size)) for size in sizes)
    return large / max(small, 1)
