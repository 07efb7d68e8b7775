"""Hypotheses about a wrong answer: what an answer with a certain fault would return on each call."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from attention_lib.checks.calls.case import Case
from attention_lib.checks.calls.observation import Observation
from attention_lib.checks.calls.timeouts import OutOfTime, time_limit
from attention_lib.checks.cases import widened_arguments
from attention_lib.checks.changed_arguments import ArgumentChange, changes_for
from attention_lib.checks.exercise import Exercise, Mistake

MISTAKE_SECONDS = 1.0  # for one call of a known mistake: some never end


@dataclass(eq=False)
class Hypothesis:
    """One fault, or two, and the function that makes them."""

    exercise: Exercise
    sentences: tuple[str, ...]  # one for each fault
    variant: Any  # of a known mistake, or the reference
    change: ArgumentChange | None = None  # of the arguments it is called with
    mistake: Mistake | None = None
    _observed: dict[Case, Observation] = field(default_factory=dict)

    def applies(self, case: Case) -> bool:
        """Tell whether all of its faults can show on this call."""
        return self.change is None or self.change.changed(self.exercise, case) is not None

    def predict(self, case: Case) -> Observation:
        """Observe what it does on a call; changed arguments are in float64."""
        try:
            if self.change is None:
                return _observed_once(self.exercise, self.variant, case)
            if case not in self._observed:
                self._observed[case] = self._observe_changed(self.change, case)
            return self._observed[case]
        except OutOfTime:
            return Observation(out_of_time=True)

    def _observe_changed(self, change: ArgumentChange, case: Case) -> Observation:
        args, kwargs = case.args, case.kwargs
        if self.exercise.accelerated:  # of tensors, widening copies some alone
            args, kwargs = copy.deepcopy((args, kwargs))
        wide = Case(*widened_arguments(args), **widened_arguments(kwargs))
        return _observed(self.exercise, self.variant, change.changed(self.exercise, wide) or wide)


@functools.lru_cache(maxsize=4096)
def _observed_once(exercise: Exercise, variant: Any, case: Case) -> Observation:
    """Observe a known mistake; every wrong answer is compared with the same observations.

    Running out of time is raised: on a busy machine it may do so once, and is not cached.
    """
    args, kwargs = copy.deepcopy((case.args, case.kwargs))
    return _observed(exercise, variant, Case(*args, **kwargs))


def _observed(exercise: Exercise, variant: Any, case: Case) -> Observation:
    """Call a function of this library, which need not be watched as a learner's is."""
    with time_limit(MISTAKE_SECONDS):
        return called(exercise, variant, case)


def called(exercise: Exercise, variant: Any, case: Case) -> Observation:
    """Call it without a time limit of its own, which takes longer than most calls."""
    try:
        return Observation(value=exercise.on_cases(variant)(*case.args, **case.kwargs))
    except Exception as error:
        return Observation(error=error)


def known_mistakes(exercise: Exercise) -> list[Hypothesis]:
    """List the known mistakes of an exercise, a hypothesis for each variant."""
    return [
        Hypothesis(exercise, (mistake.sentence,), variant, mistake=mistake)
        for mistake in exercise.mistakes
        if not mistake.measured
        for variant in mistake.variants
    ]


def changed_calls(exercise: Exercise, cases: Iterable[Case]) -> list[Hypothesis]:
    """List the reference, called with each change of arguments that these calls allow."""
    if exercise.run is not None:
        return []  # an argument of a launch is none of the answer's
    changes: dict[str, ArgumentChange] = {}
    for case in cases:
        for change in changes_for(exercise, case):
            changes.setdefault(change.text, change)
    return [
        Hypothesis(exercise, (change.sentence,), exercise.reference, change)
        for change in changes.values()
    ]


def joined(known: Hypothesis, changed: Hypothesis) -> Hypothesis | None:
    """Call a known mistake with changed arguments; None if both are about the same thing."""
    change = changed.change
    assert change is not None
    sentences = (*known.sentences, change.sentence_beside)
    if contradict(*sentences):
        return None
    return Hypothesis(known.exercise, sentences, known.variant, change)


def together(one: Hypothesis, other: Hypothesis) -> Hypothesis | None:
    """Make two known mistakes as one answer; None if they are not made from different parts."""
    if not hasattr(one.variant, "composed") or not hasattr(other.variant, "composed"):
        return None
    (make, parts), (other_make, other_parts) = one.variant.composed, other.variant.composed
    if make is not other_make or parts.keys() & other_parts.keys():
        return None
    sentences = (*one.sentences, *other.sentences)
    return Hypothesis(one.exercise, sentences, make(**parts, **other_parts))


# Two faults of one thing may cancel: then neither was made.
TOPICS = (("scale", "√"), ("positions",), ("mask",), ("axis",), ("once more", "mean", "divide"))


def contradict(first: str, second: str) -> bool:
    """Tell whether two sentences are about the same thing."""
    return any(
        any(word in first for word in topic) and any(word in second for word in topic)
        for topic in TOPICS
    )
