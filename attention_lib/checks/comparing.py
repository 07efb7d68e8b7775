"""Comparing a result with the reference: what is right, what rounding allows, what is wrong."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lib.checks.calls.calling import Observation
from attention_lib.checks.calls.case import Case, Stream
from attention_lib.checks.calls.tensors import (
    as_numbers,
    is_tensor,
    precision_of,
    short_dtype,
    widened,
)
from attention_lib.checks.exercise import Exercise

# Rounding allowed, in units of the dtype's epsilon at the size of the numbers formed. Right
# answers stay within a few; a mistake in float64 is off by ten thousand times as much.
SLACK = 32.0

EXACT = np.finfo(np.float64)
NUMERIC = (np.ndarray, np.generic, int, float)


@dataclass(frozen=True)
class Trial:
    """One case, what the answer did with it, and what is right."""

    case: Case
    seen: Observation = field(default_factory=Observation)
    expected: Any = None  # in the dtype of the contract, values computed in float64
    allowed: Any = None  # the rounding allowed, entry by entry
    precision: Any = EXACT  # of the arguments: the limits of their coarsest dtype


@functools.lru_cache(maxsize=32)
def cases_of(exercise: Exercise, seed: int) -> tuple[Case, ...]:
    """Return the calls an answer is tried on; a whole class is tried on the same."""
    return tuple(exercise.cases(np.random.default_rng(seed)))


@functools.lru_cache(maxsize=32)
def trials_of(exercise: Exercise, seed: int) -> tuple[Trial, ...]:
    """Return for each of these calls what is right, with nothing seen yet."""
    return tuple(_make_trial(exercise, case) for case in cases_of(exercise, seed))


def _make_trial(exercise: Exercise, case: Case) -> Trial:
    if case.raises or case.verify:
        return Trial(case, allowed=exercise.tolerance or None)
    args, kwargs = copy.deepcopy((case.args, case.kwargs))
    contract = exercise.reference(*args, **kwargs)
    wide_args, wide_kwargs = _widened(case.args), _widened(case.kwargs)
    expected = exercise.reference(*wide_args, **wide_kwargs)
    with np.errstate(over="ignore"):
        size = exercise.magnitude(*wide_args, **wide_kwargs) if exercise.magnitude else None
    precision = _coarsest((case.args, case.kwargs))
    allowed = _allowed(expected, size, precision)
    return Trial(case, Observation(), _typed(expected, contract), allowed, precision)


def _allowed(expected: Any, size: Any, precision: Any) -> Any:
    """Return the rounding allowed in each entry; for a tuple of results, a tuple of these."""
    if isinstance(expected, tuple):
        sizes = size if isinstance(size, tuple) else (size,) * len(expected)
        return tuple(map(_allowed, expected, sizes, (precision,) * len(expected)))
    expected, size = as_numbers(expected), as_numbers(size)
    size = np.abs(np.asarray(expected, np.float64)) if size is None else np.abs(size)
    eps = float(precision.eps)
    with np.errstate(over="ignore"):
        allowed = SLACK * eps * np.asarray(size, np.float64)
    # Below the smallest normal number nothing is promised; and even where the scores are so
    # large that their own rounding swallows everything, a result is not arbitrary.
    ceiling = max(1e-3, 8 * eps) * np.maximum(
        1.0, np.abs(np.where(np.isfinite(expected), expected, 0.0))
    )
    return np.minimum(allowed, ceiling) + float(precision.tiny)


@dataclass(frozen=True)
class Expected:
    """A result's exact values beside the dtype it is to have."""

    values: NDArray
    dtype: Any  # NumPy's or, of a tensor, torch's
    scalar: bool
    device: Any = None  # of a tensor


def _typed(expected: Any, contract: Any) -> Any:
    if isinstance(expected, tuple):
        return tuple(map(_typed, expected, contract))
    if is_tensor(contract):
        return Expected(as_numbers(expected), contract.dtype, False, contract.device)
    return Expected(np.asarray(expected), np.asarray(contract).dtype, np.ndim(contract) == 0)


def problem_with_result(exercise: Exercise, trial: Trial) -> str | None:
    """Say in one sentence what is wrong with the value of a call that came back."""
    name, value = exercise.name, trial.seen.value
    if trial.case.raises:
        if trial.seen.error is not None:
            return None
        return (
            f"{name} should raise {trial.case.raises.__name__} here; it returned "
            f"{described(value)}."
        )
    if trial.case.verify:
        if value is None:
            return f"{name} returned None: does every way through it end in a return?"
        return trial.case.verify(value)
    if isinstance(trial.expected, tuple):
        return _problem_with_parts("result", name, value, trial.expected, trial.allowed)
    return _problem_with_array(name, value, trial.expected, trial.allowed)


def _problem_with_parts(
    part: str, name: str, value: Any, expected: tuple[Any, ...], allowed: tuple[Any, ...]
) -> str | None:
    count = len(expected)
    if not isinstance(value, (tuple, list)) or len(value) != count:
        return f"{name} returned {described(value)}; it should return {count} {part}s."
    for number, (one, right, size) in enumerate(zip(value, expected, allowed, strict=True), 1):
        place = f"{part} {number} of {name}"
        sentence = (
            _problem_with_parts("part", place, one, right, size)
            if isinstance(right, tuple)
            else _problem_with_array(place, one, right, size)
        )
        if sentence:
            return sentence
    return None


