"""Of two faults, the one that a small change mends is named with the known one that it leaves."""

import numpy as np
import pytest

from attention_lib.checks.judging import GRADER
from tests.checks.judged import sentence_of

TWO = "There are at least two faults."


def _weighed(scores, mask, value):
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    top = scores.max(axis=-1, keepdims=True)
    exponentials = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = exponentials / np.where(total > 0, total, 1)
    return weights @ value, weights


def _scaled_late_with_a_mask_turned_round(query, key, value, mask=None, scale=None):
    if mask is not None and mask.dtype == bool:
        mask = ~mask
    weights = _weighed(query @ np.swapaxes(key, -1, -2), mask, value)[1]
    weights = weights * (1 / np.sqrt(query.shape[-1]) if scale is None else scale)
    return weights @ value, weights


def _gradients_exchanged_and_unscaled(query, key, value, grad_output, mask=None):
    scores = query @ np.swapaxes(key, -1, -2) / np.sqrt(query.shape[-1])
    _, weights = _weighed(scores, mask, value)
    grad_weights = grad_output @ np.swapaxes(value, -1, -2)
    grad_scores = weights * (grad_weights - (grad_weights * weights).sum(axis=-1, keepdims=True))
    grad_query, grad_key = grad_scores @ key, np.swapaxes(grad_scores, -1, -2) @ query
    return grad_key, grad_query, np.swapaxes(weights, -1, -2) @ grad_output


def _summed_down_the_columns_and_over_examples(scores, targets):
    top = scores.max()  # of all rows: a third fault, which few calls show
    logarithms = top + np.log(np.exp(scores - top).sum(axis=0))
    return np.sum(logarithms - scores[np.arange(len(targets)), targets])


def _scaled_upward(query, key, value, mask=None, scale=None):
    if scale is None:
        scale = np.sqrt(query.shape[-1])
    return _weighed(query @ np.swapaxes(key, -1, -2) * scale, mask, value)


def _mask_turned_round(query, key, value, mask=None, scale=None):
    if scale is None:
        scale = 1 / np.sqrt(query.shape[-1])
    if mask is not None and mask.dtype == bool:
        mask = ~mask
    return _weighed(query @ np.swapaxes(key, -1, -2) * scale, mask, value)


def _another_function(query, key, value, mask=None, scale=None):
    weights = np.full((*query.shape[:-1], key.shape[-2]), 1 / 3)
    return np.tanh(weights @ value), weights


def _one_for_the_identity(weights):
    return weights[..., :, None] * (1 - weights[..., None, :])


def _wider_dtype(parameter, gradient, mean, square, step, rate=0.001, beta1=0.9, beta2=0.999,
                 epsilon=1e-8):  # fmt: skip
    mean = beta1 * mean + (1 - beta1) * gradient
    square = beta2 * square + (1 - beta2) * gradient**2
    larger = np.float64(1) * mean / (1 - beta1**step)
    parameter = parameter - rate * larger / (np.sqrt(square / (1 - beta2**step)) + epsilon)
    return parameter, mean, square


@pytest.fixture
def unhurried(monkeypatch):
    """Give the search as much time as it has on a machine that nobody else uses."""
    monkeypatch.setattr("attention_lib.checks.source.search.WALL_SECONDS", 20.0)
    monkeypatch.setattr("attention_lib.checks.source.search.BUDGET_SECONDS", 5.0)


@pytest.mark.parametrize(
    ("name", "answer", "mend", "left"),
    [
        (
            "attention",
            _scaled_late_with_a_mask_turned_round,
            "`np.where(mask, -np.inf, scores)` in place of",
            "The weights are scaled after softmax",
        ),
        (
            "attention_backward",
            _gradients_exchanged_and_unscaled,
            "write `(grad_query, grad_key, ",
            "grad_query and grad_key lack the factor 1/√d_k",
        ),
        (
            "cross_entropy",
            _summed_down_the_columns_and_over_examples,
            "np.exp(scores - top).sum(axis=-1))` in place of",
            "This is the sum over the examples",
        ),
    ],
)
def test_both_faults_are_named(name, answer, mend, left, unhurried):
    sentence = sentence_of(answer, name)
    assert TWO in sentence
    assert mend in sentence
    assert f"Besides: {left}" in sentence


@pytest.mark.parametrize("answer", [_scaled_upward, _mask_turned_round, _another_function])
def test_answer_with_one_fault_or_none_that_is_known_is_not_told_of_two(answer, unhurried):
    assert TWO not in sentence_of(answer, "attention")


@pytest.mark.parametrize(
    ("name", "answer"), [("softmax_jacobian", _one_for_the_identity), ("adam_step", _wider_dtype)]
)
def test_change_that_makes_right_numbers_wrong_is_not_named(name, answer, unhurried):
    assert TWO not in sentence_of(answer, name)


def test_grader_reads_no_source_for_two_faults(unhurried):
    sentence = sentence_of(_scaled_late_with_a_mask_turned_round, "attention", policy=GRADER)
    assert TWO not in sentence
