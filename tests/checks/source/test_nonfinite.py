"""The operation that makes the first NaN or infinity is named, and none that is beside the point."""

import numpy as np
import pytest

from attention_lib.checks.judges import nonfinite_origins, results
from attention_lib.checks.judging import Policy
from tests.checks.judged import sentence_of

BY_OPERATIONS = Policy((nonfinite_origins, results))  # without what known mistakes explain


def _maximum_of_nothing_allowed(scores, mask, axis=-1):
    masked = np.where(mask, scores, -np.inf)
    shifted = masked - masked.max(axis=axis, keepdims=True)
    exponentials = np.exp(shifted)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _no_maximum(scores, axis=-1):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _divided_in_place(scores, mask, axis=-1):
    masked = np.where(mask, scores, -1e30)
    weights = np.exp(masked - masked.max(axis=axis, keepdims=True)) * mask
    weights /= weights.sum(axis=axis, keepdims=True)
    return weights


def _zero_times_infinity(scores, mask, axis=-1):
    masked = scores + (1 - mask) * -np.inf
    top = masked.max(axis=axis, keepdims=True)
    exponentials = np.exp(masked - np.where(np.isfinite(top), top, 0))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _in_a_helper(scores, axis=-1):
    return _quotient(np.exp(scores), axis)


def _quotient(exponentials, axis):
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        (
            "masked_softmax",
            _maximum_of_nothing_allowed,
            "`masked - masked.max(axis=axis, keepdims=True)` computes -inf - (-inf), which is NaN. "
            "Where what is subtracted is -inf, subtract 0",
        ),
        ("stable_softmax", _no_maximum, "`np.exp(scores)` computes exp(1000), which is inf."),
        ("stable_softmax", _in_a_helper, "`np.exp(scores)` computes exp(1000), which is inf."),
        (
            "masked_softmax",
            _divided_in_place,
            "`weights /= weights.sum(axis=axis, keepdims=True)` computes 0 / 0, which is NaN. "
            "Where the divisor is 0, divide by 1",
        ),
        (
            "masked_softmax",
            _zero_times_infinity,
            "`(1 - mask) * -np.inf` computes 0 * (-inf), which is NaN. "
            "Multiplying by 0 does not take an infinity away",
        ),
    ],
)
def test_first_operation_that_makes_what_the_result_has_is_named(name, answer, said):
    assert said in sentence_of(answer, name, BY_OPERATIONS)


def _harmless_logarithm(weights, axis=-1):
    with np.errstate(all="ignore"):
        logs = np.where(weights > 0, np.log(weights), 0)
    return -np.sum(weights * logs, axis=axis) * 2


def _harmless_nan_beside_a_harmful_one(weights, axis=-1):
    with np.errstate(all="ignore"):
        unused = np.nan_to_num((weights - weights) / (weights - weights))
        terms = weights * np.log(weights)
    return unused.sum(axis=axis) - np.sum(terms, axis=axis) * 2


def _masked_on_purpose(scores, mask, axis=-1):
    masked = np.where(mask, scores, -np.inf)
    top = masked.max(axis=axis, keepdims=True)
    exponentials = np.exp(masked - np.where(np.isfinite(top), top, 0))
    return exponentials / np.maximum(exponentials.sum(axis=axis, keepdims=True), 1) * 2


def _nan_of_another_function(scores, axis=-1):
    return np.full_like(scores, np.nan)


def test_nan_that_does_not_reach_the_result_is_not_named():
    assert "which is" not in sentence_of(_harmless_logarithm, "entropy", BY_OPERATIONS)
    assert "which is" not in sentence_of(_masked_on_purpose, "masked_softmax", BY_OPERATIONS)
    said = sentence_of(_harmless_nan_beside_a_harmful_one, "entropy", BY_OPERATIONS)
    assert "(weights - weights) /" not in said


def _along_the_first_axis(scores):
    shares = np.empty(scores.shape)
    for row in range(len(scores)):
        shares[row] = scores[row] / scores[row].sum()
    return shares


def test_nan_beside_finite_numbers_that_are_wrong_is_not_named():
    said = sentence_of(_along_the_first_axis, "normalize_by_sum", BY_OPERATIONS)
    assert "which is NaN" not in said


def _factor_turned_round(blocks):
    maximum, total = -np.inf, 0.0
    for block in blocks:
        new = max(maximum, block.max(axis=-1))
        total = total * np.exp(new - maximum) + np.exp(block - new).sum(axis=-1)
        maximum = new
    return np.asarray(maximum), np.asarray(total)


def test_infinity_of_exp_is_not_to_be_hidden_from_a_product():
    said = sentence_of(_factor_turned_round, "online_softmax_stats", BY_OPERATIONS)
    assert "np.where" not in said


def test_nan_that_is_written_down_is_not_called_the_first_of_an_operation():
    said = sentence_of(_nan_of_another_function, "stable_softmax", BY_OPERATIONS)
    assert "In line" not in said


def test_watched_call_leaves_variables_of_the_notebook_as_they_are():
    before = {**globals(), "__warningregistry__": None}  # in which Python notes warnings
    sentence_of(_no_maximum, "stable_softmax", BY_OPERATIONS)
    assert {**globals(), "__warningregistry__": None} == before
