"""Find two faults that together give an answer's numbers."""

from __future__ import annotations

from collections.abc import Iterator

from attention_lib.checks.attempt import Attempt
from attention_lib.checks.findings.finding import Finding, everything
from attention_lib.checks.hypotheses.result_faults import faults_of_result
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
