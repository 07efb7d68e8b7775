"""Planning a batch: what is due, for whom, and why; no batch is run."""

import shutil
from dataclasses import replace
from datetime import timedelta

import pytest

from attention_lib.grading.batch.planning import make_plan, page_fingerprint, why_grade, why_show
from attention_lib.grading.classroom.course import CONFIG, LATE_MARK, Course
from attention_lib.grading.classroom.gradebook import Standing
from attention_lib.grading.classroom.journal import Entry
from tests.grading.sample_class import ROOT

LESSON = "01_softmax"
NOTEBOOK = b"{}"
STANDING = Standing(automatic={"check_softmax": 1.0}, marks="marks")
ENTRY = Entry(work="same", automatic={"check_softmax": 1.0})
CURRENT = replace(ENTRY, page=page_fingerprint(ENTRY, STANDING, [], NOTEBOOK))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""),
        ({"again": True}, "everyone is graded again"),
        ({"entry": Entry()}, "not graded yet"),
        ({"fingerprint": "other"}, "the submission, the lesson, the settings or the library"),
        ({"standing": None}, "the gradebook holds no grade"),
        ({"standing": Standing(automatic={"check_softmax": 0.0})}, "the gradebook holds another"),
        ({"has_notebook": False}, "the autograded notebook is missing"),
    ],
)
def test_grade_is_due_for_a_reason(changes, reason):
    state = {"fingerprint": "same", "entry": ENTRY, "standing": STANDING, "has_notebook": True}
    given = why_grade(**{**state, **changes})
    assert given.startswith(reason)
    assert bool(given) == bool(reason)


@pytest.mark.parametrize(
    ("page", "has_page", "reason"),
    [
        (CURRENT.page, True, ""),
        (CURRENT.page, False, "there is no feedback page"),
        ("other", True, "the marks have changed"),
    ],
)
def test_page_is_due_for_a_reason(page, has_page, reason):
    assert why_show(page, CURRENT, has_page) == reason


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
    return make_plan(
        course,
        LESSON,
        students,
        fingerprint=lambda student: "same",
        entries=dict.fromkeys(students, CURRENT),
        standings={**dict.fromkeys(students, STANDING), **(standings or {})},
        **settings,
    )


def test_nothing_is_due_after_a_batch(course):
    assert not plan(course, ["ada", "bo", "cy"])


def test_changed_marks_need_a_page_and_those_of_late_students_a_grade(course):
    marked = Standing(automatic=ENTRY.automatic, marks="other")
    late = replace(marked, late=timedelta(hours=1))
    due = plan(course, ["ada", "bo", "cy"], {"bo": marked, "cy": late})
    assert (list(due.to_grade), list(due.to_show)) == (["cy"], ["bo"])
    assert len(due) == 2


def test_page_is_due_where_the_platform_marks_a_hand_in_as_late_since(course):
    course.note_collected(LESSON, {"bo": [LATE_MARK]})
    assert list(plan(course, ["ada", "bo"]).to_show) == ["bo"]


def test_student_whose_name_is_a_pattern_is_refused(course):
    due = plan(course, ["ada", "b*"], again=True)
    assert (list(due.to_grade), list(due.refused)) == (["ada"], ["b*"])
