"""Right and wrong answers to `log_softmax`."""

import numpy as np

from tests.exercises.parts import log_softmax, softmax
from tests.exercises.stability.logsumexp import right_logsumexp_by_pairs


def right_softmax_by_logsumexp(scores, axis=-1):
    return scores - right_logsumexp_by_pairs(scores, axis, keepdims=True)


def right_softmax_by_loops(scores, axis=-1):
    return np.apply_along_axis(lambda row: row - right_logsumexp_by_pairs(row), axis, scores)


def wrong_fallback_where_the_weight_is_0(scores, axis=-1):
    shifted = scores - scores.max(axis=axis, keepdims=True)
    with np.errstate(divide="ignore"):
        logs = np.log(softmax(scores, axis))
    return np.where(np.isinf(logs), shifted, logs)


RIGHT = {"textbook": log_softmax}

WRONG = {
    "constant in the sum": lambda s, axis=-1: log_softmax(s, axis) - 1e-12,
    "never below -745": lambda s, axis=-1: np.maximum(log_softmax(s, axis), -745),
    "one maximum": lambda s, axis=-1: np.log(softmax(s, axis, s.max())),
    "base 10": lambda s, axis=-1: log_softmax(s, axis) / np.log(10),
    "through float32": lambda s, axis=-1: log_softmax(s.astype(np.float32), axis).astype(float),
    "rounded to 10 digits": lambda s, axis=-1: log_softmax(s, axis).round(10),
}
