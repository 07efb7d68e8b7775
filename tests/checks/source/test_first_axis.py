"""A loop over the first axis is named where the calls show that it is what is wrong."""

import numpy as np
import pytest

from attention_lib.checks.explaining import loop_over_one_axis
from tests.checks.judged import explain_only_by, sentence_of


def _row_by_row(scores):
    shares = np.zeros(scores.shape)
    for row in range(len(scores)):
        shares[row] = scores[row] / scores[row].sum()
    return shares


def _rows_in_a_list(scores):
    return np.stack([row / row.sum() for row in scores])


def _row_by_row_and_never_right(scores):
    shares = np.zeros(scores.shape)
    for row in range(scores.shape[0]):
        shares[row] = 2 * scores[row] / scores[row].sum()
    return shares


def _right_but_for_short_rows(scores):
    shares = scores / scores.sum(axis=-1, keepdims=True)
    for row in range(len(scores)):
        if len(scores[..., -1:].ravel()) == 2:
            shares[row] = 0
    return shares


@pytest.mark.parametrize("answer", [_row_by_row, _rows_in_a_list])
def test_loop_that_is_right_for_two_axes_alone_is_named(answer, monkeypatch):
    explain_only_by(monkeypatch, loop_over_one_axis)
    said = sentence_of(answer, "normalize_by_sum")
    assert "goes through the first axis of `scores`: that is right where it has 2 axes" in said


def test_loop_that_is_right_for_few_axes_is_named_with_their_number(monkeypatch):
    explain_only_by(monkeypatch, loop_over_one_axis)

    def one_row_or_a_list(weights):
        if weights.ndim == 1:
            return np.diag(weights) - np.outer(weights, weights)
        return np.stack([np.diag(row) - np.outer(row, row) for row in weights])

    assert "where it has at most 2 axes" in sentence_of(one_row_or_a_list, "softmax_jacobian")


@pytest.mark.parametrize("answer", [_row_by_row_and_never_right, _right_but_for_short_rows])
def test_loop_of_an_answer_that_is_wrong_elsewhere_too_is_not_named(answer, monkeypatch):
    explain_only_by(monkeypatch, loop_over_one_axis)
    assert "first axis" not in sentence_of(answer, "normalize_by_sum")
