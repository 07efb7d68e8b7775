"""Comparing a result with the reference: is it right, and the sentence that says what is not."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lib.checks.calls.observation import Observation
from attention_lib.checks.calls.tensors import as_numbers, is_tensor, short_dtype
from attention_lib.checks.cases import SLACK, Expected, Trial
from attention_lib.checks.wording import described, distinguished

NUMERIC = (np.ndarray, np.generic, int, float)


@dataclass(frozen=True)
class Comparison:
    """What an answer did on one case, compared once with what is right on it."""

    name: str  # of the exercise
    trial: Trial
    seen: Observation

    @property
    def stopped(self) -> bool:
        """Whether the call ended in an error that the contract does not ask for."""
        error, raises = self.seen.error, self.trial.case.raises
        return error is not None and not (raises and isinstance(error, raises))

    @property
    def failed(self) -> bool:
        """Whether the answer did anything but what is right on this case."""
        return self.stopped or self.problem is not None

    @functools.cached_property
    def problem(self) -> str | None:
        """What is wrong with the value that came back, in one sentence."""
        if self.seen.error is not None:
            return None
        name, value, case = self.name, self.seen.value, self.trial.case
        if case.raises:
            return (
                f"{name} should raise {case.raises.__name__} here; it returned {described(value)}."
            )
        if case.verify:
            if value is None:
                return f"{name} returned None: does every way through it end in a return?"
            return case.verify(value)
        return _problem_with(name, value, self.trial.expected, self.trial.allowed, "result")

    @functools.cached_property
    def wrong_in_numbers(self) -> bool:
        """Whether the value is wrong in more than its type or dtype."""
        value, case = self.seen.value, self.trial.case
        if case.raises:
            return True
        if case.verify:
            return self.problem is not None
        return differ_in_numbers(value, self.trial.expected, self.trial.allowed)


def _problem_with(name: str, value: Any, expected: Any, allowed: Any, part: str) -> str | None:
    """Say what is wrong with a value; `part` is what each of several is called."""
    if not isinstance(expected, tuple):
        return _problem_with_array(name, value, expected, allowed)
    count = len(expected)
    if not isinstance(value, (tuple, list)) or len(value) != count:
        return f"{name} returned {described(value)}; it should return {count} {part}s."
    for number, (one, right, size) in enumerate(zip(value, expected, allowed, strict=True), 1):
        sentence = _problem_with(f"{part} {number} of {name}", one, right, size, "part")
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
        return (
            f"{name} returned {described(value)}; it should return a NumPy array."
            f"{_first_of_a_pair(value, expected)}"
        )
    if isinstance(value, (list, tuple, dict, set, str, bytes)) or callable(value):
        return f"{name} returned {described(value)}; it should return a number."
    got = np.asarray(value)
    if got.dtype.kind not in "biuf":
        return f"{name} returned values of dtype {got.dtype}; they should be real numbers."
    if got.shape != expected.values.shape:
        return f"{name} returned shape {got.shape}; it should be {expected.values.shape}."
    fits = expected.dtype.kind in "iu" and got.dtype.kind in "iuf"
    if is_wider(got, expected):
        fits = expected.may_be_wider
    if not expected.scalar and got.dtype != expected.dtype and not fits:
        return (
            f"{name} returned dtype {got.dtype}; for this input it should be {expected.dtype}."
            f"{_origin_of_dtype(got.dtype, expected.dtype)}"
        )
    return _problem_with_values(name, got, expected, allowed)


def is_wider(value: Any, expected: Expected) -> bool:
    """Tell whether a floating array has a wider dtype than asked for."""
    return (
        isinstance(value, np.ndarray)
        and value.dtype.kind == "f" == np.dtype(expected.dtype).kind
        and value.dtype.itemsize > np.dtype(expected.dtype).itemsize
    )


def remark_on_dtype(name: str, value: Any, expected: Any) -> str | None:
    """Say of a right result that its dtype is wider than asked for."""
    if isinstance(expected, tuple):
        said = (
            remark_on_dtype(f"result {number} of {name}", one, right)
            for number, (one, right) in enumerate(zip(value, expected, strict=True), 1)
        )
        return next(filter(None, said), None)
    if expected is None or expected.device or expected.scalar or not is_wider(value, expected):
        return None
    return (
        f"{name} has dtype {value.dtype}, and {expected.dtype} would do for this input."
        f"{_origin_of_dtype(value.dtype, expected.dtype)}"
    )


def _first_of_a_pair(value: Any, expected: Expected) -> str:
    """Say that the first part of a pair, such as attention returns, has the shape asked for."""
    if not isinstance(value, tuple) or len(value) != 2:
        return ""
    if np.shape(value[0]) != expected.values.shape:
        return ""
    return (
        " Its first part has the shape asked for: attention, for one, returns a pair, and "
        "attention(...)[0] is its output."
    )


def _origin_of_dtype(got: np.dtype, right: np.dtype) -> str:
    """Say where a dtype comes from that learners do not ask for."""
    if (got, right) == (np.float64, np.float32):
        return (
            " It comes from astype(float), from an argument that is float64, or from what NumPy makes "
            "itself, such as np.sqrt(3) and np.eye(3): astype, math.sqrt and dtype= mend it."
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
        return f"{name} returned NaN (not a number) {_where(np.isnan(got))}."
    off = differing(got, expected.values, allowed)
    if off.any():
        spot = tuple(int(i) for i in np.argwhere(off)[0])
        got_text, right_text = distinguished(got[spot], expected.values[spot])
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


def _where(marked: NDArray[np.bool_]) -> str:
    if marked.ndim == 0:
        return "here"
    if marked.all():
        return "in every place"
    return f"at {[int(i) for i in np.argwhere(marked)[0]]}"


def differ_in_numbers(value: Any, expected: Any, allowed: Any) -> bool:
    if isinstance(expected, tuple):
        return (
            not isinstance(value, (tuple, list))
            or len(value) != len(expected)
            or any(map(differ_in_numbers, value, expected, allowed))
        )
    value = as_numbers(value)
    if hasattr(value, "differs"):  # kept as a checksum
        return value.differs(expected.values, allowed)
    return (
        not isinstance(value, NUMERIC)
        or np.asarray(value).dtype.kind not in "biuf"
        or np.shape(value) != expected.values.shape
        or bool(differing(np.asarray(value), expected.values, allowed).any())
    )


def alike(value: Any, other: Any, allowed: Any, precision: Any) -> bool:
    """Tell whether two results are the same but for rounding, whatever their dtypes."""
    if isinstance(value, (tuple, list)) and isinstance(other, (tuple, list)):
        parts = allowed if isinstance(allowed, tuple) else (allowed,) * len(other)
        return len(value) == len(other) and all(
            map(alike, value, other, parts, (precision,) * len(other))
        )
    if value is None:
        return other is None
    value, other = as_numbers(value), as_numbers(other)
    if isinstance(value, NUMERIC) and hasattr(other, "differs"):  # kept as a checksum
        value = np.asarray(value)
        numeric = value.dtype.kind in "biuf"
        return numeric and not other.differs(value, _rounding(value, allowed, precision))
    if not isinstance(value, NUMERIC) or not isinstance(other, NUMERIC):
        return type(value) is type(other) and value.__hash__ is not None and value == other
    value, other = np.asarray(value), np.asarray(other)
    if (
        value.shape != other.shape
        or value.dtype.kind not in "biuf"
        or other.dtype.kind not in "biuf"
    ):
        return False
    both_nan = np.isnan(value) & np.isnan(other)
    rounding = _rounding(other, allowed, precision)
    return not (differing(value, other, rounding) & ~both_nan).any()


def _rounding(numbers: NDArray, allowed: Any, precision: Any) -> Any:
    """Return by how much each number of two results that are alike may differ."""
    size = np.abs(np.where(np.isfinite(numbers), numbers, 0.0))
    rounding = 8 * SLACK * float(precision.eps) * size
    for part in allowed if isinstance(allowed, tuple) else (allowed,):
        if part is not None and _broadcasts(part, numbers.shape):
            return rounding + part
    if not size.ndim:
        return rounding
    # Of another shape than the right one: a sum that nearly cancels has the rounding of its terms,
    # which are of the size of its neighbors.
    return rounding + SLACK * float(precision.eps) * size.max(axis=-1, keepdims=True, initial=0.0)


def _broadcasts(array: Any, shape: tuple[int, ...]) -> bool:
    try:
        np.broadcast_to(array, shape)
    except ValueError:
        return False
    return True
