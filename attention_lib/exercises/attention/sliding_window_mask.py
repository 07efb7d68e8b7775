"""`sliding_window_mask(length, window)` lets each position attend to the newest `window` positions.

The result is a boolean array of shape `(length, length)`, rows for queries and columns for keys:
True where 0 ≤ query − key < window. `window` is 1 or more; at `length` and above the result is the
causal mask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
from attention_lib.exercises.parts.masks import as_float_masks, distances
from attention_lib.lessons.attention import causal_mask, sliding_window_mask

HINTS = (
    "With a window of 2, row 3 is True in the columns 2 and 3: the position itself, and one before.",
    "positions = np.arange(length). The distance from query to key is positions[:, None] - positions.",
    "Two comparisons, joined by &, each in parentheses: the distance is 0 or more, and below window.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(4, 2)
    yield Case(3, 1)
    yield Case(5, 3)
    yield Case(4, 4)
    yield Case(3, 7)
    yield Case(1, 1)
    length = int(rng.integers(6, 13))
    yield Case(length, int(rng.integers(2, length - 1)))
    yield Case(length + 3, int(rng.integers(2, length - 1)))
    yield Case(length, length + int(rng.integers(1, 9)))
    yield Case(int(rng.integers(16, 40)), int(rng.integers(2, 5)))
    yield Case(int(rng.integers(16, 40)), int(rng.integers(5, 16)))


def from_index(length: int, first: NDArray) -> NDArray:
    """Allow the keys from an index to the query; a negative one counts from the end of the row."""
    first = np.where(first < 0, np.maximum(first + length, 0), first)
    return (np.arange(length) >= first[:, None]) & (distances(length) >= 0)


@composable
def between(
    low: Callable[..., NDArray] = lambda distance, window: distance >= 0,
    high: Callable[..., NDArray] = np.less,
    counts_back: bool = False,
) -> Answer:
    """Allow the distances between two ends; a start below 0 may count from the end of the row."""

    def answer(length: int, window: int) -> NDArray:
        if counts_back:
            seen = np.count_nonzero(high(np.arange(length + window + 1), window))
            return from_index(length, np.arange(length) - seen + 1)
        return low(distances(length), window) & high(distances(length), window)

    return answer


MISTAKES = known_mistakes(
    "one-too-many: Each position sees one position too many: the window counts the position itself, "
    "so the distance stays below window.",
    between(high=np.less_equal),
    "one-too-few: Each position sees one position too few: the window counts the position itself and "
    "window − 1 before it.",
    between(high=lambda distance, window: distance < window - 1),
    "diagonal-missing: The diagonal is missing: a position sees itself, at the distance 0.",
    between(low=lambda distance, window: distance > 0),
    lambda length, window: (distances(length) > 0) & (distances(length) <= window),
    "future-allowed: The window reaches into the future as well: a key after the query is forbidden.",
    between(low=lambda distance, window: distance > -window),
    between(low=lambda distance, window: distance >= -window),
    between(low=lambda distance, window: distance == distance),
    "window-ignored: This is the causal mask: keys window or more places back are forbidden too.",
    between(high=lambda distance, window: distance == distance),
    "only-far-keys: The window is inverted: these are the keys of the past that lie outside it.",
    lambda length, window: distances(length) >= window,
    "inverted: The mask is inverted: True is where attention is allowed.",
    lambda length, window: ~sliding_window_mask(length, window),
    "transposed: Rows and columns are exchanged: queries are the rows, and a query sees keys before it.",
    lambda length, window: sliding_window_mask(length, window).T,
    "one-diagonal: Only the window's farthest key is allowed: all from there to the query are.",
    lambda length, window: distances(length) == window - 1,
    lambda length, window: distances(length) == window,
    "blocks: These are blocks of window positions: the window moves on with each query.",
    lambda length, window: (
        causal_mask(length) & (np.arange(length)[:, None] // window == np.arange(length) // window)
    ),
    "negative-start: A negative start counts from the end of the row, so the first queries see too "
    "little: begin at max(0, query − window + 1).",
    between(counts_back=True),
    "wraps-around: The window of the first queries goes on at the end of the row, as a negative index "
    "does: there are no keys before key 0.",
    lambda length, window: distances(length) % length < window,
    *as_float_masks(sliding_window_mask),
)

EXERCISE = Exercise(
    name="sliding_window_mask",
    points=1,
    minutes=4,
    reference=sliding_window_mask,
    cases=cases,
    hints=HINTS,
    mistakes=MISTAKES,
)
