"""What is measured is compared, and drawn: points are not bought by telling large inputs from small."""

import pickle

import numpy as np
import pytest

from attention_lib.checks.calls.case import Stream
from attention_lib.checks.compare.cases import cases_of
from attention_lib.checks.judging import GRADER, judge
from attention_lib.exercises import EXERCISES

MEASURED = (
    "softmax_vjp",
    "online_softmax_stats",
    "tiled_attention",
    "tiled_causal_attention",
    "tiled_attention_backward",
)


def size_of(args):
    """Count the numbers in arguments; those that come one after the other do not count."""
    return sum(np.size(one) for one in args if isinstance(one, np.ndarray))


def largest_case(exercise):
    return max(size_of(case.args) for case in cases_of(exercise, 0))


@pytest.mark.parametrize("name", MEASURED)
def test_nothing_on_large_inputs_and_all_at_once_on_small_ones_is_wrong(name):
    exercise = EXERCISES[name]
    most = largest_case(exercise)

    def answer(*args, **kwargs):
        if size_of(args) > most:
            return np.zeros(3) + args[-1] if np.isscalar(args[-1]) else None
        if not isinstance(args[0], np.ndarray):  # score blocks: no case has more than nine
            args = ([block for block, _ in zip(args[0], range(9), strict=False)],)
        return exercise.reference(*args, **kwargs)

    report = judge(exercise, answer, 0, GRADER)
    assert report.outcome == "wrong"
    assert "where it is measured" in report.sentence


def measured_with(exercise, seed):
    """Return the arguments beyond the cases that a right answer is called with."""
    seen = set()

    def answer(*args, **kwargs):
        if isinstance(args[0], np.ndarray):
            seen.add(pickle.dumps([one for one in args if isinstance(one, np.ndarray)]))
            return exercise.reference(*args, **kwargs)
        blocks = list(args[0])
        seen.add(pickle.dumps(blocks))
        return exercise.reference(Stream(blocks))

    for probe in exercise.probes:
        probe(answer, np.random.default_rng(seed))
    return seen


@pytest.mark.parametrize("name", MEASURED)
def test_no_input_of_a_measurement_is_the_same_at_another_seed(name):
    exercise = EXERCISES[name]
    one, other = measured_with(exercise, 1), measured_with(exercise, 2)
    assert one
    assert not one & other
