"""Rerun failed exercises with model answers for the failed exercises they depend on."""

from __future__ import annotations

import copy
import functools
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_output

from attention_lib.checks.show.panel import as_html, as_text
from attention_lib.checks.verdict import Report
from attention_lib.exercises import EXERCISES
from attention_lib.exercises.model_answers import model_answer
from attention_lib.grading.judge.checking import checked_exercise, verdict_of

OURS = "ours-"  # how the ids of cells with model answers begin

Outputs = Mapping[str, list[dict[str, Any]]]  # by cell id


@functools.cache
def model_answers(lesson: str) -> dict[str, str]:
    """Return the model answers of a lesson's exercises that other exercises depend on."""
    own = [exercise for exercise in EXERCISES.values() if exercise.lesson == lesson]
    names = {name for exercise in own for name in exercise.built_on}
    found = {name: model_answer(EXERCISES[name]) for name in sorted(names)}
    return {name: answer for name, answer in found.items() if answer}


def second_chances(
    notebook: NotebookNode, outputs: Outputs, answers: Mapping[str, str]
) -> dict[tuple[str, ...], list[str]]:
    """Group failed exercises by the failed exercises that they depend on."""
    verdicts = _verdicts(notebook, outputs)
    right = set(right_exercises(notebook, outputs))
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, verdict in verdicts.items():
        if name in right or _is_of_a_stub(name, verdict):
            continue
        failed = [one for one in verdicts if one in built_on(name) - right and one in answers]
        if failed:
            groups[tuple(failed)].append(name)
    return groups


def built_on(name: str) -> set[str]:
    """Return all exercises that an exercise may depend on, directly or through others."""
    direct = EXERCISES[name].built_on
    return set(direct).union(*map(built_on, direct))


def _verdicts(notebook: NotebookNode, outputs: Outputs) -> dict[str, Mapping[str, Any]]:
    """Return the verdict on each checked exercise, or an empty dict if its check gave none."""
    return {
        name: verdict_of((outputs.get(cell.id) or [{}])[0])
        for cell in notebook.cells
        if (name := checked_exercise(cell))
    }


def _is_of_a_stub(name: str, verdict: Mapping[str, Any]) -> bool:
    """Tell whether a function is not written; one that calls another exercise's stub may be right."""
    unattempted = verdict.get("outcome") == "unattempted" and EXERCISES[name].kind == "function"
    return unattempted and not verdict.get("awaits")


def right_exercises(notebook: NotebookNode, outputs: Outputs) -> Iterable[str]:
    """Return the exercises that a run judged right."""
    verdicts = _verdicts(notebook, outputs)
    return [name for name in verdicts if verdicts[name].get("outcome") == "right"]


def with_model_answers(
    notebook: NotebookNode, ours: Mapping[str, str], tried: Iterable[str]
) -> NotebookNode:
    """Replace checks by model answers, but keep the checks of the exercises in `tried`.

    The student's answers stay above the model answers: other cells may use what they define. The
    model answers are repeated at the end, because the student may define the name again below.
    """
    changed = copy.copy(notebook)
    changed.cells = []
    for cell in notebook.cells:
        name = checked_exercise(cell)
        if name and name in ours:
            changed.cells.append(new_code_cell(ours[name], id=f"{OURS}{name}"))
        if not name or name in tried:
            changed.cells.append(cell)
    for name, answer in ours.items():
        changed.cells.append(new_code_cell(answer, id=f"{OURS}{name}-again"))
    return changed


def right_with_ours(name: str, ours: Iterable[str]) -> list[dict[str, Any]]:
    """Return the check cell's outputs for an answer that is right once earlier ones are."""
    remark = f"It is right with ours in place of your {' and '.join(ours)}."
    report = Report(EXERCISES[name], "right", "", advice=(remark,))
    verdict = {"exercise": name, "outcome": "right", "sentence": "", "ours": list(ours)}
    panel = {"text/plain": as_text(report), "text/html": as_html(report, pictures=False)}
    return [new_output("display_data", data=panel, metadata={"attention_lib": verdict})]
