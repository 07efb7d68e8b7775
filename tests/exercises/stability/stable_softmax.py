"""Right and wrong answers to `stable_softmax`."""

import numpy as np

from tests.exercises.parts import as_float, softmax


def right_stable_textbook(scores, axis=-1):
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def right_in_one_pass(scores, axis=-1):
    moved = np.moveaxis(scores, axis, 0).astype(float)
    maximum, total = np.full(moved.shape[1:], -np.inf), np.zeros(moved.shape[1:])
    for entries in moved:
        larger = np.maximum(maximum, entries)
        base = np.where(np.isneginf(larger), 0, larger)
        total = total * np.exp(maximum - base) + np.exp(entries - base)
        maximum = larger
    weights = np.moveaxis(np.exp(moved - maximum) / total, 0, axis)
    return weights.astype(as_float(scores).dtype)


def right_by_ratios(scores, axis=-1):
    rows = as_float(np.moveaxis(scores, axis, -1))
    with np.errstate(over="ignore", invalid="ignore"):
        gaps = np.nan_to_num(rows[..., None, :] - rows[..., :, None], nan=0, posinf=np.inf)
        weights = 1 / np.exp(gaps).sum(axis=-1)
    return np.moveaxis(np.where(np.isneginf(rows), 0, weights).astype(rows.dtype), -1, axis)


def right_among_finite_scores(scores, axis=-1):
    scores = as_float(scores)
    finite = np.isfinite(scores)
    maximum = scores.max(axis=axis, keepdims=True, where=finite, initial=-np.inf)
    powers = np.zeros_like(scores)
    np.exp(scores - maximum, out=powers, where=finite)
    return powers / powers.sum(axis=axis, keepdims=True)


def wrong_maximum_over_two_axes_of_a_stack(scores, axis=-1):
    axes = axis if scores.ndim < 3 else (-1, -2)
    return softmax(scores, axis, scores.max(axis=axes, keepdims=True))


def wrong_maximum_of_finite_scores_or_0(scores, axis=-1):
    finite = np.where(np.isfinite(scores), scores, 0)
    return softmax(scores, axis, finite.max(axis=axis, keepdims=True))


def wrong_shifted_only_above_80(scores, axis=-1):
    return softmax(scores, axis, None if scores.max() > 80 else 0)


def wrong_even_beside_an_infinite_score(scores, axis=-1):
    infinite = np.isneginf(scores).any(axis=axis, keepdims=True)
    return np.where(infinite, 1 / scores.shape[axis], softmax(scores, axis))


def wrong_tiny_weights_dropped(scores, axis=-1):
    weights = softmax(scores, axis)
    weights[weights < 1e-30] = 0
    return weights


WRONG = {
    "half of the range": lambda s, axis=-1: softmax(
        s, axis, s.max(axis=axis, keepdims=True) / 2 + s.min(axis=axis, keepdims=True) / 2
    ),
    "the first score": lambda s, axis=-1: softmax(s, axis, np.take(s, [0], axis=axis)),
    "-inf as -1e9": lambda s, axis=-1: softmax(np.nan_to_num(s, neginf=-1e9), axis),
    "-inf as 0": lambda s, axis=-1: softmax(np.where(np.isinf(s), 0, s), axis),
    "differences clipped": lambda s, axis=-1: softmax(
        np.maximum(s - s.max(axis=axis, keepdims=True), -100), axis
    ),
    "weights floored": lambda s, axis=-1: np.maximum(softmax(s, axis), 1e-30),
    "NaN hidden": lambda s, axis=-1: np.nan_to_num(softmax(s, axis, s.max())),
    "through float32": lambda s, axis=-1: softmax(s.astype(np.float32), axis).astype(float),
    "rounded to 12 digits": lambda s, axis=-1: softmax(s, axis).round(12),
}
