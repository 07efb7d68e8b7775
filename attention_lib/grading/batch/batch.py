"""A batch: what was handed in for a lesson and has changed is run, graded and shown.

Workers run notebooks and write feedback pages. This process hands the work out, and is the only
one that writes the gradebook: with nbgrader's own Autograde, one student after the other.
"""

from __future__ import annotations

import contextlib
import functools
import json
import re
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbgrader.utils import capture_log, temp_attrs

from attention_lib.grading.batch.fingerprints import digest, of_lesson, of_submission
from attention_lib.grading.batch.progress import Progress
from attention_lib.grading.batch.workers import Call, Reply, WorkerDied, Workers
from attention_lib.grading.classroom.course import Course, CourseError
from attention_lib.grading.classroom.gradebook import Standing, prepare_to_write, read_standings
from attention_lib.grading.classroom.journal import Entry, Journal
from attention_lib.grading.classroom.marks import read_answers, settle, still_settled
from attention_lib.grading.intake.submission import Prepared, prepare
from attention_lib.grading.judge import execution
from attention_lib.grading.judge.execution import (
    STOPPED,
    UNPROTECTED,
    ExecuteSubmission,
    Ran,
    Task,
    run_notebook,
)
from attention_lib.grading.nbgrader_plugins.exporter import AutogradeFolder, SubmissionCourse
from attention_lib.grading.sandbox.errors import NoSandbox
from attention_lib.grading.sandbox.host import missing_protection

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

TICK = 1.0  # seconds from one word about the progress to the next
# What nbgrader says of whoever is graded: a dozen lines each.
_STEPS = re.compile(r"^\[(INFO\]|WARNING\] Removing existing ).*\n?", re.MULTILINE)


