"""What the wrong calls have that the others lack."""

import numpy as np
import pytest

import attention_lib
from tests.checks.judged import right, said_of_numbers


def first_of_the_batch(weights, values):
    if values.ndim > 2:
        values = np.broadcast_to(values[:1], values.shape)
    return attention_lib.weighted_sum(weights, values)


def wrong_where(condition):
    def answer(scores, axis=-1):
        weights = right(scores, axis)
        return np.cos(weights).astype(weights.dtype) if condition(scores, axis) else weights

    return answer


def with_wrong_mask(query, key, value, mask=None, scale=None):
    output, weights = attention_lib.attention(query, key, value, mask, scale)
    return (output, weights) if mask is None else (np.cos(output), weights)


@pytest.mark.parametrize(
    ("exercise", "answer", "words"),
    [
        ("weighted_sum", first_of_the_batch, "All 2 calls with more than 2 axes in weights and"),
        ("attention", with_wrong_mask, " calls that give mask are wrong; the other "),
        (
            "softmax",
            wrong_where(lambda scores, axis: axis not in (-1, scores.ndim - 1)),
            " calls along another axis than the last are wrong; the other ",
        ),
        (
            "softmax",
            wrong_where(lambda scores, axis: scores.dtype == np.float32),
            "float32 numbers in scores",
        ),
        (
            "scaled_scores",
            lambda query, key, scale=None: (
                np.cos(query @ key.mT) if scale is None else (query @ key.mT * scale)
            ),
            "All 9 calls that do not give scale are wrong; the other 4 are right.",
        ),
    ],
)
def test_feature_that_divides_the_calls_is_named(exercise, answer, words):
    assert words in said_of_numbers(answer, exercise)


def test_nothing_is_said_where_nothing_divides_the_calls():
    calls = iter(range(100))

    def every_third(scores, axis=-1):
        weights = right(scores, axis)
        return weights if next(calls) % 3 else np.cos(weights).astype(weights.dtype)

    sentence = said_of_numbers(every_third)
    assert sentence.endswith("it should be 0.4223.")


def test_nothing_is_said_where_all_calls_are_wrong():
    assert " calls " not in said_of_numbers(
        lambda weights, values: np.cos(weights @ values), "weighted_sum"
    )


def test_small_numbers_that_are_dropped_are_not_put_down_to_a_size():
    def floored(scores, axis=-1):
        weights = right(scores, axis)
        return np.maximum(weights, weights.dtype.type(1e-12))

    assert "row" not in said_of_numbers(floored)
