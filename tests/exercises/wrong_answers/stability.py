"""Wrong answers to the exercises of lesson 02 that come close to right ones."""

import math

import numpy as np

import attention_lib


def as_float(scores):
    return scores if scores.dtype.kind == "f" else scores.astype(float)


def softmax(scores, axis=-1, by=None):
    with np.errstate(all="ignore"):
        by = scores.max(axis=axis, keepdims=True) if by is None else by
        exponentials = np.exp(scores - by)
        return exponentials / exponentials.sum(axis=axis, keepdims=True)


def log_softmax(scores, axis=-1):
    shifted = scores - scores.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def logsumexp(scores, axis=-1, keepdims=False):
    return np.logaddexp.reduce(as_float(scores), axis=axis, keepdims=keepdims)


def losses(scores, targets):
    return -log_softmax(as_float(scores))[np.arange(len(targets)), targets]


def masked_softmax(scores, mask, axis=-1):
    scores = as_float(scores)
    weights = softmax(np.where(mask, scores, scores.dtype.type(-np.inf)), axis)
    return np.nan_to_num(weights)


def merged(left, right):
    maximum = np.maximum(left[0], right[0])
    with np.errstate(invalid="ignore"):
        total = left[1] * np.exp(left[0] - maximum) + right[1] * np.exp(right[0] - maximum)
    return maximum, np.nan_to_num(total)


def maximum_over_two_axes_of_a_stack(scores, axis=-1):
    axes = axis if scores.ndim < 3 else (-1, -2)
    return softmax(scores, axis, scores.max(axis=axes, keepdims=True))


def maximum_of_finite_scores_or_0(scores, axis=-1):
    finite = np.where(np.isfinite(scores), scores, 0)
    return softmax(scores, axis, finite.max(axis=axis, keepdims=True))


def shifted_only_above_80(scores, axis=-1):
    return softmax(scores, axis, None if scores.max() > 80 else 0)


def even_beside_an_infinite_score(scores, axis=-1):
    infinite = np.isneginf(scores).any(axis=axis, keepdims=True)
    return np.where(infinite, 1 / scores.shape[axis], softmax(scores, axis))


def tiny_weights_dropped(scores, axis=-1):
    weights = softmax(scores, axis)
    weights[weights < 1e-30] = 0
    return weights


def small_masked_weights_dropped(scores, mask, axis=-1):
    weights = masked_softmax(scores, mask, axis)
    weights[weights < 1e-6] = 0
    return weights


def every_single_axis_dropped(scores, axis=-1, keepdims=False):
    result = logsumexp(scores, axis, keepdims=True)
    return result if keepdims else np.squeeze(result)


def kept_axis_last(scores, axis=-1, keepdims=False):
    result = logsumexp(scores, axis)
    return result[..., None] if keepdims else result


def fallback_where_the_weight_is_0(scores, axis=-1):
    shifted = scores - scores.max(axis=axis, keepdims=True)
    with np.errstate(divide="ignore"):
        logs = np.log(softmax(scores, axis))
    return np.where(np.isinf(logs), shifted, logs)


def every_class_for_itself(scores, targets):
    right = np.eye(scores.shape[1])[targets]
    with np.errstate(all="ignore"):
        weights = softmax(as_float(scores))
        terms = right * np.log(weights) + (1 - right) * np.log(1 - weights)
    return -np.nansum(terms) / len(targets)


def filled(fill):
    def answer(scores, mask, axis=-1):
        scores = as_float(scores)
        return softmax(np.where(mask, scores, scores.dtype.type(fill)), axis) * mask

    return answer


def mask_from_the_left(scores, mask, axis=-1):
    if mask.ndim < scores.ndim and mask.shape[0] == scores.shape[0]:
        mask = mask.reshape(mask.shape + (1,) * (scores.ndim - mask.ndim))
    return masked_softmax(scores, mask, axis)


def zeros_along_the_last_axis(scores, mask, axis=-1):
    scores = as_float(scores)
    allowed = np.broadcast_to(mask, scores.shape)
    weights = softmax(np.where(mask, scores, scores.dtype.type(-np.inf)), axis)
    return np.where(allowed.any(axis=-1, keepdims=True), weights, scores.dtype.type(0))


def broadcast_masks_upside_down(scores, mask, axis=-1):
    if mask.shape != scores.shape:
        mask = np.broadcast_to(mask, scores.shape)[::-1]
    return masked_softmax(scores, mask, axis)


