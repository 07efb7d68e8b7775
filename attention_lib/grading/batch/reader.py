"""Read the submissions for a lesson one by one, each with the fingerprint of its grade."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from nbgrader.coursedir import CourseDirectory

from attention_lib.grading.batch.fingerprints import digest, of_submission
from attention_lib.grading.classroom.course import Course
from attention_lib.grading.intake.submission import (
    Prepared,
    Submission,
    blank_of,
    prepare,
    read_submission,
)
from attention_lib.grading.intake.timestamps import Record
from attention_lib.grading.nbgrader_plugins.exchange import exchange_records


@dataclass(frozen=True)
class PreparedWork:
    """One student's submission, read and ready to run."""

    student: str
    fingerprint: str
    prepared: Prepared


class Reader:
    """Reads a class's submissions for a lesson.

    No submission is kept: a class of hundreds may not fit in memory. So a submission is read twice,
    once to plan and once when its turn comes. If an instructor collects again in between, it may
    change. That does no harm: the second reading is what is run, graded, and written to the journal
    with its fingerprint.
    """

    def __init__(
        self,
        course: Course,
        lesson: str,
        coursedir: CourseDirectory,
        lesson_fingerprint: str,
        extensions: Mapping[str, timedelta],
    ) -> None:
        """Read for a batch; `extensions` maps students to extensions of the due date."""
        self._course = course
        self._lesson = lesson
        self._lesson_fingerprint = lesson_fingerprint
        self._extensions = extensions
        self._coursedir = coursedir
        self._records: Mapping[str, list[Record]] = {}

    def look_at_exchange(self) -> None:
        """Read the times of everything handed in through nbgrader's exchange so far."""
        self._records = exchange_records(self._coursedir, self._lesson)

    def fingerprint(self, student: str) -> str:
        """Return the fingerprint that a grade of the current submission would have."""
        return self._fingerprint(student, self._read(student))

    def work(self, student: str) -> PreparedWork:
        """Read a submission to grade it."""
        submission = self._read(student)
        prepared = prepare(
            submission,
            released=self._course.released(self._lesson),
            source=self._course.source(self._lesson).parent,
        )
        return PreparedWork(student, self._fingerprint(student, submission), prepared)

    def _read(self, student: str) -> Submission:
        folder = self._course.submission(self._lesson, student)
        blank = blank_of(self._course.released(self._lesson))
        return read_submission(folder, self._lesson, self._records.get(student, []), blank)

    def _fingerprint(self, student: str, submission: Submission) -> str:
        extension = self._extensions.get(student, timedelta()).total_seconds()
        return digest([self._lesson_fingerprint, of_submission(submission), extension])
