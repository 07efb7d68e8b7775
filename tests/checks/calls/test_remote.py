"""An answer in another process gets the verdict, and the sentence, that it gets in this one."""

import pytest

from attention_lib.checks.judging import judge
from attention_lib.exercises import EXERCISES
from tests.checks.calls.by_value import ByValue
from tests.exercises.answers import answers_of, as_a_learner_writes_it
from tests.exercises.chosen import in_one_worker

FUNCTIONS = [exercise for exercise in EXERCISES.values() if exercise.kind == "function"]
# The first mistake of each, and all that are measured.
MISTAKES = [
    pytest.param(
        *(exercise, mistake),
        id=f"{exercise.name}-{number}",
        marks=in_one_worker(exercise.name) + [pytest.mark.slow] * mistake.measured,
    )
    for exercise in FUNCTIONS
    for number, mistake in enumerate(exercise.mistakes)
    if number == 0 or mistake.measured
]


@pytest.mark.parametrize(
    "exercise",
    [
        pytest.param(
            one,
            id=one.name,
            marks=in_one_worker(one.name) + [pytest.mark.slow] * one.accelerated,
        )
        for one in FUNCTIONS
    ],
)
def test_a_right_answer_in_another_process_is_right(exercise):
    report = judge(exercise, ByValue(next(iter(answers_of(exercise.name, "RIGHT").values()))), 0)
    assert report.outcome == "right", report.sentence


@pytest.mark.parametrize(("exercise", "mistake"), MISTAKES)
def test_a_mistake_in_another_process_is_recognized(exercise, mistake):
    answer = as_a_learner_writes_it(mistake.variants[0])
    report = judge(exercise, ByValue(answer), 0)
    assert report.outcome == "wrong"
    if mistake.measured:
        assert mistake.sentence in report.sentence
    else:
        assert report.sentence.startswith(mistake.sentence)
