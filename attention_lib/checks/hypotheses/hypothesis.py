"""Predict what an answer with a certain fault would return on each call."""

from __future__ import annotations

import contextlib
import copy
import functools
from dataclasses import dataclass, field
from typing import Any

from attention_lib.checks.calls import timeouts
from attention_lib.checks.calls.case import Case, Observation
from attention_lib.checks.calls.timeouts import OutOfTime, time_limit
from attention_lib.checks.exercise import Exercise, Mistake
from attention_lib.checks.patch import Patch


@dataclass(eq=False)
class Hypothesis:
    """One or two faults, and a function that has them."""

    exercise: Exercise
    sentences: tuple[str, ...]  # one for each fault
    variant: Any  # the function: a variant of a known mistake, or the reference
    mistake: Mistake | None = None
    ids: tuple[str, ...] = ()  # of the faults, as keys
    _observed: dict[Case, Observation] = field(default_factory=dict)

    def predict(self, case: Case) -> Observation:
        """Observe the function on a case."""
        if self.mistake:  # each known mistake ends, so it needs no time limit
            return called_once(self.exercise, self.variant, case)
        if case not in self._observed:
            self._observed[case] = Observation(out_of_time=True)  # in case two faults never end
            with contextlib.suppress(OutOfTime), time_limit(timeouts.CALL_SECONDS):
                self._observed[case] = called_once(self.exercise, self.variant, case)
        return self._observed[case]


@functools.lru_cache(maxsize=8192)  # about ten megabytes
def called_once(exercise: Exercise, variant: Any, case: Case) -> Observation:
    """Call a function on copies of the arguments, cached for all wrong answers.

    It sets no time limit: that would take longer than most calls.
    """
    args, kwargs = copy.deepcopy((case.args, case.kwargs))
    return called(exercise, variant, Case(*args, **kwargs))


def called(exercise: Exercise, variant: Any, case: Case) -> Observation:
    """Call a function of this library."""
    if isinstance(variant, Patch):
        _ = variant.function  # outside of the try, so that an error of its author is raised
    try:
        return Observation(value=exercise.on_cases(variant)(*case.args, **case.kwargs))
    except Exception as error:
        return Observation(error=error)


def hypotheses_of(exercise: Exercise) -> list[Hypothesis]:
    """List a hypothesis for each variant of an exercise's known mistakes."""
    return [
        Hypothesis(exercise, (mistake.sentence,), variant, mistake=mistake, ids=(mistake.id,))
        for mistake in exercise.mistakes
        if not mistake.measured
        for variant in mistake.variants
    ]


def together(one: Hypothesis, other: Hypothesis) -> Hypothesis | None:
    """Combine two known mistakes that are patches, or return None if both change the same place."""
    variant = _patched_together(one.variant, other.variant)
    if variant is None:
        return None
    sentences, ids = one.sentences + other.sentences, one.ids + other.ids
    return Hypothesis(one.exercise, sentences, variant, ids=ids)


@functools.lru_cache(maxsize=8192)
def _patched_together(one: Patch, other: Patch) -> Patch | None:
    return one.with_(other)
