"""Right and wrong answers to `causal_mask`."""

import functools

import numpy as np

import attention_lib


def right_comparison(length):
    return np.arange(length)[:, None] >= np.arange(length)


def right_tril(length):
    return np.tril(np.ones((length, length), dtype=bool))


def right_triu(length):
    return ~np.triu(np.ones((length, length), dtype=bool), k=1)


def right_loops(length):
    return np.array([[j <= i for j in range(length)] for i in range(length)])


def right_indices(length):
    mask = np.zeros((length, length), bool)
    mask[np.tril_indices(length)] = True
    return mask


def right_outer_difference(length):
    return np.asfortranarray(np.subtract.outer(np.arange(length), np.arange(length)) >= 0)


WRONG = {
    "upside down": lambda length: np.tri(length, dtype=bool)[::-1],
    "the last four keys alone": lambda length: (
        np.tri(length, dtype=bool) & ~np.tri(length, k=-4, dtype=bool)
    ),
    "with an axis for the batch": lambda length: np.tri(length, dtype=bool)[None],
    "always of one size": lambda length: np.tri(5, dtype=bool),
    "ones and zeros": lambda length: np.tri(length, dtype=int),
    "lists": lambda length: np.tri(length, dtype=bool).tolist(),
    "the library's": lambda length: functools.partial(attention_lib.causal_mask, length)(),
}
