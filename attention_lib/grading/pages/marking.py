"""Show the rubric and the model answer below an answer in words, in formgrader alone."""

from __future__ import annotations

import html
from typing import Any

from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from traitlets import default

from attention_lib.checks.exercise import Exercise
from attention_lib.exercises import EXERCISES
from attention_lib.exercises.model_answers import model_answer


class ShowRubric(Preprocessor):
    """Adds a cell below each answer in words, to the page of the marker.

    It changes no notebook, and no page but formgrader's: that one alone is made with a
    `submission_id` among its resources.
    """

    @default("enabled")
    def _default_enabled(self) -> bool:
        return True

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
                text = _rubric(exercise) + self._next_unmarked(resources)
                cells.append(new_markdown_cell(text, id=f"rubric-{exercise.name}"))
        nb.cells = cells
        return nb, resources

    def _next_unmarked(self, resources: dict[str, Any]) -> str:
        """Link to the next submission in which something waits for a marker, after this one."""
        url = CourseDirectory(config=self.config).db_url
        names = resources["notebook_id"], resources["assignment_id"]
        with Gradebook(url) as gradebook:
            rows = gradebook.notebook_submission_dicts(*names)
        waiting = sorted(row["id"] for row in rows if row["needs_manual_grade"])
        this = resources["submission_id"]
        later = [one for one in waiting if one > this] + [one for one in waiting if one < this]
        if not later:
            return "\n\nNo other submission waits to be marked."
        address = f"{resources['base_url']}/formgrader/submissions/{later[0]}/"
        link = f'<a href="{html.escape(address)}">Next that waits to be marked</a>'
        return f"\n\n{link} ({len(later)} in all)"


def _rubric(exercise: Exercise) -> str:
    """Return the rubric and the model answer of an exercise, as Markdown."""
    lines = [f"- {points:g}: {sentence}" for points, sentence in exercise.rubric]
    rubric = "\n".join([f"**Rubric of {exercise.name}, {exercise.points} points**\n", *lines])
    answer = model_answer(exercise)
    return f"{rubric}\n\n**Model answer**\n\n{answer}" if answer else rubric
