"""Slips that learners make often are told by what was slipped on."""

import time

import numpy as np
import pytest
import torch

from attention_lib.checks.judging import judge
from attention_lib.exercises import EXERCISES
from tests.checks.judged import verdict

d_k = 7


def size_of_the_notebook(query, key, scale=None):
    scale = 1 / d_k**0.5 if scale is None else scale
    return query @ np.swapaxes(key, -1, -2) * scale


def e_to_three_digits(scores, axis=-1):
    powers = 2.718**scores
    return powers / powers.sum(axis=axis)


def largest_size_of_the_finite(scores, axis=-1):
    largest = np.abs(np.where(np.isinf(scores), 0, scores)).max(axis=axis, keepdims=True)
    exponentials = np.exp(scores - largest)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def maximum_outside_the_exponential(scores, axis=-1):
    powers = np.exp(scores) - scores.max(axis=axis, keepdims=True)
    return powers / powers.sum(axis=axis, keepdims=True)


def maximum_in_one_of_two(scores, axis=-1):
    top = scores.max(axis=axis, keepdims=True)
    return np.exp(scores - top) / np.exp(scores).sum(axis=axis, keepdims=True)


def scaled_and_paired_with_every_batch(query, key):
    return np.dot(query, np.swapaxes(key, -1, -2)) / np.sqrt(query.shape[-1])


def times_of_all(fn, device, repeats):
    times = []
    for _ in range(repeats):
        getattr(torch, device.type).synchronize()
        start = time.perf_counter()
        fn()
        getattr(torch, device.type).synchronize()
        times.append(1000 * (time.perf_counter() - start))
    return times


def fastest_of_all(fn, device, repeats=10):
    return np.percentile(times_of_all(fn, device, repeats), 0.5)


def middle_of_all(fn, device, repeats=10):
    return times_of_all(fn, device, repeats)[repeats // 2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("exercise", "answer", "told"),
    [
        ("time_milliseconds", fastest_of_all, "np.percentile takes percent"),
        ("time_milliseconds", middle_of_all, "The middle one in the order of the calls"),
        ("scaled_scores", size_of_the_notebook, "`d_k` is a variable of the notebook"),
        ("softmax", e_to_three_digits, "`2.718` has only a few digits of e"),
        ("stable_softmax", maximum_outside_the_exponential, "outside `np.exp(...)`"),
        ("stable_softmax", maximum_in_one_of_two, "`scores` lacks `- top`"),
        (
            "dot_product_scores",
            lambda q, k: q @ k.reshape(*k.shape[:-2], -1, k.shape[-2]),
            "transposes nothing",
        ),
    ],
)
def test_likely_slip_is_told(exercise, answer, told):
    assert told in verdict(answer, exercise).sentence


def test_what_is_not_so_is_not_said():
    assert "wrong variable" not in verdict(largest_size_of_the_finite, "stable_softmax").sentence
    told = verdict(scaled_and_paired_with_every_batch, "dot_product_scores").sentence
    assert "every one of the keys" in told
    assert "scale" not in told


def bytes_of_a_third_matrix(length, head_dim, itemsize, block_rows=None):
    matrix, square = length * head_dim * itemsize, length**2 * itemsize
    tiles = 1 if block_rows is None else length / block_rows
    return 4 * matrix + 4 * square, 3 * matrix + tiles * 2 * matrix


def test_change_that_brings_in_a_fault_is_not_named():
    sentence = verdict(bytes_of_a_third_matrix, "attention_bytes").sentence
    assert "too much is returned" not in sentence


def test_numbers_that_do_not_sum_to_one_are_not_to_be_divided():
    report = judge(EXERCISES["study_weights"], [0.06, 0.47, 0.74], 0)
    assert "They sum to 1.27, and weights sum to 1." in report.sentence
    assert "divide" not in report.sentence


def test_transpose_of_batches_is_not_blamed_where_there_are_none():
    assert "batch" not in verdict(lambda w, v: w @ v.T, "weighted_sum").sentence


def reversed_tensor(query, key, value, is_causal=False):
    scores = query @ key.T / query.shape[-1] ** 0.5
    if is_causal:
        late = torch.triu(torch.ones_like(scores, dtype=torch.bool), 1)
        scores = scores.masked_fill(late, -torch.inf)
    return torch.softmax(scores, -1) @ value


def test_tensor_is_mended_in_torchs_words():
    report = verdict(reversed_tensor, "torch_attention")
    assert "np." not in report.sentence + report.edit
    assert "key.transpose(-1, -2)" in report.edit
