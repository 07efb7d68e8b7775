"""nbgrader's Autograde for a submission that has been read, prepared and run already."""

from __future__ import annotations

import os
from typing import Any

from nbgrader.apps.api import NbGraderAPI
from nbgrader.converters import Autograde
from nbgrader.converters.base import BaseConverter
from nbgrader.utils import capture_log

from attention_lib.grading.intake.submission import Prepared
from attention_lib.grading.judge.task import Ran
from attention_lib.grading.nbgrader_plugins.course_directory import StagedCourse


class AutogradeFolder(Autograde):
    """nbgrader's Autograde for the folder of one student, who may have put no notebook there.

    Its exporter and preprocessors take the submission, and what running it showed, from here.
    """

    def __init__(
        self, *, coursedir: StagedCourse, prepared: Prepared, ran: Ran, **settings: Any
    ) -> None:
        super().__init__(coursedir=coursedir, **settings)
        self.prepared = prepared
        self.ran = ran

    def init_notebooks(self) -> None:
        student, lesson = self.coursedir.student_id, self.coursedir.assignment_id
        self.assignments = only_notebook(str(self.coursedir.submission(student, lesson)), lesson)
        self.notebooks: list[str] = []

    def convert_single_notebook(self, notebook_filename: str) -> None:
        """Grade in one pass, where nbgrader makes two and writes the notebook between them."""
        self.exporter._preprocessors = []
        for preprocessor in [*self.sanitize_preprocessors, *self.autograde_preprocessors]:
            self.exporter.register_preprocessor(preprocessor)
        BaseConverter.convert_single_notebook(self, notebook_filename)


def only_notebook(folder: str, lesson: str) -> dict[str, list[str]]:
    """Return what nbgrader is to grade in a folder: the lesson's notebook, there or not."""
    return {folder: [os.path.join(folder, f"{lesson}.ipynb")]}


def autograde(
    nbgrader: NbGraderAPI, lesson: str, student: str, prepared: Prepared, ran: Ran
) -> dict[str, Any]:
    """Do what nbgrader's API does to autograde a student, and return what it returns."""
    settings = {"assignment_id": lesson, "student_id": student}
    with StagedCourse.like(nbgrader.coursedir, **settings) as course:
        course.stage(student, lesson, prepared)
        converter = AutogradeFolder(coursedir=course, parent=nbgrader, prepared=prepared, ran=ran)
        converter.force = True
        return capture_log(converter)
