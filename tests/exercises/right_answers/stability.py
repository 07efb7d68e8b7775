"""Right answers to the exercises of lesson 02, written in unlike ways."""

import collections
import math
from decimal import Decimal

import numpy as np

from attention_lib.lessons.softmax import softmax as softmax_of_lesson_01


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


def as_float(scores):
    return scores if scores.dtype.kind == "f" else scores.astype(float)


def largest_as_a_decimal(dtype):
    return Decimal(float(np.finfo(dtype).max)).ln()


def largest_from_a_table(dtype):
    return {"float16": 11.09, "float32": 88.72, "float64": 709.78}[np.dtype(dtype).name]


def stable_through_logsumexp(scores, axis=-1):
    maximum = scores.max(axis=axis, keepdims=True)
    total = np.exp(scores - maximum).sum(axis=axis, keepdims=True)
    return np.exp(scores - (maximum + np.log(total)))


def stable_in_one_pass(scores, axis=-1):
    moved = np.moveaxis(scores, axis, 0).astype(float)
    maximum, total = np.full(moved.shape[1:], -np.inf), np.zeros(moved.shape[1:])
    for entries in moved:
        larger = np.maximum(maximum, entries)
        base = np.where(np.isneginf(larger), 0, larger)
        total = total * np.exp(maximum - base) + np.exp(entries - base)
        maximum = larger
    weights = np.moveaxis(np.exp(moved - maximum) / total, 0, axis)
    return weights.astype(as_float(scores).dtype)


def stable_by_ratios(scores, axis=-1):
    rows = as_float(np.moveaxis(scores, axis, -1))
    with np.errstate(over="ignore", invalid="ignore"):
        gaps = np.nan_to_num(rows[..., None, :] - rows[..., :, None], nan=0, posinf=np.inf)
        weights = 1 / np.exp(gaps).sum(axis=-1)
    return np.moveaxis(np.where(np.isneginf(rows), 0, weights).astype(rows.dtype), -1, axis)


def stable_among_finite_scores(scores, axis=-1):
    scores = as_float(scores)
    finite = np.isfinite(scores)
    maximum = scores.max(axis=axis, keepdims=True, where=finite, initial=-np.inf)
    powers = np.zeros_like(scores)
    np.exp(scores - maximum, out=powers, where=finite)
    return powers / powers.sum(axis=axis, keepdims=True)


def logsumexp_of_sorted_rows(scores, axis=-1, keepdims=False):
    rows = np.sort(as_float(np.moveaxis(scores, axis, -1)), axis=-1)
    largest = rows[..., -1]
    rest = rows[..., :-1] - np.where(np.isneginf(largest), 0, largest)[..., None]
    result = np.asarray(largest + np.log1p(np.exp(rest).sum(axis=-1)), rows.dtype)
    return np.expand_dims(result, axis) if keepdims else result


def log_softmax_by_ratios(scores, axis=-1):
    rows = np.moveaxis(scores, axis, -1)
    gaps = rows[..., None, :] - rows[..., :, None]
    return np.moveaxis(-np.logaddexp.reduce(gaps, axis=-1), -1, axis)


def cross_entropy_from_the_right_score(scores, targets):
    above = scores - np.take_along_axis(scores, targets[:, None], 1)
    return np.array(np.logaddexp.reduce(above, axis=1).mean())


def masked_row_by_row(scores, mask, axis=-1):
    rows = np.moveaxis(as_float(scores), axis, -1)
    allowed = np.moveaxis(np.broadcast_to(mask, scores.shape), axis, -1)
    weights = np.zeros_like(rows)
    for index in np.ndindex(rows.shape[:-1]):
        chosen = rows[index][allowed[index]]
        if chosen.size:
            weights[index][allowed[index]] = softmax_of_lesson_01(chosen - chosen.max())
    return np.moveaxis(weights, -1, axis)


def masked_by_half_the_smallest_number(scores, mask, axis=-1):
    scores = as_float(scores)
    low = np.where(mask, scores, np.finfo(scores.dtype).min / 2)
    powers = np.exp(low - low.max(axis=axis, keepdims=True)) * mask
    total = powers.sum(axis=axis, keepdims=True)
    return powers / (total + (total == 0))


def masked_through_logarithms(scores, mask, axis=-1):
    scores = as_float(scores) + np.where(mask, 0, -np.inf).astype(as_float(scores).dtype)
    total = np.logaddexp.reduce(scores, axis=axis, keepdims=True)
    return np.exp(scores - np.where(np.isneginf(total), 0, total).astype(scores.dtype))


def masked_changing_and_restoring(scores, mask, axis=-1):
    if scores.dtype.kind == "i":
        return masked_by_infinity(scores, mask, axis)
    before = scores.copy()
    scores[~np.broadcast_to(mask, scores.shape)] = -np.inf
    result = masked_by_infinity(scores, np.ones(1, bool), axis)
    scores[...] = before
    return result


Stats = collections.namedtuple("Stats", "maximum total")


def merge_as_a_named_tuple(left, right):
    maximum = np.fmax(left[0], right[0])
    total = np.zeros_like(maximum)
    for part, count in (left, right):
        filled = part > -np.inf
        total[filled] += count[filled] * np.exp(part[filled] - maximum[filled])
    return Stats(maximum, total)


def merge_through_logarithms(left, right):
    maximum = np.maximum(left[0], right[0])
    with np.errstate(divide="ignore"):
        logs = [part[0].astype(float) + np.log(part[1]) for part in (left, right)]
    base = np.where(np.isneginf(maximum), 0, maximum)
    total = np.exp(np.logaddexp(*logs) - base)
    return maximum, total.astype(left[1].dtype)


RIGHT = {
    "largest_exponent": [
        largest_by_logarithm,
        largest_by_bisection,
        largest_from_the_exponent,
        largest_as_a_decimal,
        largest_from_a_table,
    ],
    "stable_softmax": [
        stable_textbook,
        stable_from_lesson_01,
        stable_by_loops,
        stable_in_float64,
        stable_with_the_maximum_below_zero,
        stable_through_logsumexp,
        stable_in_one_pass,
        stable_by_ratios,
        stable_among_finite_scores,
    ],
    "logsumexp": [
        logsumexp_textbook,
        logsumexp_by_pairs,
        logsumexp_by_loops,
        logsumexp_of_sorted_rows,
    ],
    "log_softmax": [
        log_softmax_by_shift,
        log_softmax_by_logsumexp,
        log_softmax_by_loops,
        log_softmax_by_ratios,
    ],
    "cross_entropy": [
        cross_entropy_by_indexing,
        cross_entropy_by_loop,
        cross_entropy_by_one_hot,
        cross_entropy_from_the_right_score,
    ],
    "masked_softmax": [
        masked_by_infinity,
        masked_by_loops,
        masked_with_errstate,
        masked_row_by_row,
        masked_by_half_the_smallest_number,
        masked_through_logarithms,
        masked_changing_and_restoring,
    ],
    "merge_softmax_stats": [
        merge_textbook,
        merge_as_a_list_by_loops,
        merge_by_larger_and_smaller,
        merge_as_a_named_tuple,
        merge_through_logarithms,
    ],
}
