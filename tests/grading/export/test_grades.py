"""Grades as CSV: nobody is taken for another, nothing is a formula."""

import csv
import io

import nbformat
import pytest

from attention_lib.grading.classroom.course import CourseError
from attention_lib.grading.classroom.roster import Student
from attention_lib.grading.export.__main__ import main
from attention_lib.grading.export.grades import (
    FORMATS,
    Grades,
    as_canvas,
    as_moodle,
    read_grades,
    unread_zeros,
)
from attention_lib.grading.intake.submission import Submission, prepare
from tests.grading.intake.released import RELEASED
from tests.grading.sample_class import LESSONS, make_course, quietly

LESSON = LESSONS[0]


def rows_of(text):
    return list(csv.reader(io.StringIO(text)))


def grades(*students):
    return Grades(list(students), {LESSON: 10.0}, {LESSON: {one.id: 5.0 for one in students}}, [])


def test_students_whom_canvas_could_not_tell_apart_are_left_out():
    students = Student("li1", "Min", "Li"), Student("li2", "Min", "Li", "", ("7",)), Student("bo")
    text, sentences = as_canvas(grades(*students, Student("x", "X", "Y", "", ("1", "2"))))
    assert [row[:2] for row in rows_of(text)[2:]] == [["Li, Min", "7"], ["bo", ""]]
    assert [sentence.split()[0] for sentence in sentences] == ["li1", "x"]


@pytest.mark.parametrize("write", [as_canvas, as_moodle])
def test_names_are_no_formulas(write):
    text, _ = write(grades(Student("=1+1", "=2+2", "=3+3", "@x", ("=4",))))
    cells = [cell for row in rows_of(text) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "@"))]


def test_zero_for_a_hand_in_that_could_not_be_graded_is_named(tmp_path):
    course = make_course(tmp_path)
    course.released(LESSON).parent.mkdir(parents=True)
    course.released(LESSON).write_text(nbformat.writes(RELEASED))
    for name, problem in {"ada": None, "bo": "it is empty"}.items():
        submission = Submission(nbformat.writes(RELEASED).encode(), problem)
        prepared = prepare(submission, course.released(LESSON), tmp_path / "nowhere")
        course.autograded(LESSON, name).parent.mkdir(parents=True)
        course.autograded(LESSON, name).write_text(nbformat.writes(prepared.notebook))
    (sentence,) = unread_zeros(course, {LESSON: {"ada": 0.0, "bo": 0.0}})
    assert sentence == (
        f"bo has 0 for {LESSON}, since the hand-in could not be graded: it is empty."
    )


def test_format_that_there_is_not_is_answered_in_a_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(make_course(tmp_path).root)
    assert main(["grades", "blackboard"]) == 1
    said = "Grades are written for canvas or moodle, not for 'blackboard'.\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("plugin", FORMATS.values())
def test_nbgrader_is_told_in_a_sentence_what_it_cannot_export(plugin, tmp_path):
    course = make_course(tmp_path, LESSON)
    for asked, said in (
        ({"assignment": ["01_sofmax"]}, "01_softmax"),
        ({}, "Nobody has been graded for any lesson yet"),
    ):
        exporter = plugin(config=course.nbgrader().config, **asked)
        with course.gradebook() as gradebook, pytest.raises(SystemExit, match=said):
            quietly(exporter.export, gradebook)


@pytest.mark.slow
def test_class_that_nobody_was_graded_in_is_said_so(released_course):
    with pytest.raises(CourseError, match="Nobody has been graded for any lesson yet"):
        quietly(read_grades, released_course)
