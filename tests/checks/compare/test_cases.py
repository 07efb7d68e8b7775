"""The cases of an exercise."""

import dataclasses

import numpy as np
import pytest

from attention_lib.checks.judging import judge
from attention_lib.exercises import find


def test_hidden_cases_differ_from_the_learners():
    def cases(seed):
        return [case.args[0].sum() for case in find("softmax").cases(np.random.default_rng(seed))]

    assert cases(0) == cases(0)
    assert cases(0) != cases(1)


@pytest.mark.parametrize(("roundings", "outcome"), [(24, "right"), (48, "wrong")])
def test_rounding_of_a_few_operations_is_allowed_and_no_more(roundings, outcome):
    def answer(d_k, component_std=1.0):
        return np.sqrt(d_k) * component_std**2 * (1 + roundings * np.finfo(float).eps)

    by_result = dataclasses.replace(find("score_std"), magnitude=None)
    assert judge(by_result, answer, seed=0).outcome == outcome
