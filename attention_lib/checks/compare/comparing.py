"""Compare a result with the reference, and say what is wrong with it."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Observation
from attention_lib.checks.calls.tensors import as_numbers, is_tensor, precision_of, short_dtype
from attention_lib.checks.compare.cases import EXACT, SLACK, Expected, Trial
from attention_lib.checks.wording import described, distinguished

NUMERIC = (np.ndarray, np.generic, int, float)


@dataclass(frozen=True)
class Part:
    """One array of a result, with the right one."""

    name: str  # "result 2", or "part 1 of result 2" if nested; empty for a single array
    value: Any
    expected: Expected
    allowed: Any

    @property
    def numbers(self) -> NDArray[Any] | None:
        """The value as an array of real numbers, or None."""
        value = as_numbers(self.value)
        got = np.asarray(value) if isinstance(value, NUMERIC) else None
        return got if got is not None and got.dtype.kind in "biuf" else None

    @functools.cached_property
    def off(self) -> NDArray[np.bool_] | None:
        """A mask of the wrong entries; None if the value has another shape or is not numeric."""
        got = self.numbers
        if got is None or got.shape != self.expected.values.shape:
            return None
        return differing(got, self.expected.values, self.allowed)

    @property
    def is_wrong(self) -> bool:
        """Whether the value is wrong in more than its type or dtype."""
        return self.off is None or bool(self.off.any())


def parts_of(value: Any, trial: Trial) -> tuple[Part, ...] | None:
    """Pair each array of a result with the right one; None if their number differs."""
    try:
        return tuple(_parts_in(value, trial.expected, trial.allowed, ""))
    except _AnotherCount:
        return None


class _AnotherCount(Exception):
    """A result has too few or too many parts."""


def _parts_in(value: Any, expected: Any, allowed: Any, name: str) -> Iterator[Part]:
    if not isinstance(expected, tuple):
        yield Part(name, value, expected, allowed)
        return
    if not isinstance(value, (tuple, list)) or len(value) != len(expected):
        raise _AnotherCount
    for number, (one, right, size) in enumerate(zip(value, expected, allowed, strict=True), 1):
        inner = f"part {number} of {name}" if name else f"result {number}"
        yield from _parts_in(one, right, size, inner)


@dataclass(frozen=True, eq=False)
class Comparison:
    """An answer's call on one case, compared with the expected result; cached."""

    name: str  # of the exercise
    trial: Trial
    seen: Observation

    @property
    def stopped(self) -> bool:
        """Whether the call ended in an error that the contract does not require."""
        error, raises = self.seen.error, self.trial.case.raises
        return error is not None and not (raises and isinstance(error, raises))

    @property
    def failed(self) -> bool:
        """Whether the call is wrong in any way."""
        return self.stopped or self.problem is not None

    @functools.cached_property
    def problem(self) -> str | None:
        """A sentence on what is wrong with the returned value, or None."""
        if self.seen.error is not None:
            return None
        name, value, case = self.name, self.seen.value, self.trial.case
        if case.raises:
            return f"it returned {described(value)}."  # results() says what it should raise
        if case.verify:
            if value is None:
                return f"{name} returned None: does every way through it end in a return?"
            try:
                return case.verify(value)
            except (TypeError, ValueError):  # a list of dates, for example
                return f"{name} returned {described(value)}, which cannot be compared with numbers."
        if self.parts is None:
            return _problem_with_count(name, value, self.trial.expected, "result")
        for part in self.parts:
            sentence = _problem_with_part(
                self._name_of(part), part.value, part.expected, part.allowed
            )
            if sentence:
                return sentence
        return None

    @functools.cached_property
    def parts(self) -> tuple[Part, ...] | None:
        """The arrays of the result, each with the right one; None if they cannot be compared."""
        case = self.trial.case
        if self.seen.error is not None or case.raises or case.verify:
            return None
        return parts_of(self.seen.value, self.trial)

    @property
    def wrong_dtype(self) -> str | None:
        """A sentence on a dtype that is wrong for any numbers."""
        named = ((self._name_of(part), part) for part in self.parts or ())
        found = (_problem_with_dtype(name, part.value, part.expected) for name, part in named)
        return next(filter(None, found), None)

    @property
    def has_another_kind(self) -> bool:
        """Whether a result has floats, integers or booleans where another kind is required."""
        return any(
            part.expected.device is None
            and part.numbers is not None
            and part.numbers.dtype.kind != np.dtype(part.expected.dtype).kind
            for part in self.parts or ()
        )

    @property
    def wide_dtype(self) -> str | None:
        """A remark on a dtype that is wider than required."""
        named = ((self._name_of(part), part) for part in self.parts or ())
        return next(filter(None, (_remark_on_dtype(*each) for each in named)), None)

    def _name_of(self, part: Part) -> str:
        return f"{part.name.capitalize()} of {self.name}" if part.name else self.name

    @functools.cached_property
    def wrong_in_numbers(self) -> bool:
        """Whether the value is wrong in more than its type or dtype."""
        case = self.trial.case
        if case.raises:
            return self.seen.error is None
        if case.verify:
            return self.problem is not None
        return self.parts is None or any(part.is_wrong for part in self.parts)


