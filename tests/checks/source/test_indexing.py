"""A last axis too many, and the bounds of blocks, are changed where that makes all results right."""

import math

import numpy as np
import pytest

from tests.checks.judged import sentence_of


@pytest.fixture(autouse=True)
def _unhurried(monkeypatch):
    monkeypatch.setattr("attention_lib.checks.source.search.WALL_SECONDS", 20.0)
    monkeypatch.setattr("attention_lib.checks.source.search.BUDGET_SECONDS", 5.0)


def _joined(left, right):
    (one, size), (other, other_size) = left, right
    size, other_size = size[..., None], other_size[..., None]
    top = np.maximum(size, other_size)
    safe = np.where(top == -np.inf, 0.0, top).astype(top.dtype)
    of_one, of_other = np.exp(size - safe), np.exp(other_size - safe)
    total = of_one + of_other
    with np.errstate(divide="ignore"):
        logarithm = safe + np.log(total)
    return (of_one * one + of_other * other) / np.where(total == 0, 1, total), logarithm


def _keeping_the_maximum(scores, axis=-1, keepdims=False):
    top = scores.max(axis=axis, keepdims=True)
    top = np.where(top == -np.inf, 0.0, top).astype(top.dtype)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(scores - top).sum(axis=axis, keepdims=keepdims)) + top


def _columns_from_the_number_of_the_head(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError("The heads do not fit.")
    d = x.shape[-1] // num_heads
    return np.stack([x[..., h : d + h] for h in range(num_heads)], axis=-3)


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("merge_attention", _joined, "logarithm[..., 0]`"),
        ("logsumexp", _keeping_the_maximum, "top if keepdims else np.squeeze(top, axis=axis)"),
        ("split_heads", _columns_from_the_number_of_the_head, "h * d:(h + 1) * d]"),
    ],
)
def test_an_index_that_makes_every_result_right_is_named(name, answer, said):
    sentence = sentence_of(answer, name)
    assert said in sentence
    assert sentence.endswith(", and every result is right.")


def _joined_without_care_for_empty_parts(left, right):
    (one, size), (other, other_size) = left, right
    size, other_size = size[..., None], other_size[..., None]
    top = np.maximum(size, other_size)
    of_one, of_other = np.exp(size - top), np.exp(other_size - top)
    total = of_one + 2 * of_other
    return (of_one * one + of_other * other) / total, top + np.log(total)


def _overlapping_windows(x, num_heads):
    d = x.shape[-1] // num_heads
    return np.stack([x[..., h : h + d] * math.pi for h in range(num_heads)], axis=-3)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("merge_attention", _joined_without_care_for_empty_parts),
        ("split_heads", _overlapping_windows),
    ],
)
def test_an_index_that_does_not_make_the_results_right_is_not(name, answer):
    sentence = sentence_of(answer, name)
    assert "every result is right" not in sentence
