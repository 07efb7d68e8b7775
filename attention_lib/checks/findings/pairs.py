"""Find two faults that together give an answer's numbers."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from attention_lib.checks.attempt import Attempt
from attention_lib.checks.compare.comparing import Comparison
from attention_lib.checks.findings.finding import Finding, everything
from attention_lib.checks.hypotheses.table import Cover, Table

TOGETHER = "Two faults explain these numbers:"


def two_in_one_answer(attempt: Attempt) -> Iterator[Finding]:
    """Find two known mistakes that explain all wrong numbers if one answer makes both.

    The one that shows in more calls comes first.
    """
    table = attempt.table
    if attempt.begins_with_numbers and (cover := table.one(table.together)):

        def hidden(fault: tuple[str, str]) -> int:
            variants = table.variants_of(fault[1])
            return sum(any(table.is_right(v, one) for v in variants) for one in table.wrong)

        two = zip(cover.hypothesis.sentences, cover.hypothesis.ids, strict=True)
        sentences, ids = zip(*sorted(two, key=hidden), strict=True)
        yield from _two_findings(attempt, sentences, ids, cover)


def result_fault_and_known(attempt: Attempt) -> Iterator[Finding]:
    """Find a fault of the whole result, and the known mistake that is left once it is undone."""
    exercise, table = attempt.exercise, attempt.table
    if not attempt.begins_with_numbers:
        return
    for number, (sentence, undone) in enumerate(faults_of_result(table.wrong[0])):
        first = undone(table.wrong[0])
        if first.wrong_in_numbers and not any(table.explains(one, first) for one in table.known):
            continue
        rest = Table(exercise, [undone(one) for one in attempt.comparisons], like=table)
        if rest.wrong and (cover := rest.one(rest.known)):
            hypothesis = cover.hypothesis
            two = (hypothesis.sentences[0], sentence)
            yield from _two_findings(
                attempt, two, (*hypothesis.ids, f"fault {number} of results"), cover
            )
            return


def _two_findings(
    attempt: Attempt, sentences: tuple[str, ...], ids: tuple[str, ...], cover: Cover
) -> Iterator[Finding]:
    shown = cover.shown[0] if cover.shown[0] in attempt.table.wrong else attempt.table.wrong[0]
    for sentence, id in zip(sentences, ids, strict=True):
        yield Finding("pair", sentence, shown, everything, TOGETHER, topics=frozenset({id}))


Undone = Callable[[Any], Any]  # takes a result, and returns it without the fault


def faults_of_result(first: Comparison) -> Iterator[tuple[str, Callable[[Comparison], Comparison]]]:
    """Yield the sentence of each fault of a result, and a function that undoes it in a comparison."""
    value = first.seen.value
    if isinstance(value, np.ndarray) and value.dtype.kind == "b":
        return  # with only two values, many faults look the same
    several = isinstance(value, (tuple, list))
    if several and not isinstance(first.trial.expected, tuple):
        one = "Several results are returned, where one is asked for: leave out the others."
        yield one, functools.partial(_without, lambda value: value[0])
    for sentence, undone in _of_several(len(value)) if several else _of_one():
        yield sentence, functools.partial(_without, undone)


def _without(undone: Undone, one: Comparison) -> Comparison:
    seen = one.seen
    if seen.error is not None or one.trial.case.raises:
        return one
    try:
        value = undone(seen.value)
    except Exception:
        value = seen.value
    return dataclasses.replace(one, seen=dataclasses.replace(seen, value=value))


TURNED: tuple[tuple[str, Undone], ...] = (
    ("every number has the wrong sign", np.negative),
    ("the last two axes are exchanged", lambda value: np.swapaxes(value, -1, -2)),
)


def _of_several(count: int) -> Iterator[tuple[str, Undone]]:
    yield (
        "The results are in reverse order: return them in the order of the contract.",
        lambda value: value[::-1],
    )
    for place in range(count):
        for clause, turn in TURNED:
            yield (
                f"In result {place + 1}, {clause}.",
                functools.partial(_with_part_turned, place, turn),
            )


def _with_part_turned(place: int, turn: Undone, value: Any) -> Any:
    return (*value[:place], turn(value[place]), *value[place + 1 :])


def _of_one() -> Iterator[tuple[str, Undone]]:
    yield "Every number has the wrong sign.", np.negative
