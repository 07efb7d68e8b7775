"""Comparing a result with the reference: what is not right is said in one sentence."""

import dataclasses

import numpy as np
import pytest
import torch

import attention_lib
from attention_lib.checks.calls.case import Case
from attention_lib.checks.compare.cases import EXACT
from attention_lib.checks.compare.comparing import alike
from attention_lib.checks.exercise import known_mistakes
from attention_lib.checks.judging import judge
from attention_lib.exercises import EXERCISES
from tests.checks.judged import WITHOUT_SOURCE, right, said_of_numbers, sentence_of


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda weights: None, "returned None"),
        (lambda weights: weights.tolist(), "returned a list of 3; it should return a NumPy array"),
        (lambda weights: (weights, 1), "returned a tuple of 2"),
        (lambda weights: iter(weights), "it should return a NumPy array"),
        (lambda weights: "weights", "it should return a NumPy array"),
        (lambda weights: torch.as_tensor(weights), "calls torch"),
        (lambda weights: weights[..., None], "returned shape (3, 1); it should be (3,)"),
        (lambda weights: weights.astype(np.float16), "dtype float16"),
        (lambda weights: weights.astype(object), "dtype object"),
        (lambda weights: weights + 0j, "dtype complex128"),
        (lambda weights: weights * np.nan, "NaN"),
        (lambda weights: weights * 1.0001, "gives 0.4224 at [0]; it should be 0.4223"),
    ],
)
def test_wrong_results_have_their_sentence(change, expected):
    assert expected in sentence_of(lambda scores, axis=-1: change(right(scores, axis)))


def jacobians_of_all_rows(weights):
    found = []
    for row in weights.reshape(-1, weights.shape[-1]):
        found.append(np.diag(row) - np.outer(row, row))
    return np.array(found)


def test_an_axis_too_many_in_front_is_named():
    sentence = sentence_of(jacobians_of_all_rows, "softmax_jacobian")
    assert "Its axis 0, of length 1, is one too many." in sentence
    assert "does not return it" not in sentence  # `return np.diag(...)` is right for one row


def softmax_not_moved_back(scores, axis=-1):
    return attention_lib.stable_softmax(np.moveaxis(scores, axis, 0), 0)


def test_axes_in_another_order_are_named():
    sentence = said_of_numbers(softmax_not_moved_back, "stable_softmax")
    assert "These are the right numbers, but their axes are in another order." in sentence


def jacobians_in_a_row(weights):
    jacobians = attention_lib.softmax_jacobian(weights)
    return jacobians.reshape(-1, *jacobians.shape[-2:]) if weights.ndim > 1 else jacobians


def test_leading_axes_that_have_become_one_are_named():
    sentence = said_of_numbers(jacobians_in_a_row, "softmax_jacobian")
    assert "The leading axes, (2, 3), have become one: reshape the result." in sentence


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ([[1.0, 3e-16], [0.0, 0.0]], True),
        ([[1.0, 1e-13], [0.0, 0.0]], False),
        ([[1.0, 0.0], [0.0, 3e-16]], False),
    ],
)
def test_sum_that_nearly_cancels_has_the_rounding_of_its_neighbors(other, same):
    assert alike(np.array(other), np.array([[1.0, 0.0], [0.0, 0.0]]), None, EXACT) is same


def test_float32_must_stay_float32_where_precision_is_the_subject():
    def wide(scores, axis=-1):
        return attention_lib.log_softmax(scores.astype(float), axis)

    sentence = said_of_numbers(wide, "log_softmax")
    assert "returned dtype float64; for this input it should be float32" in sentence
    assert "A float64 array makes what is computed with it float64." in sentence


def test_float64_computed_in_float32_is_not_right():
    def narrow(scores, axis=-1):
        dtype = scores.dtype if scores.dtype.kind == "f" else float
        return right(scores.astype(np.float32), axis).astype(dtype)

    assert "it should be" in sentence_of(narrow)


def test_booleans_are_shown_as_booleans():
    flipped = sentence_of(
        lambda length: np.tri(length, dtype=bool)[::-1], "causal_mask", WITHOUT_SOURCE
    )
    assert flipped == "causal_mask gives True at [0, 1]; it should be False."


def test_minus_zero_is_written_as_zero():
    def one_for_zero(query, key, scale=None):
        scale = query.shape[-1] ** -0.5 if scale is None else scale or 1.0
        return query @ np.swapaxes(key, -1, -2) * scale

    sentence = sentence_of(one_for_zero, "scaled_scores", WITHOUT_SOURCE)
    assert sentence.endswith("; it should be 0.")


def test_a_result_is_verified_once_in_a_judgement():
    values = []

    def verify(value):
        values.append(value)
        return "It should be 2."

    exercise = dataclasses.replace(
        EXERCISES["softmax"],
        cases=lambda rng: (Case(np.ones(2), verify=verify),),
        mistakes=known_mistakes(
            "three: It is 3.", lambda scores: 3, "four: It is 4.", lambda scores: 4
        ),
    )
    assert judge(exercise, lambda scores: 4, seed=0).sentence == "It is 4."
    assert values == [4]
