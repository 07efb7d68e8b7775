"""Watching a lesson: what comes in is graded, given back, and said once."""

import json
import os
from unittest.mock import Mock

import pytest
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange.default import ExchangeSubmit

from attention_lib.grading import watch
from attention_lib.grading.classroom.course import Course
from tests.grading.sample_class import LESSONS, ROOT, Classroom, make_lean_course, quietly

LESSON = LESSONS[0]
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
        assert line[5:] == f" {student}: 7 of 9"
        assert "softmax: right." in room.feedback(student)
    assert watch.look(room.course, LESSON, 0, known) == known
    assert capsys.readouterr().out == ""


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
    config = course.root / "nbgrader_config.py"
    settings = (
        f"c.CourseDirectory.course_id = {CLASS!r}\nc.Exchange.root = {str(exchange)!r}\n"
        f"c.Exchange.cache = {str(tmp_path / 'cache')!r}\n"
        "c.ExchangeCollect.check_owner = False\n"
    )
    config.write_text(f"{config.read_text()}\n{settings}")
    room = Classroom(course, LESSON)
    hand_in_by_the_exchange(room, home)
    watch.look(course, LESSON, 0, {})
    assert " ada: 7 of 9" in capsys.readouterr().out
    (page,) = (exchange / CLASS / "feedback").iterdir()
    assert "softmax: right." in page.read_text("utf-8")


def hand_in_by_the_exchange(room, home):
    (home / LESSON).mkdir(parents=True)
    settings = room.course.nbgrader().config
    settings.Exchange.assignment_dir = str(home)
    settings.CourseDirectory.assignment_id = LESSON
    (home / LESSON / f"{LESSON}.ipynb").write_text(json.dumps(room.key()))
    submit = ExchangeSubmit(
        coursedir=CourseDirectory(config=settings, student_id="ada"),
        authenticator=Authenticator(config=settings),
        config=settings,
    )
    quietly(submit.start)
