"""Find a small edit of the source that makes results right, or a misleading line."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from attention_lib.checks.attempt import Attempt
from attention_lib.checks.calls.calling import observe
from attention_lib.checks.calls.case import Answer
from attention_lib.checks.compare.cases import trials_of
from attention_lib.checks.compare.comparing import Comparison
from attention_lib.checks.edits.patterns import read
from attention_lib.checks.edits.search import Fix
from attention_lib.checks.findings.finding import Finding, Label, everything
from attention_lib.checks.findings.measured import measured
from attention_lib.checks.findings.observed import results, side_effects


def edits_of_all(attempt: Attempt) -> Iterator[Finding]:
    """Find one or two edits that make every result right, and what is still wrong then."""
    if not attempt.is_own or attempt.search is None or _is_shadowed(attempt):
        return
    for fix in attempt.search.wholes():
        left = left_after(attempt, fix.answer)
        if left is not None and attempt.leaves_known(fix.answer):
            yield _finding_of_edit(attempt, fix, "edit", "and every result is right.")
            yield from left
            return


def edits_in_part(attempt: Attempt) -> Iterator[Finding]:
    """Find the edit that makes most results right, including the first wrong one."""
    if not attempt.is_own or not attempt.failing or attempt.failing[0].trial.case.verify:
        return  # the exercise's `verify` explains its numbers
    fix = attempt.search.in_part() if attempt.search and not _is_shadowed(attempt) else None
    # Many edits give the right result for empty input.
    of_nothing = any(
        0 in getattr(value, "shape", ()) for value in attempt.failing[0].trial.case.args
    )
    if fix and not of_nothing and attempt.leaves_known(fix.answer):
        end = "and this result is right; then look at the next."
        found = _finding_of_edit(attempt, fix, "part", end)
        function = attempt.exercise.on_cases(fix.answer)

        def explains(one: Comparison) -> bool:
            edited = dataclasses.replace(one, seen=observe(function, one.trial.case))
            return found.explains(one) or not edited.failed

        yield dataclasses.replace(found, explains=explains)


def misleading_lines(attempt: Attempt) -> Iterator[Finding]:
    """Find a line that is misleading for any result of the answer."""
    if not attempt.is_own or not attempt.failing or attempt.failing[0].trial.case.verify:
        return
    if found := read(attempt.answer):
        text, line = found
        yield _with_first_failure(attempt, Finding("line", text, lines=frozenset({line})))


def _is_shadowed(attempt: Attempt) -> bool:
    """Tell whether a name hides a function: the fix is another name, and edits would avoid it."""
    return attempt.failing[0].stopped and "shadowed" in next(results(attempt)).topics


def _finding_of_edit(attempt: Attempt, fix: Fix, label: Label, end: str) -> Finding:
    observed = next(results(attempt))
    faults = [one for one in fix.faults if one.topic not in observed.topics]
    edit = Finding(
        label,
        " ".join(one.text for one in faults),
        edit=f"{fix.words}, {end}",
        topics=frozenset(one.topic for one in fix.faults) - {""},
        lines=fix.lines,
    )
    found = _with_first_failure(attempt, edit)
    return dataclasses.replace(found, explains=everything) if label == "edit" else found


def _with_first_failure(attempt: Attempt, found: Finding) -> Finding:
    """Add the first failing call, and what is observed there, to a finding in the source."""
    observed = next(results(attempt))
    return dataclasses.replace(
        found,
        evidence=observed.evidence,
        explains=observed.explains,
        opening=observed.opening or observed.text,
        topics=found.topics | observed.topics,
        lines=found.lines | observed.lines,
        outcome=observed.outcome,
    )


def left_after(attempt: Attempt, edited: Answer) -> list[Finding] | None:
    """Return what is still wrong with an edited answer, or None if the edit is not the right one."""
    function = attempt.exercise.on_cases(edited)
    others = () if attempt.is_rest else trials_of(attempt.exercise, attempt.seed + 1)
    seen = ((one, observe(function, one.case)) for one in others)
    if any(Comparison(attempt.exercise.name, *each).failed for each in seen):
        return None  # it was right by chance
    comparisons = [
        dataclasses.replace(one, seen=observe(function, one.trial.case))
        for one in attempt.comparisons
    ]
    after = dataclasses.replace(attempt, answer=edited, comparisons=comparisons)
    own = {one.label: one for one in side_effects(attempt)}
    if effects := list(side_effects(after)):
        # The side effects of a call that stopped are unknown.
        had = any(one.stopped for one in attempt.comparisons)
        if not had and not {one.label for one in effects} <= own.keys():
            return None
        return [own.get(one.label, one) for one in effects]  # these name the learner's line
    problem = next(measured(after), None)
    if problem is None:
        return []
    before = next(measured(attempt), None)
    if before is None or before.topics != problem.topics:
        return None
    # Next to an explained fault, a probe's finding may follow from that fault.
    return [] if attempt.is_rest else [problem]
