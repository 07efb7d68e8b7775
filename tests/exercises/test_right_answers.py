"""Right answers pass however they are written, whatever the random cases."""

import pytest

from attention_lib.checks.judging import judge
from attention_lib.exercises import EXERCISES
from tests.exercises.answers import RIGHT as ANSWERS
from tests.exercises.answers import no_right_answers


@pytest.mark.parametrize("name", [n for n, e in EXERCISES.items() if e.kind != "written"])
def test_every_exercise_has_unlike_right_answers(name):
    assert name in ANSWERS, no_right_answers(name)
    assert len(ANSWERS[name]) >= 3


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        pytest.param(name, answer, id=f"{name}-{getattr(answer, '__name__', number)}")
        for name, answers in ANSWERS.items()
        for number, answer in enumerate(answers)
    ],
)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_right_answer_passes(name, answer, seed):
    report = judge(EXERCISES[name], answer, seed)
    assert report.outcome == "right", report.sentence
