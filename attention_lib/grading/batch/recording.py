"""Record a batch: grades in the gradebook, entries in the journal, failures, and the log."""

from __future__ import annotations

import contextlib
import re
import signal
import threading
import traceback
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from attention_lib.checks.judging import FORBIDDEN
from attention_lib.grading.batch.planning import page_fingerprint
from attention_lib.grading.batch.reader import PreparedWork
from attention_lib.grading.classroom.course import Course
from attention_lib.grading.classroom.gradebook import Standing, read_standings
from attention_lib.grading.classroom.journal import Journal
from attention_lib.grading.classroom.marks import read_answers, settle, still_settled
from attention_lib.grading.intake.submission import AS_GIVEN_OUT, Prepared
from attention_lib.grading.judge.checking import verdict_of
from attention_lib.grading.judge.execution import TIMEOUT
from attention_lib.grading.judge.task import Ran
from attention_lib.grading.nbgrader_plugins.autograde import AutogradeSubmissions

if TYPE_CHECKING:
    from nbgrader.api import Gradebook
    from nbgrader.apps.api import NbGraderAPI


# nbgrader logs a dozen such lines for every student.
_ROUTINE = re.compile(r"^\[(INFO\]|WARNING\] Removing existing ).*\n?", re.MULTILINE)


class Recorder:
    """Writes all results of a batch: one student after the other, only in this process."""

    def __init__(
        self,
        course: Course,
        lesson: str,
        gradebook: Gradebook,
        journal: Journal,
        nbgrader: NbGraderAPI,
    ) -> None:
        self.failures: dict[str, str] = {}  # by student, why there is no grade or no page
        self._course = course
        self._lesson = lesson
        self._gradebook = gradebook
        self._journal = journal
        self._autograde = AutogradeSubmissions(
            gradebook, coursedir=nbgrader.coursedir, parent=nbgrader
        )
        self._autograde.force = True

    def empty_log(self) -> None:
        """Empty the log, which covers one batch."""
        self._course.log(self._lesson).write_text("", encoding="utf-8")

    def standings(self, student: str | None = None) -> dict[str, Standing]:
        """Return what the gradebook holds for this lesson now."""
        standings = read_standings(self._gradebook, self._lesson, student)
        self._gradebook.db.rollback()  # end the transaction, so that the next read sees new changes
        return standings

    def grade(self, work: PreparedWork, ran: Ran) -> bool:
        """Write the grade of a submission that has been run; return whether that worked."""
        with uninterrupted():
            try:
                return self._grade(work, ran)
            except Exception as error:  # a broken old file, say: the others must get their grades
                self._gradebook.db.rollback()
                self.fail(work.student, "could not be graded", error)
                return False

    def _grade(self, work: PreparedWork, ran: Ran) -> bool:
        student = work.student
        graded = self._course.autograded(self._lesson, student)
        before = self.standings(student).get(student, Standing())
        try:
            old_answers = read_answers(graded)
        except (ValueError, KeyError, TypeError, AttributeError):  # edited by hand, for example
            old_answers = {}
        outcome = self._autograde.grade(self._lesson, student, work.prepared, ran)
        self._write_log(student, outcome)
        if not outcome["success"]:
            self.fail(student, "could not be graded")
            return False
        standing = self.standings(student)[student]
        settled = still_settled(before, standing, old_answers, read_answers(graded))
        if settled:
            settle(self._gradebook, self._lesson, student, settled)
        self._journal.note(
            student,
            work=work.fingerprint,
            automatic=standing.automatic,
            note=note_for_instructor(work.prepared, ran),
        )
        return True

    def page(self, student: str) -> str:
        """Return the fingerprint of the feedback page that would be written now."""
        return page_fingerprint(
            self._journal.entries[student],
            self.standings(student)[student],
            self._course.collected(self._lesson).get(student, []),
            self._course.autograded(self._lesson, student).read_bytes(),
        )

    def note_page(self, student: str, page: str, outcome: dict[str, Any]) -> bool:
        """Record whether a feedback page was written or failed; return whether it was written."""
        self._write_log(student, outcome)
        if not outcome["success"]:
            self.fail(student, "the feedback could not be written")
            return False
        self._journal.note(student, page=page)
        return True

    def fail(self, student: str, why: str, error: BaseException | None = None) -> None:
        """Record that a student gets no grade or no page from this batch."""
        if error is not None:
            self._write_log(student, {"error": "".join(traceback.format_exception(error))})
        details = self._course.shown(self._course.log(self._lesson))
        self.failures[student] = f"{why}; {details} says more"

    def _write_log(self, student: str, outcome: dict[str, Any]) -> None:
        """Log nbgrader's warnings. Raise an interruption again, which nbgrader reports as a failure."""
        text = _ROUTINE.sub("", outcome.get("log", "")) + outcome.get("error", "")
        if text:
            with self._course.log(self._lesson).open("a", encoding="utf-8") as file:
                file.write(f"== {student}\n{text}\n")
        if "KeyboardInterrupt" in outcome.get("error", ""):
            raise KeyboardInterrupt


def note_for_instructor(prepared: Prepared, ran: Ran) -> str:
    """Return what an instructor should know about a submission and how it ran."""
    submission = prepared.submission
    time = [submission.time_doubt] if submission.time_doubt else []
    if submission.time_problem:
        time += [f"{submission.time_problem} Correct or delete it: formgrader's list reads it too"]
    if prepared.problem:
        return "; ".join([f"nothing to grade: {prepared.problem}", *time])
    verdicts = [verdict_of(output) for cell in ran.outputs.values() for output in cell]
    advised = [verdict["exercise"] for verdict in verdicts if verdict.get("advice")]
    endless = [
        cell.metadata.get("nbgrader", {}).get("grade_id", "another cell")
        for cell in prepared.notebook.cells
        if any(output.get("ename") == TIMEOUT for output in ran.outputs.get(cell.get("id"), []))
    ]
    remarks = [AS_GIVEN_OUT] if prepared.is_as_given_out else []
    remarks += [f"did not end and was stopped: {', '.join(endless)}"] if endless else []
    remarks += [f"see the remark on {', '.join(advised)}"] if advised else []
    for verdict in verdicts:
        if verdict.get("kind", "").startswith(FORBIDDEN):
            remarks.append(f"{verdict['exercise']} lost its points for a forbidden call")
        if verdict.get("ours"):
            ours = " and ".join(verdict["ours"])
            remarks.append(f"{verdict['exercise']} right with ours in place of {ours}")
        if verdict.get("below"):
            remarks.append(f"{verdict['exercise']} right as defined again below its check")
    left = [note.rstrip(".") for note in prepared.told]
    return "; ".join(ran.stops[:1] + left + remarks + time)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C until the body has ended; a second Ctrl-C interrupts at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[bool] = []

    def wait_once(*_: object) -> None:
        if waiting:
            raise KeyboardInterrupt
        waiting.append(True)

    before = signal.signal(signal.SIGINT, wait_once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if waiting:
        raise KeyboardInterrupt
