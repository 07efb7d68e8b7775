"""Find what else is wrong with an answer, in addition to its results."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from attention_lib.checks.attempt import Attempt
from attention_lib.checks.calls.calling import observe
from attention_lib.checks.calls.case import Observation
from attention_lib.checks.compare.comparing import Comparison
from attention_lib.checks.exercise import OfAnyNumbers
from attention_lib.checks.findings.finding import Finding
from attention_lib.checks.findings.measured import measured
from attention_lib.checks.findings.observed import changed, results, warned
from attention_lib.checks.hypotheses.hypothesis import Hypothesis


def sides(attempt: Attempt, said: Sequence[Finding]) -> Iterator[Finding]:
    """Yield findings on effects that the earlier findings do not cover.

    An effect of a known mistake counts as covered by its sentence.
    """
    named = [each for one in said for each in attempt.table.variants_of(one.id)]
    topics = frozenset[str]().union(*(one.topics for one in said))
    labels = {one.label for one in said}
    has_edit = "edit" in labels  # it also covers what is left
    if not has_edit:
        yield from _missing_error(attempt, said, named)
    if not has_edit and "dtype" not in topics:
        yield from _wrong_dtype(attempt, named)
    if "warns" not in topics:
        yield from _warning(attempt, named)
    if "measured" not in labels:
        yield from _measured(attempt, said, named)
    if not has_edit and "changed" not in topics:
        yield from _changed_input(attempt, named)


def _missing_error(
    attempt: Attempt, said: Sequence[Finding], named: Sequence[Hypothesis]
) -> Iterator[Finding]:
    if any(one.evidence is not None and one.evidence.trial.case.raises for one in said):
        return
    for one in attempt.failing:
        case = one.trial.case
        if case.raises:
            if all(each.predict(case).error for each in named):
                yield next(results(attempt.of([one])))
            return


def _wrong_dtype(attempt: Attempt, named: Sequence[Hypothesis]) -> Iterator[Finding]:
    decides = attempt.exercise.dtype_decides
    for one in attempt.comparisons:
        if one.wrong_dtype and (decides or one.has_another_kind):
            by_mistake = (
                dataclasses.replace(one, seen=each.predict(one.trial.case)) for each in named
            )
            if not any(other.wrong_dtype or other.wide_dtype for other in by_mistake):
                yield Finding("dtype", one.wrong_dtype, one, topics=frozenset({"dtype"}))
            return


def _warning(attempt: Attempt, named: Sequence[Hypothesis]) -> Iterator[Finding]:
    right = (one for one in attempt.comparisons if one.seen.warnings and not one.failed)
    if one := next(right, None):
        with np.errstate(all="warn"):
            if not any(seen.warnings for seen in _observed_mistakes(attempt, named, one)):
                yield warned(attempt.exercise, one)


def _changed_input(attempt: Attempt, named: Sequence[Hypothesis]) -> Iterator[Finding]:
    one = next((one for one in attempt.comparisons if one.seen.changed), None)
    if one and not any(seen.changed for seen in _observed_mistakes(attempt, named, one)):
        yield changed(attempt, one)


def _observed_mistakes(
    attempt: Attempt, named: Sequence[Hypothesis], one: Comparison
) -> Iterator[Observation]:
    """Observe known mistakes on a call."""
    for each in named:
        yield observe(attempt.exercise.on_cases(each.variant), one.trial.case)


def _measured(
    attempt: Attempt, said: Sequence[Finding], named: Sequence[Hypothesis]
) -> Iterator[Finding]:
    """Yield a probe's finding, unless it follows from wrong numbers or from a known mistake."""
    exercise, table = attempt.exercise, attempt.table
    if not any(one.stopped or one.wrong_in_numbers for one in attempt.comparisons):
        if not any(one.edit for one in said):
            yield from list(measured(attempt))[:1]
    elif exercise.accelerated and not (named and exercise.run):
        found = measured(attempt)
        yield from (one for one in found if isinstance(one.text, OfAnyNumbers))
    elif mistake := next(
        (m for m in named if all(table.explains(m, w) for w in table.wrong)), None
    ):
        known = dataclasses.replace(attempt, answer=mistake.variant)
        if own := next(measured(attempt, mistake.variant), None):
            others = measured(known, mistake.variant)
            if own.topics not in [one.topics for one in others]:
                yield own
