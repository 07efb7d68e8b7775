"""What right and wrong answers to several exercises are made from."""

import numpy as np


def as_float(array):
    return array if array.dtype.kind == "f" else array.astype(float)


def divided(array, axis=-1):
    return array / array.sum(axis=axis, keepdims=True)


def softmax(scores, axis=-1, by=None):
    """Compute softmax shifted by each row's maximum, or by another number."""
    with np.errstate(all="ignore"):
        by = scores.max(axis=axis, keepdims=True) if by is None else by
        return divided(np.exp(scores - by), axis)


def log_softmax(scores, axis=-1):
    shifted = scores - scores.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def remembered_by_shape(function):
    """Answer a call with what came out of the first one with the same shapes."""
    memory = {}

    def answer(*arrays):
        key = *(array.shape for array in arrays), arrays[0].dtype.str
        if key not in memory:
            memory[key] = function(*arrays)
        return memory[key]

    return answer
