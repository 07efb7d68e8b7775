"""Right answers pass however they are written, whatever the random cases."""

import pytest

from attention_lib.checks.judging import judge
from attention_lib.exercises import EXERCISES
from tests.exercises.answers import answers_of, write_answers
from tests.exercises.chosen import chosen, in_one_worker, seeds

SEEDS = 3
SLOW = {
    "flash_kernel": 1,
    "flash_program": 1,
    "temperature_for_entropy": 2,
    "tiled_attention": 2,
    "tiled_attention_backward": 2,
    "tiled_causal_attention": 2,
}  # most of a second for each answer and seed


def pytest_generate_tests(metafunc):
    exercises = chosen(metafunc.config)
    if metafunc.function is test_every_exercise_has_unlike_right_answers:
        names = [name for name, exercise in exercises.items() if exercise.kind != "written"]
        metafunc.parametrize("name", names)
    else:
        answers = [
            pytest.param(
                *(name, what, answer),
                id=f"{name}: {what}",
                marks=in_one_worker(name) + [pytest.mark.slow] * (name in SLOW),
            )
            for name in exercises
            for what, answer in answers_of(name, "RIGHT").items()
        ]
        metafunc.parametrize(("name", "what", "answer"), answers)


def test_every_exercise_has_unlike_right_answers(name):
    assert len(answers_of(name, "RIGHT")) >= 3, write_answers(name, "at least three RIGHT answers")


def test_right_answer_passes(name, what, answer):
    is_slowest = name in SLOW and what == "in pure python"  # two seconds
    for seed in seeds(1 if is_slowest else SLOW.get(name, SEEDS)):
        report = judge(EXERCISES[name], answer, seed)
        assert report.outcome == "right", f"seed {seed}: {report.sentence}"
