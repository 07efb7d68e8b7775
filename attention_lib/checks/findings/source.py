"""Find a small edit of the source that makes results right, or a misleading line."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from typing import Any

from attention_lib.checks.attempt import Attempt
from attention_lib.checks.calls.calling import observe
from attention_lib.checks.calls.case import Answer
from attention_lib.checks.compare.cases import trials_of
from attention_lib.checks.compare.comparing import Comparison
from attention_lib.checks.edits.cell import Scope, Source, source_of
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
    """Find a line that is misleading for any result of the answer: one function for each pattern."""
    if not attempt.is_own or not attempt.failing or attempt.failing[0].trial.case.verify:
        return
    source = source_of(attempt.answer)
    if found := source and (lasting_globals(source) or unseeded(source)):
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


BUILT_IN = (list, dict, set)
Found = tuple[str, int]  # the sentence, and the line


def lasting_globals(source: Source) -> Found | None:
    """Find a variable of the notebook that a function changes, so that it lasts between calls."""
    for function in source.functions:
        scope = Scope.of(function, False)
        own = {*scope.arguments, *scope.variables}
        nodes = list(ast.walk(function))
        declared = {name for one in nodes if isinstance(one, ast.Global) for name in one.names}
        mutable = {
            name
            for name, value in source.namespace.items()
            if name not in own and (isinstance(value, BUILT_IN) or _is_learners(value, source))
        }
        for node in nodes:
            stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            changed = {node.id} & declared if isinstance(node, ast.Name) and stored else set()
            changed |= {name for name in mutable if _changes(node, name, source)}
            if changed:
                line = getattr(node, "lineno", function.lineno)
                text = (
                    f"`{min(changed)}` is a variable of the notebook that line {line} changes: the "
                    "next call finds it changed. Keep what is needed in variables of the function, "
                    "and return it."
                )
                return text, line
    return None


def _is_learners(value: Any, source: Source) -> bool:
    """Tell whether a value is an object of a class in the notebook."""
    return type(value).__module__ == source.namespace.get("__name__", "")


def _changes(node: ast.AST, name: str, source: Source) -> bool:
    """Tell whether a node changes a variable in place, or may, as the learner's own methods may."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner = node.func.value
        changes = node.func.attr in ("append", "extend", "update", "insert", "add", "setdefault")
        changes |= _is_learners(source.namespace[name], source)
        return changes and isinstance(owner, ast.Name) and owner.id == name
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return isinstance(node.value, ast.Name) and node.value.id == name
    return False


def unseeded(source: Source) -> Found | None:
    """Find a call that draws random numbers."""
    for function in source.functions:
        for node in ast.walk(function):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                if ".random." in name or name.startswith(("random.", "torch.rand")):
                    text = (
                        f"Line {node.lineno} draws random numbers: an estimate from samples is never "
                        "exact, and the result can be computed without any."
                    )
                    return text, node.lineno
    return None
