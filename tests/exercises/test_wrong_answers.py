"""Wrong answers never pass, whatever the random cases: subtler ones than the known mistakes."""

import pytest

from attention_lib.checks.judging import LEARNER, judge
from attention_lib.exercises import EXERCISES
from tests.checks.judged import VERDICT_ALONE
from tests.exercises.answers import answers_of, write_answers
from tests.exercises.chosen import chosen

# Every plain mistake is a known one there.
WITHOUT_WRONG_ANSWERS = {"attention_flops", "flash_kernel"}


def pytest_generate_tests(metafunc):
    if metafunc.function is test_every_function_has_wrong_answers:
        exercises = chosen(metafunc.config).values()
        names = {exercise.name for exercise in exercises if exercise.kind == "function"}
        metafunc.parametrize("name", sorted(names - WITHOUT_WRONG_ANSWERS))
        return
    answers = [
        pytest.param(name, answer, id=f"{name}: {what}")
        for name in chosen(metafunc.config)
        for what, answer in answers_of(name, "WRONG").items()
    ]
    metafunc.parametrize(("exercise", "answer"), answers)


def test_every_function_has_wrong_answers(name):
    assert answers_of(name, "WRONG"), write_answers(name, "WRONG answers")


@pytest.mark.parametrize(("seed", "policy"), [(0, LEARNER), (1, VERDICT_ALONE)])
def test_wrong_answer_fails(exercise, answer, seed, policy):
    report = judge(EXERCISES[exercise], answer, seed, policy)
    assert report.outcome in ("wrong", "error"), report.sentence
