"""Run a batch: give submissions to workers, and their results to the recorder.

Workers run notebooks and write feedback pages. This process gives out the work. Only this process
writes the gradebook, one student after the other.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attention_lib.grading import limits
from attention_lib.grading.batch.fingerprints import of_lesson
from attention_lib.grading.batch.planning import Plan, make_plan
from attention_lib.grading.batch.preflight import require_full_points
from attention_lib.grading.batch.progress import Progress
from attention_lib.grading.batch.reader import PreparedWork, Reader
from attention_lib.grading.batch.recording import Recorder
from attention_lib.grading.batch.workers import Call, Reply, WorkerDied, Workers
from attention_lib.grading.classroom.course import Course, CourseError
from attention_lib.grading.classroom.gradebook import (
    bring_hidden_checks,
    prepare_to_write,
)
from attention_lib.grading.classroom.journal import Journal
from attention_lib.grading.judge.checking import check_name
from attention_lib.grading.judge.execution import draw_seed, put_into, run_notebook
from attention_lib.grading.judge.task import Ran, Task
from attention_lib.grading.nbgrader_plugins.autograde import ExecuteSubmission
from attention_lib.grading.sandbox.errors import NoSandbox

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

NOT_AGAIN = "Marks were lost to time, and there was no time left to run it again alone."


class Batch:
    """Grade one lesson: plan the batch, then run it."""

    def __init__(self, course: Course, lesson: str, gradebook: Gradebook, journal: Journal) -> None:
        self.course = course
        self.lesson = lesson
        self._journal = journal
        self.gradebook = gradebook
        self._nbgrader = course.nbgrader()
        self.settings = ExecuteSubmission(config=self._nbgrader.config)
        due = gradebook.find_assignment(lesson).duedate
        fingerprint = of_lesson(course, lesson, due)
        self.recorder = Recorder(course, lesson, gradebook, journal, self._nbgrader)
        extensions = {name: one.extension for name, one in self.recorder.standings().items()}
        self.reader = Reader(course, lesson, self._nbgrader.coursedir, fingerprint, extensions)

    def plan(self, students: list[str], again: bool = False) -> Plan:
        """Plan what has to be done, and for whom."""
        self.reader.look_at_exchange()
        return make_plan(
            self.course,
            self.lesson,
            students,
            fingerprint=self.reader.fingerprint,
            entries=self._journal.entries,
            standings=self.recorder.standings(),
            again=again,
        )

    def run(
        self, plan: Plan, workers: Workers, again: bool = False, watch: Watch | None = None
    ) -> None:
        """Do what is due, and show progress; with `watch`, also do what becomes due in the meantime.

        Raises
        ------
        CourseError
            If nobody could be graded: there is no sandbox, for example, or the lesson's own model
            answers do not get full points.
        """
        self.recorder.empty_log()
        self.recorder.failures.update(plan.refused)
        if not plan:
            return
        if plan.to_grade:
            prepare_to_write(self._nbgrader.coursedir.db_url, self.course.backups)
        seed = draw_seed()  # after an interruption too: pages may have shown inputs since then
        if again:
            self._journal.begin_again()
        if self.settings.warning:
            print(self.settings.warning, file=sys.stderr)
        if plan.to_grade:
            require_full_points(self.course, self.lesson, workers, self.settings, seed)
        with contextlib.closing(Progress()) as progress:
            run = _Run(self, workers, progress, seed, watch)
            run.add(plan)
            run.finish()


@dataclass(frozen=True)
class Watch:
    """Callbacks for students who are told their marks while the work of others is still running."""

    tell: Callable[[str], None]  # called when a student's page is written, or has failed
    arrivals: Callable[[], Plan]  # called every second; returns what has become due


@dataclass
class _Run:
    """The calls of one batch: queues of work to give out, and a callback for each reply."""

    batch: Batch
    workers: Workers
    progress: Progress
    seed: int  # of the hidden cases
    watch: Watch | None = None
    to_grade: deque[str] = field(default_factory=deque)
    to_show: deque[str] = field(default_factory=deque)
    under_way: set[str] = field(default_factory=set)  # whose work is queued or running
    # Submissions that lost marks to a time limit, to be rerun while nothing else runs.
    to_run_alone: deque[tuple[PreparedWork, Ran]] = field(default_factory=deque)
    runs_again: bool = False  # a rerun is under way
    seconds_alone: float = field(default_factory=lambda: limits.ALONE_SECONDS)  # left for reruns

    def add(self, plan: Plan) -> None:
        """Queue what is due, one entry a student: handing in often does not overtake others."""
        for queue, due in ((self.to_grade, plan.to_grade), (self.to_show, plan.to_show)):
            for student in [name for name in due if name not in self.under_way]:
                queue.append(student)
                self.under_way.add(student)
                self.progress.expect(student)
                self.batch.recorder.failures.pop(student, None)

    def finish(self) -> None:
        """Give out calls while there is room, and wait for every reply."""
        while self.to_grade or self.to_show or self.to_run_alone or not self.workers.idle:
            while self._has_room() and (self.to_grade or self.to_show):
                self._hand_out_next()
            if self.to_run_alone and self._may_run_again():
                self._run_alone(*self.to_run_alone.popleft())
            self.workers.wait(seconds=1.0)
            if self.watch:
                arrivals = self.watch.arrivals()
                self.add(arrivals)
                self.batch.recorder.failures.update(arrivals.refused)
            self.progress.show()

    def _has_room(self) -> bool:
        """Tell whether to give out more; with a watch, a page must not wait in a queue behind runs."""
        return (self.workers.free if self.watch else self.workers.room) > 0

    def _may_run_again(self) -> bool:
        """Tell whether a rerun may start: nothing else runs, or, with a watch, one worker is free."""
        return self.workers.idle or bool(self.watch and not self.runs_again and self._has_room())

    def _hand_out_next(self) -> None:
        """Give out runs before pages; with a watch, pages before runs."""
        if self.to_grade and not (self.watch and self.to_show):
            self._hand_out_run(self.to_grade.popleft())
        else:  # a watch with pages to write, or no runs left
            self._hand_out_page(self.to_show.popleft())

    def _hand_out_run(self, student: str) -> None:
        self.progress.begin(student)
        try:
            work = self.batch.reader.work(student)
        except Exception as error:  # whatever this student handed in, the others must be graded
            self._fail(student, "could not be read", error)
            return
        then = functools.partial(self._receive_run, work)
        self.workers.ask(Call(run_notebook, (self._task(work),), then))

    def _task(self, work: PreparedWork) -> Task:
        prepared = work.prepared
        bring_hidden_checks(self.batch.gradebook, self.batch.lesson, prepared.notebook)
        # With a watch, a student may hand in again after a page has shown the inputs of this seed.
        seed = draw_seed() if self.watch else self.seed
        return self.batch.settings.task(self.batch.lesson, prepared.notebook, prepared.files, seed)

    def _run_alone(self, work: PreparedWork, ran: Ran) -> None:
        """Rerun a submission that lost marks to a time limit, while the budget for reruns lasts."""
        if self.seconds_alone <= 0:
            self._record(work, dataclasses.replace(ran, stops=[NOT_AGAIN, *ran.stops]))
            return
        self.progress.begin(work.student)
        begun = time.monotonic()

        def then(reply: Reply) -> None:
            self.runs_again = False
            self.seconds_alone -= time.monotonic() - begun
            self._receive_run(work, reply, before=ran)

        share = self.seconds_alone / (1 + len(self.to_run_alone))  # leaves a share to the others
        task = dataclasses.replace(self._task(work), seconds=min(limits.ALONE_RUN_SECONDS, share))
        self.runs_again = True
        self.workers.ask(Call(run_notebook, (task,), then))

    def _receive_run(self, work: PreparedWork, reply: Reply, before: Ran | None = None) -> None:
        """Record a run; after a rerun, the better of the two: the rerun may have had less time."""
        if isinstance(reply.error, NoSandbox):
            raise CourseError(str(reply.error))
        if before and (reply.error or _points(work, before) > _points(work, reply.value)):
            self._record(work, dataclasses.replace(before, stops=[NOT_AGAIN, *before.stops]))
        elif isinstance(reply.error, WorkerDied):
            self._fail(work.student, f"could not be run: {reply.error}")
        elif reply.error is not None:
            self._fail(work.student, "could not be run", reply.error)
        elif reply.value.waited and not before:
            self.progress.pause(work.student)
            self.to_run_alone.append((work, reply.value))
        else:
            self._record(work, reply.value)

    def _record(self, work: PreparedWork, ran: Ran) -> None:
        if self.batch.recorder.grade(work, ran):
            self.progress.count(work.student)
            self.to_show.append(work.student)
        else:
            self._count(work.student, failed=True)

    def _hand_out_page(self, student: str, points_alone: bool = False) -> None:
        """Have the feedback page written; the grade is already in the gradebook."""
        self.progress.begin(student)
        try:
            page = self.batch.recorder.page(student)
        except Exception as error:  # whatever has changed since, the others must get pages
            self._fail(student, "the feedback could not be written", error)
            return
        arguments = self.batch.course.root, self.batch.lesson, student, points_alone
        then = functools.partial(self._receive_page, student, page, points_alone)
        seconds = limits.PAGE_WALL_SECONDS
        self.workers.ask(Call(write_page, arguments, then, local=True, seconds=seconds))

    def _receive_page(self, student: str, page: str, points_alone: bool, reply: Reply) -> None:
        if isinstance(reply.error, TimeoutError | WorkerDied) and not points_alone:
            self._hand_out_page(student, points_alone=True)
        elif reply.error is not None:
            self._fail(student, "the feedback could not be written", reply.error)
        else:
            written = self.batch.recorder.note_page(student, page, reply.value)
            self._count(student, failed=not written)

    def _fail(self, student: str, why: str, error: BaseException | None = None) -> None:
        self.batch.recorder.fail(student, why, error)
        self._count(student, failed=True)

    def _count(self, student: str, failed: bool) -> None:
        """Count a student as done, and tell a watch."""
        self.progress.count(student, failed)
        self.under_way.discard(student)
        if self.watch:
            self.progress.clear()
            self.watch.tell(student)


def _points(work: PreparedWork, ran: Ran) -> float:
    from nbgrader.utils import determine_grade

    notebook = work.prepared.notebook
    put_into(notebook, ran)
    return sum(determine_grade(cell)[0] for cell in notebook.cells if check_name(cell))


def write_page(root: Path, lesson: str, student: str, points_alone: bool = False) -> dict[str, Any]:
    """Write a student's feedback page; the gradebook is only read."""
    nbgrader = Course(root).nbgrader()
    nbgrader.config.FeedbackExporter.points_alone = points_alone
    return nbgrader.generate_feedback(lesson, student)
