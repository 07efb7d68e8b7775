"""Find two faults that together give an answer's numbers."""

from __future__ import annotations

from collections.abc import Iterator

from attention_lib.checks.attempt import Attempt
from attention_lib.checks.findings.finding import Finding, everything

TOGETHER = "Two faults explain these numbers:"


def two_in_one_answer(attempt: Attempt) -> Iterator[Finding]:
    """Find two known mistakes that explain all wrong numbers if one answer makes both.

    The one that shows in more calls comes first.
    """
    table = attempt.table
    if attempt.begins_with_numbers and (both := table.one(table.together)):

        def hidden(fault: tuple[str, str]) -> int:
            variants = table.variants_of(fault[0])
            return sum(any(table.is_right(v, one) for v in variants) for one in table.wrong)

        for id, sentence in sorted(zip(both.ids, both.sentences, strict=True), key=hidden):
            topics = frozenset({id})
            yield Finding("pair", sentence, table.wrong[0], everything, TOGETHER, topics=topics)
