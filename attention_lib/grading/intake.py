"""Reading what was handed in: leniently, and only what a student may contribute."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_notebook
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import NbGraderPreprocessor

from attention_lib.grading.rebuild import ForeignNotebook, rebuild

NOTE_ID = "intake-note"
UNREADABLE = "unreadable"  # where the exporter leaves its reason for the preprocessor


class UnreadableNotebook(ValueError):
    """A file that is no notebook; the text says why, as the end of a sentence."""


def read_notebook(file: IO[str]) -> NotebookNode:
    """Read a notebook of any nbformat that nbformat knows, without validating it.

    Raises
    ------
    UnreadableNotebook
        If it cannot be read.
    """
    try:
        content = json.load(file)
    except UnicodeDecodeError:
        raise UnreadableNotebook("it is not text in UTF-8") from None
    except json.JSONDecodeError as problem:
        raise UnreadableNotebook(f"it is not valid JSON: {problem}") from None
    except RecursionError:
        raise UnreadableNotebook("it is nested too deeply") from None
    if not isinstance(content, dict) or not isinstance(content.get("nbformat"), int):
        raise UnreadableNotebook("it is not a notebook: it says no nbformat")
    version = content["nbformat"]
    if version not in nbformat.versions:
        raise UnreadableNotebook(f"it is in nbformat {version}, which is not known here")
    try:
        notebook = nbformat.from_dict(content)
        return notebook if version == 4 else nbformat.convert(notebook, 4)
    except Exception as problem:  # whatever a malformed file of an old format leads to
        raise UnreadableNotebook(f"its nbformat {version} is malformed: {problem!r}") from None


class SubmissionExporter(NotebookExporter):
    """Read a submission; in place of an unreadable one, an empty notebook and the reason."""

    def from_file(
        self, file_stream: IO[str], resources: dict[str, Any] | None = None, **kw: Any
    ) -> tuple[NotebookNode, dict[str, Any]]:
        rebuilds = any(isinstance(step, RebuildSubmission) for step in self._preprocessors)
        if not rebuilds:  # nbgrader converts twice; by now the notebook is of our own making
            return super().from_file(file_stream, resources=resources, **kw)
        resources = {} if resources is None else resources
        try:
            notebook = read_notebook(file_stream)
        except UnreadableNotebook as problem:
            notebook = new_notebook()
            resources[UNREADABLE] = str(problem)
        return self.from_notebook_node(notebook, resources=resources, **kw)


class RebuildSubmission(NbGraderPreprocessor):
    """Replace a submission by the released notebook with the student's text in it.

    A submission that cannot be read, or is another notebook, becomes the released notebook as
    it was given out. A note on top says what was done, for the feedback.
    """

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        released = self._released(resources["nbgrader"])
        problem = resources.get(UNREADABLE)
        changes: list[str] = []
        if not problem:
            try:
                nb, changes = rebuild(released, nb)
            except ForeignNotebook as foreign:
                problem = str(foreign)
        if problem:
            nb = released
            self.log.error("The submission cannot be graded: %s", problem)
        if problem or changes:
            nb.cells.insert(0, _note(problem, changes))
        return nb, resources

    def _released(self, place: Mapping[str, str]) -> NotebookNode:
        course = CourseDirectory(parent=self)
        folder = course.format_path(course.release_directory, ".", place["assignment"])
        return nbformat.read(f"{folder}/{place['notebook']}.ipynb", as_version=4)


def problem_of(notebook: NotebookNode) -> str | None:
    """Return why an autograded submission could not be read, if it could not."""
    if notebook.cells and notebook.cells[0].get("id") == NOTE_ID:
        return notebook.cells[0].metadata.get("attention_lib", {}).get("problem")
    return None


def _note(problem: str | None, changes: list[str]) -> NotebookNode:
    if problem:
        lines = [
            f"**This submission could not be graded: {problem}.** "
            "Below is the lesson as it was given out."
        ]
    else:
        lines = [
            "**Before grading, this notebook was put in order.** "
            "Nothing was taken from your answers.\n",
            *(f"- {change}" for change in changes),
        ]
    metadata = {"attention_lib": {"problem": problem}}
    return new_markdown_cell("\n".join(lines), id=NOTE_ID, metadata=metadata)
