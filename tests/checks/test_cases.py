"""The cases of an exercise."""

import numpy as np
import pytest

from attention_lib.exercises import find
from tests.checks.judged import verdict


def test_hidden_cases_differ_from_the_learners():
    def cases(seed):
        return [case.args[0].sum() for case in find("softmax").cases(np.random.default_rng(seed))]

    assert cases(0) == cases(0)
    assert cases(0) != cases(1)


@pytest.mark.parametrize(("roundings", "outcome"), [(24, "right"), (48, "wrong")])
def test_rounding_of_a_few_operations_is_allowed_and_no_more(roundings, outcome):
    def answer(query, key):
        scores = query @ key.mT
        return scores * scores.dtype.type(1 + roundings * np.finfo(scores.dtype).eps)

    assert verdict(answer, "dot_product_scores").outcome == outcome