def is_spoiled(one: Comparison) -> bool:
    """Tell whether a wrong entry of a result is NaN or infinite."""
    return any(
        part.off is not None
        and part.numbers is not None
        and bool((part.off & ~np.isfinite(part.numbers)).any())
        for part in one.parts or ()
    )


def in_own_dtype(one: Comparison) -> Comparison:
    """Judge a result of a narrower dtype by that dtype's tolerance."""
    values = [part.value for part in one.parts or () if hasattr(part.value, "dtype")]
    coarsest = max(map(_limits_of, values), key=lambda limits: float(limits.eps), default=EXACT)
    factor = float(coarsest.eps) / float(one.trial.precision.eps)
    if factor <= 1 or not one.wrong_dtype:
        return one
    allowed = one.trial.allowed
    scaled = (
        tuple(factor * each for each in allowed) if isinstance(allowed, tuple) else factor * allowed
    )
    trial = dataclasses.replace(one.trial, allowed=scaled, precision=coarsest)
    return dataclasses.replace(one, trial=trial)


def _limits_of(value: Any) -> Any:
    if is_tensor(value):
        return precision_of(value) or EXACT
    return np.finfo(value.dtype) if value.dtype.kind == "f" else EXACT


def _problem_with_count(name: str, value: Any, expected: Any, part: str) -> str | None:
    """Return a sentence on too few or too many results; `part` is the word for one of them."""
    if not isinstance(expected, tuple):
        return None
    if not isinstance(value, (tuple, list)) or len(value) != len(expected):
        return f"{name} returned {described(value)}; it should return {len(expected)} {part}s."
    of_each = (
        _problem_with_count(f"{part.capitalize()} {number} of {name}", one, right, "part")
        for number, (one, right) in enumerate(zip(value, expected, strict=True), 1)
    )
    return next(filter(None, of_each), None)


def _problem_with_part(name: str, value: Any, expected: Expected, allowed: Any) -> str | None:
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
        shapes = f"shape {got.shape}; it should be {expected.values.shape}"
        about = _with_other_axes(got.shape, expected.values.shape)
        return f"{name} returned {shapes}.{about or _in_another_order(got, expected, allowed)}"
    sentence = _problem_with_dtype(name, value, expected)
    return sentence or _problem_with_values(name, got, expected, allowed)


def _with_other_axes(got: tuple[int, ...], right: tuple[int, ...]) -> str:
    """Return a sentence on an extra axis, missing leading axes, or axes merged into one."""
    for place in range(len(right) + 1):
        if got == (*right[:place], 1, *right[place:]):
            return f" Its axis {place}, of length 1, is one too many."
        if right[place : place + 1] == (1,) and got == right[:place] + right[place + 1 :]:
            return f" Its axis {place}, of length 1, is missing."
    for count in range(2, len(right) + 1):
        if got == (math.prod(right[:count]), *right[count:]):
            which = f"leading axes, {right[:count]}," if right[count:] else "axes"
            return f" The {which} have become one: reshape the result."
    if got and got == right[-len(got) :]:
        return f" The leading axes, {right[: -len(got)]}, are missing: there may be any number of them."
    return ""


def _in_another_order(got: NDArray, expected: Expected, allowed: Any) -> str:
    """Return a sentence if a result is right except for the order of its axes."""
    for order in itertools.permutations(range(min(got.ndim, 4))):  # more have too many orders
        turned = got.transpose(*order, *range(4, got.ndim))
        fits = turned.shape == expected.values.shape and turned.size > 1
        if fits and not differing(turned, expected.values, allowed).any():
            return " These are the right numbers, but their axes are in another order."
    return ""


