"""`cross_attention(x, context, w_q, w_k, w_v, mask=None)` lets one sequence attend to another.

`x` has shape `(..., L, d)`, `context` `(..., S, d)`, `w_q` and `w_k` have shape `(d, d_k)`, `w_v`
`(d, d_v)`: queries are `x @ w_q`; keys and values come from `context`. The result is the output
alone, `(..., L, d_v)`. Mask, scale and rows with nothing allowed are those of `attention`.
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
from attention_lib.lessons.attention import cross_attention
from attention_lib.lessons.stability import masked_softmax

HINTS = (
    "One word has changed since self_attention: who makes the queries, and who makes the keys "
    "and values?",
    "Queries are x @ w_q; keys and values are context @ w_k and context @ w_v.",
)


def cases(rng: Generator) -> Iterator[Case]:
    x, context = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 1.0], [0.0, 2.0], [2.0, 0.0]])
    w_q, w_k = np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 0.0]]), np.array([[1.0, 1.0, 0], [2, 0, 1.0]])
    w_v = np.array([[2.0], [4.0]])
    yield Case(x, context, w_q, w_k, w_v)
    yield Case(x, context, w_q, w_k, w_v, np.array([[True, False, True], [False] * 3]))
    yield Case(rng.normal(size=(2, 6)), rng.normal(size=(3, 6)), *draw_projections(rng, 6, 5, 7))
    # As many queries as keys: here exchanged sequences give numbers.
    yield Case(rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), *draw_projections(rng, 3, 3, 3))
    yield Case(rng.normal(size=(3, 5)), rng.normal(size=(3, 5)), *draw_projections(rng, 5, 2, 6))
    yield Case(
        rng.normal(size=(2, 6, 3)),
        rng.normal(size=(2, 5, 3)),
        *draw_projections(rng, 3, 7, 2),
        mask=np.arange(5) < np.array([[[3]], [[0]]]),
    )
    yield Case(
        rng.normal(size=(3, 2, 5, 6)),
        rng.normal(size=(3, 2, 7, 6)),
        *draw_projections(rng, 6, 3, 2),
        rng.normal(size=(5, 7)).astype(np.float32),
    )
    sequences = rng.normal(size=(5, 7)), rng.normal(size=(3, 7))
    yield Case(*in_float32((*sequences, *draw_projections(rng, 7, 2, 6))))
    # Scores far beyond what exp can take, exact in every order of operations.
    x, w_q = np.array([[1.0, 3000.0], [2.0, -3000.0]]), np.array([[0.0] * 4, [1.0, 0, 0, 0]])
    context, w_k = (
        np.array([[8.0, 1.0], [-2.0, 1.0], [1.0, 1.0], [0.0, -1.0]]),
        w_q[:, [0, 2, 1, 3]],
    )
    large = Case(x, context, w_q, w_k, np.array([[2.0, -1.0, 0.0], [0.0, 0.0, 0.5]]))
    yield large
    yield other_arrays(rng, large)


def plain(x, context, w_q, w_k, w_v, mask=None):
    query = x @ w_q
    key = context @ w_k
    value = context @ w_v
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
    "context-ignored: context is ignored: keys and values come from it, queries from x.",
    "key = context => key = x && value = context => value = x",
    "x-ignored: x is ignored: this is the self-attention of context. Queries come from x.",
    "query = x => query = context",
    "sequences-exchanged: The sequences are exchanged: x makes queries, context keys and values.",
    "query = x => query = context && key = context => key = x && value = context => value = x",
    "values-from-x: The values come from x: keys and values both come from context.",
    "value = context => value = x",
    "keys-from-x: The keys come from x: keys and values both come from context.",
    "key = context => key = x",
    "projections-exchanged: w_q and w_k are exchanged: queries are x @ w_q, keys context @ w_k.",
    "@ w_q => @ w_k && @ w_k => @ w_q",
    *MISTAKES_BESIDE_PROJECTIONS,
)

EXERCISE = Exercise(
    name="cross_attention",
    points=1,
    minutes=3,
    reference=cross_attention,
    cases=cases,
    magnitude=cross_attention_magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
    built_on=("attention", "self_attention"),
)
