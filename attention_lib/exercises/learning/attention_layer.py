"""`attention_layer(x, w_q, w_k, w_v, w_o)` adds to x what causal attention finds for it.

The result is x + causal attention(x w_q, x w_k, x w_v) w_o, scaled by 1/√d_k: `x` `(..., L, D)`,
`w_q` and `w_k` `(D, d_k)`, `w_v` `(D, d_v)`, `w_o` `(d_v, D)` → `(..., L, D)`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.attention import (
    attention_magnitude,
)
from attention_lib.exercises.parts.cases import draw_projections, in_float32
from attention_lib.lessons.attention import causal_mask
from attention_lib.lessons.learning import attention_layer
from attention_lib.lessons.softmax import softmax

HINTS = (
    "Queries are x @ w_q, keys x @ w_k, values x @ w_v.",
    "Lesson 05's attention takes a mask: causal_mask(L), with L = x.shape[-2]. It returns a pair, "
    "and the output comes first.",
    "The output has vectors of d_v components. @ w_o brings them back to D; then x is added.",
)


def cases(rng: Generator) -> Iterator[Case]:
    x, w_v, w_o = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([[1.0], [3.0]]), np.array([[2.0, 0]])
    yield Case(x, np.zeros((2, 2)), np.zeros((2, 2)), w_v, w_o)
    yield drawn(rng, (3,), 6, 5, 2)
    yield drawn(rng, (3,), 3, 3, 3)  # square: here a lost transpose or exchange gives numbers
    yield drawn(rng, (3, 3), 3, 3, 3)
    yield drawn(rng, (2, 5), 3, 2, 7)
    yield drawn(rng, (2, 5), 3, 2, 7)  # the same shapes, other numbers
    yield drawn(rng, (2, 3, 4), 5, 6, 3)
    yield drawn(rng, (3, 1), 4, 2, 3)
    yield Case(*in_float32(drawn(rng, (2, 5), 6, 3, 4).args))
    shapes = ((3, 2), (2, 3), (2, 3), (2, 5), (5, 2))
    yield Case(*(rng.integers(-1, 3, size=shape) for shape in shapes))
    # Scores far beyond what exp can take, each row at a height of its own.
    x = np.array([[1.0, 3000.0], [2.0, 3000.0], [4.0, -3000.0], [1.0, 1000.0]])
    w_q, w_k = np.array([[0.0, 0, 0, 0], [1, 0, 0, 0]]), np.array([[0.0, 0, 0, 0], [0.5, 0, 0, 0]])
    yield Case(x, w_q, w_k, np.array([[2.0, -1.0, 1.0], [0.0, 0.0, 0.5]]), rng.normal(size=(3, 2)))


def drawn(rng: Generator, shape: tuple[int, ...], d: int, d_k: int, d_v: int) -> Case:
    """Draw vectors of d components in a shape `(..., L)`, and a layer's matrices."""
    w_o = rng.normal(size=(d_v, d)) / math.sqrt(d_v)
    return Case(rng.normal(size=(*shape, d)), *draw_projections(rng, d, d_k, d_v), w_o)


def magnitude(x: NDArray, w_q: NDArray, w_k: NDArray, w_v: NDArray, w_o: NDArray) -> NDArray:
    sizes = tuple(np.abs(x) @ np.abs(matrix) for matrix in (w_q, w_k, w_v))
    mask = causal_mask(x.shape[-2])
    mixture, _ = attention_magnitude(x @ w_q, x @ w_k, x @ w_v, mask, sizes=sizes)
    return np.abs(x) + mixture @ np.abs(w_o)


def plain(x, w_q, w_k, w_v, w_o):
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    scores = query @ key.mT / math.sqrt(w_q.shape[-1])
    mask = np.tri(x.shape[-2], dtype=bool)
    scores = np.where(mask, scores, -np.inf)
    weights = np.nan_to_num(softmax(scores))
    mixture = weights @ value
    return x + mixture @ w_o


MASKED = "np.where(mask, scores, -np.inf)"
WEIGHTS = "weights = np.nan_to_num(softmax(scores))"

MISTAKES = known_mistakes(
    plain,
    "residual-missing: x is not added: the layer returns x plus what attention found.",
    "x + mixture => mixture",
    "residual-twice: x is added twice: once is enough.",
    "return x => return 2 * x",
    "residual-before-w-o: x is added before w_o: take attention's output times w_o, then add x.",
    "x + mixture @ w_o => (x + mixture) @ w_o",
    "w-o-missing: w_o is missing: attention's output times w_o is what is added to x.",
    " @ w_o => ",
    "mask-missing: The mask is missing: a place may attend to itself and to earlier places only.",
    "np.tri(x.shape[-2], dtype=bool) => True",
    "mask-of-numbers: The mask holds 1 and 0, which are added to the scores: make it boolean, True "
    "where attention is allowed.",
    f"{MASKED} => scores + mask",
    "mask-reversed: The mask is reversed: a place may attend to itself and to earlier places, "
    "causal_mask(L), True where the column is not after the row.",
    "dtype=bool) => dtype=bool).T",
    "np.tri => ~np.tri",
    "own-place-missed: A place does not see itself here: causal_mask(L) allows the diagonal too.",
    "x.shape[-2], dtype => x.shape[-2], k=-1, dtype",
    "masked-after-softmax: The mask is applied after softmax: later places still took their share "
    "of the sum. Mask the scores.",
    f"{MASKED} => scores && weights @ value => (weights * mask) @ value",
    "later-scores-zero: A later score set to 0 still gets weight: use −inf, or attention's mask.",
    "-np.inf => 0.0",
    "never-scaled: The scores are not scaled: divide them by √d_k, the width of the queries.",
    " / math.sqrt(w_q.shape[-1]) => ",
    "root-of-d: The scores are divided by √D, the width of x: divide by √d_k, that of the queries.",
    "w_q.shape => x.shape",
    "root-of-d-v: The scores are divided by √d_v: divide by √d_k, the width of the queries.",
    "w_q.shape => w_v.shape",
    "divided-by-d-k: The scores are divided by d_k: divide by its root.",
    "math.sqrt => ",
    "one-place-ahead: Each place sees one place ahead: the last one it may see is its own.",
    "x.shape[-2], dtype => x.shape[-2], k=1, dtype",
    "projections-exchanged: The scores are transposed: a row of them belongs to a query, x @ w_q, a "
    "column to a key, x @ w_k.",
    "query @ key.mT => key @ query.mT",
    "one-matrix: Queries and keys are made with the same matrix: queries with w_q, keys with w_k.",
    "x @ w_k => x @ w_q",
    "x @ w_q => x @ w_k",
    "values-not-projected: The values are not projected: mix x @ w_v, not x.",
    "x @ w_v => x",
    "weights-returned: The weights are returned: return x plus attention's output times w_o.",
    "return x + mixture @ w_o => return weights",
    "exp-overflows: exp overflows for large scores: subtract the row's maximum first, or use "
    "lesson 05's attention.",
    f"{WEIGHTS} => powers = np.exp(scores)\n    weights = powers / powers.sum(axis=-1, keepdims=True)",
    f"{WEIGHTS} => powers = np.exp(scores - scores.max())\n"
    "    weights = powers / powers.sum(axis=-1, keepdims=True)",
    "softmax-over-queries: The weights sum to 1 over queries: softmax runs over the keys, axis=-1.",
    "softmax(scores) => softmax(scores, -2)",
)


EXERCISE = Exercise(
    name="attention_layer",
    points=2,
    minutes=6,
    reference=attention_layer,
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
