"""Right and wrong answers to `sliding_window_mask`."""

import numpy as np


def right_distance(length, window):
    distance = np.subtract.outer(np.arange(length), np.arange(length))
    return (distance >= 0) & (distance < window)


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
    "causal above a window of 4": lambda length, window: right_distance(
        length, window if window < 5 else length
    ),
    "no wider than the text": lambda length, window: right_distance(
        length, min(window, length - 1)
    ),
    "ones and zeros": lambda length, window: right_distance(length, window).astype(int),
    "an array of one size": lambda length, window: right_distance(5, window),
}
