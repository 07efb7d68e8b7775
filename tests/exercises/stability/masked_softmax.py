"""Right and wrong answers to `masked_softmax`."""

import math

import numpy as np

from attention_lib.lessons.softmax import softmax as softmax_of_lesson_01
from tests.exercises.parts import as_float, softmax
from tests.exercises.stability.stable_softmax import right_stable_textbook


def right_by_infinity(scores, mask, axis=-1):
    hidden = np.where(mask, scores, -np.inf).astype(np.result_type(scores.dtype, np.float32))
    largest = hidden.max(axis=axis, keepdims=True)
    largest[np.isneginf(largest)] = 0
    exponentials = np.exp(hidden - largest)
    total = exponentials.sum(axis=axis, keepdims=True)
    return exponentials / np.where(total == 0, 1, total)


def right_with_errstate(scores, mask, axis=-1):
    with np.errstate(all="ignore"):
        weights = right_stable_textbook(np.where(mask, scores, -np.inf), axis)
    weights = np.where(np.isnan(weights), 0, weights)
    return weights.astype(scores.dtype) if scores.dtype.kind == "f" else weights


def right_row_by_row(scores, mask, axis=-1):
    rows = np.moveaxis(as_float(scores), axis, -1)
    allowed = np.moveaxis(np.broadcast_to(mask, scores.shape), axis, -1)
    weights = np.zeros_like(rows)
    for index in np.ndindex(rows.shape[:-1]):
        chosen = rows[index][allowed[index]]
        if chosen.size:
            powers = [math.exp(score - chosen.max()) for score in chosen.tolist()]
            weights[index][allowed[index]] = [power / math.fsum(powers) for power in powers]
    return np.moveaxis(weights, -1, axis)


def right_by_half_the_smallest_number(scores, mask, axis=-1):
    scores = as_float(scores)
    low = np.where(mask, scores, np.finfo(scores.dtype).min / 2)
    powers = np.exp(low - low.max(axis=axis, keepdims=True)) * mask
    total = powers.sum(axis=axis, keepdims=True)
    return powers / (total + (total == 0))


def right_through_logarithms(scores, mask, axis=-1):
    scores = as_float(scores) + np.where(mask, 0, -np.inf).astype(as_float(scores).dtype)
    maximum = scores.max(axis=axis, keepdims=True)
    scores = scores - np.where(np.isneginf(maximum), 0, maximum)
    total = np.logaddexp.reduce(scores, axis=axis, keepdims=True)
    return np.exp(scores - np.where(np.isneginf(total), 0, total))


def right_changing_and_restoring(scores, mask, axis=-1):
    if scores.dtype.kind == "i":
        return right_by_infinity(scores, mask, axis)
    before = scores.copy()
    scores[~np.broadcast_to(mask, scores.shape)] = -np.inf
    result = right_by_infinity(scores, np.ones(1, bool), axis)
    scores[...] = before
    return result


def masked_softmax(scores, mask, axis=-1):
    scores = as_float(scores)
    weights = softmax(np.where(mask, scores, scores.dtype.type(-np.inf)), axis)
    return np.nan_to_num(weights)


def wrong_small_masked_weights_dropped(scores, mask, axis=-1):
    weights = masked_softmax(scores, mask, axis)
    weights[weights < 1e-6] = 0
    return weights


def filled(fill):
    def answer(scores, mask, axis=-1):
        scores = as_float(scores)
        return softmax(np.where(mask, scores, scores.dtype.type(fill)), axis) * mask

    return answer


def wrong_mask_from_the_left(scores, mask, axis=-1):
    if mask.ndim < scores.ndim and mask.shape[0] == scores.shape[0]:
        mask = mask.reshape(mask.shape + (1,) * (scores.ndim - mask.ndim))
    return masked_softmax(scores, mask, axis)


def wrong_zeros_along_the_last_axis(scores, mask, axis=-1):
    scores = as_float(scores)
    allowed = np.broadcast_to(mask, scores.shape)
    weights = softmax(np.where(mask, scores, scores.dtype.type(-np.inf)), axis)
    return np.where(allowed.any(axis=-1, keepdims=True), weights, scores.dtype.type(0))


def wrong_broadcast_masks_upside_down(scores, mask, axis=-1):
    if mask.shape != scores.shape:
        mask = np.broadcast_to(mask, scores.shape)[::-1]
    return masked_softmax(scores, mask, axis)


def wrong_zeros_only_if_nothing_is_allowed_anywhere(scores, mask, axis=-1):
    scores = as_float(scores)
    if not mask.any():
        return np.zeros_like(scores)
    return softmax(np.where(mask, scores, scores.dtype.type(-np.inf)), axis)


def wrong_maximum_from_0(scores, mask, axis=-1):
    scores = as_float(scores)
    allowed = np.broadcast_to(mask, scores.shape)
    top = scores.max(axis=axis, keepdims=True, where=allowed, initial=0)
    exponentials = np.where(allowed, np.exp(np.minimum(scores - top, 0)), 0).astype(scores.dtype)
    total = exponentials.sum(axis=axis, keepdims=True)
    return exponentials / np.where(total == 0, scores.dtype.type(1), total)


def wrong_inverts_the_mask_it_is_given(scores, mask, axis=-1):
    result = masked_softmax(scores, mask, axis)
    np.logical_not(mask, out=mask)
    return result


WRONG = {
    "-1e2, then the mask": filled(-1e2),
    "scores of 0 forbidden": lambda s, m, axis=-1: masked_softmax(s, m & (s != 0), axis),
    "weights floored": lambda s, m, axis=-1: np.where(
        m, np.maximum(masked_softmax(s, m, axis), 1e-12), 0.0
    ),
    "always float64": lambda s, m, axis=-1: masked_softmax(s.astype(float), m, axis),
    "lesson 01's softmax": lambda s, m, axis=-1: np.nan_to_num(
        softmax_of_lesson_01(np.where(m, s, -np.inf).astype(as_float(s).dtype), axis)
    ),
}
