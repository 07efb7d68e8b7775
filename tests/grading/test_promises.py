"""What docs/teaching.md promises of grading a class, where no test beside a module holds it."""

import nbformat
import pytest

from attention_lib.grading.grade import summary, table
from tests.grading.sample_class import LESSONS, Classroom, make_lean_course

LESSON = LESSONS[0]
pytestmark = [pytest.mark.sandbox, pytest.mark.batch]


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """A class of three, of whom the one in the middle hands in half a notebook."""
    room = Classroom(make_lean_course(tmp_path_factory.mktemp("course"), LESSON), LESSON)
    room.seat("ada", room.key(), room.most)
    room.seat("bo", nbformat.writes(room.key())[:-50], room.nothing)
    room.seat("cy", room.key(), room.most)
    room.grade()
    return room


def test_notebook_that_cannot_be_read_gets_no_points_and_does_not_stop_the_others(room):
    assert {name: result.points for name, result in room.results.items()} == room.deserved


def test_notebook_that_cannot_be_read_is_named_in_the_table(room):
    results = list(room.results.values())
    row = next(line for line in table(room.worth, results).splitlines() if line.startswith("bo "))
    assert "nothing to grade: it is not valid JSON" in row
    assert summary(results).startswith("3 handed in.")


def test_each_student_gets_a_page_of_feedback(room):
    assert "This submission could not be graded" in room.feedback("bo")
    for student in ("ada", "cy"):
        assert ": right." in room.feedback(student)


def test_only_what_has_changed_is_graded_anew(room):
    graded = {
        name: room.course.autograded(LESSON, name).stat().st_mtime_ns for name in room.results
    }
    path = room.course.submission(LESSON, "bo") / f"{LESSON}.ipynb"
    path.write_text(nbformat.writes(room.key()))
    assert room.grade()["bo"].points == room.most
    changed = [
        name
        for name, time in graded.items()
        if room.course.autograded(LESSON, name).stat().st_mtime_ns != time
    ]
    assert changed == ["bo"]
