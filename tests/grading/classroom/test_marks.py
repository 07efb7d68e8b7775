"""Marks given by hand stay settled until the answer or its automatic points change."""

import pytest

from attention_lib.grading.classroom.gradebook import Standing
from attention_lib.grading.classroom.marks import still_settled

ANSWERS = {"softmax": "def softmax(): ...", "written_softmax": "Ratios."}


@pytest.mark.parametrize(
    ("answers", "points", "settled"),
    [
        (ANSWERS, 0, ["check_softmax", "written_softmax"]),
        ({**ANSWERS, "written_softmax": "Sums."}, 0, ["check_softmax"]),
        ({**ANSWERS, "softmax": "softmax = None"}, 0, ["written_softmax"]),
        (ANSWERS, 3, ["written_softmax"]),  # the answer rests on another that is right now
        ({}, 0, []),
    ],
)
def test_marks_stand_while_answers_and_automatic_points_do(answers, points, settled):
    marked = ["check_softmax", "written_softmax"]
    before = Standing(automatic={"check_softmax": 0, "written_softmax": None}, settled=marked)
    after = Standing(automatic={"check_softmax": points, "written_softmax": None})
    assert still_settled(before, after, ANSWERS, answers) == settled


def test_no_mark_is_settled_without_the_notebook_that_was_marked():
    before = Standing(automatic={"written_softmax": None}, settled=["written_softmax"])
    assert still_settled(before, before, {}, ANSWERS) == []
