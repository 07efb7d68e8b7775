"""Watching a lesson: what comes in is graded, given back, and said once."""

import json
import os
from concurrent.futures import Future
from dataclasses import replace
from typing import ClassVar
from unittest.mock import Mock

import pytest
from nbformat.v4 import new_markdown_cell
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import ExchangeSubmit

from attention_lib import standing
from attention_lib.grading import watch
from attention_lib.grading.batch.workers import Workers
from attention_lib.grading.classroom.course import Course, CourseError
from attention_lib.grading.grade import Result
from attention_lib.grading.judge.execution import run_notebook
from attention_lib.record import Record
from tests.grading.sample_class import (
    LESSONS,
    ROOT,
    Classroom,
    configure,
    make_lean_course,
    quietly,
)

LESSON = LESSONS[0]
COUNT = standing.count(Record(), LESSON)
ALL_BUT_WORDS = f"{COUNT.of_points} of {COUNT.of_points + COUNT.in_words}"
CLASS = "attention"
pytestmark = [pytest.mark.sandbox, pytest.mark.batch]


def test_each_is_graded_as_it_comes_in_and_said_once(tmp_path, capsys):
    room = Classroom(make_lean_course(tmp_path, LESSON), LESSON)
    known = watch.look(room.course, LESSON, 0, {})
    assert known == {}
    for student in ("ada", "bo"):
        room.hand_in(student, room.key())
        known = watch.look(room.course, LESSON, 0, known)
        (line,) = capsys.readouterr().out.splitlines()
        assert line[5:] == f" {student}: {ALL_BUT_WORDS}"
        assert "softmax: right." in room.feedback(student)
    assert watch.look(room.course, LESSON, 0, known) == known
    assert capsys.readouterr().out == ""


class HeldWorkers(Workers):
    """Workers one of which is busy with the sleeper's notebook until the test wakes it."""

    held: ClassVar[list] = []
    seeds: ClassVar[list[int]] = []

    @property
    def free(self):
        return 3 - len(self._running)

    def _submit(self, call):
        task = call.arguments[0]
        self.seeds += [task.seed] if hasattr(task, "seed") else []
        if "This is the sleeper" not in getattr(task, "notebook", ""):
            return super()._submit(call)
        self.held.append((call, Future()))
        return self.held[-1][1]

    @classmethod
    def wake(cls):
        call, future = cls.held.pop()
        future.set_result(call.function(*call.arguments))


def test_nobody_waits_for_a_sleeper_and_who_hands_in_meanwhile_is_graded(tmp_path, monkeypatch):
    room = Classroom(make_lean_course(tmp_path, LESSON), LESSON)
    notebook = room.key()
    notebook.cells.append(new_markdown_cell("This is the sleeper."))
    room.hand_in("a_sleeper", notebook)
    room.hand_in("bo", room.key())
    room.hand_in("cy", room.blank())
    notebook_of_cy = room.course.submission(LESSON, "cy") / f"{LESSON}.ipynb"
    notebook_of_sleeper = notebook_of_cy.parents[2] / "a_sleeper" / LESSON / f"{LESSON}.ipynb"
    told = []

    def meanwhile(*_):
        """Do what happens after the lines that have been printed."""
        result: Result = _[2]
        assert "softmax: " in room.feedback(result.student)
        told.append((result.student, result.total))
        if len(told) == 2:
            room.hand_in("dee", room.key())
            notebook_of_cy.write_text(json.dumps(room.key()))
            notebook_of_sleeper.write_text(json.dumps(room.blank()))
        elif len(told) == 4:
            HeldWorkers.wake()

    monkeypatch.setattr("attention_lib.grading.grade.Workers", HeldWorkers)
    monkeypatch.setattr(HeldWorkers, "seeds", [])
    monkeypatch.setattr(watch, "_print", meanwhile)
    monkeypatch.setattr(watch, "PAUSE_SECONDS", 0)
    known = watch.look(room.course, LESSON, 0, {})
    assert told[:2] == [("bo", room.full), ("cy", 0)]
    assert sorted(told[2:4]) == [("cy", room.full), ("dee", room.full)]
    assert told[4:] == [("a_sleeper", room.full), ("a_sleeper", 0)]  # one after the other
    assert {student: result.total for student, result in known.items()} == {
        "a_sleeper": 0,
        "bo": room.full,
        "cy": room.full,
        "dee": room.full,
    }
    _, *seeds = HeldWorkers.seeds  # but for the model answers
    assert len(set(seeds)) == len(seeds) == 6


class OneWorker(Workers):
    """A worker for whom a second call may wait; the calls are made when the first reply is awaited."""

    order: ClassVar[list[str]] = []

    def __init__(self, jobs):
        super().__init__(1)

    def _submit(self, call):
        self.order.append(call.function.__name__)
        self._jobs = 0
        future = super()._submit(call)
        self._jobs = 1
        return future