def _problem_with_dtype(name: str, value: Any, expected: Expected) -> str | None:
    if expected.scalar or not hasattr(value, "dtype") or value.dtype == expected.dtype:
        return None
    got, right = value.dtype, expected.dtype
    if is_tensor(value):
        got, right = short_dtype(got), short_dtype(right)
    elif expected.may_be_wider if is_wider(value, expected) else _is_whole(value, expected):
        return None
    origin = _origin_of_dtype(got, right)
    return f"{name} returned dtype {got}; for this input it should be {right}.{origin}"


def _is_whole(value: np.ndarray, expected: Expected) -> bool:
    """Tell whether integers are expected, and the value has any integer or floating dtype."""
    return expected.dtype.kind in "iu" and value.dtype.kind in "iuf"


def is_wider(value: Any, expected: Expected) -> bool:
    """Tell whether a floating array has a wider dtype than required."""
    return (
        isinstance(value, np.ndarray)
        and value.dtype.kind == "f" == np.dtype(expected.dtype).kind
        and value.dtype.itemsize > np.dtype(expected.dtype).itemsize
    )


def _remark_on_dtype(name: str, part: Part) -> str | None:
    """Return a remark on a right result whose dtype is wider than required."""
    value, expected = part.value, part.expected
    if expected.device or expected.scalar or not is_wider(value, expected):
        return None
    return (
        f"{name} has dtype {value.dtype}, and {expected.dtype} would do for this input."
        f"{_origin_of_dtype(value.dtype, expected.dtype)}"
    )


def _first_of_a_pair(value: Any, expected: Expected) -> str:
    """Return a sentence if the first part of a returned pair has the right shape."""
    if not isinstance(value, tuple) or len(value) != 2:
        return ""
    if np.shape(value[0]) != expected.values.shape:
        return ""
    return (
        " Its first part has the shape asked for: attention, for one, returns a pair, and "
        "attention(...)[0] is its output."
    )


def _origin_of_dtype(got: Any, right: Any) -> str:
    """Return a sentence on the cause of an unexpected dtype, or ""."""
    if (got, right) == (np.float64, np.float32):
        return " A float64 array makes what is computed with it float64."
    if isinstance(got, np.dtype) and got.kind in "iu" and right == np.float64:
        return " An array of integers holds whole numbers only."
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
    return _problem_with_dtype(name, value, expected)


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
    """Return a mask of the entries that differ by more than the tolerance."""
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


def alike(value: Any, other: Any, allowed: Any, precision: Any) -> bool:
    """Tell whether two results are equal up to rounding, with any dtypes."""
    if isinstance(value, (tuple, list)) and isinstance(other, (tuple, list)):
        parts = allowed if isinstance(allowed, tuple) else (allowed,) * len(other)
        return len(value) == len(other) and all(
            map(alike, value, other, parts, (precision,) * len(other))
        )
    if value is None:
        return other is None
    value, other = as_numbers(value), as_numbers(other)
    if not isinstance(value, NUMERIC) or not isinstance(other, NUMERIC):
        return type(value) is type(other) and value.__hash__ is not None and value == other
    value, other = np.asarray(value), np.asarray(other)
    if (
        value.shape != other.shape
        or value.dtype.kind not in "biuf"
        or other.dtype.kind not in "biuf"
    ):
        return False
    same = (value == other) | (np.isnan(value) & np.isnan(other))
    if same.all():  # as in half of the calls
        return True
    return not (differing(value, other, _rounding(other, allowed, precision)) & ~same).any()


def _rounding(numbers: NDArray, allowed: Any, precision: Any) -> Any:
    """Return the tolerance of each number in comparing two results."""
    size = np.abs(np.where(np.isfinite(numbers), numbers, 0.0))
    rounding = 8 * SLACK * float(precision.eps) * size
    for part in allowed if isinstance(allowed, tuple) else (allowed,):
        if part is not None and _broadcasts(part, numbers.shape):
            return rounding + part
    if not size.ndim:
        return rounding
    # No tolerance has this shape. A sum that nearly cancels has the rounding error of its terms,
    # which are as large as its neighbors.
    return rounding + SLACK * float(precision.eps) * size.max(axis=-1, keepdims=True, initial=0.0)


def _broadcasts(array: Any, shape: tuple[int, ...]) -> bool:
    own = np.shape(array)  # np.broadcast_to would take several times as long
    return len(own) <= len(shape) and all(
        size in (1, other) for size, other in zip(own[::-1], shape[::-1], strict=False)
    )
