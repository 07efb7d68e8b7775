"""A wider dtype than asked for costs nothing where precision is not the subject."""

import functools

import numpy as np

from attention_lib.checks.compare.cases import trials_of
from attention_lib.checks.judging import GRADER, judge
from tests.exercises.chosen import chosen


def pytest_generate_tests(metafunc):
    exercises = [
        exercise
        for exercise in chosen(metafunc.config).values()
        if exercise.kind == "function" and not exercise.accelerated
    ]
    metafunc.parametrize("exercise", exercises, ids=lambda exercise: exercise.name)


def flat(value):
    return [one for part in value for one in flat(part)] if isinstance(value, tuple) else [value]


def in_float64(value):
    if isinstance(value, tuple):
        return tuple(map(in_float64, value))
    is_array = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    return value.astype(np.float64) if is_array else value


def test_results_in_float64_for_float32_are_right_with_a_remark(exercise):
    @functools.wraps(exercise.reference)
    def answer(*args, **kwargs):
        return in_float64(exercise.reference(*args, **kwargs))

    report = judge(exercise, answer, 0, GRADER)
    is_asked_for = any(
        one.dtype == np.float32 and not one.scalar
        for trial in trials_of(exercise, 0)
        if trial.expected is not None
        for one in flat(trial.expected)
    )
    if is_asked_for and exercise.dtype_decides:
        assert (report.outcome, "returned dtype float64" in report.sentence) == ("wrong", True)
    else:
        assert report.outcome == "right", report.sentence
        told = any("has dtype float64, and float32 would do" in one for one in report.advice)
        assert told == is_asked_for
