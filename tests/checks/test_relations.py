"""What is said of how wrong numbers come from the right ones, and of answers that look alike."""

import numpy as np
import pytest

import attention_lib
from attention_lib.checks.calls.calling import observe
from attention_lib.checks.cases import trials_of
from attention_lib.checks.comparing import Comparison
from attention_lib.checks.relations import related
from attention_lib.exercises import EXERCISES
from tests.checks.judged import said_of_numbers


def dot(query, key):
    return query @ key.mT


def grad(scores, targets):
    return attention_lib.cross_entropy_grad(scores, targets)


def backward(query, key, value, grad_output):
    return attention_lib.attention_backward(query, key, value, grad_output)


def one_of(number, change):
    """Change one gradient of three."""

    def answer(*arguments):
        gradients = list(backward(*arguments))
        gradients[number] = change(gradients[number], *arguments)
        return tuple(gradients)

    return answer


def rotated(query, key, value, grad_output):
    first, second, third = backward(query, key, value, grad_output)
    return third, first, second


@pytest.mark.parametrize(
    ("exercise", "answer", "words"),
    [
        ("cross_entropy_grad", lambda s, t: 2 * grad(s, t), "is 2 times too large: divide by it"),
        ("dot_product_scores", lambda q, k: -dot(q, k), "right but for its sign"),
        (
            "log_softmax",
            lambda s, axis=-1: attention_lib.log_softmax(s, axis) / np.log(10),
            "ln 10",
        ),
        (
            "attention_backward",
            one_of(1, lambda g, query, *_: g * query.shape[-2]),
            "is query.shape[-2]: divide by it once",
        ),
        (
            "attention_backward",
            lambda *arguments: tuple(-one for one in backward(*arguments)),
            ". Every number is right but for its sign",
        ),
    ],
)
def test_relation_is_named(exercise, answer, words):
    sentence = said_of_numbers(answer, exercise)
    assert "it should be" in sentence
    assert words in sentence


def test_result_with_the_relation_is_named_where_others_are_right():
    answer = one_of(1, lambda gradient, *_: 3 * gradient)
    assert "In result 2, every number is 3 times too large" in said_of_numbers(
        answer, "attention_backward"
    )


# Answers that look alike and are not


@pytest.mark.parametrize(
    ("exercise", "answer", "words"),
    [
        # In one call a single number is a multiple of any other.
        ("score_std", lambda d_k, component_std=1.0: 1.0 + d_k, ("times too",)),
        ("cross_entropy_grad", lambda s, t: 1.0002 * grad(s, t), ("times too",)),
        # Gradients of a row add up to 0, but for rounding.
        ("cross_entropy_grad", lambda s, t: 0 * grad(s, t), ("the sum",)),
    ],
)
def test_relation_that_only_seems_to_hold_is_not_named(exercise, answer, words):
    with np.errstate(all="ignore"):
        sentence = said_of_numbers(answer, exercise)
    for word in words:
        assert word not in sentence


def test_factor_that_two_calls_disagree_on_is_not_named():
    calls = iter(range(100))

    def answer(query, key):
        return dot(query, key) * (2.0 + next(calls))

    sentence = said_of_numbers(answer, "dot_product_scores")
    assert "divide by it once" not in sentence


def _tiled_backward_with(factor):
    def answer(query, key, value, output, logsumexp, grad_output, block_size):
        arguments = query, key, value, output, logsumexp, grad_output, block_size
        of_query, of_key, of_value = attention_lib.tiled_attention_backward(*arguments)
        return of_query, of_key * factor(query, block_size), of_value

    return answer


def test_a_factor_is_named_by_the_block_size_only_if_nothing_else_fits():
    exercise = EXERCISES["tiled_attention_backward"]
    first = trials_of(exercise, 0)[0]
    for factor, names in (
        (lambda query, block_size: query.shape[-1] ** 0.5, "the square root of query.shape[-1]:"),
        (lambda query, block_size: 7 * block_size, ""),
    ):
        answer = _tiled_backward_with(factor)
        seen = observe(answer, first.case)
        said = related(exercise, [Comparison(exercise.name, first, seen)])
        assert names in said
        assert "block_size" not in said
    answer = _tiled_backward_with(lambda query, block_size: block_size)
    assert "block_size" in said_of_numbers(answer, "tiled_attention_backward")
