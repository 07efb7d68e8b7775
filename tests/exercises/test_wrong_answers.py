"""Wrong answers never pass, whatever the random cases: subtler ones than the known mistakes."""

import pytest

from attention_lib.checks import judging
from attention_lib.checks.judging import judge
from attention_lib.exercises import EXERCISES
from tests.checks.judged import VERDICT_ALONE
from tests.exercises.answers import answers_of, write_answers
from tests.exercises.chosen import chosen, in_one_worker, seeds

# Every plain mistake is a known one there.
WITHOUT_WRONG_ANSWERS = {"attention_flops", "flash_kernel"}
# Most of a second for an answer.
SLOW = {"flash_program", "softmax_vjp", "temperature_for_entropy", "tiled_causal_attention"}


def pytest_generate_tests(metafunc):
    if metafunc.function is not test_wrong_answer_fails:
        exercises = chosen(metafunc.config).values()
        names = {exercise.name for exercise in exercises if exercise.kind == "function"}
        tried = sorted(names - WITHOUT_WRONG_ANSWERS)
        metafunc.parametrize("name", [pytest.param(one, marks=in_one_worker(one)) for one in tried])
        return
    answers = [
        pytest.param(
            name,
            answer,
            id=f"{name}: {what}",
            marks=in_one_worker(name) + [pytest.mark.slow] * (name in SLOW),
        )
        for name in chosen(metafunc.config)
        for what, answer in answers_of(name, "WRONG").items()
    ]
    metafunc.parametrize(("exercise", "answer"), answers)


def test_every_function_has_wrong_answers(name):
    assert answers_of(name, "WRONG"), write_answers(name, "WRONG answers")


def test_wrong_answer_fails(exercise, answer, monkeypatch):
    monkeypatch.setattr(judging, "MOST_SECONDS", -1)  # the first call that fails is the last
    for seed in seeds(2):
        report = judge(EXERCISES[exercise], answer, seed, VERDICT_ALONE)
        assert report.outcome in ("wrong", "error"), f"seed {seed}: {report.sentence}"
