"""Grades as CSV: nobody is taken for another, nothing is a formula."""

import csv
import io

import pytest

from attention_lib.grading.classroom.course import CourseError
from attention_lib.grading.classroom.roster import Student
from attention_lib.grading.export.grades import Grades, as_canvas, as_moodle, read_grades
from tests.grading.sample_class import LESSONS, quietly

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
    text, _ = write(grades(Student("=1+1", "=2+2", "=3+3", "@x", ("-1",))))
    cells = [cell for row in rows_of(text) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "@"))]


@pytest.mark.slow
def test_class_that_nobody_was_graded_in_is_said_so(released_course):
    with pytest.raises(CourseError, match="Nobody has been graded for any lesson yet"):
        quietly(read_grades, released_course)
