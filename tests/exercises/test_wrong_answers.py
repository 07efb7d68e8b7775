"""Wrong answers never pass, whatever the random cases: subtler ones than the known mistakes."""

import pytest

from attention_lib.checks.judging import judge
from attention_lib.exercises import EXERCISES
from tests.exercises.answers import answers_of
from tests.exercises.chosen import chosen


def pytest_generate_tests(metafunc):
    answers = [
        pytest.param(name, answer, id=f"{name}: {what}")
        for name in chosen(metafunc.config)
        for what, answer in answers_of(name, "WRONG").items()
    ]
    metafunc.parametrize(("exercise", "answer"), answers)


@pytest.mark.parametrize("seed", [0, 1])
def test_wrong_answer_fails(exercise, answer, seed):
    report = judge(EXERCISES[exercise], answer, seed)
    assert report.outcome in ("wrong", "error"), report.sentence
