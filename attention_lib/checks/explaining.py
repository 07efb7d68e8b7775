"""Explain wrong results: try the steps below until one finds why they are wrong."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Callable, Sequence

import numpy as np

from attention_lib.checks.chance import leaves
from attention_lib.checks.comparing import Comparison, in_own_dtype, is_spoiled
from attention_lib.checks.problems import Attempt, is_explained, left_after
from attention_lib.checks.result_faults import faults_of_result
from attention_lib.checks.source.cell import silenced
from attention_lib.checks.source.patterns import read
from attention_lib.checks.table import Cover, Table
from attention_lib.checks.verdict import Report, sentences

ALL = ", and every result is right."  # the end of an edit that mends the whole answer
TOGETHER = "Two faults together give your numbers. "


def explain(attempt: Attempt) -> Report | None:
    """Explain wrong results by the first step that can, then calls that fail in another way."""
    report = _explained(attempt)
    with silenced(), contextlib.suppress(Exception):  # an explanation that fails changes no verdict
        if besides := _beside(attempt, report):
            report = report or _of_one_kind(attempt)
            return _with_advice(attempt, f"Besides: {besides}", report)
    return report


def _beside(attempt: Attempt, report: Report | None) -> str:
    """Explain the calls that fail in another way than a report says."""
    first = report or attempt.problem
    if first is None or first.comparison is None or first.edit.endswith(ALL):
        return ""
    if "Besides" in first.sentence or first.comparison.seen.refused_call:
        return ""
    if not first.mistake and not first.edit:  # there may be wrong numbers behind the dtype
        comparisons = [in_own_dtype(one) for one in attempt.comparisons]
        attempt = dataclasses.replace(attempt, comparisons=comparisons)
    kinds = {
        _kind_of(in_own_dtype(first.comparison)),
        "raises",
    }  # `problems.beside` tells of missing errors
    if not report and not first.comparison.stopped:
        kinds.add("spoiled")  # next to wrong numbers, NaN in another call misleads
    rest = [
        one
        for one in attempt.comparisons
        if not one.failed or (_kind_of(one) not in kinds and not _is_made_by(attempt, first, one))
    ]
    axes = next((_axes(one) for one in rest if one.wrong_in_numbers), 0)
    # More axes may show another fault.
    plain = [one for one in rest if _axes(one) == axes and not one.stopped]
    return _rest_of(attempt, first, rest) or _rest_of(attempt, first, plain)


def _axes(one: Comparison) -> int:
    """Count the axes of a call's first array."""
    return next((value.ndim for value in one.trial.case.args if hasattr(value, "ndim")), 0)


def _of_one_kind(attempt: Attempt) -> Report | None:
    """Explain the calls that fail as the first problem does, without the others."""
    first = attempt.problem
    if first is None or first.comparison is None:
        return None
    kinds = "", _kind_of(first.comparison)
    same = [one for one in attempt.comparisons if _kind_of(one) in kinds]
    return _with_advice(attempt, _rest_of(attempt, first, same))


def _is_made_by(attempt: Attempt, report: Report, one: Comparison) -> bool:
    """Tell whether the known mistake that a report names fails as the answer does on a call."""
    named = attempt.table.variants_of(report.mistake)
    if one.stopped:  # division by 0 is an error for a plain number, and NaN for an array
        errors = {type(each.predict(one.trial.case).error) for each in named}
        return isinstance(one.seen.error, (*errors - {type(None)}, ArithmeticError))
    return any(attempt.table.explains(each, one) for each in named)


def _explained(attempt: Attempt) -> Report | None:
    in_numbers = bool(attempt.table.wrong) and _first_failing(attempt) is attempt.table.wrong[0]
    for step in STEPS:
        if (step in OF_SOURCE and not attempt.reads_source) or (
            step in OF_NUMBERS and not in_numbers
        ):
            continue
        if attempt.is_rest and step in OF_ALL_CALLS:
            continue
        with silenced():
            try:
                report = step(attempt)
            except Exception:  # an explanation that fails leaves the verdict as it is
                continue
        if report:
            return report
    return None


