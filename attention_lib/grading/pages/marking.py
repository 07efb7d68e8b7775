"""Show the rubric and the model answer below an answer in words, only in formgrader."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from traitlets import Bool

from attention_lib.checks.exercise import Exercise
from attention_lib.exercises import EXERCISES
from attention_lib.exercises.model_answers import model_answer

NEXT = "attention_next_unmarked"  # key in the metadata of a rubric's cell
KEY = "n"  # with Alt, or the browser's own keys for access keys


class ShowRubric(Preprocessor):
    """Adds a cell below each answer in words, on the marker's page.

    It changes no notebook, and no page but formgrader's: only that one has a `submission_id` in its
    resources.
    """

    enabled = Bool(True).tag(config=True)

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        if "submission_id" not in resources:
            return nb, resources
        cells = []
        for cell in nb.cells:
            cells.append(cell)
            marks = cell.metadata.get("nbgrader", {})
            exercise = EXERCISES.get(marks.get("grade_id", ""))
            if exercise and exercise.kind == "written" and marks.get("grade"):
                address, count = self._next_unmarked(resources)
                note = "" if count else "\n\nNo other submission waits to be marked."
                cell = new_markdown_cell(_rubric(exercise) + note, id=f"rubric-{exercise.name}")
                if count:
                    cell.metadata[NEXT] = {"address": address, "count": count}
                cells.append(cell)
        nb.cells = cells
        return nb, resources

    def _next_unmarked(self, resources: dict[str, Any]) -> tuple[str, int]:
        """Return the address of the next submission to be marked, and the number of all others."""
        url = CourseDirectory(config=self.config).db_url
        names = resources["notebook_id"], resources["assignment_id"]
        with Gradebook(url) as gradebook:
            rows = gradebook.notebook_submission_dicts(*names)
        waiting = sorted(row["id"] for row in rows if row["needs_manual_grade"])
        this = resources["submission_id"]
        later = [one for one in waiting if one > this] + [one for one in waiting if one < this]
        if not later:
            return "", 0
        return f"{resources['base_url']}/formgrader/submissions/{later[0]}/", len(later)


def link_to_next(cell: Mapping[str, Any]) -> str:
    """Return the "next unmarked" link below a rubric. A student's HTML may not set access keys.

    Only `ShowRubric` makes such a cell: a submission's own metadata is dropped.
    """
    unmarked = cell.get("metadata", {}).get(NEXT)
    if unmarked is None:
        return ""
    address = html.escape(unmarked["address"])
    link = f'<a accesskey="{KEY}" href="{address}">Next that waits to be marked</a>'
    return f"<p>{link} ({unmarked['count']} in all)</p>"


def _rubric(exercise: Exercise) -> str:
    """Return the rubric and the model answer of an exercise, as Markdown."""
    lines = [f"- {points:g}: {sentence}" for points, sentence in exercise.rubric]
    rubric = "\n".join([f"**Rubric of {exercise.name}, {exercise.points} points**\n", *lines])
    answer = model_answer(exercise)
    return f"{rubric}\n\n**Model answer**\n\n{answer}" if answer else rubric
