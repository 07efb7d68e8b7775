"""Right and wrong answers to `logsumexp`."""

import math

import numpy as np

from tests.exercises.parts import as_float


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


def logsumexp_of_sorted_rows(scores, axis=-1, keepdims=False):
    rows = np.sort(as_float(np.moveaxis(scores, axis, -1)), axis=-1)
    largest = rows[..., -1]
    rest = rows[..., :-1] - np.where(np.isneginf(largest), 0, largest)[..., None]
    result = np.asarray(largest + np.log1p(np.exp(rest).sum(axis=-1)), rows.dtype)
    return np.expand_dims(result, axis) if keepdims else result


def logsumexp(scores, axis=-1, keepdims=False):
    return np.logaddexp.reduce(as_float(scores), axis=axis, keepdims=keepdims)


def every_single_axis_dropped(scores, axis=-1, keepdims=False):
    result = logsumexp(scores, axis, keepdims=True)
    return result if keepdims else np.squeeze(result)


def kept_axis_last(scores, axis=-1, keepdims=False):
    result = logsumexp(scores, axis)
    return result[..., None] if keepdims else result


RIGHT = [
    logsumexp_textbook,
    logsumexp_by_pairs,
    logsumexp_by_loops,
    logsumexp_of_sorted_rows,
]

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
    "single axes dropped": every_single_axis_dropped,
    "kept axis last": kept_axis_last,
    "base 2": lambda s, axis=-1, keepdims=False: np.logaddexp2.reduce(
        as_float(s), axis=axis, keepdims=keepdims
    ),
    "through float32": lambda s, axis=-1, keepdims=False: np.float64(
        logsumexp(s.astype(np.float32), axis, keepdims)
    ),
}
