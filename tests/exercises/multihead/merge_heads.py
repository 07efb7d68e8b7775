"""Right and wrong answers to `merge_heads`."""

import functools

import numpy as np


def right_textbook(x):
    *leading, heads, length, size = x.shape
    return x.swapaxes(-2, -3).reshape(*leading, length, heads * size)


def right_by_concatenating(x):
    return np.concatenate([x[..., h, :, :] for h in range(x.shape[-3])], axis=-1)


def right_by_recursion(x):
    if x.ndim > 3:
        return np.stack([right_by_recursion(item) for item in x])
    return functools.reduce(lambda left, right: np.append(left, right, axis=-1), x)