def zeros_only_if_nothing_is_allowed_anywhere(scores, mask, axis=-1):
    scores = as_float(scores)
    if not mask.any():
        return np.zeros_like(scores)
    return softmax(np.where(mask, scores, scores.dtype.type(-np.inf)), axis)


def maximum_from_0(scores, mask, axis=-1):
    scores = as_float(scores)
    allowed = np.broadcast_to(mask, scores.shape)
    top = scores.max(axis=axis, keepdims=True, where=allowed, initial=0)
    exponentials = np.where(allowed, np.exp(np.minimum(scores - top, 0)), 0).astype(scores.dtype)
    total = exponentials.sum(axis=axis, keepdims=True)
    return exponentials / np.where(total == 0, scores.dtype.type(1), total)


def inverts_the_mask_it_is_given(scores, mask, axis=-1):
    result = masked_softmax(scores, mask, axis)
    np.logical_not(mask, out=mask)
    return result


def maxima_held_above(floor, back):
    def answer(left, right):
        lifted = [
            (np.maximum(part[0], part[0].dtype.type(floor)), part[1]) for part in (left, right)
        ]
        maximum, total = merged(*lifted)
        return (np.where(maximum == floor, -np.inf, maximum) if back else maximum), total

    return answer


def other_part_if_any_row_is_empty(left, right):
    if np.isneginf(left[0]).any():
        return right
    return left if np.isneginf(right[0]).any() else merged(left, right)


def empties_the_left_totals(left, right):
    result = merged(left, right)
    left[1][...] = 0
    return result


def totals_of_1(left, right):
    return merged((left[0], np.ones_like(left[1])), (right[0], np.ones_like(right[1])))