def _problem_with_array(name: str, value: Any, expected: Expected, allowed: Any) -> str | None:
    if value is None:
        return f"{name} returned None: does every way through it end in a return?"
    if expected.device is not None:
        sentence = _problem_with_tensor(name, value, expected)
        return sentence or _problem_with_values(name, as_numbers(value), expected, allowed)
    if is_tensor(value):
        return f"{name} returned a torch tensor; it should return a NumPy array."
    if not expected.scalar and not isinstance(value, np.ndarray):
        return f"{name} returned {described(value)}; it should return a NumPy array."
    if isinstance(value, (list, tuple, dict, set, str, bytes)) or callable(value):
        return f"{name} returned {described(value)}; it should return a number."
    got = np.asarray(value)
    if got.dtype.kind not in "biuf":
        return f"{name} returned values of dtype {got.dtype}; they should be real numbers."
    if got.shape != expected.values.shape:
        return f"{name} returned shape {got.shape}; it should be {expected.values.shape}."
    kinds_fit = expected.dtype.kind in "iu" and got.dtype.kind in "iuf"
    if not expected.scalar and got.dtype != expected.dtype and not kinds_fit:
        return (
            f"{name} returned dtype {got.dtype}; for this input it should be {expected.dtype}."
            f"{_how_it_came(got.dtype, expected.dtype)}"
        )
    return _problem_with_values(name, got, expected, allowed)


def _how_it_came(got: np.dtype, right: np.dtype) -> str:
    """Say where a dtype comes from that learners do not ask for."""
    if (got, right) == (np.float64, np.float32):
        return (
            " It comes from astype(float), or from what NumPy makes itself, such as np.sqrt(3) and "
            "np.eye(3): math.sqrt and dtype= avoid it."
        )
    if got.kind in "iu" and right == np.float64:
        return " np.zeros_like and np.empty_like of integers hold whole numbers only."
    return ""


def _problem_with_tensor(name: str, value: Any, expected: Expected) -> str | None:
    if not is_tensor(value):
        return f"{name} returned {described(value)}; it should return a torch tensor."
    if tuple(value.shape) != expected.values.shape:
        return f"{name} returned shape {tuple(value.shape)}; it should be {expected.values.shape}."
    if value.device != expected.device:
        return (
            f"{name} returned a tensor on {value.device}; its inputs are on {expected.device}, "
            "and so should the result be."
        )
    if value.dtype != expected.dtype:
        return (
            f"{name} returned dtype {short_dtype(value.dtype)}; for this input it should be "
            f"{short_dtype(expected.dtype)}."
        )
    return None


def _problem_with_values(name: str, got: NDArray, expected: Expected, allowed: Any) -> str | None:
    if np.isnan(got).any():
        return f"{name} returned NaN (not a number) {_place(np.isnan(got))}."
    off = differing(got, expected.values, allowed)
    if off.any():
        spot = tuple(int(i) for i in np.argwhere(off)[0])
        got_text, right_text = _distinguished(got[spot], expected.values[spot])
        at = f" at {list(spot)}" if spot else ""
        return f"{name} gives {got_text}{at}; it should be {right_text}."
    return None


def differing(got: NDArray, expected: NDArray, allowed: Any) -> NDArray[np.bool_]:
    """Mark the entries further from the exact value than rounding explains."""
    got = got.astype(np.float64) if got.dtype.kind != "b" else got.astype(float)
    expected = np.asarray(expected, np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        close = np.abs(got - expected) <= allowed
    return ~(close | (got == expected))


def _widened(value: Any) -> Any:
    """Copy arguments with every float32 array, and every tensor, in float64."""
    if is_tensor(value):
        return widened(value) if precision_of(value) else value
    if isinstance(value, np.ndarray):
        return value.astype(np.float64) if value.dtype == np.float32 else value.copy()
    if isinstance(value, (tuple, list)):
        return type(value)(map(_widened, value))
    if isinstance(value, Stream):
        return Stream(map(_widened, value.items))
    if isinstance(value, dict):
        return {key: _widened(item) for key, item in value.items()}
    return value


def _coarsest(arguments: Any) -> Any:
    """Return the limits of the coarsest dtype among arrays and tensors, float64's for integers."""
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


def described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    if is_tensor(value):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, (bool, int, float, np.generic)):
        return f"the number {str(value)[:60]}"
    if value is None:
        return "None"
    if callable(value):
        return "a function"
    return f"an object of type {type(value).__name__}"


def _place(where: NDArray[np.bool_]) -> str:
    if where.ndim == 0:
        return "here"
    if where.all():
        return "in every place"
    return f"at {[int(i) for i in np.argwhere(where)[0]]}"


def _distinguished(got: Any, right: Any) -> tuple[str, str]:
    """Write two numbers with as many digits as it takes to tell them apart."""
    if isinstance(right, (bool, np.bool_)):
        return str(bool(got)), str(bool(right))
    for digits in range(4, 18):
        pair = f"{got + 0.0:.{digits}g}", f"{right + 0.0:.{digits}g}"  # + 0.0 writes -0 as 0
        if pair[0] != pair[1]:
            break
    return pair
