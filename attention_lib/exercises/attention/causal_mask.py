"""`causal_mask(length)` lets each position attend to itself and to those before it.

The result is a boolean array of shape `(length, length)`, rows for queries and columns for keys:
True where key ≤ query.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.masks import FLOAT_MASK
from attention_lib.lessons.attention import causal_mask

HINTS = (
    "Rows are queries, columns are keys. In row 2 the columns 0, 1 and 2 are True.",
    "np.arange(length) holds the positions. As a column, with [:, None], they are those of the "
    "queries; compare it with the row. np.tri(length, dtype=bool) does the same.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(3)
    yield Case(1)
    yield Case(2)
    yield Case(5)
    yield Case(int(rng.integers(6, 13)))
    for length in rng.permutation(np.arange(13, 64))[:2]:
        yield Case(int(length))


def plain(length):
    positions = np.arange(length)
    allowed = positions <= positions[:, None]
    return allowed


MISTAKES = known_mistakes(
    plain,
    "transposed: Rows and columns are exchanged: queries are the rows, so True belongs on and "
    "below the diagonal.",
    "<= => >=",
    "inverted: The mask is inverted: True allows attention, and the future is forbidden.",
    "<= => >",
    "no-diagonal: The diagonal is missing: a position may attend to itself, so the key may be "
    "equal to the query.",
    "<= => <",
    "one-step-ahead: Each position sees one step ahead: the last key it may see is its own.",
    "<= positions[:, None] => <= positions[:, None] + 1",
    "nothing-forbidden: Nothing is forbidden: keys after the query must be False.",
    "positions <= positions[:, None] => np.ones((length, length), bool)",
    "only-diagonal: Only the diagonal is True: the keys before the query are allowed as well.",
    "<= => ==",
    *FLOAT_MASK,
)

EXERCISE = Exercise(
    name="causal_mask",
    points=1,
    minutes=3,
    reference=causal_mask,
    cases=cases,
    hints=HINTS,
    mistakes=MISTAKES,
)