def test_page_does_not_wait_behind_the_next_run(tmp_path, monkeypatch):
    room = Classroom(make_lean_course(tmp_path, LESSON), LESSON)
    for student in ("ada", "bo"):
        room.hand_in(student, room.blank())
    monkeypatch.setattr("attention_lib.grading.grade.Workers", OneWorker)
    watch.look(room.course, LESSON, 0, {})
    assert OneWorker.order[1:] == ["run_notebook", "write_page"] * 2


def test_who_lost_marks_to_time_is_run_again_while_another_sleeps(tmp_path, monkeypatch):
    room = Classroom(make_lean_course(tmp_path, LESSON), LESSON)
    notebook = room.key()
    notebook.cells.append(new_markdown_cell("This is the sleeper."))
    room.hand_in("a_sleeper", notebook)
    room.hand_in("bo", room.key())
    told, runs = [], []

    def run_slowly(task):
        runs.append(task)
        ran = run_notebook(task)
        return replace(ran, waited=len(runs) == 1)

    def tell(_, __, result):
        told.append((result.student, len(runs)))
        if result.student == "bo":
            HeldWorkers.wake()

    monkeypatch.setattr("attention_lib.grading.batch.batch.run_notebook", run_slowly)
    monkeypatch.setattr("attention_lib.grading.grade.Workers", HeldWorkers)
    monkeypatch.setattr(HeldWorkers, "seeds", [])
    monkeypatch.setattr(watch, "_print", tell)
    watch.look(room.course, LESSON, 0, {})
    assert told == [("bo", 2), ("a_sleeper", 3)]


def test_a_problem_is_said_once_and_looking_goes_on(monkeypatch, capsys):
    problems = [RuntimeError("database is locked")] * 2 + [KeyboardInterrupt]
    monkeypatch.setattr(watch, "look", Mock(side_effect=problems))
    monkeypatch.setattr(watch, "PAUSE_SECONDS", 0)
    with pytest.raises(KeyboardInterrupt):
        watch.watch(Course(ROOT), LESSON, 0)
    assert capsys.readouterr().err == "database is locked\n"


@pytest.mark.skipif(os.name == "nt", reason="nbgrader has no exchange on Windows")
def test_exchange_is_collected_from_and_gets_the_feedback(tmp_path, capsys):
    exchange, home = tmp_path / "exchange", tmp_path / "home"
    for folder in ("inbound", f"outbound/{LESSON}"):
        (exchange / CLASS / folder).mkdir(parents=True)
    (tmp_path / "course").mkdir()
    course = make_lean_course(tmp_path / "course", LESSON)
    configure(
        course,
        f"c.CourseDirectory.course_id = {CLASS!r}",
        f"c.Exchange.root = {str(exchange)!r}",
        f"c.Exchange.cache = {str(tmp_path / 'cache')!r}",
        "c.ExchangeCollect.check_owner = False",
    )
    room = Classroom(course, LESSON)
    hand_in_by_the_exchange(room, home, room.key())
    room.hand_in("a_first", room.key())  # by other ways
    (exchange / CLASS / "inbound" / f"mail+{LESSON}+2026-03-01 12:00 UTC+x").symlink_to(home)
    course.roster.write_text("id\nada\nmail\n")
    known = watch.look(course, LESSON, 0, {})
    first, ada, mail = capsys.readouterr().out.splitlines()
    assert first[5:].startswith(
        f" a_first: {ALL_BUT_WORDS} (No page is released for 'a_first': there is no "
    )
    assert ada[5:] == f" ada: {ALL_BUT_WORDS}"
    why = "something was not collected: what bears this name in the exchange is no folder"
    assert mail[5:] == f" mail: not graded ({why})"
    (page,) = (exchange / CLASS / "feedback").iterdir()
    assert "softmax: right." in page.read_text("utf-8")
    for notebook in (room.key(), with_a_note(room.key())):  # each hand-in has a secret of its own
        hand_in_by_the_exchange(room, home, notebook)
        known = watch.look(course, LESSON, 0, known)
        (ada,) = capsys.readouterr().out.splitlines()
        assert ada[5:] == f" ada: {ALL_BUT_WORDS}"
    assert len(list(page.parent.iterdir())) == 3
    page.parent.rename(page.parent.with_name("kept"))
    page.parent.write_text("no folder")
    with pytest.raises(CourseError, match="nbgrader could not release feedback"):
        watch.look(course, LESSON, 0, {})
    page.parent.unlink()
    assert watch.look(course, LESSON, 0, known) == known
    assert capsys.readouterr().out.splitlines()[1:] == []


def with_a_note(notebook):
    notebook.cells.append(new_markdown_cell("Handed in again."))
    return notebook


def hand_in_by_the_exchange(room, home, notebook):
    (home / LESSON).mkdir(parents=True, exist_ok=True)
    settings = room.course.nbgrader().config
    settings.Exchange.assignment_dir = str(home)
    settings.CourseDirectory.assignment_id = LESSON
    (home / LESSON / f"{LESSON}.ipynb").write_text(json.dumps(notebook))
    submit = ExchangeSubmit(
        coursedir=CourseDirectory(config=settings, student_id="ada"),
        authenticator=Authenticator(config=settings),
        config=settings,
    )
    quietly(submit.start)