def _rest_of(attempt: Attempt, report: Report, calls: Sequence[Comparison]) -> str:
    """Explain calls that a report does not explain; empty if nothing is found."""
    known = [one for one in attempt.comparisons if report.mistake and one not in calls]
    rest = dataclasses.replace(attempt, comparisons=calls, is_rest=True, known=known)
    problem = rest.problem
    if attempt.is_rest or problem is None or problem.comparison is None:
        return ""
    if mistake := rest.table.only() if rest.table.wrong else None:
        return mistake.sentence
    found = _explained(rest)
    if found is None and problem.comparison.stopped:
        is_told = report.mistake or is_explained(problem.comparison.seen)
        found = problem if is_told else None
    if found is None and _kind_of(problem.comparison).startswith("shape"):
        one, named = problem.comparison, attempt.table.variants_of(report.mistake)
        shapes = [np.shape(each.predict(one.trial.case).value) for each in named]
        found = problem if np.shape(one.seen.value) not in shapes else None
    sentence = found.sentence.removeprefix(TOGETHER) if found else ""
    if problem.sentence in report.sentence:
        sentence = sentence.removeprefix(problem.sentence).lstrip(". ")
    if _kind_of(problem.comparison) != "spoiled" and _lines(sentence) & _lines(report.sentence):
        return ""  # probably one fault that fails in two ways
    return sentence


def _lines(sentence: str) -> set[str]:
    """Return the line numbers in a sentence."""
    return set(re.findall(r"line (\d+)", sentence))


def _kind_of(one: Comparison) -> str:
    """Name the way in which a call fails; empty if it does not."""
    if not one.failed:
        return ""
    if one.trial.case.raises:
        return "raises"
    if one.stopped:
        return "stopped"
    if is_spoiled(one):
        return "spoiled"
    if any(part.off is None for part in one.parts or ()):
        more = np.ndim(one.seen.value) - np.ndim(
            getattr(one.trial.expected, "values", one.seen.value)
        )
        return f"shape with {'more' if more > 0 else 'fewer' if more < 0 else 'as many'} axes"
    return "numbers" if one.wrong_in_numbers else "dtype"


def _first_failing(attempt: Attempt) -> Comparison | None:
    return next((one for one in attempt.comparisons if one.failed), None)


def known_mistake(attempt: Attempt) -> Report | None:
    """Name the known mistake that behaves like the answer on every call.

    If all numbers are NaN or infinite, `explain` reads the source first.
    """
    table = attempt.table
    shown = any(np.isfinite(value).any() for one in table.wrong for value in leaves(one.seen.value))
    return known_on_every_call(attempt) if shown or not table.wrong or table.right else None


def known_on_every_call(attempt: Attempt) -> Report | None:
    """Name the known mistake of every call, even if all numbers are NaN or infinite."""
    if attempt.is_cut and len(attempt.comparisons) < 3:  # too few calls of a slow answer
        return None
    table, failing = attempt.table, _first_failing(attempt)
    with silenced():
        mistake = table.whole()
        if mistake is None:
            return None
        shown = next((one for one in table.wrong if table.shows(mistake, one)), failing)
    return Report(attempt.exercise, "wrong", mistake.sentence, shown, mistake=mistake.id)


# One fault


def edit_that_mends_all(attempt: Attempt) -> Report | None:
    """Name one or two small changes of the source that make every result right."""
    for mend in attempt.search.wholes() if attempt.search else ():
        left = left_after(attempt, mend.answer)
        if left is not None and attempt.leaves_known(mend.answer):
            faults = [*_unsaid(attempt, mend.faults), *([f"Besides: {left}"] if left else [])]
            edit = f"{mend.words}{ALL}"
            return _with_edit(attempt, " ".join(faults), edit)
    return None


def _with_edit(attempt: Attempt, faults: str, edit: str) -> Report | None:
    """Add an edit to the report, and the faults that it repairs."""
    report = _with_advice(attempt, faults) or attempt.problem
    return dataclasses.replace(report, edit=edit) if report else None


# A part of an error's sentence, and a part of the fault that says the same.
REPEATED = (
    ("its axis", "loses the axis"),
    ("is a word of torch", "is a word of torch"),
    ("is the number of all entries", "is not the length"),
    (".T reverses", "reverses every axis"),
    ("takes no fractions", "changes the array in its place"),
    ("stands for any axes before", "`...` stands for those before"),
    ("is the function itself", "does not call it"),
    ("float16 ends at", "stands in for infinity"),
)


