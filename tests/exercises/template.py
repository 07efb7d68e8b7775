"""Right and wrong answers to `centered`, the exercise of the template: a file to copy.

An answer whose text needs only np and imports is a row of tests/answers instead.
"""

import numpy as np


# At least three answers whose names begin with right_, written in unlike ways: each must pass.
def right_subtracts_sum_over_count(scores, axis=-1):
    return scores - scores.sum(axis=axis, keepdims=True) / scores.shape[axis]


def right_centers_row_by_row(scores, axis=-1):
    return np.apply_along_axis(lambda row: row - row.mean(), axis, scores)


def right_multiplies_by_a_matrix(scores, axis=-1):
    size = scores.shape[axis]
    dtype = np.result_type(scores, np.float32)
    to_centered = np.eye(size, dtype=dtype) - np.full((size, size), 1 / size, dtype)
    return np.moveaxis(np.moveaxis(scores, axis, -1) @ to_centered, -1, axis)


# Subtler ones than the known mistakes begin with wrong_. Each must fail; no sentence is asked for.
def wrong_changes_its_scores(scores, axis=-1):
    result = scores - scores.mean(axis=axis, keepdims=True)
    scores[...] = 0
    return result


# Wrong answers that need no function of their own, by what is wrong.
WRONG = {
    "the median": lambda s, axis=-1: s - np.median(s, axis=axis, keepdims=True),
    "rounded": lambda s, axis=-1: (s - s.mean(axis=axis, keepdims=True)).round(8),
}
