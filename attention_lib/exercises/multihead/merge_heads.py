"""`merge_heads(x)` joins the pieces that `split_heads` cut: its inverse.

`x` has shape `(..., H, L, d)`, the result `(..., L, H · d)` and the dtype of `x`: the heads' pieces
of each position side by side, head 0 first.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.lessons.multihead import merge_heads

HINTS = (
    "Undo the two steps of split_heads, the last one first.",
    "Swap the axes of heads and positions: (..., L, H, D/H). Now the components of one word "
    "lie side by side, and a reshape joins the last two axes.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.arange(12.0).reshape(3, 2, 2))
    yield Case(np.arange(12.0).reshape(2, 3, 2))
    yield Case(rng.normal(size=(2, 3, 5, 4)))
    yield Case(rng.normal(size=(3, 3, 3)))  # square: here a wrong order of axes fits as well
    yield Case(rng.normal(size=(2, 3, 4, 5, 6)))
    yield Case(rng.normal(size=(3, 5, 2)).astype(np.float32))
    yield Case(np.arange(20).reshape(2, 5, 2))
    yield Case(rng.normal(size=(2, 1, 5, 3)))
    yield Case(rng.normal(size=(2, 4, 3, 5)))
    yield Case(rng.normal(size=(3, 2, 2, 4)))
    yield Case(rng.normal(size=(4, 3, 1)))


def plain(x):
    *leading, heads, length, size = x.shape
    swapped = np.swapaxes(x, -2, -3)
    merged = swapped.reshape(*leading, length, heads * size)
    return merged


SWAPPED = "np.swapaxes(x, -2, -3)"
MERGED = "swapped.reshape(*leading, length, heads * size)"

MISTAKES = known_mistakes(
    plain,
    "no-swap: One reshape straight to (..., L, D) mixes up the positions: swap the axes of heads "
    "and positions first.",
    f"{SWAPPED} => x",
    "columns-take-turns: The columns of the heads take turns: all columns of head 0 come first, "
    "then those of head 1.",
    f"{SWAPPED} => np.moveaxis(x, -3, -1)",
    "heads-added: The heads are added up: put their columns side by side.",
    f"{MERGED} => swapped.sum(axis=-2)",
    "heads-averaged: The heads are averaged: put their columns side by side.",
    f"{MERGED} => swapped.mean(axis=-2)",
    "heads-stacked: The heads lie below one another: put their columns side by side, (..., L, D).",
    f"{MERGED} => x.reshape(*leading, heads * length, size)",
    "not-joined: The last two axes are yet to be joined: reshape (..., L, H, D/H) to (..., L, D).",
    f"{MERGED} => swapped",
    "heads-reversed: The heads are in reverse order: head 0 gives the first columns.",
    f"{SWAPPED} => np.swapaxes(x[..., ::-1, :, :], -2, -3)",
    "first-axis-as-heads: The first axis is treated as the heads, and with a batch it is the "
    "batch: the heads are axis -3. Swap it with the positions, then reshape.",
    f"{MERGED} => np.concatenate(list(x), axis=-1)",
    "all-axes-reversed: All axes are reversed: swap the two axes of heads and positions only.",
    f"{SWAPPED} => x.T",
)

EXERCISE = Exercise(
    name="merge_heads",
    points=1,
    minutes=2,
    reference=merge_heads,
    signature="merge_heads(x)",
    cases=cases,
    hints=HINTS,
    mistakes=MISTAKES,
)
