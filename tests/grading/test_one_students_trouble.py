"""Whatever is damaged of one student's, every loop over the class goes on, and names that student."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from nbgrader.converters import Autograde, GenerateFeedback
from nbgrader.converters.base import NbGraderException

from attention_lib.grading.classroom.course import Course
from attention_lib.grading.export.grades import read_grades
from attention_lib.grading.grade import main
from attention_lib.grading.report.findings import read_class
from tests.grading.sample_class import LESSONS, Classroom, make_lean_course, quietly

LESSON = LESSONS[0]
OTHERS = ["ada", "zoe"]  # before all the others, and after them
pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.batch,
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="Windows has no such files"),
]


def autograded_is(text):
    def damage(course, student):
        path = course.autograded(LESSON, student)
        path.chmod(0o600)
        path.write_text(text)

    return damage


def time_is_a_folder(course, student):
    (course.submission(LESSON, student) / "timestamp.txt").mkdir()


def page_is_a_folder(course, student):
    course.feedback(LESSON, student).unlink()
    course.feedback(LESSON, student).mkdir()


def in_the_gradebook(command):
    def damage(course, student):
        path = course.root / "classroom" / "gradebook.db"
        with contextlib.closing(sqlite3.connect(path)) as connection:
            assert connection.execute(command, (student,)).rowcount >= 1
            connection.commit()

    return damage


def another_name(name):
    def damage(course, student):
        folder = course.submission(LESSON, student).parent
        shutil.copytree(folder, folder.with_name(name))

    return damage


WORK = "submitted_assignment where student_id = ?"
DAMAGES = {
    "no_json": autograded_is("{"),
    "no_notebook": autograded_is("[]"),
    "no_cells": autograded_is("{}"),
    "no_metadata": autograded_is('{"cells": [{}], "metadata": {}, "nbformat": 4}'),
    "time_is_a_folder": time_is_a_folder,
    "page_is_a_folder": page_is_a_folder,
    "time_in_gradebook": in_the_gradebook(
        "update submitted_assignment set timestamp = 'soon' where student_id = ?"
    ),
    "extension_in_gradebook": in_the_gradebook(
        "update submitted_assignment set extension = 'soon' where student_id = ?"
    ),
    "no_student": in_the_gradebook("delete from student where id = ?"),
    "no_grades": in_the_gradebook(
        "delete from grade where notebook_id in (select id from submitted_notebook "
        f"where assignment_id in (select id from {WORK}))"
    ),
    "name_with_a_line_break": another_name("b\no"),
    "name_that_is_no_text": another_name(os.fsdecode(b"b\xff")),
    "name_that_is_a_pattern": another_name("b*"),
}


@pytest.fixture(scope="module")
def graded(tmp_path_factory) -> Course:
    """A class that has been graded, and of whom many had something damaged since."""
    course = make_lean_course(tmp_path_factory.mktemp("course"), LESSON)
    room = Classroom(course, LESSON)
    for student in (*OTHERS, *DAMAGES):
        room.hand_in(student, room.blank())
    room.grade()
    for student, damage in DAMAGES.items():
        damage(course, student)
    return course


@pytest.fixture
def course(graded, tmp_path, monkeypatch) -> Course:
    """A copy of it."""
    shutil.copytree(graded.root, tmp_path / "course")
    monkeypatch.chdir(tmp_path / "course")
    return Course(tmp_path / "course")


def test_report_has_everyone(course):
    report = quietly(read_class, course, LESSON)
    assert set(OTHERS) <= report.findings.keys()
    assert set(DAMAGES) <= report.findings.keys() | report.absent.keys()


def test_grades_have_all_others(course):
    grades = quietly(read_grades, course)
    assert set(OTHERS) <= grades.totals[LESSON].keys()
    unread = [name for name in DAMAGES if any(f"/{name}/" in said for said in grades.unread)]
    assert unread == ["no_json", "no_notebook", "no_cells"]


def test_grading_has_everyone(course, capsys):
    for student in (*OTHERS, *DAMAGES):
        (course.submission(LESSON, student) / "data.csv").write_text("1")
    for student in OTHERS:
        course.feedback(LESSON, student).unlink()
    assert quietly(main, [LESSON, "--jobs", "0"]) == 1
    printed = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line for line in printed if line}
    assert rows.keys() >= {*OTHERS, *DAMAGES}
    assert all(course.feedback(LESSON, student).is_file() for student in OTHERS)
    assert sorted(name for name in DAMAGES if "says more" in rows[name]) == [
        "extension_in_gradebook",
        "no_grades",
        "time_in_gradebook",
    ]


@pytest.mark.parametrize("step", [Autograde, GenerateFeedback])
def test_nbgraders_own_loops_have_all_others(course, step):
    made = course.autograded if step is Autograde else course.feedback
    before = {student: made(LESSON, student).stat().st_mtime_ns for student in OTHERS}
    nbgrader = course.nbgrader()
    nbgrader.coursedir.assignment_id = LESSON
    with pytest.raises(NbGraderException):  # who fails is named in the log
        quietly(step(coursedir=nbgrader.coursedir, parent=nbgrader, force=True).start)
    after = {student: made(LESSON, student).stat().st_mtime_ns for student in OTHERS}
    assert [student for student in OTHERS if after[student] == before[student]] == []


def test_folder_that_may_not_be_looked_into_is_listed(course, monkeypatch):
    closed = course.submission(LESSON, "no_json")
    is_dir = Path.is_dir

    def refused(path):
        if path == closed:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return is_dir(path)

    monkeypatch.setattr(Path, "is_dir", refused)
    assert "no_json" in course.submitted(LESSON)
