"""What is left of a wrong answer once a small change has taken one of two faults away."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.calls.observation import Observation
from attention_lib.checks.changed_arguments import changes_for
from attention_lib.checks.comparing import Comparison, differ_in_numbers, differing
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.hypotheses import (
    Evidence,
    Hypothesis,
    best_of,
    contradict,
    explains,
    is_right_too,
    quiet,
    tells,
)

CLOSE = 1e-3  # of a result's size: what is this near is compared with care


class Leftovers:
    """The known mistakes and changed calls that a second fault may be.

    Many changed answers are tried, so the results on one call are computed once for all of them.
    """

    def __init__(
        self, exercise: Exercise, failing: Sequence[Comparison], passing: Sequence[Comparison]
    ) -> None:
        self._exercise, self._failing, self._passing = exercise, failing, passing

    @functools.cached_property
    def _hypotheses(self) -> list[Hypothesis]:
        exercise = self._exercise
        if exercise.run is not None or any(one.trial.case.verify for one in self._failing):
            return []
        changes = {
            change.text: change
            for one in reversed(self._failing)
            for change in changes_for(exercise, one.trial.case)
        }
        return Evidence(exercise, ()).known + [
            Hypothesis(exercise, (change.sentence,), exercise.reference, change)
            for change in changes.values()
        ]

    def may_be(self, value: object) -> bool:
        """Tell whether a result on the first failing call is nearly that of a known fault."""
        result = _flattened(value)
        if result is None or result[0] not in self._predicted:
            return False
        shape, numbers = result
        others = self._predicted[shape]
        with np.errstate(all="ignore"):
            size = np.abs(others).max(axis=-1, keepdims=True, initial=0.0)
            near = np.abs(others - numbers) <= CLOSE * size
        return bool((near | (np.isnan(others) & np.isnan(numbers))).all(axis=-1).any())

    @functools.cached_property
    def _predicted(self) -> dict[tuple[tuple[int, ...], ...], NDArray[np.float64]]:
        """The wrong results of known faults on the first failing call, by their shapes."""
        trial = self._failing[0].trial
        if trial.case.raises:
            return {}
        by_shape: dict[tuple[tuple[int, ...], ...], list[NDArray[np.float64]]] = {}
        with quiet():
            for hypothesis in self._hypotheses:
                if not hypothesis.applies(trial.case):
                    continue
                predicted = hypothesis.predict(trial.case)
                result = _flattened(predicted.value)
                if result and differ_in_numbers(predicted.value, trial.expected, trial.allowed):
                    by_shape.setdefault(result[0], []).append(result[1])
        return {shape: np.stack(numbers) for shape, numbers in by_shape.items()}

    @property
    def _in_order(self) -> list[Comparison]:
        first, *others = self._failing
        return [first, *reversed(others), *self._passing]

    def sentence(self, observed: Callable[[Case], Observation], change: str, helps: bool) -> str:
        """Say which fault is left after a change; empty if none is known.

        Parameters
        ----------
        observed
            Calls the changed answer on a case.
        change
            The sentence that says what is changed. Nothing is said of a fault that is about the
            same thing: the change may have brought it in.
        helps
            The change makes the first failing call right, and none wrong. Then a fault that gives
            most results that are still wrong is enough; otherwise it must give all of them.
        """
        comparisons = self._after(observed)
        hypotheses = self._hypotheses
        seen: list[Comparison] = []
        with quiet():
            for before, one in zip(self._in_order, comparisons, strict=True):
                if _spoils(before, one):
                    return ""
                seen.append(one)
                fits = explains if one.wrong_in_numbers else is_right_too
                if one.stopped or (one.wrong_in_numbers and one.trial.case.raises):
                    return ""  # there is an error as well
                hypotheses = [hypothesis for hypothesis in hypotheses if fits(hypothesis, one)]
                if not hypotheses:
                    break
        if hypotheses:
            wrong = [one for one in seen if one.wrong_in_numbers]
            sentence = hypotheses[0].sentences[0] if tells(wrong, wrong) else ""
        else:
            sentence = self._most([*seen, *comparisons]) if helps else ""
        return "" if contradict(change.replace("sqrt", "√"), sentence) else sentence

    def _after(self, observed: Callable[[Case], Observation]) -> Iterator[Comparison]:
        """Yield the comparisons of a changed answer, those likeliest to rule a fault out first."""
        for one in self._in_order:
            yield dataclasses.replace(one, seen=observed(one.trial.case))

    def _most(self, comparisons: Sequence[Comparison]) -> str:
        """Name the fault that gives more than half of the wrong results."""
        wrong = [one for one in comparisons if one.wrong_in_numbers]
        right = [one for one in comparisons if not one.wrong_in_numbers]
        if not wrong or any(one.stopped or one.trial.case.raises for one in wrong):
            return ""
        best = best_of(self._hypotheses, wrong[0], wrong, right)
        if best is None or 2 * len(best.explained) <= len(wrong):
            return ""
        return best.hypothesis.sentences[0]


def _spoils(before: Comparison, after: Comparison) -> bool:
    """Tell whether a change makes numbers wrong that were right: then it brings in a fault."""
    trial = before.trial
    if before.seen.error is not None or trial.case.raises or after.seen.error is not None:
        return False
    if after.wrong_in_numbers and not before.wrong_in_numbers:
        return True
    one, other = _wrong_entries(before), _wrong_entries(after)
    return one.shape == other.shape and bool((other & ~one).any())


def _wrong_entries(comparison: Comparison) -> NDArray[np.bool_]:
    """Mark the wrong numbers of a result, all parts in one; none where its shape is wrong too."""
    value, trial = comparison.seen.value, comparison.trial
    if isinstance(trial.expected, tuple):
        parts = list(zip(value, trial.expected, trial.allowed, strict=False))
    else:
        parts = [(value, trial.expected, trial.allowed)]
    if any(np.shape(got) != np.shape(right.values) for got, right, _ in parts):
        return np.zeros(0, bool)
    return np.concatenate(
        [differing(np.asarray(got), right.values, size).ravel() for got, right, size in parts]
    )


def _flattened(value: object) -> tuple[tuple[tuple[int, ...], ...], NDArray[np.float64]] | None:
    """Return the shapes of a result's parts and all their numbers; None for anything else."""
    parts = value if isinstance(value, (tuple, list)) else (value,)
    arrays = []
    for part in parts:
        if not isinstance(part, (np.ndarray, np.generic, int, float)):
            return None
        arrays.append(np.asarray(part))
        if arrays[-1].dtype.kind not in "iuf":
            return None
    if not arrays:
        return None
    numbers = np.concatenate([array.astype(np.float64).ravel() for array in arrays])
    return tuple(array.shape for array in arrays), numbers
