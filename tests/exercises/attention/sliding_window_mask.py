"""Right and wrong answers to `sliding_window_mask`."""

import numpy as np

import attention_lib


def right_distance(length, window):
    distance = np.subtract.outer(np.arange(length), np.arange(length))
    return (distance >= 0) & (distance < window)


def right_two_triangles(length, window):
    return np.tri(length, dtype=bool) & ~np.tri(length, k=-window, dtype=bool)


def right_loops(length, window):
    mask = np.zeros((length, length), bool)
    for query in range(length):
        mask[query, max(0, query - window + 1) : query + 1] = True
    return mask


def right_lists(length, window):
    return np.array([[0 <= i - j < window for j in range(length)] for i in range(length)])


def right_diagonals(length, window):
    diagonals = (np.eye(length, k=-back) for back in range(min(window, length)))
    return sum(diagonals, np.zeros((length, length))) > 0


WRONG = {
    "short at the start": lambda length, window: (
        right_distance(length, window) & (np.arange(length)[:, None] >= window - 1)
    ),
    "wide at the start": lambda length, window: (
        right_distance(length, window)
        | ((np.arange(length) < window) & (np.arange(length)[:, None] < window))
    ),
    "the first position always seen": lambda length, window: (
        right_distance(length, window) | (np.arange(length) == 0)
    ),
    "around the end": lambda length, window: (
        np.subtract.outer(np.arange(length), np.arange(length)) % length < window
    ),
    "causal above a window of 4": lambda length, window: right_distance(
        length, window if window < 5 else length
    ),
    "no wider than the text": lambda length, window: right_distance(
        length, min(window, length - 1)
    ),
    "ones and zeros": lambda length, window: right_distance(length, window).astype(int),
    "an array of one size": lambda length, window: right_distance(5, window),
    "the library's": lambda *args: vars(attention_lib)["sliding_window_mask"](*args),
}
