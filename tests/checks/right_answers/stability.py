"""Right answers to the exercises of lesson 02, written in unlike ways."""

import math

import numpy as np

from attention_lib.softmax import softmax as softmax_of_lesson_01


def largest_by_logarithm(dtype):
    return np.log(np.finfo(dtype).max)


def largest_by_bisection(dtype):
    kind = np.dtype(dtype).type
    low, high = kind(1), kind(800)
    with np.errstate(over="ignore"):
        while low < (middle := (low + high) / kind(2)) < high:
            low, high = (middle, high) if np.isfinite(np.exp(middle)) else (low, middle)
    return low


def largest_from_the_exponent(dtype):
    return math.log(2.0) * np.finfo(np.dtype(dtype)).maxexp


def stable_textbook(scores, axis=-1):
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def stable_from_lesson_01(scores, axis=-1):
    return softmax_of_lesson_01(scores, axis)


def stable_by_loops(scores, axis=-1):
    rows = np.moveaxis(scores, axis, -1)
    out = np.zeros(rows.shape, scores.dtype if scores.dtype.kind == "f" else float)
    for index in np.ndindex(rows.shape[:-1]):
        largest = max(float(entry) for entry in rows[index])
        powers = [math.exp(float(entry) - largest) for entry in rows[index]]
        out[index] = [power / sum(powers) for power in powers]
    return np.moveaxis(out, -1, axis)


def stable_in_float64(scores, axis=-1):
    wide = scores.astype(np.float64)
    wide -= np.amax(wide, axis, keepdims=True)
    np.exp(wide, wide)
    wide /= np.add.reduce(wide, axis, keepdims=True)
    return wide.astype(np.result_type(scores.dtype, np.float32))


def stable_with_the_maximum_below_zero(scores, axis=-1):
    """Shift so that the largest score is -1: any shift near the maximum will do."""
    lowered = scores - scores.max(axis=axis, keepdims=True) - 1
    return np.exp(lowered) / np.exp(lowered).sum(axis=axis, keepdims=True)


def logsumexp_textbook(scores, axis=-1, keepdims=False):
    largest = scores.max(axis=axis, keepdims=True)
    largest = np.where(np.isinf(largest), 0, largest)
    with np.errstate(divide="ignore"):
        result = largest + np.log(np.exp(scores - largest).sum(axis=axis, keepdims=True))
    return result if keepdims else result.squeeze(axis)


def logsumexp_by_pairs(scores, axis=-1, keepdims=False):
    return np.logaddexp.reduce(scores, axis=axis, keepdims=keepdims)


def logsumexp_by_loops(scores, axis=-1, keepdims=False):
    rows = np.moveaxis(scores, axis, -1)
    out = np.empty(rows.shape[:-1], scores.dtype if scores.dtype.kind == "f" else float)
    for index in np.ndindex(rows.shape[:-1]):
        entries = [float(entry) for entry in rows[index]]
        largest = max(entries)
        if largest == -math.inf:
            out[index] = -math.inf
        else:
            out[index] = largest + math.log(sum(math.exp(entry - largest) for entry in entries))
    return np.expand_dims(out, axis) if keepdims else out


def log_softmax_by_shift(scores, axis=-1):
    shifted = scores - scores.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def log_softmax_by_logsumexp(scores, axis=-1):
    return scores - logsumexp_by_pairs(scores, axis, keepdims=True)


def log_softmax_by_loops(scores, axis=-1):
    return np.apply_along_axis(lambda row: row - logsumexp_by_pairs(row), axis, scores)


def cross_entropy_by_indexing(scores, targets):
    return -log_softmax_by_shift(scores)[np.arange(len(targets)), targets].mean()


def cross_entropy_by_loop(scores, targets):
    losses = []
    for row, target in zip(scores.astype(float), targets, strict=True):
        shifted = row - row.max()
        losses.append(math.log(sum(map(math.exp, shifted))) - shifted[target])
    return sum(losses) / len(losses)


