"""Right and wrong answers to `padding_mask`."""

import numpy as np

import attention_lib


def right_by_comparison(lengths, max_length):
    return np.arange(max_length)[None, :] < lengths[:, None]


def right_by_loops(lengths, max_length):
    mask = np.zeros((len(lengths), max_length), dtype=bool)
    for row, length in zip(mask, lengths, strict=True):
        row[:length] = True
    return mask


def right_by_lists(lengths, max_length):
    return np.array([[True] * n + [False] * (max_length - n) for n in lengths.tolist()])


def right_by_outer(lengths, max_length):
    return np.greater.outer(lengths, np.arange(max_length))


def right_from_a_table(lengths, max_length):
    """Look each length up in a table of all masks there are."""
    return np.tri(max_length + 1, max_length, k=-1, dtype=bool)[lengths]


WRONG = {
    "lengths in order": lambda lengths, width: np.arange(width) < np.sort(lengths)[:, None],
    "never empty": lambda lengths, width: np.arange(width) < np.maximum(lengths, 1)[:, None],
    "no padding": lambda lengths, width: np.ones((len(lengths), width), bool),
    "pairs of tokens": lambda lengths, width: (
        (np.arange(width) < lengths[:, None])[:, None]
        & (np.arange(width) < lengths[:, None])[..., None]
    ),
    "ones and zeros": lambda lengths, width: np.sign(
        np.maximum(lengths[:, None] - np.arange(width), 0)
    ),
    "the longest for all": lambda lengths, width: (
        np.arange(width) < np.full((len(lengths), 1), lengths.max())
    ),
    "the library's": lambda *args: vars(attention_lib)["padding_mask"](*args),
}