class Batch:
    """What was handed in for a lesson, on its way to grades and feedback pages."""

    def __init__(self, course: Course, lesson: str, gradebook: Gradebook, journal: Journal) -> None:
        self.failures: dict[str, str] = {}  # by student, why there is no grade or no page
        self._course = course
        self._lesson = lesson
        self._gradebook = gradebook
        self._journal = journal
        self._nbgrader = course.nbgrader()
        self._settings = ExecuteSubmission(config=self._nbgrader.config)
        self._again = False
        self._work: dict[str, str] = {}  # the digest of what each student's grade is made from
        self.to_grade: deque[str] = deque()
        self.to_show: deque[str] = deque()
        course.log(lesson).write_text("", encoding="utf-8")

    def plan(self, students: list[str], again: bool = False) -> int:
        """Find out for whom there is something to do, and return how many they are.

        A grade stands while it was made from what lies there now, and is in the gradebook; a
        page, while it was made from what is in the gradebook now.
        """
        self._again = again
        due = self._gradebook.find_assignment(self._lesson).duedate
        lesson = of_lesson(self._course, self._lesson, due.isoformat() if due else "")
        times = SubmissionCourse.like(self._nbgrader.coursedir)
        times.assignment_id = self._lesson
        standings = self.standings()
        for student in students:
            problem = self._course.problem_with_name(student)
            if problem:
                self.failures[student] = problem
                continue
            folder = self._course.submission(self._lesson, student)
            time = times.time_of(student, self._lesson)
            self._work[student] = digest([lesson, of_submission(folder, self._lesson, time)])
            if again or not self._is_graded(student, standings):
                self.to_grade.append(student)
            elif not self._is_shown(student, standings):
                # What it costs to be late may depend on what a human has given meanwhile.
                (self.to_grade if standings[student].late else self.to_show).append(student)
        return len(self.to_grade) + len(self.to_show)

    def standings(self, student: str | None = None) -> dict[str, Standing]:
        """Return what the gradebook holds for this lesson now."""
        standings = read_standings(self._gradebook, self._lesson, student)
        self._gradebook.db.rollback()  # the next time is to see what has changed since
        return standings

    def _is_graded(self, student: str, standings: dict[str, Standing]) -> bool:
        entry = self._journal.entries.get(student, Entry())
        return (
            entry.work == self._work[student]
            and student in standings
            and entry.automatic == standings[student].automatic
            and self._course.autograded(self._lesson, student).is_file()
        )

    def _is_shown(self, student: str, standings: dict[str, Standing]) -> bool:
        entry = self._journal.entries[student]
        page = self._page(student, standings[student])
        return entry.page == page and self._course.feedback(self._lesson, student).is_file()

    def _page(self, student: str, standing: Standing) -> str:
        """Return the digest of what a student's feedback page is made from."""
        graded = self._course.autograded(self._lesson, student).read_bytes()
        return digest([self._work[student], standing.marks, graded])

    def run(self, workers: Workers) -> None:
        """Do what there is to do, and say how far it is.

        Raises
        ------
        CourseError
            If nobody could be graded, for want of a sandbox for example.
        """
        if self.to_grade:
            prepare_to_write(self._nbgrader.coursedir.db_url, self._course.backups)
        if self._again or self._journal.seed is None:
            self._journal.begin(execution.seed_of_this_run(), self._again)
        # Else a batch was interrupted, and goes on with the cases that it began with.
        if self._settings.without_sandbox:
            print(UNPROTECTED, file=sys.stderr)
        elif warning := missing_protection():
            print(warning, file=sys.stderr)
        self._workers = workers
        self._progress = Progress(len(self.to_grade) + len(self.to_show))
        with contextlib.closing(self._progress):
            while self.to_grade or self.to_show or not workers.idle:
                while workers.room > 0 and (self.to_grade or self.to_show):
                    self._hand_out()
                workers.wait(TICK)
                self._progress.show()
        self._journal.end()

    def _hand_out(self) -> None:
        if self.to_grade:
            self._run(self.to_grade.popleft())
        else:
            student = self.to_show.popleft()
            self._show(student, self.standings(student)[student])

    def _run(self, student: str) -> None:
        try:
            prepared = prepare(self._course, self._lesson, student)
        except Exception as error:  # on which reading, of whatever it may be, was not prepared
            self._fail(student, "could not be read", error)
            return
        task = Task(
            lesson=self._lesson,
            notebook=json.dumps(prepared.notebook),
            files=prepared.files,
            seed=self._journal.seed,
            without_sandbox=self._settings.without_sandbox,
            cell_seconds=self._settings.cell_seconds,
        )
        then = functools.partial(self._write, student, prepared)
        self._workers.ask(Call(run_notebook, (task,), then))

    def _write(self, student: str, prepared: Prepared, answer: Reply) -> None:
        """Write the grade of a submission that has been run."""
        if isinstance(answer.error, NoSandbox):
            raise CourseError(str(answer.error))
        if isinstance(answer.error, WorkerDied):
            self._fail(student, f"could not be run: {answer.error}")
        elif answer.error is not None:
            self._fail(student, "could not be run", answer.error)
        else:
            with uninterrupted():
                standing = self._grade(student, prepared, answer.value)
            if standing is not None:
                self._show(student, standing)

    def _grade(self, student: str, prepared: Prepared, ran: Ran) -> Standing | None:
        graded = self._course.autograded(self._lesson, student)
        before = self.standings(student).get(student, Standing())
        answers = read_answers(graded)
        execution.ready[ran.digest] = ran
        outcome = self._autograde(student)
        execution.ready.clear()
        self._log(student, outcome)
        if not outcome["success"]:
            self._fail(student, "could not be graded")
            return None
        standing = self.standings(student)[student]
        settled = still_settled(before, standing, answers, read_answers(graded))
        if settled:
            settle(self._gradebook, self._lesson, student, settled)
        self._journal.note(
            student,
            work=self._work[student],
            automatic=standing.automatic,
            note=_note(prepared, ran),
        )
        return standing

    def _autograde(self, student: str) -> dict[str, Any]:
        """Do what nbgrader's API does, for a folder of any kind."""
        course = self._nbgrader.coursedir
        with temp_attrs(course, assignment_id=self._lesson, student_id=student):
            autograde = AutogradeFolder(coursedir=course, parent=self._nbgrader)
            autograde.force = True
            return capture_log(autograde)

    def _show(self, student: str, standing: Standing) -> None:
        """Have the feedback page written; the grade is in the gradebook."""
        page = self._page(student, standing)
        place = self._course.root, self._lesson, student
        then = functools.partial(self._note_page, student, page)
        self._workers.ask(Call(write_page, place, then, local=True))

    def _note_page(self, student: str, page: str, answer: Reply) -> None:
        if answer.error is not None:
            self._fail(student, "the feedback could not be written", answer.error)
            return
        self._log(student, answer.value)
        if not answer.value["success"]:
            self._fail(student, "the feedback could not be written")
            return
        self._journal.note(student, page=page)
        self._progress.count()

    def _fail(self, student: str, why: str, error: BaseException | None = None) -> None:
        if error is not None:
            self._log(student, {"error": "".join(traceback.format_exception(error))})
        log = self._course.log(self._lesson).relative_to(self._course.root)
        self.failures[student] = f"{why}; {log} says more"
        self._progress.count(failed=True)

    def _log(self, student: str, outcome: dict[str, Any]) -> None:
        """Keep what nbgrader warned of; an interruption it takes for one more failure."""
        said = _STEPS.sub("", outcome.get("log", "")) + outcome.get("error", "")
        if said:
            with self._course.log(self._lesson).open("a", encoding="utf-8") as file:
                file.write(f"== {student}\n{said}\n")
        if "KeyboardInterrupt" in outcome.get("error", ""):
            raise KeyboardInterrupt


def write_page(root: Path, lesson: str, student: str) -> dict[str, Any]:
    """Write a student's feedback page; this only reads the gradebook."""
    return Course(root).nbgrader().generate_feedback(lesson, student)


def _note(prepared: Prepared, ran: Ran) -> str:
    """Return what an instructor should know about a submission and how it ran."""
    time = []
    if prepared.time_problem:
        time = [f"{prepared.time_problem} Correct or delete it: formgrader's list reads it too"]
    if prepared.problem:
        return "; ".join([f"nothing to grade: {prepared.problem}", *time])
    shown = [output for outputs in ran.outputs.values() for output in outputs]
    stops = [
        output["evalue"]
        for output in shown
        if output["output_type"] == "error" and output["ename"] == STOPPED
    ]
    said = [output.get("metadata", {}).get("attention_lib", {}) for output in shown]
    advised = [word["exercise"] for word in said if word.get("advice")]
    flag = [f"see the remark on {', '.join(advised)}"] if advised else []
    return "; ".join(stops[:1] + flag + time)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait for the end of the body; the second one does not wait."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting = []

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
