"""Right and wrong answers to `merge_attention`."""

import numpy as np


def right_by_logaddexp(left, right):
    joined = np.logaddexp(left[1], right[1])
    anchor = np.where(joined == -np.inf, 0, joined)
    a, b = np.exp(left[1] - anchor)[..., None], np.exp(right[1] - anchor)[..., None]
    return (a * left[0] + b * right[0]).astype(joined.dtype), joined


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
    "-1e30 for no keys": lambda left, right: (
        right_by_logaddexp(left, right)[0],
        np.maximum(np.logaddexp(left[1], right[1]), -1e30),
    ),
    "always float64": lambda left, right: right_by_logaddexp(
        *((part[0].astype(float), part[1].astype(float)) for part in (left, right))
    ),
    "a generator": lambda left, right: (part for part in right_by_logaddexp(left, right)),
}
