"""What right and wrong answers to several exercises are made from."""

import functools
import math

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


def softmax_or_zeros(scores, axis=-1):
    """Compute softmax; zeros where all the scores along `axis` are -inf."""
    top = np.maximum(scores.max(axis=axis, keepdims=True), np.finfo(scores.dtype).min)
    exponentials = np.exp(scores - top)
    total = exponentials.sum(axis=axis, keepdims=True)
    return exponentials / np.where(total == 0, 1, total).astype(scores.dtype)


def attend(query, key, value, mask=None, scale=None, weigh=softmax_or_zeros):
    query, key, value = map(as_float, (query, key, value))
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    scores = scores.astype(query.dtype)
    if mask is not None and mask.dtype == bool:
        scores = np.where(mask, scores, -np.inf)
    elif mask is not None:
        scores = scores + mask.astype(scores.dtype)
    weights = weigh(scores)
    return weights @ value, weights


def with_mask(change):
    """Attend with a mask that was changed first; `change` gets the mask and the query."""

    def answer(query, key, value, mask=None, scale=None):
        return attend(query, key, value, mask if mask is None else change(mask, query), scale)

    return answer


def with_weights(weigh):
    return functools.partial(attend, weigh=weigh)


def with_scale(scale):
    return lambda query, key, value, mask: attend(query, key, value, mask, scale(query, key, value))


def inverted(mask, query):
    return ~mask if mask.dtype == bool else mask
