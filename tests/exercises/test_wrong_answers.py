"""Wrong answers never pass, whatever the random cases: subtler ones than the known mistakes."""

import pytest

from attention_lib.checks.judging import judge
from attention_lib.exercises import EXERCISES
from tests.exercises.answers import WRONG as ANSWERS


@pytest.mark.parametrize(
    ("exercise", "answer"),
    [
        pytest.param(exercise, answer, id=f"{exercise}: {what}")
        for exercise, answers in ANSWERS.items()
        for what, answer in answers.items()
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_wrong_answer_fails(exercise, answer, seed):
    report = judge(EXERCISES[exercise], answer, seed)
    assert report.outcome in ("wrong", "error"), report.sentence
