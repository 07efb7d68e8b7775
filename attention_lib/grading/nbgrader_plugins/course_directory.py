"""Show nbgrader's Autograde a staging folder in place of the folders that students handed in.

nbgrader copies what lies in a student's folder, links and devices included, and grades nothing
where there is no notebook. In the staging folder there is a placeholder for each notebook, and of
the student's files the two that nbgrader itself reads: the time, and the feedback's secret.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeFactory
from nbgrader.exchange.default import Exchange

from attention_lib.grading.intake.folder import NotTaken, opened
from attention_lib.grading.intake.submission import SECRET_FILE, Prepared, Submission
from attention_lib.grading.intake.timestamps import (
    TIMESTAMP,
    Record,
    find_records,
    read_time,
    write_time,
)


class StagedCourse(CourseDirectory):
    """A course directory whose submitted folders are staged ones, of our own making."""

    @classmethod
    def like(cls, course: CourseDirectory, **changes: Any) -> StagedCourse:
        """Return a course with the settings of another, as they are now, but for some."""
        settings = {name: getattr(course, name) for name in course.traits(config=True)}
        return cls(parent=course.parent, **{**settings, **changes})

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._stage = Path(tempfile.mkdtemp(prefix="attention-staged-"))
        self._finalizer = weakref.finalize(self, shutil.rmtree, self._stage, ignore_errors=True)

    def close(self) -> None:
        """Remove the staging folder; else it goes with this object."""
        self._finalizer()

    def __enter__(self) -> StagedCourse:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submission(self, student: str, lesson: str) -> Path:
        """Return where a student's work lies, which nbgrader is not told."""
        return Path(super().format_path(self.submitted_directory, student, lesson))

    def stage(self, student: str, lesson: str, work: Submission | Prepared) -> None:
        """Put there what nbgrader looks for in a student's folder."""
        folder = self._staged(student, lesson)
        folder.mkdir(parents=True)
        (folder / f"{lesson}.ipynb").touch()
        if work.time:
            (folder / TIMESTAMP).write_text(write_time(work.time), encoding="utf-8")
        if work.secret:
            (folder / SECRET_FILE).write_bytes(work.secret)

    def _staged(self, student: str, lesson: str) -> Path:
        return self._stage / student / lesson

    def remove_outdated_records(self, student: str, lesson: str) -> None:
        """Remove the time and the secret of an earlier work, where this one has none.

        nbgrader overwrites them only with others.
        """
        graded = Path(self.format_path(self.autograded_directory, student, lesson))
        for name in (TIMESTAMP, SECRET_FILE):
            if not (self._staged(student, lesson) / name).exists():
                (graded / name).unlink(missing_ok=True)

    def format_path(
        self, nbgrader_step: str, student_id: str, assignment_id: str, escape: bool = False
    ) -> str:
        if escape or nbgrader_step != self.submitted_directory:
            return super().format_path(nbgrader_step, student_id, assignment_id, escape)
        return str(self._staged(student_id, assignment_id))

    def get_existing_timestamp(self, dest_path: str) -> datetime | None:
        folder = Path(dest_path)
        try:
            with opened(folder, below=folder.parent.parent) as place:
                return read_time(place)[0]
        except NotTaken:
            return None


def exchange_records(course: CourseDirectory, lesson: str) -> Mapping[str, list[Record]]:
    """Return what nbgrader's own exchange recorded of a lesson, by student."""
    collect = ExchangeFactory(parent=course).collect
    if not issubclass(collect, Exchange):
        return {}  # an exchange of another kind, which keeps its records in its own way
    root = collect(coursedir=course, parent=course).root
    return find_records(Path(root, course.course_id, "inbound"), lesson)
