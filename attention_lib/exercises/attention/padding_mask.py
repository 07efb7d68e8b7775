"""`padding_mask(lengths, max_length)` marks the real tokens of sequences padded to one length.

`lengths` holds B integers from 0 to `max_length`, shape `(B,)`. The result is a boolean array of
shape `(B, max_length)`: True on real tokens, which come first in their row.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.lessons.attention import padding_mask

HINTS = (
    "The positions are np.arange(max_length). Position p holds a real token when p is below "
    "the length.",
    "Give lengths an axis for the positions: lengths[:, None] has shape (B, 1), and a "
    "comparison with (max_length,) has shape (B, max_length).",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([3, 2]), 3)
    yield Case(np.array([1, 4, 0]), 5)
    yield Case(np.array([2, 2, 2]), 3)
    yield Case(np.array([6, 1, 4, 3]), 7)
    yield Case(np.array([2]), 2)
    yield Case(rng.integers(1, 6, size=3), 6)
    yield Case(rng.permutation([0, 9, *rng.integers(1, 9, size=4)]), 9)


def plain(lengths, max_length):
    positions = np.arange(max_length)
    real = positions < lengths[:, None]
    return real


MISTAKES = known_mistakes(
    plain,
    "inverted: The mask is inverted: True is where a real token stands, False on padding.",
    "< => >=",
    "one-token-too-many: One token too many is True: positions count from 0, so the last real one "
    "is length − 1.",
    "< => <=",
    "one-token-too-few: One token too few is True: position length − 1 is still a real token.",
    "lengths[:, None] => {lengths[:, None] - 1|(lengths[:, None] - 1) % max_length}",
    "padding-in-front: The padding is in front: the real tokens come first.",
    "< => >= max_length -",
    "along-one-axis: Positions and lengths meet along one axis: give lengths an axis of its own "
    "for the positions, lengths[:, None].",
    "lengths[:, None] => lengths",
    "width-of-longest: The mask is as wide as the longest sequence here: its width is max_length.",
    "np.arange(max_length) => np.arange(lengths.max())",
    "transposed: The mask is transposed: one row for each sequence, one column for each position.",
    "return real => return real.T",
    "one-position: Only one position a row is marked: each position before the length is real.",
    "< => ==",
    "< lengths[:, None] => == lengths[:, None] - 1",
    "mask-per-query: This is a mask for the scores of every query: here one row for each sequence "
    "is asked for, (B, max_length).",
    "return real => return real[:, {None|None, None}, :]",
    "float-mask: This is a float mask, to be added to scores. Here booleans are asked for: True "
    "on real tokens.",
    "return real => return np.where(real, 0.0, {-np.inf|-1e9})",
)

EXERCISE = Exercise(
    name="padding_mask",
    points=1,
    minutes=3,
    reference=padding_mask,
    cases=cases,
    hints=HINTS,
    mistakes=MISTAKES,
)
