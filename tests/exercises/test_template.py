"""The exercise and the answers that authors copy are valid themselves."""

import dataclasses

import pytest

from attention_lib.checks.judging import judge
from attention_lib.exercises import template
from attention_lib.lessons import LESSONS
from tests.exercises import template as answers
from tests.exercises.answers import answers_in, as_a_learner_writes_it

RIGHT, WRONG = answers_in(answers, "RIGHT"), answers_in(answers, "WRONG")
EXERCISE = dataclasses.replace(template.EXERCISE, lesson=LESSONS[0])


def test_contract_starts_with_first_line_of_answer():
    assert template.__doc__.startswith(f"`{EXERCISE.first_line.removeprefix('def ')}`")


@pytest.mark.parametrize("answer", [pytest.param(RIGHT[what], id=what) for what in RIGHT])
def test_right_answers_of_template_pass(answer):
    report = judge(EXERCISE, answer, seed=0)
    assert report.outcome == "right", report.sentence
    assert len(RIGHT) >= 3


@pytest.mark.parametrize("answer", [pytest.param(WRONG[what], id=what) for what in WRONG])
def test_wrong_answers_of_template_are_refused(answer):
    assert judge(EXERCISE, answer, seed=0).outcome == "wrong"


@pytest.mark.parametrize("mistake", EXERCISE.mistakes, ids=lambda mistake: mistake.id)
def test_mistakes_of_template_are_recognized(mistake):
    for variant in mistake.variants:
        report = judge(EXERCISE, as_a_learner_writes_it(variant), seed=0)
        assert (report.outcome, report.sentence) == ("wrong", mistake.sentence)
