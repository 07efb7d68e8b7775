"""Refuse, in nbgrader's generate_assignment, cells that graders would confuse."""

from __future__ import annotations

from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter
from nbgrader.converters import GenerateAssignment
from nbgrader.converters.base import NbGraderException

from attention_lib.exercises import EXERCISES
from attention_lib.grading.classroom.course import CourseError
from attention_lib.grading.lesson.clashes import refuse_clashes


class CheckNames(NotebookExporter):
    """Require clear names, also of cells made with nbgrader's toolbar.

    nbgrader makes its exporter before it touches the released notebooks. An error that a preprocessor
    raises later would be shown as a traceback.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        if isinstance(self.parent, GenerateAssignment):
            _check_sources(self.parent)


def _check_sources(converter: GenerateAssignment) -> None:
    lesson = converter.coursedir.assignment_id
    for path in [path for paths in converter.assignments.values() for path in paths]:
        try:
            refuse_clashes(nbformat.read(path, as_version=4).cells, lesson, EXERCISES)
        except CourseError as refusal:
            converter.log.error("In %s %s", path, refusal)
            raise NbGraderException(str(refusal)) from None
