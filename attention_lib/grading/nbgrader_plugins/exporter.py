"""What nbgrader's Autograde meets in place of the folders that students handed in."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from nbconvert.exporters import NotebookExporter
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeFactory
from nbgrader.exchange.default import Exchange
from nbgrader.preprocessors import OverwriteCells

from attention_lib.grading.intake.folder import NotTaken, opened, read_file
from attention_lib.grading.intake.submission import FILES, SECRET, read_submission, take_in
from attention_lib.grading.intake.timestamps import TIMESTAMP, Record, find_records, read_time
from attention_lib.grading.judge import execution
from attention_lib.grading.judge.execution import ExecuteSubmission
from attention_lib.grading.sandbox.errors import NoSandbox
from attention_lib.grading.sandbox.host import require_sandbox

SECRET_BYTES = 1000


class SubmissionExporter(NotebookExporter):
    """Take in a submission in Autograde's first pass, and hand its files to the second.

    Autograde makes its exporter before it looks into any folder. There it is given another view
    of the course, in which nbgrader opens, copies and follows nothing that a student handed in.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.serves_autograde = isinstance(self.parent, Autograde)
        if self.serves_autograde:
            self._require_sandbox()
            self.course = self.parent.coursedir = SubmissionCourse.like(self.parent.coursedir)
            notebook = f"{self.course.assignment_id}.ipynb"  # there or not, and no other
            self.parent.assignments = {
                folder: [os.path.join(folder, notebook)] for folder in self.parent.assignments
            }

    def _require_sandbox(self) -> None:
        """Refuse to begin where every submission would have to be refused."""
        if not execution.ready and not ExecuteSubmission(parent=self).without_sandbox:
            try:
                require_sandbox()
            except NoSandbox as refusal:
                self.log.error("%s", refusal)
                raise NbGraderException(str(refusal)) from None

    def from_filename(
        self, filename: str, resources: dict[str, Any] | None = None, **kw: Any
    ) -> tuple[str, dict[str, Any]]:
        if not self.serves_autograde:
            return super().from_filename(filename, resources=resources, **kw)
        student, lesson = resources["nbgrader"]["student"], resources["nbgrader"]["assignment"]
        if Path(filename).parent != self.course.handed_in(student, lesson):
            resources[FILES] = self.files  # the second pass: the notebook is of our own making
            return super().from_filename(filename, resources=resources, **kw)
        prepared = take_in(
            self.course.handed_in(student, lesson),
            released=Path(self.course.format_path(self.course.release_directory, ".", lesson))
            / f"{lesson}.ipynb",
            source=Path(self.course.format_path(self.course.source_directory, ".", lesson)),
        )
        if prepared.problem:
            self.log.error("The submission cannot be graded: %s", prepared.problem)
        self.files = prepared.files
        resources["outputs"] = self._records(student, lesson)
        return self.from_notebook_node(prepared.notebook, resources=resources, **kw)

    def _records(self, student: str, lesson: str) -> dict[str, bytes]:
        """Return the files that nbgrader looks for beside what it has graded.

        By the time it tells later whether a newer work has come in, by the secret whose feedback
        it puts into the exchange.
        """
        graded = self.course.format_path(self.course.autograded_directory, student, lesson)
        for name in (TIMESTAMP, SECRET):
            Path(graded, name).unlink(missing_ok=True)  # it is read-only, not to be written
        records = {}
        time = self.course.time_of(student, lesson)
        if time:
            records[TIMESTAMP] = f"{time.isoformat(' ')} UTC\n".encode()
        folder = self.course.handed_in(student, lesson)
        with suppress(NotTaken), opened(folder, below=folder.parent.parent) as place:
            records[SECRET] = read_file(place, SECRET, SECRET_BYTES)
        return records


class AutogradeFolder(Autograde):
    """nbgrader's Autograde for the folder of one student, who may have put no notebook there.

    nbgrader looks for notebooks before it makes its exporter, and would give such a folder no
    grade, not even a zero.
    """

    def init_notebooks(self) -> None:
        folder = self._format_source(self.coursedir.assignment_id, self.coursedir.student_id)
        self.assignments = {folder: []}
        self.notebooks = []


class BringHiddenChecks(OverwriteCells):
    """nbgrader's OverwriteCells, which does not warn that hidden checks were hidden."""

    def report_change(self, name: str, attr: str, old: Any, new: Any) -> None:
        if attr != "checksum":  # the check cells are the released ones, and differ from these
            super().report_change(name, attr, old, new)


class SubmissionCourse(CourseDirectory):
    """A course folder that shows no student's folder to whoever asks for its path.

    nbgrader would copy what lies there, links and devices included. It is shown the folder that
    was given out instead, with the instructor's files for the lesson.
    """

    @classmethod
    def like(cls, course: CourseDirectory) -> SubmissionCourse:
        """Return a course with the settings of another, as they are now."""
        settings = {name: getattr(course, name) for name in course.traits(config=True)}
        return cls(parent=course.parent, **settings)

    def handed_in(self, student: str, lesson: str) -> Path:
        """Return where a student's work lies."""
        return Path(super().format_path(self.submitted_directory, student, lesson))

    def format_path(
        self, nbgrader_step: str, student_id: str, assignment_id: str, escape: bool = False
    ) -> str:
        if escape or nbgrader_step != self.submitted_directory:
            return super().format_path(nbgrader_step, student_id, assignment_id, escape)
        shown = _Shown(super().format_path(self.release_directory, ".", assignment_id))
        shown.student, shown.lesson = student_id, assignment_id
        return shown

    def get_existing_timestamp(self, dest_path: str) -> datetime | None:
        if isinstance(dest_path, _Shown):
            return self.time_of(dest_path.student, dest_path.lesson)
        return _time_said_in(Path(dest_path))

    def time_of(self, student: str, lesson: str) -> datetime | None:
        """Return when a work was handed in, in UTC, if that is known.

        What nbgrader's exchange recorded decides. Where it holds several of a student, it is
        the first that is the same as the work to grade, since an instructor may have collected
        one before the last; if none is, the last. Without a record it is the time that
        timestamp.txt says, which is as good as the way by which the folder came.
        """
        folder = self.handed_in(student, lesson)
        records = self._records.get(student, [])
        if not records:
            return _time_said_in(folder)
        if len(records) > 1:
            work = read_submission(folder, lesson)
            same = [r.time for r in records if work.is_copy_of(read_submission(r.folder, lesson))]
            return min(same, default=max(record.time for record in records))
        return records[0].time

    @cached_property
    def _records(self) -> dict[str, list[Record]]:
        collect = ExchangeFactory(parent=self).collect
        if not issubclass(collect, Exchange):
            return {}  # an exchange of another kind, which keeps its records in its own way
        root = collect(coursedir=self, parent=self).root
        return find_records(Path(root, self.course_id, "inbound"), self.assignment_id)


class _Shown(str):
    """The path of a folder that nbgrader may look into, and whose folder it stands for."""

    student: str
    lesson: str


def _time_said_in(folder: Path) -> datetime | None:
    try:
        with opened(folder, below=folder.parent.parent) as place:
            return read_time(place)[0]
    except NotTaken:
        return None
