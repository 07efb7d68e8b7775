"""Compare hypotheses with every call and result of a wrong answer, and find covers.

A hypothesis explains a wrong result if it predicts the same numbers. It accuses a right result if
it predicts other numbers. A cover is a hypothesis, of one fault or two, that explains wrong results
and accuses no right one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from attention_lib.checks.calls.tensors import as_numbers
from attention_lib.checks.compare.comparing import NUMERIC, Comparison, alike, parts_of
from attention_lib.checks.exercise import Exercise, Mistake
from attention_lib.checks.hypotheses.hypothesis import (
    Hypothesis,
    hypotheses_of,
    together,
)
from attention_lib.checks.patch import Patch

ENOUGH_WITH_NAN = 4  # calls, if all wrong numbers are NaN
MOST_PAIRS = 4000  # of mistakes, tried on one call

Parts = frozenset[int]  # results of a call, counted from 0


@dataclass(frozen=True)
class Fit:
    """How a hypothesis fits one call: the results that it explains, and those it predicts right."""

    same: Parts
    right: Parts


NOTHING: Parts = frozenset()
WHOLE: Parts = frozenset({0})
NOWHERE = Fit(NOTHING, NOTHING)


class Table:
    """The calls of an answer, and how each hypothesis fits them; computed on demand."""

    def __init__(self, exercise: Exercise, comparisons: Sequence[Comparison]) -> None:
        self.exercise, self.comparisons = exercise, tuple(comparisons)
        self._fits: dict[tuple[Hypothesis, Comparison], Fit] = {}

    @cached_property
    def wrong(self) -> list[Comparison]:
        """The calls with wrong numbers."""
        return [one for one in self.comparisons if _has_numbers(one) and one.wrong_in_numbers]

    @cached_property
    def right(self) -> list[Comparison]:
        """The calls with right numbers, or with the error that the case requires."""
        return [one for one in self.comparisons if not one.stopped and not one.wrong_in_numbers]

    @cached_property
    def known(self) -> list[Hypothesis]:
        """A hypothesis for each variant of the known mistakes."""
        return hypotheses_of(self.exercise)

    def variants_of(self, mistake_id: str) -> list[Hypothesis]:
        """List the hypotheses of one known mistake; the list is empty if the id is."""
        return [one for one in self.known if one.mistake and one.mistake.id == mistake_id]

    # How a hypothesis fits

    def fit(self, hypothesis: Hypothesis, one: Comparison) -> Fit:
        """Compare a hypothesis with one call; cached."""
        key = hypothesis, one
        if key not in self._fits:
            self._fits[key] = _fit(hypothesis, one)
        return self._fits[key]

    def explains(self, hypothesis: Hypothesis, one: Comparison) -> bool:
        """Tell whether a hypothesis predicts all results of a wrong call."""
        trial = one.trial
        other = hypothesis.predict(trial.case)
        if not alike(one.seen.value, other.value, trial.allowed, trial.precision):
            return False  # the quick exit for most hypotheses
        fit, (wrong, right) = self.fit(hypothesis, one), _wrong_and_right(one)
        return wrong <= fit.same and right <= fit.right

    def is_right(self, hypothesis: Hypothesis, one: Comparison) -> bool:
        """Tell whether a hypothesis predicts the right results for a call."""
        return frozenset.union(*_wrong_and_right(one)) <= self.fit(hypothesis, one).right

    def accuses(self, hypothesis: Hypothesis) -> bool:
        """Tell whether a hypothesis is wrong for a result that is right in the answer."""
        return not all(
            _wrong_and_right(one)[1] <= self.fit(hypothesis, one).right
            for one in [*self.right, *self.wrong]
        )

    def shows(self, mistake: Mistake | None, one: Comparison) -> bool:
        """Tell whether a mistake has an effect on a call: no variant of it is right there.

        For example, a call without a cache does not show a mistake in using it.
        """
        return not any(self.is_right(each, one) for each in self.known if each.mistake is mistake)

    # Covers, those with the fewest faults first

    def whole(self) -> Mistake | None:
        """Find the known mistake that behaves like the answer on every call, errors included.

        A mistake whose errors have the same text comes first.
        """
        nearest, calls = None, sorted(self.comparisons, key=lambda one: one not in self.wrong)
        for hypothesis in self.known:
            same_words = _has_same_words(hypothesis, calls)  # wrong ones rule out most
            if same_words:
                return hypothesis.mistake
            if same_words is not None and nearest is None:
                nearest = hypothesis.mistake
        return nearest

    def one(self, hypotheses: Iterable[Hypothesis]) -> Hypothesis | None:
        """Find the first hypothesis that explains all wrong numbers; other calls may end in errors."""
        if not self._is_telling:
            return None
        for hypothesis in hypotheses:
            explains_all = all(self.explains(hypothesis, one) for one in self.wrong)
            if explains_all and not self.accuses(hypothesis):
                return hypothesis
        return None

    def only(self) -> Mistake | None:
        """Find the only known mistake that explains all wrong calls, even if all numbers are NaN."""
        found = {
            one.mistake
            for one in self.known
            if all(self.explains(one, call) for call in self.wrong) and not self.accuses(one)
        }
        is_told = self._is_telling or len(self.wrong) >= ENOUGH_WITH_NAN
        return found.pop() if len(found) == 1 and is_told else None

    @cached_property
    def together(self) -> list[Hypothesis]:
        """List pairs of known mistakes that explain the first wrong call if one answer makes both."""
        first = self.wrong[0]
        made = [one for one in self.known if isinstance(one.variant, Patch)]
        silent = {one: frozenset(c for c in self.right if self.is_right(one, c)) for one in made}
        idle = {one for one in made if self.is_right(one, first)}
        alone = {one for one in made if self.explains(one, first)}
        # Many faults give NaN.
        is_one = bool(alone) and all(np.isfinite(v).all() for v in leaves(first.seen.value))
        pairs = (
            both
            for one, other in itertools.combinations(made, 2)
            if one.mistake is not other.mistake
            # If one mistake has no effect on the call, the other one must give the answer's result.
            and silent[one] == silent[other]
            and (one not in idle or other in alone)
            and (other not in idle or one in alone)
            and (not is_one or (one in alone) != (other in alone))
            and (both := together(one, other))
        )
        trial = first.trial
        return [
            both
            for both in itertools.islice(pairs, MOST_PAIRS)
            if alike(
                first.seen.value, both.predict(trial.case).value, trial.allowed, trial.precision
            )
        ]

    # When numbers are enough

    @property
    def _calls_needed(self) -> int:
        """The number of calls that a fault must explain: more if other calls end in errors."""
        return 2 if len(self.wrong) + len(self.right) == len(self.comparisons) else 3

    @cached_property
    def _is_telling(self) -> bool:
        """Whether a fault that explains all wrong calls is more than a coincidence."""
        return len(self.wrong) >= self._calls_needed and _is_telling(self.wrong)


def _wrong_and_right(one: Comparison) -> tuple[Parts, Parts]:
    """Return which results of a call are wrong in the answer, and which are right."""
    if not one.parts:
        return (WHOLE, NOTHING) if one.wrong_in_numbers else (NOTHING, WHOLE)
    wrong = frozenset(number for number, part in enumerate(one.parts) if part.is_wrong)
    return wrong, frozenset(range(len(one.parts))) - wrong


def _fit(hypothesis: Hypothesis, one: Comparison) -> Fit:
    trial, case, value = one.trial, one.trial.case, one.seen.value
    other = hypothesis.predict(case)
    if case.raises:
        did_raise = isinstance(other.error, case.raises)
        return Fit(NOTHING, WHOLE) if did_raise else NOWHERE
    if other.error is not None or other.out_of_time:
        return NOWHERE
    its = parts_of(other.value, trial)
    if one.parts is None or its is None or case.verify:  # the whole result is compared
        is_same = alike(value, other.value, trial.allowed, trial.precision)
        if is_same and not one.wrong_in_numbers:
            is_right = True
        elif case.verify:
            is_right = not is_same and case.verify(other.value) is None
        else:
            is_right = its is not None and not any(part.is_wrong for part in its)
        return Fit(NOTHING, WHOLE) if is_right else Fit(WHOLE if is_same else NOTHING, NOTHING)
    right = frozenset(number for number, part in enumerate(its) if not part.is_wrong)
    same = frozenset(
        number
        for number, (mine, part) in enumerate(zip(one.parts, its, strict=True))
        if number not in right and alike(mine.value, part.value, part.allowed, trial.precision)
    )
    return Fit(same, right)


def _has_numbers(one: Comparison) -> bool:
    """Tell whether an answer returned real numbers where numbers are required."""
    if one.seen.error is not None or one.trial.case.raises:
        return False
    return all(
        isinstance(value, NUMERIC) and np.asarray(value).dtype.kind in "biuf"
        for value in leaves(one.seen.value)
    )


def _has_same_words(hypothesis: Hypothesis, comparisons: Sequence[Comparison]) -> bool | None:
    """Compare a mistake with the answer on every call; return None if they differ.

    True means that errors have the same text, False that they have only the same type. At least one
    wrong number must be shared, because an error or a dtype proves little.
    """
    shared_a_wrong_number, same_words = False, True
    for one in comparisons:
        trial, seen = one.trial, one.seen
        other = hypothesis.predict(trial.case)
        asked_for = trial.case.raises or ()  # the text of such an error is up to the learner
        if isinstance(other.error, asked_for) and isinstance(seen.error, asked_for):
            continue
        if other.out_of_time or type(other.error).__name__ != type(seen.error).__name__:
            return None  # by name: the class may come from another process
        same_words &= repr(other.error) == repr(seen.error)
        if other.error is None:
            if not alike(seen.value, other.value, trial.allowed, trial.precision):
                return None
            shared_a_wrong_number |= one.wrong_in_numbers
    return same_words if shared_a_wrong_number else None


def leaves(value: Any) -> Iterator[Any]:
    """Yield all arrays of a nested result, even if there are too few or too many."""
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from leaves(item)
    else:
        yield as_numbers(value)


def is_finite_somewhere(one: Comparison) -> bool:
    """Tell whether a result holds any number other than NaN and infinity."""
    return any(np.isfinite(array).any() for array in leaves(one.seen.value))


def _numbers_in(one: Comparison, part: int) -> set[str]:
    """Return the distinct wrong numbers of a result as text; for booleans, the wrong places."""
    value, off = one.seen.value, None
    if one.parts:
        value, off = one.parts[part].value, one.parts[part].off
    arrays = [np.asarray(array) for array in leaves(value)]
    if off is not None:
        (array,) = arrays
        arrays = [np.argwhere(off).sum(axis=-1) + 2.0 if array.dtype == bool else array[off]]
    # Many mistakes give 0, 1, NaN or infinity. 50 numbers of an array are enough.
    arrays = [array[np.isfinite(array) & (np.abs(array) > 1e-8)] for array in arrays]
    return {f"{number:.6g}" for array in arrays for number in array[:50].tolist()} - {"1", "-1"}


def _is_telling(wrong: Sequence[Comparison]) -> bool:
    """Tell whether there are enough calls and distinct wrong numbers to prove a fault."""
    numbers = set[str]()
    for one in wrong:
        for part in range(len(one.parts or (None,))):
            numbers |= _numbers_in(one, part)
    return len(wrong) > 1 and len(numbers) > 1
