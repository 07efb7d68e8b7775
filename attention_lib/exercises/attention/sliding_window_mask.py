"""`sliding_window_mask(length, window)` lets each position attend to the newest `window` positions.

The result is a boolean array of shape `(length, length)`, rows for queries and columns for keys:
True where 0 ≤ query − key < window. `window` is 1 or more; at `length` and above the result is the
causal mask.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.masks import FLOAT_MASK
from attention_lib.lessons.attention import sliding_window_mask

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


def plain(length, window):
    positions = np.arange(length)
    distance = positions[:, None] - positions
    start = positions - window + 1
    allowed = (positions >= start[:, None]) & (distance >= 0)
    return allowed


ALLOWED = "(positions >= start[:, None]) & (distance >= 0)"

MISTAKES = known_mistakes(
    plain,
    "one-too-many: Each position sees one position too many: the window counts the position itself, "
    "so the distance stays below window.",
    "window + 1 => window",
    "one-too-few: Each position sees one position too few: the window counts the position itself and "
    "window − 1 before it.",
    "window + 1 => window + 2",
    "diagonal-missing: The diagonal is missing: a position sees itself, at the distance 0.",
    "distance >= 0 => distance > 0",
    "distance >= 0 => distance > 0 && window + 1 => window",
    "future-allowed: The window reaches into the future as well: a key after the query is forbidden.",
    "distance >= 0 => distance {> -window|>= -window|== distance}",
    "window-ignored: This is the causal mask: keys window or more places back are forbidden too.",
    "positions - window + 1 => 0 * positions",
    "only-far-keys: The window is inverted: these are the keys of the past that lie outside it.",
    f"{ALLOWED} => distance >= window",
    "inverted: The mask is inverted: True is where attention is allowed.",
    "return allowed => return ~allowed",
    "transposed: Rows and columns are exchanged: queries are the rows, and a query sees keys before it.",
    "return allowed => return allowed.T",
    "one-diagonal: Only the window's farthest key is allowed: all from there to the query are.",
    f"{ALLOWED} => distance == {{window - 1|window}}",
    "blocks: These are blocks of window positions: the window moves on with each query.",
    "positions - window + 1 => positions // window * window",
    "negative-start: A negative start counts from the end of the row, so the first queries see too "
    "little: begin at max(0, query − window + 1).",
    "allowed = => start = np.where(start < 0, np.maximum(start + length, 0), start)\n    allowed =",
    "wraps-around: The window of the first queries goes on at the end of the row, as a negative index "
    "does: there are no keys before key 0.",
    f"{ALLOWED} => distance % length < window",
    *FLOAT_MASK,
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
