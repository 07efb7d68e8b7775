"""`self_attention(x, w_q, w_k, w_v, mask=None)` lets the positions of a sequence attend to each other.

`x` has shape `(..., L, d)`, `w_q` and `w_k` have shape `(d, d_k)`, `w_v` `(d, d_v)`: queries are
`x @ w_q`, keys and values alike. The result is the output alone, `(..., L, d_v)`. Mask, scale and
rows with nothing allowed are those of `attention`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.attention import (
    MISTAKES_BESIDE_PROJECTIONS,
    cross_attention_magnitude,
)
from attention_lib.exercises.parts.cases import (
    draw_projections,
    in_float32,
    other_arrays,
)
from attention_lib.lessons.attention import self_attention
from attention_lib.lessons.stability import masked_softmax

HINTS = (
    "Three projections come first: the queries are x @ w_q. Keys and values are made in the "
    "same way.",
    "Your attention does the rest, mask and all. It returns a pair; here the output alone is "
    "asked for.",
)


def cases(rng: Generator) -> Iterator[Case]:
    x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    w_q, w_k = np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 0.0]]), np.array([[1.0, 1.0, 0], [2, 0, 1.0]])
    w_v = np.array([[2.0], [4.0]])
    yield Case(x, w_q, w_k, w_v)
    yield Case(x, w_q, w_k, w_v, np.tri(3, dtype=bool))
    yield Case(rng.normal(size=(3, 6)), *draw_projections(rng, 6, 5, 7))
    # All sizes equal: here a lost transpose or an exchanged matrix gives numbers.
    yield Case(rng.normal(size=(3, 3)), *draw_projections(rng, 3, 3, 3))
    yield Case(rng.normal(size=(3, 3, 3)), *draw_projections(rng, 3, 3, 3))
    yield Case(rng.normal(size=(2, 5, 3)), *draw_projections(rng, 3, 2, 6))
    yield Case(
        rng.normal(size=(2, 5, 3)),
        *draw_projections(rng, 3, 7, 2),
        mask=np.arange(5) < np.array([[[3]], [[0]]]),
    )
    bias = np.where(np.tri(5, dtype=bool), rng.normal(size=(5, 5)), -np.inf)
    arguments = rng.normal(size=(2, 3, 5, 6)), *draw_projections(rng, 6, 3, 2)
    yield Case(*arguments, bias.astype(np.float32))
    arguments = rng.normal(size=(5, 7)), *draw_projections(rng, 7, 2, 3)
    yield Case(*in_float32(arguments), np.tri(5, dtype=bool))
    yield Case(*(rng.integers(-1, 3, size=shape) for shape in ((3, 2), (2, 3), (2, 3), (2, 5))))
    # Scores far beyond what exp can take, exact in every order of operations.
    x = np.array([[1.0, 3000.0], [2.0, 3000.0], [4.0, -3000.0]])
    w_q, w_k = np.array([[0.0, 0, 0, 0], [1, 0, 0, 0]]), np.array([[0.0, 0, 0, 0], [0.5, 0, 0, 0]])
    large = Case(x, w_q, w_k, np.array([[2.0, -1.0, 0.0], [0.0, 0.0, 0.5]]))
    yield large
    yield other_arrays(rng, large)


def magnitude(x, w_q, w_k, w_v, mask=None):
    return cross_attention_magnitude(x, x, w_q, w_k, w_v, mask)


def plain(x, w_q, w_k, w_v, mask=None):
    query = x @ w_q
    key = x @ w_k
    value = x @ w_v
    scale = 1 / math.sqrt(query.shape[-1])
    scores = query @ key.mT * scale
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    weights = masked_softmax(scores, scores > -np.inf)
    output = weights @ value
    return output


MISTAKES = known_mistakes(
    plain,
    "pair-returned: The pair (output, weights) is returned: here only the output is asked for.",
    "return output => return output, weights",
    "weights-alone: The weights are returned: return the output.",
    "return output => return weights",
    "x-not-projected: x is not projected: queries are x @ w_q, keys x @ w_k and values x @ w_v.",
    "x @ w_q => x && x @ w_k => x && x @ w_v => x",
    "values-not-projected: The values are not projected: mix x @ w_v, not x.",
    "x @ w_v => x",
    "one-matrix: Queries and keys are made with the same matrix: queries with w_q, keys with w_k.",
    "@ w_k => @ w_q",
    "@ w_q => @ w_k",
    "projections-exchanged: The scores are transposed: a row of them belongs to a query, x @ w_q, a "
    "column to a key, x @ w_k.",
    "query @ key.mT => key @ query.mT",
    "keys-as-values: Keys are mixed in place of values: values are x @ w_v.",
    "@ w_v => @ w_k",
    "residual-added: x is added to the output (a residual connection): return only the output.",
    "return output => return x + output",
    *MISTAKES_BESIDE_PROJECTIONS,
)

EXERCISE = Exercise(
    name="self_attention",
    points=2,
    minutes=5,
    reference=self_attention,
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
    built_on=("attention",),
)
