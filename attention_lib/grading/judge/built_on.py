"""Find answers that may fail only for an earlier one's fault, and put the model answer in its place."""

from __future__ import annotations

import copy
import functools
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_output

from attention_lib.checks.panel import as_html, as_text
from attention_lib.checks.verdict import Report
from attention_lib.exercises import EXERCISES
from attention_lib.exercises.model_answers import model_answer
from attention_lib.grading.judge.checking import checked_exercise

STUB = re.compile(
    r"raise NotImplementedError|=\s*\.\.\.\s*$"
)  # in a cell that nobody has filled in

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
    """Return the exercises that failed beside one they are built on, by all of these that failed."""
    right = set(right_exercises(notebook, outputs))
    checked = [name for cell in notebook.cells if (name := checked_exercise(cell))]
    blank = {
        cell.metadata.nbgrader.grade_id
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("solution") and STUB.search(cell.source)
    }
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name in checked:
        if name in right or name in blank:
            continue
        failed = [one for one in checked if one in _built_on(name) - right and one in answers]
        if failed:
            groups[tuple(failed)].append(name)
    return groups


def _built_on(name: str) -> set[str]:
    """Return all exercises that one may be built on, by way of others too."""
    direct = EXERCISES[name].built_on
    return set(direct).union(*map(_built_on, direct))


def right_exercises(notebook: NotebookNode, outputs: Outputs) -> Iterable[str]:
    """Return the exercises that a run found right."""
    for cell in notebook.cells:
        name = checked_exercise(cell)
        verdicts = [
            one.get("metadata", {}).get("attention_lib") for one in outputs.get(cell.id, [])
        ]
        if name and any(verdict and verdict["outcome"] == "right" for verdict in verdicts):
            yield name


def with_model_answers(
    notebook: NotebookNode, names: Iterable[str], answers: Mapping[str, str]
) -> NotebookNode:
    """Return the notebook with the model answers to some exercises in their cells."""
    changed = copy.deepcopy(notebook)
    for cell in changed.cells:
        marks = cell.metadata.get("nbgrader", {})
        if marks.get("solution") and marks.get("grade_id") in names:
            cell.source = answers[marks["grade_id"]]
    return changed


def right_with_ours(name: str, ours: Iterable[str]) -> list[dict[str, Any]]:
    """Return what a check cell shows of an answer that is right once earlier ones are."""
    remark = f"It is right with ours in place of your {' and '.join(ours)}."
    report = Report(EXERCISES[name], "right", "", advice=(remark,))
    verdict = {"exercise": name, "outcome": "right", "sentence": "", "ours": list(ours)}
    panel = {"text/plain": as_text(report), "text/html": as_html(report, pictures=False)}
    return [new_output("display_data", data=panel, metadata={"attention_lib": verdict})]
