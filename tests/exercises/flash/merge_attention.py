"""Right and wrong answers to `merge_attention`."""

import math

import numpy as np

import attention_lib
from attention_lib.lessons.stability import logsumexp, masked_softmax, merge_softmax_stats


def right_by_logaddexp(left, right):
    joined = np.logaddexp(left[1], right[1])
    anchor = np.where(joined == -np.inf, 0, joined)
    a, b = np.exp(left[1] - anchor)[..., None], np.exp(right[1] - anchor)[..., None]
    return (a * left[0] + b * right[0]).astype(joined.dtype), joined


def right_with_a_maximum(left, right):
    """Add numerators and denominators under the larger log-sum-exp."""
    largest = np.maximum(left[1], right[1])
    shift = np.where(np.isneginf(largest), 0, largest)
    a, b = np.exp(left[1] - shift), np.exp(right[1] - shift)
    total = a + b
    output = a[..., None] * left[0] + b[..., None] * right[0]
    output /= np.where(total == 0, 1, total)[..., None]
    with np.errstate(divide="ignore"):
        return [output.astype(total.dtype), shift + np.log(total)]


def right_by_softmax_of_both(left, right):
    both = np.stack([left[1], right[1]])
    shares = masked_softmax(both, both > -np.inf, axis=0)
    output = np.einsum("p...,p...v->...v", shares, np.stack([left[0], right[0]]))
    return output.astype(shares.dtype), logsumexp(both, axis=0)


def right_by_stats_of_lesson_02(left, right):
    """A log-sum-exp is the maximum of a row whose total is 1."""
    (m1, m2), one = np.stack([left[1] * 1.0, right[1] * 1.0]), np.ones_like(left[1] * 1.0)
    maximum, total = merge_softmax_stats(
        (m1, np.where(m1 == -np.inf, 0 * one, one)), (m2, np.where(m2 == -np.inf, 0 * one, one))
    )
    with np.errstate(divide="ignore"):
        joined = maximum + np.log(total)
    output = np.zeros(np.broadcast(left[0], joined[..., None]).shape, joined.dtype)
    for part, lse in ((left[0], m1), (right[0], m2)):
        filled = lse > -np.inf
        share = np.zeros_like(joined)
        share[filled] = np.exp(lse[filled] - joined[filled])
        output += share[..., None] * part
    return output, joined


def right_query_by_query(left, right):
    """Move the left output toward the right one by a sigmoid of the difference."""
    (o1, l1), (o2, l2) = left, right
    dtype = np.result_type(l1, np.float32)
    output, joined = np.zeros(o1.shape, dtype), np.empty(l1.shape, dtype)
    for index in np.ndindex(l1.shape):
        low, high = sorted((float(l1[index]), float(l2[index])))
        if low == -math.inf:
            output[index] = o1[index] if l1[index] > l2[index] else o2[index]
            joined[index] = high
            continue
        gap = math.exp(low - high)
        joined[index] = high + math.log1p(gap)
        share = 1 / (1 + gap) if l1[index] == high else gap / (1 + gap)
        output[index] = share * o1[index].astype(float) + (1 - share) * o2[index].astype(float)
    return output, joined


def wrong_changes_the_left_output(left, right):
    result = right_by_logaddexp(left, right)
    left[0][...] = 0
    return result


def wrong_with_a_constant(left, right):
    output, joined = right_by_logaddexp(left, right)
    return output * (1 - 1e-9), joined


def wrong_last_batch_item_for_all(left, right):
    output, joined = right_by_logaddexp(left, right)
    if output.ndim > 2:
        output = np.broadcast_to(output[-1:], output.shape)
    return output, joined


def wrong_empty_on_the_left_alone(left, right):
    output, joined = right_by_logaddexp(left, right)
    return np.where((right[1] == -np.inf)[..., None], right[0], output), joined


WRONG = {
    "the output of the larger side": lambda left, right: (
        np.where((left[1] > right[1])[..., None], left[0], right[0]),
        np.logaddexp(left[1], right[1]),
    ),
    "in base 2": lambda left, right: (
        right_by_logaddexp(left, right)[0],
        np.logaddexp2(left[1], right[1]),
    ),
    "-1e30 for no keys": lambda left, right: (
        right_by_logaddexp(left, right)[0],
        np.maximum(np.logaddexp(left[1], right[1]), -1e30),
    ),
    "always float64": lambda left, right: right_by_logaddexp(
        *((part[0].astype(float), part[1].astype(float)) for part in (left, right))
    ),
    "a generator": lambda left, right: (part for part in right_by_logaddexp(left, right)),
    "the library's": lambda left, right: attention_lib.merge_attention(left, right),
}