def _unsaid(attempt: Attempt, faults: Sequence[str]) -> list[str]:
    """Leave out the faults that the error's sentence has named."""
    problem = attempt.problem
    said = problem.sentence if problem and problem.outcome == "error" else ""
    return [
        fault
        for fault in faults
        if not any(first in said and second in fault for first, second in REPEATED)
    ]


def known_beside_errors(attempt: Attempt) -> Report | None:
    """Name the known mistake that explains all wrong numbers, if other calls end in errors."""
    return _covered(attempt, attempt.table.one(attempt.table.known))


def changed_call(attempt: Attempt) -> Report | None:
    """Name changed arguments for which all wrong numbers would be right."""
    return _covered(attempt, attempt.table.one(attempt.table.changed))


# Two faults


def two_in_one_answer(attempt: Attempt) -> Report | None:
    """Name two known mistakes that explain all wrong numbers if one answer makes both."""
    return _covered(attempt, attempt.table.one(attempt.table.together))


def changed_and_known(attempt: Attempt) -> Report | None:
    return _covered(attempt, attempt.table.one(attempt.table.pairs()))


def result_fault_and_known(attempt: Attempt) -> Report | None:
    """Name a fault of the whole result, and the known mistake that is left once it is undone."""
    exercise, table = attempt.exercise, attempt.table
    for sentence, undone in faults_of_result(table.wrong[0]):
        first = undone(table.wrong[0])
        if first.wrong_in_numbers and not any(table.explains(one, first) for one in table.known):
            continue
        rest = Table(exercise, [undone(one) for one in attempt.comparisons], like=table)
        cover = rest.one(rest.known) if rest.wrong else None
        if cover:
            two = _both(cover.hypothesis.sentences[0], sentence)
            return Report(exercise, "wrong", two, table.wrong[0])
    return None


def _covered(attempt: Attempt, cover: Cover | None) -> Report | None:
    """Report a cover: its sentences, and a call in which they show."""
    if cover is None:
        return None
    mistake, sentences = cover.hypothesis.mistake, cover.hypothesis.sentences
    sentence = _both(*sentences) if len(sentences) > 1 else sentences[0]
    shown = (one for one in cover.shown if mistake and attempt.table.shows(mistake, one))
    seen, known = next(shown, cover.shown[0]), mistake.id if mistake else ""
    return Report(attempt.exercise, "wrong", sentence, seen, mistake=known)


def _both(first: str, second: str) -> str:
    return f"{TOGETHER}{first} Besides: {second}"


def _with_advice(attempt: Attempt, advice: str, report: Report | None = None) -> Report | None:
    """Add advice to a report, by default that of the first problem."""
    report = report or attempt.problem
    if not advice or report is None:
        return None
    return dataclasses.replace(report, sentence=sentences(report.sentence, advice))


def lines_of_the_source(attempt: Attempt) -> Report | None:
    """Name the edit that makes most results right, or a misleading line."""
    problem = attempt.problem
    if problem is None or (problem.comparison and problem.comparison.trial.case.verify):
        return None  # the exercise's `verify` explains its numbers
    mend = attempt.search.in_part() if attempt.search else None
    arguments = problem.comparison.trial.case.args if problem.comparison else ()
    # Many edits make nothing of nothing.
    is_of_nothing = any(0 in getattr(value, "shape", ()) for value in arguments)
    if mend and not is_of_nothing and attempt.leaves_known(mend.answer):
        edit = f"{mend.words}, and this result is right; then look at the next."
        return _with_edit(attempt, " ".join(_unsaid(attempt, mend.faults)), edit)
    return _with_advice(attempt, read(attempt.answer))


Step = Callable[[Attempt], Report | None]

# One fault comes before two, all wrong numbers before some, and what to change before where to look.
STEPS: tuple[Step, ...] = (
    edit_that_mends_all,
    known_on_every_call,
    known_beside_errors,
    changed_call,
    two_in_one_answer,
    changed_and_known,
    result_fault_and_known,
    lines_of_the_source,
)
OF_SOURCE = (edit_that_mends_all, lines_of_the_source)
OF_ALL_CALLS = (
    changed_call,
    changed_and_known,
)
# Steps that need wrong numbers in the first failing call.
OF_NUMBERS = tuple(step for step in STEPS if step not in OF_SOURCE)
