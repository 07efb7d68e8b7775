"""Hypotheses about a wrong answer: what a fault leads to on each call, held against its numbers."""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.calls.observation import Observation
from attention_lib.checks.calls.tensors import as_numbers
from attention_lib.checks.calls.timeouts import OutOfTime, time_limit
from attention_lib.checks.cases import widened_arguments
from attention_lib.checks.changed_arguments import Change, changes_for
from attention_lib.checks.comparing import NUMERIC, Comparison, alike, differ_in_numbers, differing
from attention_lib.checks.exercise import Exercise, Mistake

MISTAKE_SECONDS = 1.0  # for one call of a known mistake: some never end


@dataclass
class Hypothesis:
    """A fault, or two, that a learner may have made, and what it leads to on a call."""

    exercise: Exercise
    sentences: tuple[str, ...]  # one for each fault
    variant: Any  # of a known mistake, or the reference
    change: Change | None = None  # of the arguments it is called with
    mistake: Mistake | None = None
    observations: dict[Case, Observation] = field(default_factory=dict)

    def applies(self, case: Case) -> bool:
        """Tell whether all of its faults can show on this call."""
        return self.change is None or self.change.changed(self.exercise, case) is not None

    def predict(self, case: Case) -> Observation:
        """Observe what it does on a call; changed arguments are in float64."""
        try:
            if self.change is None:
                return _observed_once(self.exercise, self.variant, case)
            if case not in self.observations:
                self.observations[case] = self._observe_changed(self.change, case)
            return self.observations[case]
        except OutOfTime:
            return Observation(out_of_time=True)

    def _observe_changed(self, change: Change, case: Case) -> Observation:
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
    """Call a function of this library: there is nothing to watch it for, unlike a learner's."""
    try:
        with time_limit(MISTAKE_SECONDS):
            return Observation(value=exercise.on_cases(variant)(*case.args, **case.kwargs))
    except Exception as error:
        return Observation(error=error)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What an answer did on the calls, sorted by what it shows."""

    exercise: Exercise
    comparisons: tuple[Comparison, ...]

    @functools.cached_property
    def wrong(self) -> list[Comparison]:
        """The calls with wrong numbers."""
        return [one for one in self.comparisons if _comparable(one) and one.wrong_in_numbers]

    @functools.cached_property
    def right(self) -> list[Comparison]:
        """The calls with right numbers, or with the error that is asked for."""
        return [one for one in self.comparisons if not one.stopped and not one.wrong_in_numbers]

    @property
    def enough(self) -> int:
        """How many calls a fault must explain: more where others show nothing but an error."""
        return 2 if len(self.wrong) + len(self.right) == len(self.comparisons) else 3

    @functools.cached_property
    def known(self) -> list[Hypothesis]:
        """The known mistakes."""
        exercise = self.exercise
        return [
            Hypothesis(exercise, (mistake.sentence,), variant, mistake=mistake)
            for mistake in exercise.mistakes
            if not mistake.measured
            for variant in mistake.variants
        ]

    @functools.cached_property
    def changes(self) -> list[Change]:
        """The changes of arguments that the wrong calls allow."""
        if self.exercise.run is not None:
            return []  # an argument of a launch is none of the answer's
        by_text: dict[str, Change] = {}
        for comparison in self.wrong:
            for change in changes_for(self.exercise, comparison.trial.case):
                by_text.setdefault(change.text, change)
        return list(by_text.values())

    @functools.cached_property
    def changed(self) -> list[Hypothesis]:
        """The reference, called with changed arguments."""
        exercise = self.exercise
        return [
            Hypothesis(exercise, (change.sentence,), exercise.reference, change)
            for change in self.changes
        ]

    def changed_and_known(self) -> Iterator[Hypothesis]:
        """Yield the known mistakes, called with changed arguments, that may explain the first call.

        A change that leaves the right numbers as they are is no fault: left and right parts may be
        exchanged. Of a change and a mistake that does not show on the first call, and the other way
        round, the one that shows must explain that call by itself.
        """
        first = self.wrong[0]
        mistakes = [
            (one, is_right_too(one, first), explains(one, first))
            for one in self.known
            if one.predict(first.trial.case).error is None
        ]
        for changed in self.changed:
            change = changed.change
            if not change or not change.common or not changed.applies(first.trial.case):
                continue
            if changed.predict(first.trial.case).error is not None:
                continue
            if all(is_right_too(changed, one) for one in self.wrong):
                continue
            change_is_hidden = is_right_too(changed, first)
            change_explains = explains(changed, first)
            for one, is_hidden, mistake_explains in mistakes:
                if (is_hidden and not change_explains) or (
                    change_is_hidden and not mistake_explains
                ):
                    continue
                sentences = (*one.sentences, change.sentence_beside)
                if not contradict(*sentences):
                    yield Hypothesis(self.exercise, sentences, one.variant, change)


# Two faults of one thing may undo each other, and name none that was made.
TOPICS = (("scale", "√"), ("positions",), ("mask",), ("axis",), ("once more", "mean", "divide"))


def contradict(first: str, second: str) -> bool:
    """Tell whether two sentences are about the same thing."""
    return any(
        any(word in first for word in topic) and any(word in second for word in topic)
        for topic in TOPICS
    )


@dataclass(frozen=True)
class Explanation:
    """The hypothesis that explains most calls, and which they are."""

    hypothesis: Hypothesis
    explained: tuple[Comparison, ...]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep what known mistakes warn of from the learner."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def best_of(
    hypotheses: Iterable[Hypothesis],
    first: Comparison,
    wrong: Sequence[Comparison],
    right: Sequence[Comparison],
) -> Explanation | None:
    """Return the hypothesis that explains the first call and most wrong ones.

    It must be right wherever the answer is. If two explain equally many calls, but not all, none
    is returned.
    """
    best: list[Explanation] = []
    with quiet():
        for hypothesis in hypotheses:
            if not explains(hypothesis, first) or not all(
                is_right_too(hypothesis, one) for one in right
            ):
                continue
            explained = tuple(one for one in wrong if one is first or explains(hypothesis, one))
            if best and len(explained) > len(best[0].explained):
                best = []
            if not best or len(explained) == len(best[0].explained):
                best.append(Explanation(hypothesis, explained))
            if len(explained) == len(wrong):
                break  # none explains more, and the first of equals is returned
    if not best or not tells(best[0].explained, wrong):
        return None
    rivals = {one.hypothesis.sentences for one in best}
    return best[0] if len(rivals) == 1 or len(best[0].explained) == len(wrong) else None


def tells(explained: Sequence[Comparison], wrong: Sequence[Comparison]) -> bool:
    """Tell whether shared numbers are more than a coincidence.

    They are from two calls whose arrays have no axis of length 1, as far as there are such, and
    two of the wrong ones differ. Zeros, ones, NaN and infinities come out of many a mistake.
    """
    if sum(map(_has_sizes, explained)) < min(2, sum(map(_has_sizes, wrong))):
        return False
    numbers: set[str] = set()
    for comparison in explained:
        for value in wrong_numbers(comparison):
            numbers |= {f"{one:.6g}" for one in value[:50]} - {"0", "1", "-1", "-0", "nan"}
    return len(explained) > 1 and len(numbers) > 1


def _has_sizes(comparison: Comparison) -> bool:
    """Tell whether no array among a call's arguments has an axis of length 1."""
    case = comparison.trial.case
    return all(1 not in np.shape(value) for value in leaves([*case.args, *case.kwargs.values()]))


