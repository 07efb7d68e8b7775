"""Find answers that failed beside one they are built on, and put a model answer in place of that one."""

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
from attention_lib.grading.judge.checking import checked_exercise

OURS = "ours-"  # how the ids of cells with model answers begin

Outputs = Mapping[str, list[dict[str, Any]]]  # by cell id


@functools.cache
def model_answers(lesson: str) -> dict[str, str]:
    """Return the model answers of the exercises of a lesson that others are built on."""
    own = [exercise for exercise in EXERCISES.values() if exercise.lesson == lesson]
    names = {name for exercise in own for name in exercise.built_on}
    found = {name: model_answer(EXERCISES[name]) for name in sorted(names)}
    return {name: answer for name, answer in found.items() if answer}


def second_chances(
    notebook: NotebookNode, outputs: Outputs, answers: Mapping[str, str]
) -> dict[tuple[str, ...], list[str]]:
    """Group failed exercises by the failed exercises that they are built on."""
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
    """Return all exercises that one may be built on, by way of others too."""
    direct = EXERCISES[name].built_on
    return set(direct).union(*map(built_on, direct))


def _verdicts(notebook: NotebookNode, outputs: Outputs) -> dict[str, Mapping[str, Any]]:
    """Return the verdict on each checked exercise; an empty one if its check came to none."""
    return {
        name: (outputs.get(cell.id) or [{}])[0].get("metadata", {}).get("attention_lib", {})
        for cell in notebook.cells
        if (name := checked_exercise(cell))
    }


def _is_of_a_stub(name: str, verdict: Mapping[str, Any]) -> bool:
    """Tell whether a function is not written. One that calls another's stub may be right."""
    unattempted = verdict.get("outcome") == "unattempted" and EXERCISES[name].kind == "function"
    return unattempted and not verdict.get("awaits")


def right_exercises(notebook: NotebookNode, outputs: Outputs) -> Iterable[str]:
    """Return the exercises that a run found right."""
    verdicts = _verdicts(notebook, outputs)
    return [name for name in verdicts if verdicts[name].get("outcome") == "right"]


def with_model_answers(
    notebook: NotebookNode, ours: Mapping[str, str], tried: Iterable[str]
) -> NotebookNode:
    """Put model answers in place of checks, of which those of the exercises to be tried stay.

    The student's answers stay above ours: others may use what they define. Ours come once more at
    the end, since the student's may be there too.
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
    """Return what a check cell shows of an answer that is right once earlier ones are."""
    remark = f"It is right with ours in place of your {' and '.join(ours)}."
    report = Report(EXERCISES[name], "right", "", advice=(remark,))
    verdict = {"exercise": name, "outcome": "right", "sentence": "", "ours": list(ours)}
    panel = {"text/plain": as_text(report), "text/html": as_html(report, pictures=False)}
    return [new_output("display_data", data=panel, metadata={"attention_lib": verdict})]
