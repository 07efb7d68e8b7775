"""Two faults are both named: two known mistakes, or calls that fail in two ways."""

import math
import time

import numpy as np
import pytest

import attention_lib
from tests.checks.judged import sentence_of


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


def test_known_mistake_is_named_with_an_argument_that_the_first_call_lacks():
    def answer(scores, axis=-1):
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return np.log(exponentials / exponentials.sum(axis=-1, keepdims=True) + 1e-12)

    sentence = sentence_of(answer, "log_softmax")
    assert "adding a small constant" in sentence
    assert "use the axis you are given" in sentence
    sentence = sentence_of(_scaled_late_with_a_mask_turned_round, "attention")
    assert "The weights are scaled after softmax" in sentence
    assert "The boolean mask is inverted" in sentence


def _whole_and_called(dtype):
    x = 0
    with np.errstate(over="ignore"):
        while np.isfinite(np.exp(dtype(x))):
            x += 1
    return x - 1


def _lib_and_a_scale_of_0(query, key, scale=None):
    return attention_lib.dot_product_scores(query, key) * (scale or query.shape[1] ** -0.5)


def _over_eps_and_for_rows(f, x, eps=1e-6):
    gradient = []
    for i in range(len(x)):
        after, before = x.copy(), x.copy()
        after[i] += eps
        before[i] -= eps
        gradient.append((f(after) - f(before)) / eps)
    return np.array(gradient)


def _turns_and_whole_masks(query, key, value, mask=None):
    groups = key.shape[-3]
    outputs = []
    for head in range(query.shape[-3]):
        own = (query[..., head, :, :], *(x[..., head % groups, :, :] for x in (key, value)))
        outputs.append(attention_lib.attention(*own, mask)[0])
    return np.stack(outputs, axis=-3)


def _centered_over_eps_for_columns(f, x, eps=1e-6):
    slopes = np.zeros_like(x)
    for column in range(x.shape[-1]):
        for row in range(x.shape[-2]):
            step = np.zeros_like(x)
            step[row, column] = eps
            slopes[row, column] = (f(x + step) - f(x - step)) / eps
    return slopes


def _shrunk_the_wrong_way_without_leading_axes(query, key, value, block_size):
    _, depth = query.shape
    top, total, out = 0.0 * query[:, :1] - np.inf, 0, 0
    for start in range(0, len(key), block_size):
        scores = query @ key[start : start + block_size].T / math.sqrt(depth)
        new = np.maximum(top, scores.max(axis=-1, keepdims=True))
        weights, shrink = np.exp(scores - new), np.exp(new - top)
        total = total * shrink + weights.sum(axis=-1, keepdims=True)
        out, top = out * shrink + weights @ value[start : start + block_size], new
    return out / total


@pytest.mark.slow
@pytest.mark.parametrize(
    ("exercise", "answer", "first", "second"),
    [
        (
            "numerical_gradient",
            _over_eps_and_for_rows,
            "These are twice too large",
            "returned shape",
        ),
        (
            "numerical_gradient",
            _centered_over_eps_for_columns,
            "it has no `x.shape[-2]`",
            "Divide by it",
        ),
        ("largest_exponent", _whole_and_called, "A whole number", "np.dtype(dtype).type makes"),
        ("scaled_scores", _lib_and_a_scale_of_0, "call your own", "replaces 0 as well as None"),
        (
            "tiled_attention",
            _shrunk_the_wrong_way_without_leading_axes,
            "`new - top` are swapped",
            "The axes of an array may be any number",
        ),
        ("grouped_query_attention", _turns_and_whole_masks, "take turns", "part of the mask"),
    ],
)
def test_calls_that_fail_in_another_way_are_explained_besides(exercise, answer, first, second):
    told, *_, besides = sentence_of(answer, exercise).split(" Besides: ")
    assert first in told
    assert second in besides


def test_an_edit_that_changes_the_numbers_of_a_known_mistake_is_not_named():
    def answer(weights, p):
        order = np.argsort(-weights, axis=-1)  # without the minus, the call of p = 1 is right
        ranked = np.take_along_axis(weights, order, axis=-1)
        kept = np.zeros(weights.shape, dtype=bool)
        np.put_along_axis(kept, order, np.cumsum(ranked, axis=-1) <= p, axis=-1)
        kept = np.where(kept, weights, np.zeros_like(weights))
        return kept / np.maximum(kept.sum(axis=-1, keepdims=True), np.finfo(weights.dtype).tiny)

    sentence = sentence_of(answer, "top_p")
    assert "minus" not in sentence


def test_one_fault_that_fails_in_two_ways_is_named_once():
    def answer(scores, axis=-1):
        exponentials = np.exp(scores)
        return exponentials / exponentials.sum(axis=axis)  # an error, or the wrong rows

    assert "Besides" not in sentence_of(answer)


def test_numbers_behind_a_narrow_dtype_are_explained_besides():
    torch = pytest.importorskip("torch")

    def answer(query, key, value, is_causal=False):
        query, key, value = query.float(), key.float(), value.float()
        scores = query @ key.mT / query.shape[-1] ** 0.5
        if is_causal:
            later = scores.shape[-1] - scores.shape[-2]
            ones = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device)
            scores = scores.masked_fill(~ones.tril(later), -torch.inf)
        return scores.softmax(dim=-1) @ value

    told, besides = sentence_of(answer, "torch_attention").split(" Besides: ")
    assert "returned dtype float32" in told
    assert "aligned at the bottom right" in besides


def test_a_tensor_on_another_device_is_named_besides():
    torch = pytest.importorskip("torch")

    def answer(query, key, value, is_causal=False):
        scores = query @ key.mT / query.shape[-1] ** 0.5
        if is_causal:
            length = query.shape[-2]
            mask = torch.ones(length, length, dtype=torch.bool).tril()
            scores = scores.masked_fill(~mask, -torch.inf)
        return scores.softmax(dim=-1) @ value

    told, besides = sentence_of(answer, "torch_attention").split(" Besides: ")
    assert "`~mask` has shape (2, 2)" in told
    assert "is on the CPU whatever device the inputs are on" in besides


def test_a_step_left_out_is_named_beside_the_nan_of_two_empty_parts():
    def left_alone(left, right):
        new = np.maximum(left[0], right[0])
        with np.errstate(invalid="ignore"):
            return new, left[1] * np.exp(left[0] - new) + right[1]

    sentence = sentence_of(left_alone, "merge_softmax_stats")
    assert "Only the left total is rescaled" in sentence
    assert "Two empty parts give NaN" in sentence


def test_rows_in_one_axis_are_no_axis_that_is_kept():
    def flat(weights, axis=-1):
        rows = np.moveaxis(weights, axis, -1).reshape(-1, weights.shape[axis])
        return np.array([-sum(p * math.log(p) for p in row if p > 0) for row in rows])

    sentence = sentence_of(flat, "entropy")
    assert "The summed axis is kept" not in sentence
    assert "The axes have become one" in sentence


def test_two_faults_are_named_beside_a_choice_that_is_right():
    """Of an even count of times, either middle one passes for the median."""

    torch = pytest.importorskip("torch")

    def answer(fn, device, repeats=10):
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            fn()
            if device.type == "cuda":
                torch.cuda.synchronize()
            times.append(1000 * (time.perf_counter() - start))
        return sorted(times)[repeats // 2]

    sentence = sentence_of(answer, "time_milliseconds")
    assert "The first call is timed" in sentence
    assert "Only CUDA is waited for" in sentence
