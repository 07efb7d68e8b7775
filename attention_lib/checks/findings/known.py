"""Find the known mistake that gives an answer's numbers, or an argument that is returned unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from attention_lib.checks.attempt import Attempt
from attention_lib.checks.calls.tensors import as_numbers
from attention_lib.checks.compare.comparing import Comparison, alike
from attention_lib.checks.exercise import Mistake
from attention_lib.checks.findings.finding import Finding
from attention_lib.checks.hypotheses.table import is_finite_somewhere


def known_everywhere(attempt: Attempt) -> Iterator[Finding]:
    """Find the known mistake that behaves like the answer on every call.

    NaN and infinity in every place of every call prove nothing: many mistakes give them.
    """
    table = attempt.table
    if attempt.is_cut and len(attempt.comparisons) < 3:  # too few calls of a slow answer
        return
    if attempt.is_rest and not attempt.begins_with_numbers:
        return
    if table.wrong and not table.right and not any(map(is_finite_somewhere, table.wrong)):
        return
    if attempt.failing and (mistake := table.whole()):
        yield _finding_of_mistake(attempt, mistake, table.wrong or attempt.failing)


def known_where_numbers_are_wrong(attempt: Attempt) -> Iterator[Finding]:
    """Find the known mistake that explains all wrong numbers, if other calls end in errors."""
    table = attempt.table
    if attempt.begins_with_numbers and (cover := table.one(table.known)) and cover.mistake:
        yield _finding_of_mistake(attempt, cover.mistake, table.wrong)


def only_known(attempt: Attempt) -> Iterator[Finding]:
    """Find the only known mistake that explains the calls left by another fault."""
    if attempt.is_rest and attempt.table.wrong and (mistake := attempt.table.only()):
        yield _finding_of_mistake(attempt, mistake, attempt.table.wrong)


def comes_back(attempt: Attempt) -> Iterator[Finding]:
    """Find the argument that every wrong call returns unchanged."""
    calls = attempt.table.wrong
    if attempt.is_rest or not attempt.begins_with_numbers or len(calls) < 2:
        return
    if any(one.trial.case.verify for one in calls):  # `verify` has a sentence of its own
        return
    for name in attempt.exercise.parameters:
        arguments = (attempt.exercise.arguments_of(one.trial.case) for one in calls)
        given = [as_numbers(one.get(name)) for one in arguments]
        if all(
            value is not None
            and _holds_numbers(value)
            and alike(one.seen.value, value, one.trial.allowed, one.trial.precision)
            for one, value in zip(calls, given, strict=True)
        ):
            text = f"`{name}` is returned unchanged: return what is computed from it."
            topics = frozenset({f"{name} returned"})
            yield Finding("known", text, calls[0], topics=topics)
            return


def _holds_numbers(value: Any) -> bool:
    """Tell whether no array is empty; of a tuple or a list, none of its parts."""
    if isinstance(value, (tuple, list)):
        return all(map(_holds_numbers, value))
    return np.size(value) > 0


def _finding_of_mistake(attempt: Attempt, mistake: Mistake, shown: Sequence[Comparison]) -> Finding:
    table, named = attempt.table, attempt.table.variants_of(mistake.id)
    evidence = next((one for one in shown if table.shows(mistake, one)), attempt.failing[0])

    def explains(one: Comparison) -> bool:
        if one.stopped:  # division by 0 is an error for a plain number, and NaN for an array
            errors = {type(each.predict(one.trial.case).error) for each in named}
            return isinstance(one.seen.error, (*errors - {type(None)}, ArithmeticError))
        return any(table.explains(each, one) for each in named)

    return Finding(
        "known", mistake.sentence, evidence, explains, id=mistake.id, topics=mistake.topics
    )
