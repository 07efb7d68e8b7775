"""nbgrader exporter that reads submissions safely: no links, no foreign files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from nbconvert.exporters import NotebookExporter
from nbformat import NotebookNode
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException

from attention_lib.grading.intake.submission import Prepared, prepare, read_submission
from attention_lib.grading.judge.task import Ran
from attention_lib.grading.nbgrader_plugins.autograde import AutogradeFolder, only_notebook
from attention_lib.grading.nbgrader_plugins.course_directory import StagedCourse, exchange_records
from attention_lib.grading.nbgrader_plugins.preprocessing import preprocess_in_place
from attention_lib.grading.nbgrader_plugins.preprocessors import ExecuteSubmission
from attention_lib.grading.sandbox.errors import NoSandbox
from attention_lib.grading.sandbox.host import require_sandbox


class SubmissionExporter(NotebookExporter):
    """Prepare a submission in Autograde's first pass, and have it run in the second.

    In a batch both have been done, and the exporter takes the results from its AutogradeFolder.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.prepared: Prepared | None = None  # once the first pass has begun
        self.ran: Ran | None = None  # if it has been run already
        if isinstance(self.parent, AutogradeFolder):
            self.ran = self.parent.ran
        elif isinstance(self.parent, Autograde):
            self._require_sandbox()
            use_staged_folders(self.parent)

    def _preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        return preprocess_in_place(self, nb, resources)

    def _require_sandbox(self) -> None:
        """Refuse to begin where every submission would have to be refused."""
        if not ExecuteSubmission(parent=self).without_sandbox:
            try:
                require_sandbox()
            except NoSandbox as refusal:
                self.log.error("%s", refusal)
                raise NbGraderException(str(refusal)) from None

    def from_filename(
        self, filename: str, resources: dict[str, Any] | None = None, **kw: Any
    ) -> tuple[Any, dict[str, Any]]:
        course = getattr(self.parent, "coursedir", None)
        if resources is None or not isinstance(course, StagedCourse):
            return super().from_filename(filename, resources=resources, **kw)
        student, lesson = resources["nbgrader"]["student"], resources["nbgrader"]["assignment"]
        if Path(filename).parent != course.submission(student, lesson):
            # The second pass: the notebook is the one that the first has written.
            return super().from_filename(filename, resources=resources, **kw)
        if isinstance(self.parent, AutogradeFolder):
            prepared = self.parent.prepared
        else:
            prepared = _read(course, student, lesson)
        if prepared.problem:
            self.log.error("The submission cannot be graded: %s", prepared.problem)
        course.remove_outdated_records(student, lesson)
        self.prepared = prepared
        return self.from_notebook_node(prepared.notebook, resources=resources, **kw)


def use_staged_folders(autograde: Autograde) -> None:
    """Have an Autograde of nbgrader's own commands, or formgrader's, look into no student's folder.

    nbgrader makes it itself. Its exporter is all of it that can be configured, and is made when
    the folders have been listed and none has been opened.
    """
    course = StagedCourse.like(autograde.coursedir)
    lesson = course.assignment_id
    pattern = course.format_path(
        course.submitted_directory, "(?P<student>.*)", "(?P<lesson>.*)", escape=True
    )
    records = exchange_records(course, lesson)
    assignments: dict[str, list[str]] = {}
    for folder in autograde.assignments:
        assignments |= only_notebook(folder, lesson)
        match = re.match(pattern, folder)
        if match:  # else nbgrader stops when it comes to this folder, and says why
            student = match["student"]
            work = read_submission(Path(folder), lesson, records.get(student, []))
            course.stage(student, lesson, work)
    autograde.coursedir, autograde.assignments = course, assignments


def _read(course: StagedCourse, student: str, lesson: str) -> Prepared:
    """Read and prepare a submission, when its turn has come: a class's do not fit into memory."""
    released = course.format_path(course.release_directory, ".", lesson)
    source = course.format_path(course.source_directory, ".", lesson)
    return prepare(
        read_submission(course.submission(student, lesson), lesson),
        released=Path(released, f"{lesson}.ipynb"),
        source=Path(source),
    )
