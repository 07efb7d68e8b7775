"""Right and wrong answers to `logsumexp`."""

import numpy as np

from tests.exercises.parts import as_float


def right_logsumexp_by_pairs(scores, axis=-1, keepdims=False):
    return np.logaddexp.reduce(scores, axis=axis, keepdims=keepdims)


def right_of_sorted_rows(scores, axis=-1, keepdims=False):
    rows = np.sort(as_float(np.moveaxis(scores, axis, -1)), axis=-1)
    largest = rows[..., -1]
    rest = rows[..., :-1] - np.where(np.isneginf(largest), 0, largest)[..., None]
    result = np.asarray(largest + np.log1p(np.exp(rest).sum(axis=-1)), rows.dtype)
    return np.expand_dims(result, axis) if keepdims else result


def logsumexp(scores, axis=-1, keepdims=False):
    return np.logaddexp.reduce(as_float(scores), axis=axis, keepdims=keepdims)


def wrong_every_single_axis_dropped(scores, axis=-1, keepdims=False):
    result = logsumexp(scores, axis, keepdims=True)
    return result if keepdims else np.squeeze(result)


def wrong_kept_axis_last(scores, axis=-1, keepdims=False):
    result = logsumexp(scores, axis)
    return result[..., None] if keepdims else result


WRONG = {
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
    "base 2": lambda s, axis=-1, keepdims=False: np.logaddexp2.reduce(
        as_float(s), axis=axis, keepdims=keepdims
    ),
    "through float32": lambda s, axis=-1, keepdims=False: np.float64(
        logsumexp(s.astype(np.float32), axis, keepdims)
    ),
}
