"""Find features of the calls that tell the wrong calls from the right ones."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from attention_lib.checks.calls.case import Case, Stream
from attention_lib.checks.calls.tensors import as_numbers
from attention_lib.checks.comparing import Comparison
from attention_lib.checks.exercise import Exercise

FEW = 2  # the least number of right calls
MOST_FEATURES = 2  # more features with the same split would make naming one a guess

# Ranks of features, the plainest first: an argument is given, its kind, its contents, its numbers.
GIVEN, KIND, CONTENT, NUMBERS = range(4)


class Feature(NamedTuple):
    """A feature of calls: words that follow "calls", and whether each call has it."""

    rank: int
    text: str  # with {} for the names of arguments
    names: tuple[str, ...]
    row: list[bool]

    @property
    def words(self) -> str:
        """The words, with the names of the arguments filled in."""
        *first, last = self.names if len(self.names) < 4 else (*self.names[:2], "others")
        return self.text.format(f"{', '.join(first)} and {last}" if first else last)


def contrast(exercise: Exercise, comparisons: Sequence[Comparison]) -> str:
    """Say which calls are wrong, if a feature separates them from the right ones.

    Calls that should raise do not count.

    Returns
    -------
    str
        The sentence, which is true whatever the cause; empty if no feature separates them.
    """
    compared = [one for one in comparisons if not one.trial.case.raises]
    if any(one.trial.case.verify for one in compared):
        return ""  # the exercise's own sentence says what is wrong
    wrong = [one.failed for one in compared]
    total, right = sum(wrong), len(wrong) - sum(wrong)
    if not total or right < FEW:
        return ""
    table = _table(exercise, [one.trial.case for one in compared])
    exact = _telling([one for one in table if one.row == wrong], total)
    if exact:
        who = "The one call" if total == 1 else f"All {total} calls"
        return f"{who} {exact} {_are(total)} wrong; the other {right} {_are(right)} right."
    if total > right:
        negated = [not one for one in wrong]
        opposite = _telling([one for one in table if one.row == negated], right)
        if opposite:
            return f"Only the {right} calls {opposite} are right; the other {total} are wrong."
    return ""


def contrast_of(
    exercise: Exercise, comparisons: Sequence[Comparison], marked: Sequence[Comparison]
) -> str:
    """Return words that follow "calls" and are true of the marked ones alone; else an empty string."""
    table = _table(exercise, [one.trial.case for one in comparisons])
    row = [any(one is other for other in marked) for one in comparisons]
    return _telling([one for one in table if one.row == row], len(marked))


def _telling(features: Sequence[Feature], count: int) -> str:
    """Return the words of the plainest features, unless too many have the same split."""
    texts = [one.words for one in features if one.rank == features[0].rank]
    if not features or len(texts) > MOST_FEATURES or (count == 1 and len(features) > MOST_FEATURES):
        return ""
    return " and ".join(texts)


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _table(exercise: Exercise, cases: Sequence[Case]) -> list[Feature]:
    """Return the features that divide the calls, the plainest first."""
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(
            exercise.on_cases(exercise.reference)
        ).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }
    rows: dict[tuple[int, str, str], list[bool]] = {}
    for place, case in enumerate(cases):
        for rank, text, name, holds in _features(exercise.arguments_of(case), defaults):
            rows.setdefault((rank, text, name), [False] * len(cases))[place] |= holds
    names: dict[tuple[int, str, tuple[bool, ...]], list[str]] = {}
    for (rank, text, name), row in rows.items():
        if any(row) and not all(row):
            names.setdefault((rank, text, tuple(row)), []).append(name)
    features = [
        Feature(rank, text, tuple(of), list(row)) for (rank, text, row), of in names.items()
    ]
    return sorted(features, key=lambda one: one.rank)


Told = tuple[int, str, str, bool]  # a rank, words, an argument's name, whether the call has it


def _features(arguments: dict[str, Any], defaults: dict[str, Any]) -> Iterator[Told]:
    """Yield the features of one call."""
    arrays = {}
    for name, value in (defaults | arguments).items():
        given = value is not None and value is not defaults.get(name)
        if name in defaults and name != "axis" and not isinstance(value, bool):
            yield GIVEN, "that give {}", name, given
            yield GIVEN, "that do not give {}", name, not given
        number = as_numbers(value)
        if isinstance(number, np.ndarray):
            arrays[name] = number
            yield from _features_of_array(name, number, str(getattr(value, "dtype", "")))
        elif isinstance(value, bool):
            yield GIVEN, f"with {{}}={value}", name, True
        elif isinstance(value, (int, float, np.generic)):
            yield from _features_of_number(name, value, arguments)
        elif isinstance(value, Stream):
            for item in value.items:
                yield from _contents(name, item)
        elif isinstance(value, (tuple, list)):
            yield GIVEN, "that give {}", name, True
            for item in value:
                if isinstance(item, np.ndarray):
                    yield from _contents(name, item)
                    yield CONTENT, "with more than 2 axes in {}", name, item.ndim > 2
    yield from _features_of_blocks(arrays, arguments.get("block_size"))


def _features_of_array(name: str, value: np.ndarray, dtype: str) -> Iterator[Told]:
    if value.dtype.kind == "f" and dtype != "float64":
        yield KIND, f"with {dtype.removeprefix('torch.')} numbers in {{}}", name, True
    yield KIND, "with booleans in {}", name, value.dtype == bool
    yield KIND, "with whole numbers in {}", name, value.dtype.kind in "iu"
    yield CONTENT, "with more than 2 axes in {}", name, value.ndim > 2
    yield CONTENT, "with more than 1 axis in {}", name, value.ndim > 1
    yield CONTENT, "with more than 3 axes in {}", name, value.ndim > 3
    yield from _contents(name, value)


def _contents(name: str, value: np.ndarray) -> Iterator[Told]:
    if value.dtype == bool:
        empty = bool(value.ndim) and bool((~value).all(axis=-1).any())
        yield CONTENT, "with a row of nothing but False in {}", name, empty
        return
    if value.dtype.kind == "f":
        yield CONTENT, "with -inf in {}", name, bool(np.isneginf(value).any())
        empty = bool(value.ndim) and bool(np.isneginf(value).all(axis=-1).any())
        yield CONTENT, "with a row of nothing but -inf in {}", name, empty
        yield CONTENT, "with NaN in {}", name, bool(np.isnan(value).any())
        size = np.max(np.abs(value), where=np.isfinite(value), initial=0.0)
        yield CONTENT, "with numbers beyond ±700 in {}", name, bool(size > 700)
    yield NUMBERS, "with a 0 in {}", name, bool((value == 0).any())
    if value.dtype.kind in "iu":
        yield NUMBERS, "with a number that repeats in {}", name, len(np.unique(value)) < value.size


def _features_of_number(name: str, value: Any, arguments: dict[str, Any]) -> Iterator[Told]:
    if name == "axis":
        dimensions = max((np.ndim(one) for one in arguments.values()), default=0)
        another = value not in (-1, dimensions - 1)
        yield GIVEN, "along another axis than the last", "", another
        yield KIND, "with {} counted from the front", name, value >= 0
    if not isinstance(value, (int, np.integer)) or value in (0, 1):
        yield KIND, f"with {{}}={value:.6g}", name, True
    yield KIND, "with {} below 0", name, value < 0
    yield CONTENT, "with {} above 1", name, value > 1


def _features_of_blocks(arrays: dict[str, np.ndarray], block: Any) -> Iterator[Told]:
    for name, value in arrays.items():
        if isinstance(block, int) and block > 0 and value.ndim > 1:
            yield CONTENT, "with a short last block of {}", name, value.shape[-2] % block != 0
            yield CONTENT, "with more than one block of {}", name, value.shape[-2] > block
