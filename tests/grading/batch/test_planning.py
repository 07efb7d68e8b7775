"""Planning a batch: what is due, and for whom; no batch is run."""

import shutil
from dataclasses import replace
from datetime import timedelta

import pytest

from attention_lib.grading.batch.planning import make_plan, page_fingerprint
from attention_lib.grading.classroom.course import CONFIG, LATE_MARK, Course
from attention_lib.grading.classroom.gradebook import Standing
from attention_lib.grading.classroom.journal import Entry
from tests.grading.sample_class import ROOT

LESSON = "01_softmax"
NOTEBOOK = b"{}"
STANDING = Standing(automatic={"check_softmax": 1.0}, marks="marks")
ENTRY = Entry(work="same", automatic={"check_softmax": 1.0})
CURRENT = replace(ENTRY, page=page_fingerprint(ENTRY, STANDING, [], NOTEBOOK))


@pytest.fixture
def course(tmp_path) -> Course:
    """A course in which three students have a grade, and a page made from it."""
    shutil.copy(ROOT / CONFIG, tmp_path)
    course = Course(tmp_path)
    for student in ("ada", "bo", "cy"):
        for path in (course.autograded(LESSON, student), course.feedback(LESSON, student)):
            path.parent.mkdir(parents=True)
            path.write_bytes(NOTEBOOK)
    return course


def plan(course, students, standings=None, **settings):
    given = {
        "fingerprint": lambda student: "same",
        "entries": dict.fromkeys(students, CURRENT),
        "standings": {**dict.fromkeys(students, STANDING), **(standings or {})},
    }
    return make_plan(course, LESSON, students, **given | settings)


def test_nothing_is_due_after_a_batch(course):
    assert not plan(course, ["ada", "bo", "cy"])


@pytest.mark.parametrize(
    "settings",
    [
        {"again": True},
        {"entries": {}},
        {"fingerprint": lambda student: "other"},
        {"standings": {"ada": None}},
        {"standings": {"ada": Standing(automatic={"check_softmax": 0.0})}},
    ],
    ids=["again", "not graded yet", "changed", "no grade", "another grade"],
)
def test_grade_is_due_again(course, settings):
    assert plan(course, ["ada"], **settings).to_grade == ["ada"]


def test_what_is_missing_is_due(course):
    course.autograded(LESSON, "ada").unlink()
    course.feedback(LESSON, "bo").unlink()
    due = plan(course, ["ada", "bo", "cy"])
    assert (due.to_grade, due.to_show) == (["ada"], ["bo"])


def test_changed_marks_need_a_page_and_those_of_late_students_a_grade(course):
    marked = Standing(automatic=ENTRY.automatic, marks="other")
    late = replace(marked, late=timedelta(hours=1))
    due = plan(course, ["ada", "bo", "cy"], {"bo": marked, "cy": late})
    assert (due.to_grade, due.to_show) == (["cy"], ["bo"])
    assert len(due) == 2


def test_page_is_due_where_the_platform_marks_a_hand_in_as_late_since(course):
    course.note_collected(LESSON, {"bo": [LATE_MARK]})
    assert plan(course, ["ada", "bo"]).to_show == ["bo"]


def test_student_whose_name_is_a_pattern_is_refused(course):
    due = plan(course, ["ada", "b*"], again=True)
    assert (due.to_grade, list(due.refused)) == (["ada"], ["b*"])