def cross_entropy_by_one_hot(scores, targets):
    chosen = np.eye(scores.shape[1], dtype=bool)[targets]
    return np.array(np.mean(logsumexp_by_pairs(scores) - scores[chosen]))


def masked_by_infinity(scores, mask, axis=-1):
    hidden = np.where(mask, scores, -np.inf).astype(np.result_type(scores.dtype, np.float32))
    largest = hidden.max(axis=axis, keepdims=True)
    largest[np.isneginf(largest)] = 0
    exponentials = np.exp(hidden - largest)
    total = exponentials.sum(axis=axis, keepdims=True)
    return exponentials / np.where(total == 0, 1, total)


def masked_by_loops(scores, mask, axis=-1):
    allowed = np.moveaxis(np.broadcast_to(mask, scores.shape), axis, -1)
    rows = np.moveaxis(scores, axis, -1)
    out = np.zeros(rows.shape, np.result_type(scores.dtype, np.float32))
    for index in np.ndindex(rows.shape[:-1]):
        if allowed[index].any():
            kept = rows[index][allowed[index]]
            out[index][allowed[index]] = softmax_of_lesson_01(kept)
    return np.moveaxis(out, -1, axis)


def masked_with_errstate(scores, mask, axis=-1):
    with np.errstate(all="ignore"):
        weights = stable_textbook(np.where(mask, scores, -np.inf), axis)
    weights = np.where(np.isnan(weights), 0, weights)
    return weights.astype(scores.dtype) if scores.dtype.kind == "f" else weights


def merge_textbook(left, right):
    (m1, t1), (m2, t2) = left, right
    m = np.maximum(m1, m2)
    safe = np.where(np.isinf(m), 0, m).astype(m.dtype)
    return m, t1 * np.exp(m1 - safe) + t2 * np.exp(m2 - safe)


def merge_as_a_list_by_loops(left, right):
    maxima, totals = np.empty_like(left[0]), np.empty_like(left[1])
    for index in np.ndindex(left[0].shape):
        m1, t1, m2, t2 = (float(part[index]) for part in (*left, *right))
        maxima[index] = max(m1, m2)
        totals[index] = sum(
            total * math.exp(maximum - max(m1, m2))
            for maximum, total in ((m1, t1), (m2, t2))
            if maximum > -math.inf
        )
    return [maxima, totals]


def merge_by_larger_and_smaller(left, right):
    swap = left[0] < right[0]
    high = [np.where(swap, b, a) for a, b in zip(left, right, strict=True)]
    low = [np.where(swap, a, b) for a, b in zip(left, right, strict=True)]
    gap = np.where(np.isinf(low[0]), 0, np.where(np.isinf(low[0]), 0, low[0]) - high[0])
    gap = np.where(np.isinf(low[0]) | np.isinf(high[0]), 0, gap)
    return high[0], high[1] + low[1] * np.exp(gap).astype(low[1].dtype)


RIGHT = {
    "largest_exponent": [largest_by_logarithm, largest_by_bisection, largest_from_the_exponent],
    "stable_softmax": [
        stable_textbook,
        stable_from_lesson_01,
        stable_by_loops,
        stable_in_float64,
        stable_with_the_maximum_below_zero,
    ],
    "logsumexp": [logsumexp_textbook, logsumexp_by_pairs, logsumexp_by_loops],
    "log_softmax": [log_softmax_by_shift, log_softmax_by_logsumexp, log_softmax_by_loops],
    "cross_entropy": [cross_entropy_by_indexing, cross_entropy_by_loop, cross_entropy_by_one_hot],
    "masked_softmax": [masked_by_infinity, masked_by_loops, masked_with_errstate],
    "merge_softmax_stats": [
        merge_textbook,
        merge_as_a_list_by_loops,
        merge_by_larger_and_smaller,
    ],
}
