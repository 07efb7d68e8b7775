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
from attention_lib.exercises.parts.heads import merge, merge_by_reshape, merge_interleaved
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


MISTAKES = known_mistakes(
    "no-swap: One reshape straight to (..., L, D) mixes up the positions: swap the axes of heads "
    "and positions first.",
    merge_by_reshape,
    "columns-take-turns: The columns of the heads take turns: all columns of head 0 come first, "
    "then those of head 1.",
    merge_interleaved,
    "heads-added: The heads are added up: put their columns side by side.",
    lambda x: x.sum(axis=-3),
    "heads-averaged: The heads are averaged: put their columns side by side.",
    lambda x: x.mean(axis=-3),
    "heads-stacked: The heads lie below one another: put their columns side by side, (..., L, D).",
    lambda x: x.reshape(*x.shape[:-3], -1, x.shape[-1]),
    "not-joined: The last two axes are yet to be joined: reshape (..., L, H, D/H) to (..., L, D).",
    lambda x: np.swapaxes(x, -2, -3),
    "heads-reversed: The heads stand in reverse order: head 0 gives the first columns.",
    lambda x: merge(x[..., ::-1, :, :]),
    "first-axis-as-heads: The first axis is taken for the heads, and with a batch it is the "
    "batch: the heads are axis -3. Swap it with the positions, then reshape.",
    lambda x: np.concatenate(list(x), axis=-1),
    "all-axes-reversed: All axes are reversed: swap the two axes of heads and positions only.",
    lambda x: x.T.reshape(*x.shape[:-3], x.shape[-2], -1),
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