def wrong_numbers(comparison: Comparison) -> Iterator[NDArray[np.float64]]:
    """Yield the wrong entries of each array of a result; all of a result of another shape."""
    trial = comparison.trial
    for value, right, allowed in zip(
        leaves(comparison.seen.value),
        itertools.chain(leaves(trial.expected), itertools.repeat(None)),
        itertools.chain(leaves(trial.allowed), itertools.repeat(None)),
        strict=False,
    ):
        got = np.asarray(value)
        if got.dtype.kind == "b" and right is not None and got.shape == right.values.shape:
            places = np.argwhere(got != right.values)  # where, since there are two values only
            yield places.sum(axis=-1) + 2.0
            continue
        got = got.astype(np.float64)
        if right is not None and got.shape == np.shape(right.values):
            got = got[differing(got, right.values, allowed)]
        yield got[np.isfinite(got)].ravel()


def leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from leaves(item)
    else:
        yield as_numbers(value)


def explained_by_any(hypotheses: Iterable[Hypothesis], comparison: Comparison) -> bool:
    """Tell whether one of the hypotheses leads to the numbers of a call."""
    with quiet():
        return any(explains(hypothesis, comparison) for hypothesis in hypotheses)


def explains(hypothesis: Hypothesis, comparison: Comparison) -> bool:
    """Tell whether a hypothesis leads to the wrong numbers of a call."""
    trial, seen = comparison.trial, comparison.seen
    if not hypothesis.applies(trial.case):
        return False
    other = hypothesis.predict(trial.case)
    return (
        other.error is None
        and not other.out_of_time
        and alike(seen.value, other.value, trial.allowed, trial.precision)
        and (
            bool(trial.case.verify) or differ_in_numbers(other.value, trial.expected, trial.allowed)
        )
    )


def is_right_too(hypothesis: Hypothesis, comparison: Comparison) -> bool:
    """Tell whether a hypothesis leads to the right numbers of a call, or the error asked for."""
    trial = comparison.trial
    other = hypothesis.predict(trial.case)
    if trial.case.raises:
        return isinstance(other.error, trial.case.raises)
    if other.error is not None or other.out_of_time:
        return False
    if trial.case.verify:
        if alike(comparison.seen.value, other.value, trial.allowed, trial.precision):
            return not comparison.failed  # it is verified already
        return trial.case.verify(other.value) is None
    return not differ_in_numbers(other.value, trial.expected, trial.allowed)


def _comparable(comparison: Comparison) -> bool:
    """Tell whether an answer returned real numbers where numbers are compared."""
    seen = comparison.seen
    if seen.error is not None or comparison.trial.case.raises:
        return False
    return all(
        isinstance(value, NUMERIC) and np.asarray(value).dtype.kind in "biuf"
        for value in leaves(seen.value)
    )
