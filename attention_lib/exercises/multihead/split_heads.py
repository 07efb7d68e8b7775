"""`split_heads(x, num_heads)` cuts each vector into equal pieces, one for each head.

`x` has shape `(..., L, D)`, the result `(..., H, L, D/H)` and the dtype of `x`: head h has the
columns h · D/H to (h + 1) · D/H of every vector. `ValueError` when D is not a multiple of H.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.heads import (
    HEADS_IN_TURNS,
    SPLIT_WITHOUT_SWAP,
)
from attention_lib.lessons.multihead import split_heads

HINTS = (
    "Two steps. First cut the last axis into two: (..., L, D) becomes (..., L, H, D/H). "
    "Is that a reshape or a transpose?",
    "*leading, L, D = x.shape takes the shape apart, whatever the number of dimensions. The size "
    "of a piece is D // H: a shape takes ints, and / makes a float.",
    "Then let the axes of positions and heads change places: np.swapaxes(y, -2, -3).",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.arange(12.0).reshape(2, 6), 3)
    yield Case(np.arange(12.0).reshape(3, 4), 2)
    yield Case(rng.normal(size=(2, 5, 6)), 2)
    yield Case(rng.normal(size=(3, 3, 9)), 3)  # square: here a wrong order of axes fits as well
    yield Case(rng.normal(size=(2, 3, 5, 8)), 4)
    yield Case(rng.normal(size=(5, 6)).astype(np.float32), 3)
    yield Case(np.arange(20).reshape(5, 4), 2)
    yield Case(rng.normal(size=(2, 4, 6)), 1)
    yield Case(rng.normal(size=(3, 5)), 5)
    yield Case(rng.normal(size=(2, 6)), 4, raises=ValueError)
    yield Case(rng.normal(size=(3, 4, 5)), 2, raises=ValueError)


def plain(x, num_heads):
    if x.shape[-1] % num_heads:
        raise ValueError("D is not a multiple of num_heads")
    pieces = x.reshape(*x.shape[:-1], num_heads, -1)
    heads = np.swapaxes(pieces, -2, -3)
    return heads


CUT = "x.reshape(*x.shape[:-1], num_heads, -1)"
SWAPPED = "np.swapaxes(pieces, -2, -3)"

MISTAKES = known_mistakes(
    plain,
    f"split-without-swap: {SPLIT_WITHOUT_SWAP}",
    f"{CUT} => x.reshape(*x.shape[:-2], num_heads, x.shape[-2], -1) && {SWAPPED} => pieces",
    "swap-missing: The axes of positions and heads are still to be swapped: (..., L, H, D/H) "
    "becomes (..., H, L, D/H).",
    f"{SWAPPED} => pieces",
    f"heads-take-turns: {HEADS_IN_TURNS}",
    f"{CUT} => x.reshape(*x.shape[:-1], -1, num_heads) && {SWAPPED} => np.moveaxis(pieces, -1, -3)",
    "size-for-count: num_heads is used as the size of a head: there are num_heads heads, each "
    "of D / num_heads columns.",
    "if x.shape => num_heads = x.shape[-1] // num_heads\n    if x.shape",
    "last-axes-exchanged: The result's last two axes are exchanged: it has shape (..., H, L, D/H).",
    f"{SWAPPED} => np.moveaxis(pieces, -3, -1)",
    "heads-before-batch: The heads stand before the batch: their axis comes right before the "
    "positions, (..., H, L, D/H).",
    f"{SWAPPED} => np.moveaxis(pieces, -2, 0)",
    "all-axes-reversed: All axes are reversed: swap the two axes of positions and heads only.",
    f"{CUT} => x.T.reshape(*x.T.shape[:-2], num_heads, x.T.shape[-2], -1) && {SWAPPED} => pieces",
    f"{SWAPPED} => pieces.T",
    "columns-left-out: Columns are lost where D is not a multiple of H: raise ValueError there.",
    'raise ValueError("D is not a multiple of num_heads") => x = x[..., : -(x.shape[-1] % num_heads)]',
)

EXERCISE = Exercise(
    name="split_heads",
    points=1,
    minutes=3,
    reference=split_heads,
    signature="split_heads(x, num_heads)",
    cases=cases,
    hints=HINTS,
    mistakes=MISTAKES,
)
