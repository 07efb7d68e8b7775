"""Wrong answers never pass, whatever the random cases: subtler ones than the known mistakes."""

import importlib.util

import pytest

from attention_lib.checks.catalogue import EXERCISES, LESSONS
from attention_lib.checks.judging import judge

MODULES = [f"tests.checks.wrong_answers.{lesson.partition('_')[2]}" for lesson in LESSONS]
ANSWERS = {
    exercise: answers
    for module in MODULES
    if importlib.util.find_spec(module)
    for exercise, answers in importlib.import_module(module).WRONG.items()
}


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
