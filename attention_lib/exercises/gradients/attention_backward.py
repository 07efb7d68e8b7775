"""`attention_backward(query, key, value, grad_output, mask=None)` returns the gradients of attention.

The attention is scaled by 1/√d_k. Query `(..., L, d_k)`, key `(..., S, d_k)`, value `(..., S, d_v)`,
grad_output `(..., L, d_v)` → `(grad_query, grad_key, grad_value)`. The mask is boolean, True where
attention is allowed, and broadcast to `(..., L, S)`. A row with nothing allowed has zero gradients.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.choices import EPSILONS
from attention_lib.exercises.parts.magnitudes import vjp_magnitude
from attention_lib.lessons.gradients import attention_backward
from attention_lib.lessons.scaling import scaled_scores
from attention_lib.lessons.softmax import softmax
from attention_lib.lessons.stability import masked_softmax

HINTS = (
    "First compute the weights again, as the forward pass did, of shape (..., L, S): lib.softmax of "
    "lib.scaled_scores(query, key), or with a mask lib.masked_softmax(scores, mask).",
    "Then go backward. Through output = weights @ value: grad_value is weights transposed "
    "times grad_output, and grad_weights is grad_output times value transposed. Transpose the "
    "last two axes only: np.swapaxes(value, -1, -2).",
    "Through softmax: grad_scores = softmax_vjp(weights, grad_weights), your own function.",
    "Through the scores: grad_query is grad_scores @ key, grad_key is grad_scores transposed "
    "@ query, both divided by √d_k, the same number that the scores were divided by.",
    "The mask needs no other step: where a weight is 0, softmax_vjp gives 0, and nothing flows back.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(
        np.array([[2.0, 0.0]]),
        np.array([[0.0, 1.0], [0.5, 3.0], [1.0, 0.0]]),
        np.array([[2.0], [6.0], [4.0]]),
        np.array([[1.0]]),
    )
    yield drawn(rng, (), 2, 3, 5, 6)
    yield drawn(rng, (3,), 3, 3, 3, 3)  # square: here a lost transpose gives numbers
    yield drawn(rng, (), 5, 2, 6, 3)
    yield drawn(rng, (), 5, 2, 6, 3)  # the same shapes, other numbers
    yield drawn(rng, (2,), 3, 5, 7, 6)
    yield drawn(rng, (2, 3), 5, 6, 1, 7)
    yield drawn(rng, (3,), 2, 1, 5, 2)  # one key: its weight is 1, whatever the query
    yield Case(*(a.astype(np.float32) for a in drawn(rng, (2,), 3, 6, 5, 2).args))
    yield Case(
        np.array([[1, 0, 2], [0, -1, 1]]),
        np.array([[1, 1, 0], [0, 2, 1], [2, 0, -1], [1, 0, 0], [0, 1, 1]]),
        np.array([[3, 0], [1, 2], [0, -1], [2, 2], [1, 1]]),
        np.array([[1, -1], [2, 1]]),
    )
    query, key, *others = drawn(rng, (), 3, 5, 2, 6).args
    far = np.array([3000.0, 0.0])  # lifts every score of a row alike, far beyond what exp can take,
    query[:, 0] = 0.5, 1.5, 3.0  # and each row to a height of its own
    yield Case(query, key + far, *others)
    yield masked(drawn(rng, (), 2, 3, 4, 1), np.array([[True, False, True], [False, False, False]]))
    yield masked(drawn(rng, (3,), 3, 3, 3, 3), np.tri(3, dtype=bool))
    yield masked(drawn(rng, (2, 3), 5, 6, 4, 7), some_rows_empty(rng, 2, 1, 5, 6))
    yield masked(drawn(rng, (2,), 5, 3, 6, 2), rng.permutation([True, True, False]))  # of the keys
    single = Case(*(a.astype(np.float32) for a in drawn(rng, (2,), 3, 6, 5, 2).args))
    yield masked(single, some_rows_empty(rng, 2, 3, 6))
    # A forbidden score far above the allowed ones.
    query, key, *others = drawn(rng, (), 3, 5, 2, 6).args
    forbidden = int(rng.integers(5))
    query[:, 0], key[forbidden, 0] = np.abs(query[:, 0]) + 1, 3000.0
    yield masked(Case(query, key, *others), np.arange(5) != forbidden)


def masked(case: Case, mask: NDArray) -> Case:
    return Case(*case.args, mask=mask)


def some_rows_empty(rng: Generator, *shape: int) -> NDArray:
    """Draw a mask in which one row forbids everything, and every other allows something."""
    mask = rng.random(shape) < 0.6
    mask[..., 0] |= ~mask.any(axis=-1)
    mask[..., int(rng.integers(shape[-2])), :] = False
    return mask


def drawn(
    rng: Generator, leading: tuple[int, ...], queries: int, keys: int, d_k: int, d_v: int
) -> Case:
    return Case(
        rng.normal(size=(*leading, queries, d_k)),
        rng.normal(size=(*leading, keys, d_k)),
        rng.normal(size=(*leading, keys, d_v)),
        rng.normal(size=(*leading, queries, d_v)),
    )


def magnitude(query, key, value, grad_output, mask=None):
    """Follow the sizes of the numbers, before any of them cancel, back to each argument."""
    scale = 1 / math.sqrt(query.shape[-1])
    scores, products = scaled_scores(query, key), np.abs(query) @ np.abs(key).mT * scale
    weights = softmax(scores) if mask is None else masked_softmax(scores, mask)
    # A weight is as uncertain as its score: in proportion to the products summed for it.
    products = np.where(weights > 0, products, 0.0)
    weights = weights * (1 + 2 * products.max(axis=-1, keepdims=True))
    grad_scores = vjp_magnitude(weights, np.abs(grad_output) @ np.abs(value).mT)
    return (
        scale * grad_scores @ np.abs(key),
        scale * grad_scores.mT @ np.abs(query),
        weights.mT @ np.abs(grad_output),
    )


def plain(query, key, value, grad_output, mask=None):
    scale = 1 / math.sqrt(query.shape[-1])
    scores = query @ key.mT * scale
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = np.nan_to_num(softmax(scores))
    grad_weights = grad_output @ value.mT
    mean = np.sum(weights * grad_weights, axis=-1, keepdims=True)
    grad_scores = weights * (grad_weights - mean)
    grad_query = scale * grad_scores @ key
    grad_key = scale * grad_scores.mT @ query
    grad_value = weights.mT @ grad_output
    return grad_query, grad_key, grad_value


MASKED = "np.where(mask, scores, -np.inf)"
BY_MASK = " * (True if mask is None else mask)"
WEIGHTS = "weights = np.nan_to_num(softmax(scores))"
TOTAL = "np.sum(powers, axis=-1, keepdims=True)"
RESULT = "return grad_query, grad_key, grad_value"

MISTAKES = known_mistakes(
    plain,
    "scale-missing-backward: grad_query and grad_key lack the factor 1/√d_k: the scores were "
    "scaled on the way forward, so their gradients are on the way back.",
    "grad_query = scale * => grad_query = && grad_key = scale * => grad_key =",
    "never-scaled: The factor 1/√d_k is missing: scores are query times key transposed, over "
    "√d_k, and grad_query and grad_key carry it too.",
    "1 / math.sqrt(query.shape[-1]) => 1.0",
    "scale-missing-forward: The weights are made without 1/√d_k: scale the scores before softmax.",
    "key.mT * scale => key.mT",
    "root-of-another-size: You scale by √d_v or by the number of keys or queries: d_k is the last "
    "size of query and key.",
    "query.shape[-1] => {value.shape[-1]|key.shape[-2]|query.shape[-2]|query.shape[0]}",
    "divided-by-d-k: You scale by 1/d_k: it is 1/√d_k.",
    "math.sqrt(query.shape[-1]) => query.shape[-1]",
    "multiplied-by-root: You multiply by √d_k: divide by it.",
    "1 / math.sqrt => math.sqrt",
    "query-unscaled: grad_query lacks the factor 1/√d_k, and grad_key has it: both carry it.",
    "grad_query = scale * => grad_query =",
    "key-unscaled: grad_key lacks the factor 1/√d_k, and grad_query has it: both carry it.",
    "grad_key = scale * => grad_key =",
    "value-scaled: grad_value is divided by √d_k too: forward, the values were not scaled.",
    "@ grad_output => @ grad_output * scale",
    "scale-twice: The factor 1/√d_k is taken twice on the way back: once is enough.",
    "grad_query = scale => grad_query = scale**2 && grad_key = scale => grad_key = scale**2",
    "scale-twice-on-one: grad_query or grad_key carries the factor 1/√d_k twice: a query or key that was "
    "scaled has it already.",
    "grad_query = scale => grad_query = scale**2",
    "grad_key = scale => grad_key = scale**2",
    "no-softmax-step: The step through softmax is missing: grad_scores is softmax_vjp(weights, "
    "grad_weights), not grad_weights itself.",
    "weights * (grad_weights - mean) => grad_weights",
    "weighted-mean-missing: In the step through softmax the weighted mean is missing: it is p (g "
    "− Σ p g), not p g.",
    " - mean => ",
    "only-diagonal: In the step through softmax only the diagonal p (1 − p) is used: a score "
    "moves the other weights too. It is p (g − Σ p g).",
    "(grad_weights - mean) => (1 - weights) * grad_weights",
    "plain-mean: The step through softmax subtracts the plain mean: weigh the gradients, Σ p g.",
    "np.sum(weights * => np.mean(",
    "plain-sum: The step through softmax subtracts the plain sum: weigh the gradients, Σ p g.",
    "np.sum(weights * => np.sum(",
    "sum-over-wrong-axis: In the step through softmax the sum must run over the keys, the last "
    "axis, with keepdims=True.",
    "axis=-1 => axis={-2|0}",
    ", axis=-1, keepdims=True => ",
    ", keepdims=True => ",
    "softmax-over-wrong-axis: Softmax must run over the keys, the last axis of the scores.",
    "np.nan_to_num(softmax(scores)) => softmax(scores, {-2|0|None})",
    "gradients-reordered: The gradients are reordered: return grad_query, grad_key, grad_value.",
    f"{RESULT} => return grad_key, grad_query, grad_value",
    f"{RESULT} => return grad_value, grad_key, grad_query",
    f"{RESULT} => return grad_query, grad_value, grad_key",
    f"{RESULT} => return grad_key, grad_value, grad_query",
    f"{RESULT} => return grad_value, grad_query, grad_key",
    "weights-not-transposed: weights is not transposed in grad_value: value j gathers from all "
    "queries that weighed it, the column j.",
    "weights.mT => weights",
    "grad-scores-not-transposed: grad_scores is not transposed in grad_key: key j gathers from "
    "all queries, the column j.",
    "grad_scores.mT => grad_scores",
    "query-key-exchanged: Query and key have changed places: grad_query comes from the keys, "
    "grad_key from the queries.",
    "grad_scores @ key => grad_scores @ query && .mT @ query => .mT @ key",
    "t-reverses-batch: .T reverses the batch dimensions as well: swap the last two axes only, "
    "np.swapaxes(key, -1, -2).",
    "key.mT => key.T && value.mT => value.T && scores.mT => scores.T && weights.mT => weights.T",
    "value-not-transposed: value is not transposed in grad_weights: entry [i, j] is grad_output[i] "
    "· value[j].",
    "value.mT => value",
    "value-from-scores: grad_value comes from grad_scores: the output is weights @ value, so it "
    "takes the weights.",
    "weights.mT => grad_scores.mT",
    "sign-reversed: The sign of grad_query and grad_key is reversed: in the step through softmax "
    "it is p (g − Σ p g).",
    "grad_weights - mean => mean - grad_weights",
    "divided-by-queries: The gradients are divided by the number of queries: grad_output is all "
    "there is to carry back.",
    f"{RESULT} => return tuple(g / query.shape[-2] for g in (grad_query, grad_key, grad_value))",
    "exp-overflows: exp overflows: use a softmax that subtracts each row's maximum.",
    f"{WEIGHTS} => powers = np.exp(scores)\n    weights = powers / {TOTAL}",
    f"{WEIGHTS} => powers = np.exp(scores)\n    weights = powers / np.where({TOTAL} == 0, 1.0, {TOTAL})",
    "mask-ignored: The mask is ignored: the weights are those of the forward pass, 0 where it forbids.",
    f"{MASKED} => scores",
    "mask-inverted: The mask is inverted: True is where attention is allowed.",
    "where(mask => where(~mask",
    "mask-added: The mask is added to the scores as 0 and 1: where it is False, the score becomes -inf.",
    f"{MASKED} => scores + mask",
    "forbidden-scores-zero: Forbidden scores become 0, and exp(0) is 1: make them -inf.",
    "-np.inf => 0.0",
    "masked-after-softmax: The mask is put on the weights: forbidden keys still took their share of the "
    "sum. Mask the scores, as lib.masked_softmax does.",
    f"{MASKED} => scores && {WEIGHTS} => weights = softmax(scores){BY_MASK}",
    "only-gradient-masked: The mask is put only on the gradient of the scores: the weights themselves "
    "must be the masked ones.",
    f"{MASKED} => scores && (grad_weights - mean) => (grad_weights - mean){BY_MASK}",
    "empty-row-nan: A row with nothing allowed gives NaN: its weights are zeros, and so are its "
    "gradients. lib.masked_softmax sees to that.",
    "np.nan_to_num(softmax(scores)) => softmax(scores)",
    "empty-row-for-all: One row with nothing allowed makes all gradients 0: those of the other rows stay, "
    "as with lib.masked_softmax.",
    f"{WEIGHTS} => {WEIGHTS} * (mask is None or mask.any(axis=-1).all())",
    "empty-row-equal-weights: A row with nothing allowed gets equal weights, as a large negative number "
    "makes them: they should be 0, as lib.masked_softmax has them, and so should its gradients.",
    "-np.inf => -1e9",
    "weights.mT => np.where(weights.any(-1, keepdims=True), weights, 1 / weights.shape[-1]).mT",
    "one-maximum: One maximum is subtracted from all rows, and a row far below it underflows to "
    "0/0: use a softmax that subtracts each row's own.",
    f"{WEIGHTS} => powers = np.exp(scores - np.max(scores))\n    weights = powers / {TOTAL}",
    "constant-in-sum: A small constant is added to softmax's sum, which is never 0: leave it out.",
    f"{WEIGHTS} => powers = np.nan_to_num(np.exp(scores - np.max(scores, axis=-1, keepdims=True)))\n"
    f"    weights = powers / ({TOTAL} + {EPSILONS})",
)

EXERCISE = Exercise(
    name="attention_backward",
    points=4,
    minutes=14,
    reference=attention_backward,
    signature="attention_backward(query, key, value, grad_output, mask=None)",
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
    built_on=("softmax_vjp",),
)
