"""Hypotheses are held against calls and results, and the cover that accuses nothing right is named."""

import dataclasses

import numpy as np
import pytest

from attention_lib import (
    attention_backward,
    scaled_scores,
    softmax,
)
from attention_lib.checks.calls.case import Case, Observation
from attention_lib.checks.compare.cases import Trial
from attention_lib.checks.compare.comparing import Comparison
from attention_lib.checks.hypotheses.hypothesis import Hypothesis
from attention_lib.checks.hypotheses.table import Table
from attention_lib.checks.judging import HIDDEN_NUMBERS, judge
from attention_lib.checks.patch import patches
from attention_lib.exercises import EXERCISES
from tests.checks.judged import said_of_numbers
from tests.exercises.answers import as_a_learner_writes_it
from tests.exercises.multihead.decoder_attention import right_textbook

CACHED_AGAIN = "The cached keys are rotated again"


def _with_nan_and_no_scale_of_0(query, key, value, mask=None, scale=None):
    scores = scaled_scores(query, key, scale or None)
    if mask is not None:
        added = np.where(mask, 0.0, -np.inf) if mask.dtype == bool else mask
        scores = scores + added.astype(scores.dtype)
    weights = softmax(scores - scores.max(axis=-1, keepdims=True))
    return weights @ value, weights


def _with_nan_and_another_scale(query, key, value, mask=None, scale=None):
    output, weights = _with_nan_and_no_scale_of_0(query, key, value, mask, scale)
    return output * 1.001, weights


def test_two_mistakes_that_leave_calls_without_account_are_not_named():
    sentence = said_of_numbers(_with_nan_and_another_scale, "attention")
    assert not sentence.startswith("Two faults explain")


def _rows_cut_from_the_flat_array(scores, axis=-1):
    rows = scores.reshape(-1, scores.shape[axis])
    return softmax(rows).reshape(scores.shape)


def _shifted_by_a_multiple(scores, axis=-1):
    exponentials = np.exp(scores - 3 * np.abs(scores).max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


@pytest.mark.parametrize(
    ("exercise", "answer", "not_said"),
    [
        # In the call with as many rows as columns the numbers are those of the last axis.
        ("softmax", _rows_cut_from_the_flat_array, "You always take"),
        ("stable_softmax", _shifted_by_a_multiple, "You always work along"),
        (
            "attention_backward",
            lambda q, k, v, g: _changed(
                attention_backward(q, k, v, g), q.shape[-1] ** 0.5, lambda key: key**3
            ),
            "lack the factor",
        ),
    ],
)
def test_an_answer_that_looks_like_a_known_mistake_in_some_calls_is_not_told_of_it(
    exercise, answer, not_said
):
    assert not_said not in said_of_numbers(answer, exercise)


def _changed(gradients, factor, change):
    of_query, of_key, of_value = gradients
    return of_query * factor, change(of_key), of_value


def test_a_mistake_that_fewer_than_half_of_the_wrong_calls_show_is_not_named():
    (answer,) = patches(  # 7 of 16 calls show the values alone
        right_textbook,
        "values = split(x @ w_v, num_groups) => values = rotate(split(x @ w_v, num_groups), positions, base) "
        "&& keys, values, mask) => keys[..., ::-1, :, :], values[..., ::-1, :, :], mask)",
    )
    assert "The values are rotated too" not in said_of_numbers(answer, "decoder_attention")


@pytest.mark.parametrize(
    "again",
    [
        "length, total = => keys = rotate(keys, np.arange(keys.shape[-2]), base)\n    length, total =",
        "query, keys, values => query, rotate(keys, np.arange(total), base), values",
    ],
)
def test_a_mistake_about_the_cache_is_shown_by_a_call_with_a_cache(again):
    new_key = "split(x @ w_k, num_groups)"
    (answer,) = patches(
        right_textbook, f"rotate({new_key}, positions, base) => {new_key} && {again}"
    )
    report = judge(EXERCISES["decoder_attention"], answer, 0, HIDDEN_NUMBERS)
    assert report.sentence.startswith(CACHED_AGAIN)
    case = report.comparison.trial.case
    assert len(case.args) == 9 or "cache" in case.kwargs


def _without(exercise, beginning):
    """Return an exercise without one of its known mistakes, and an answer that makes it."""
    whole = EXERCISES[exercise]
    (unknown,) = [one for one in whole.mistakes if one.sentence.startswith(beginning)]
    others = tuple(one for one in whole.mistakes if one is not unknown)
    return dataclasses.replace(whole, mistakes=others), unknown.variants[0]


@pytest.mark.parametrize(
    ("exercise", "mistake", "never"),
    [
        ("merge_softmax_stats", "The totals are added as they are", "Only the left total"),
        ("numerical_gradient", "/ 2 * eps divides by 2", "All differences are 0"),
        ("cross_entropy_grad", "1 is subtracted everywhere", "takes every target in every row"),
        ("padding_mask", "The mask is inverted", "Only one position a row"),
    ],
)
def test_an_unknown_mistake_that_is_alike_in_special_calls_is_not_named(exercise, mistake, never):
    others, answer = _without(exercise, mistake)
    report = judge(others, as_a_learner_writes_it(answer), 0, HIDDEN_NUMBERS)
    assert never not in report.sentence


def test_no_warning_of_a_known_mistake_reaches_the_learner(recwarn):
    def answer(scores, axis=-1):
        with np.errstate(divide="ignore"):
            return np.log(softmax(scores, axis))

    assert judge(EXERCISES["log_softmax"], answer, 0, HIDDEN_NUMBERS).outcome != "right"
    assert not [one for one in recwarn if issubclass(one.category, RuntimeWarning)]


@pytest.mark.parametrize(("error", "is_right"), [(ValueError, True), (TypeError, False)])
def test_a_hypothesis_is_right_where_it_raises_the_error_asked_for_and_no_other(error, is_right):
    def raising(x, num_heads):
        raise error("no multiple")

    exercise = EXERCISES["split_heads"]
    case = Case(np.zeros((2, 3)), 2, raises=ValueError)
    one = Comparison(exercise.name, Trial(case), Observation(error=ValueError("3")))
    table, hypothesis = Table(exercise, [one]), Hypothesis(exercise, ("",), raising)
    assert table.right == [one]
    assert table.is_right(hypothesis, one) is is_right
    assert table.accuses(hypothesis) is not is_right