WRONG = {
    "largest_exponent": {
        "a little too large": lambda dtype: math.log(float(np.finfo(dtype).max)) * 1.002,
        "rounded down": lambda dtype: math.floor(math.log(float(np.finfo(dtype).max))),
        "the first that overflows": lambda dtype: {2: 11.5, 4: 89, 8: 710.5}[
            np.dtype(dtype).itemsize
        ],
        "float64 like float32": lambda dtype: {2: 11.09}.get(np.dtype(dtype).itemsize, 88.72),
        "types alone": lambda dtype: {np.float16: 11.09, np.float32: 88.72, np.float64: 709.8}[
            dtype
        ],
        "names alone": lambda dtype: {"float16": 11.09, "float32": 88.72, "float64": 709.8}[dtype],
        "a string": lambda dtype: str(math.log(float(np.finfo(dtype).max))),
        "an array": lambda dtype: np.array([math.log(float(np.finfo(dtype).max))]),
    },
    "stable_softmax": {
        "half of the range": lambda s, axis=-1: softmax(
            s, axis, s.max(axis=axis, keepdims=True) / 2 + s.min(axis=axis, keepdims=True) / 2
        ),
        "the first score": lambda s, axis=-1: softmax(s, axis, np.take(s, [0], axis=axis)),
        "never below 0": lambda s, axis=-1: softmax(
            s, axis, s.max(axis=axis, keepdims=True, initial=0)
        ),
        "two axes": maximum_over_two_axes_of_a_stack,
        "maximum over finite scores or 0": maximum_of_finite_scores_or_0,
        "-inf as -1e9": lambda s, axis=-1: softmax(np.nan_to_num(s, neginf=-1e9), axis),
        "-inf as 0": lambda s, axis=-1: softmax(np.where(np.isinf(s), 0, s), axis),
        "shifted above 80": shifted_only_above_80,
        "even beside -inf": even_beside_an_infinite_score,
        "differences clipped": lambda s, axis=-1: softmax(
            np.maximum(s - s.max(axis=axis, keepdims=True), -100), axis
        ),
        "tiny weights dropped": tiny_weights_dropped,
        "weights floored": lambda s, axis=-1: np.maximum(softmax(s, axis), 1e-30),
        "NaN hidden": lambda s, axis=-1: np.nan_to_num(softmax(s, axis, s.max())),
        "through float32": lambda s, axis=-1: softmax(s.astype(np.float32), axis).astype(float),
        "rounded to 12 digits": lambda s, axis=-1: softmax(s, axis).round(12),
        "its own lesson": lambda s, axis=-1: np.exp(attention_lib.log_softmax(s, axis)),
    },
    "logsumexp": {
        "constant in the logarithm": lambda s, axis=-1, keepdims=False: (
            logsumexp(s, axis, keepdims) + 1e-12
        ),
        "finite for an empty row": lambda s, axis=-1, keepdims=False: np.maximum(
            logsumexp(s, axis, keepdims), -1e30
        ),
        "0 for an empty row": lambda s, axis=-1, keepdims=False: np.nan_to_num(
            logsumexp(s, axis, keepdims), neginf=0.0
        ),
        "-inf as -1e9": lambda s, axis=-1, keepdims=False: logsumexp(
            np.maximum(s, -1e9), axis, keepdims
        ),
        "single axes dropped": every_single_axis_dropped,
        "kept axis last": kept_axis_last,
        "base 2": lambda s, axis=-1, keepdims=False: np.logaddexp2.reduce(
            as_float(s), axis=axis, keepdims=keepdims
        ),
        "through float32": lambda s, axis=-1, keepdims=False: np.float64(
            logsumexp(s.astype(np.float32), axis, keepdims)
        ),
    },
    "log_softmax": {
        "constant in the sum": lambda s, axis=-1: log_softmax(s, axis) - 1e-12,
        "fallback at 0": fallback_where_the_weight_is_0,
        "never below -745": lambda s, axis=-1: np.maximum(log_softmax(s, axis), -745),
        "one maximum": lambda s, axis=-1: np.log(softmax(s, axis, s.max())),
        "base 10": lambda s, axis=-1: log_softmax(s, axis) / np.log(10),
        "through float32": lambda s, axis=-1: log_softmax(s.astype(np.float32), axis).astype(float),
        "rounded to 10 digits": lambda s, axis=-1: log_softmax(s, axis).round(10),
        "its own lesson": lambda s, axis=-1: s - attention_lib.logsumexp(s, axis, True),
    },
    "cross_entropy": {
        "divided by C": lambda s, t: losses(s, t).sum() / s.shape[1],
        "divided by N - 1": lambda s, t: losses(s, t).sum() / max(len(t) - 1, 1),
        "the median": lambda s, t: np.median(losses(s, t)),
        "targets from 1": lambda s, t: losses(s, t - 1).mean(),
        "every class": every_class_for_itself,
        "never above 1e30": lambda s, t: min(losses(s, t).mean(), 1e30),
        "an array": lambda s, t: losses(s, t)[:1] * 0 + losses(s, t).mean(),
        "through float32": lambda s, t: losses(s.astype(np.float32), t).mean(),
        "rounded": lambda s, t: round(float(losses(s, t).mean()), 8),
    },
    "masked_softmax": {
        "small weights dropped": small_masked_weights_dropped,
        "-1e2, then the mask": filled(-1e2),
        "-1e9, then the mask": filled(-1e9),
        "-1e30, then the mask": filled(-1e30),
        "mask from the left": mask_from_the_left,
        "zeros along the last axis": zeros_along_the_last_axis,
        "masks upside down": broadcast_masks_upside_down,
        "all or nothing": zeros_only_if_nothing_is_allowed_anywhere,
        "scores of 0 forbidden": lambda s, m, axis=-1: masked_softmax(s, m & (s != 0), axis),
        "maximum from 0": maximum_from_0,
        "inverts its mask": inverts_the_mask_it_is_given,
        "weights floored": lambda s, m, axis=-1: np.where(
            m, np.maximum(masked_softmax(s, m, axis), 1e-12), 0.0
        ),
        "always float64": lambda s, m, axis=-1: masked_softmax(s.astype(float), m, axis),
        "its own lesson": lambda s, m, axis=-1: attention_lib.stable_softmax(
            np.where(m, s, -1e300), axis
        ),
    },
    "merge_softmax_stats": {
        "-inf as -1e9": maxima_held_above(-1e9, back=False),
        "-inf as -1e9 and back": maxima_held_above(-1e9, back=True),
        "any row empty": other_part_if_any_row_is_empty,
        "the smaller maximum": lambda left, right: (
            np.minimum(left[0], right[0]),
            merged(left, right)[1],
        ),
        "constant in the total": lambda left, right: (
            merged(left, right)[0],
            merged(left, right)[1] + left[1].dtype.type(1e-9),
        ),
        "totals of 1": totals_of_1,
        "empties the left totals": empties_the_left_totals,
        "one array": lambda left, right: np.stack(merged(left, right)),
        "always float64": lambda left, right: tuple(x.astype(float) for x in merged(left, right)),
        "the larger part's total": lambda left, right: (
            np.maximum(left[0], right[0]),
            np.where(left[0] >= right[0], left[1], right[1]),
        ),
    },
}
