"""Make the test cases of an exercise, each with its expected result and tolerance."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case, Stream
from attention_lib.checks.calls.tensors import as_numbers, is_tensor, precision_of, widened
from attention_lib.checks.exercise import Exercise

# The tolerance, in units of the dtype's epsilon times the magnitude of the numbers formed. Right
# answers stay within a few units. A mistake in float64 is off by ten thousand times as much.
SLACK = 32.0

EXACT = np.finfo(np.float64)


@dataclass(frozen=True)
class Expected:
    """The expected values of a result, in float64, and the expected dtype."""

    values: NDArray[Any]
    dtype: Any  # of NumPy or, for a tensor, of torch
    scalar: bool
    device: Any = None  # for a tensor
    may_be_wider: bool = False  # whether a wider floating dtype is also right


@dataclass(frozen=True)
class Trial:
    """One case, with its expected result and tolerance."""

    case: Case
    expected: Any = None  # an Expected, or a tuple of them
    allowed: Any = None  # the tolerance of each entry
    precision: Any = EXACT  # the finfo of the arguments' coarsest dtype


@functools.lru_cache(maxsize=128)
def cases_of(exercise: Exercise, seed: int) -> tuple[Case, ...]:
    """Return the cases of an exercise for a seed, cached for all answers of a class."""
    return tuple(exercise.cases(np.random.default_rng(seed)))


@functools.lru_cache(maxsize=128)
def trials_of(exercise: Exercise, seed: int) -> tuple[Trial, ...]:
    """Return these cases with their expected results and tolerances."""
    return tuple(_make_trial(exercise, case) for case in cases_of(exercise, seed))


def _make_trial(exercise: Exercise, case: Case) -> Trial:
    if case.raises or case.verify:
        return Trial(case, allowed=exercise.tolerance or None)
    args, kwargs = copy.deepcopy((case.args, case.kwargs))
    contract = exercise.reference(*args, **kwargs)
    precision = _coarsest((case.args, case.kwargs))
    wide_args, wide_kwargs = widened_arguments(case.args), widened_arguments(case.kwargs)
    is_wide = precision.eps == EXACT.eps
    expected = contract if is_wide else exercise.reference(*wide_args, **wide_kwargs)
    with np.errstate(over="ignore"):
        size = exercise.magnitude(*wide_args, **wide_kwargs) if exercise.magnitude else None
    allowed = _allowed(expected, size, precision)
    typed = _typed(expected, contract, not exercise.dtype_decides)
    return Trial(case, typed, allowed, precision)


def _allowed(expected: Any, size: Any, precision: Any) -> Any:
    """Return the tolerance of each entry; for a tuple of results, a tuple of arrays."""
    if isinstance(expected, tuple):
        sizes = size if isinstance(size, tuple) else (size,) * len(expected)
        return tuple(map(_allowed, expected, sizes, (precision,) * len(expected)))
    expected, size = as_numbers(expected), as_numbers(size)
    size = np.abs(np.asarray(expected, np.float64)) if size is None else np.abs(size)
    eps = float(precision.eps)
    with np.errstate(over="ignore"):
        allowed = SLACK * eps * np.asarray(size, np.float64)
    # Subnormal results need not be right. Without the ceiling, any result would pass if the scores
    # are huge.
    ceiling = max(1e-3, 8 * eps) * np.maximum(
        1.0, np.abs(np.where(np.isfinite(expected), expected, 0.0))
    )
    return np.minimum(allowed, ceiling) + float(precision.tiny)


def _typed(expected: Any, contract: Any, may_be_wider: bool) -> Any:
    if isinstance(expected, tuple):
        return tuple(map(_typed, expected, contract, (may_be_wider,) * len(expected)))
    if is_tensor(contract):
        return Expected(as_numbers(expected), contract.dtype, False, contract.device)
    dtype, is_scalar = np.asarray(contract).dtype, np.ndim(contract) == 0
    return Expected(np.asarray(expected), dtype, is_scalar, may_be_wider=may_be_wider)


def widened_arguments(value: Any) -> Any:
    """Copy arguments, with float32 arrays and floating-point tensors converted to float64."""
    if is_tensor(value):
        return widened(value) if precision_of(value) else value
    if isinstance(value, np.ndarray):
        return value.astype(np.float64) if value.dtype == np.float32 else value.copy()
    if isinstance(value, (tuple, list)):
        return type(value)(map(widened_arguments, value))
    if isinstance(value, Stream):
        return Stream(map(widened_arguments, value.items))
    if isinstance(value, dict):
        return {key: widened_arguments(item) for key, item in value.items()}
    return value


def _coarsest(arguments: Any) -> Any:
    """Return the finfo of the coarsest dtype among arrays and tensors. Integers count as float64."""
    limits = [
        precision_of(array)
        if is_tensor(array)
        else np.finfo(np.float32 if array.dtype == np.float32 else np.float64)
        for array in _arrays(arguments)
    ]
    return max(filter(None, limits), key=lambda limit: float(limit.eps), default=EXACT)


def _arrays(value: Any) -> Iterator[Any]:
    if isinstance(value, np.ndarray) or is_tensor(value):
        yield value
    elif isinstance(value, Stream):
        yield from value.items
    elif isinstance(value, dict):
        yield from _arrays(tuple(value.values()))
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _arrays(item)
