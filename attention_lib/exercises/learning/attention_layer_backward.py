"""`attention_layer_backward(x, w_q, w_k, w_v, w_o, grad_output)` returns the gradients of `attention_layer`.

Shapes as in `attention_layer`, grad_output `(..., L, D)` → `(grad_x, grad_w_q, grad_w_k, grad_w_v,
grad_w_o)`, each in its argument's shape, the matrices' summed over all leading dimensions. Lesson 04's
`attention_backward`, which takes the mask, may do attention's part. Not by one call of a function that
does the whole layer's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.learning import attention_layer as forward
from attention_lib.exercises.parts.magnitudes import vjp_magnitude
from attention_lib.lessons.learning import attention_layer_backward
from attention_lib.lessons.softmax import softmax
from attention_lib.lessons.stability import stable_softmax

HINTS = (
    "Compute query, key and value again, and the mixture that went into w_o: the output of causal "
    "attention.",
    "The output is x + mixture @ w_o. So grad_output goes straight on to grad_x, and "
    "grad_mixture is grad_output @ w_o.T.",
    "From there lesson 04's attention_backward goes on, with the mask: "
    "lib.attention_backward(query, key, value, grad_mixture, lib.causal_mask(L)) returns grad_query, "
    "grad_key and grad_value.",
    "x was used four times: in the sum, for the queries, the keys and the values. grad_x is the sum "
    "of four parts: grad_output, grad_query @ w_q.T, grad_key @ w_k.T and grad_value @ w_v.T.",
    "For query = x @ w_q the gradient of w_q is x transposed times grad_query, summed over all "
    "sequences. rows.reshape(-1, D) puts all vectors below one another; then one product does it.",
)

Gradients = tuple[NDArray, NDArray, NDArray, NDArray, NDArray]


def cases(rng: Generator) -> Iterator[Case]:
    x, zero, one = np.array([[2.0], [4.0]]), np.array([[0.0]]), np.array([[1.0]])
    yield Case(x, zero, zero, one, one, np.array([[1.0], [1.0]]))
    yield drawn(rng, (3,), 6, 5, 2)
    yield drawn(rng, (3,), 3, 3, 3)  # square: here a lost transpose or exchange gives numbers
    yield drawn(rng, (3, 3), 3, 3, 3)
    yield drawn(rng, (2, 5), 3, 2, 7)
    yield drawn(rng, (2, 5), 3, 2, 7)  # the same shapes, other numbers
    yield drawn(rng, (2, 3, 4), 5, 6, 3)
    yield drawn(rng, (3, 1), 4, 2, 3)
    yield Case(*(a.astype(np.float32) for a in drawn(rng, (2, 5), 6, 3, 4).args))
    shapes = ((3, 2), (2, 3), (2, 3), (2, 5), (5, 2), (3, 2))
    yield Case(*(rng.integers(-1, 3, size=shape) for shape in shapes))
    arguments = [*drawn(rng, (4,), 2, 3, 2).args]
    arguments[0][:, 1] = 3000.0  # lifts the scores of each row to a height of its own, far beyond
    arguments[1][:], arguments[2][:] = 0.0, 0.0  # what exp can take
    arguments[1][0, :2], arguments[2][0, 1], arguments[2][1, 0] = 1.0, 0.5, 1.0
    yield Case(*arguments)


def drawn(rng: Generator, shape: tuple[int, ...], d: int, d_k: int, d_v: int) -> Case:
    return Case(*forward.drawn(rng, shape, d, d_k, d_v).args, rng.normal(size=(*shape, d)))


def rows(array: NDArray) -> NDArray:
    return array.reshape(-1, array.shape[-1])


def magnitude(
    x: NDArray, w_q: NDArray, w_k: NDArray, w_v: NDArray, w_o: NDArray, grad_output: NDArray
) -> Gradients:
    """Follow the sizes of the numbers, before any of them cancel, back to each argument."""
    mask = np.tri(x.shape[-2], dtype=bool)
    scale = 1 / math.sqrt(w_q.shape[-1])
    scores = (x @ w_q) @ (x @ w_k).mT * scale
    weights = stable_softmax(np.where(mask, scores, -np.inf))
    x, w_q, w_k, w_v, w_o, grad_output = map(np.abs, (x, w_q, w_k, w_v, w_o, grad_output))
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    reach = np.where(weights > 0, query @ key.mT * scale, 0.0).max(axis=-1, keepdims=True)
    weights = weights * (1 + 2 * reach)
    grad_mixture = grad_output @ w_o.T
    grad_scores = scale * vjp_magnitude(weights, grad_mixture @ value.mT)
    grad_query, grad_key = grad_scores @ key, grad_scores.mT @ query
    grad_value = weights.mT @ grad_mixture
    return (
        grad_output + grad_query @ w_q.T + grad_key @ w_k.T + grad_value @ w_v.T,
        rows(x).T @ rows(grad_query),
        rows(x).T @ rows(grad_key),
        rows(x).T @ rows(grad_value),
        rows(weights @ value).T @ rows(grad_output),
    )


def plain(x, w_q, w_k, w_v, w_o, grad_output):
    def summed(left, right):
        return rows(left).T @ rows(right)

    query, key, value = x @ w_q, x @ w_k, x @ w_v
    scale = 1 / math.sqrt(w_q.shape[-1])
    scores = query @ key.mT * scale
    scores = np.where(np.tri(x.shape[-2], dtype=bool), scores, -np.inf)
    weights = np.nan_to_num(softmax(scores))
    mixture = weights @ value
    grad_mixture = grad_output @ w_o.T
    grad_weights = grad_mixture @ value.mT
    mean = np.sum(weights * grad_weights, axis=-1, keepdims=True)
    grad_scores = scale * weights * (grad_weights - mean)
    grad_query = grad_scores @ key
    grad_key = grad_scores.mT @ query
    grad_value = weights.mT @ grad_mixture
    back_q, back_k, back_v = w_q.T, w_k.T, w_v.T
    grad_x = grad_output + grad_query @ back_q + grad_key @ back_k + grad_value @ back_v
    grad_w_q, grad_w_k, grad_w_v = (summed(x, g) for g in (grad_query, grad_key, grad_value))
    grad_w_o = summed(mixture, grad_output)
    return grad_x, grad_w_q, grad_w_k, grad_w_v, grad_w_o


FROM_Q, FROM_K = " + grad_query @ back_q", " + grad_key @ back_k"
FROM_V = " + grad_value @ back_v"
PAST = "np.tri(x.shape[-2], dtype=bool)"
MASKED = f"np.where({PAST}, scores, -np.inf)"
SUM = "rows(left).T @ rows(right)"
RESULT = "return grad_x, grad_w_q, grad_w_k, grad_w_v, grad_w_o"

MISTAKES = known_mistakes(
    plain,
    "residual-missing: In grad_x the residual is forgotten: x went straight into the output as "
    "well, so grad_output is a part of grad_x.",
    "grad_x = grad_output + => grad_x =",
    "only-residual: grad_x is only grad_output: x also made queries, keys and values, and each "
    "of them sends its gradient back, grad_query @ w_q.T and so on.",
    f"{FROM_Q}{FROM_K}{FROM_V} => ",
    "part-of-x-missing: In grad_x a part is missing: x made queries, keys and values. Add "
    "grad_query @ w_q.T, grad_key @ w_k.T and grad_value @ w_v.T to grad_output.",
    f"{FROM_V} => ",
    f"{FROM_K} => ",
    f"{FROM_Q} => ",
    f"{FROM_K}{FROM_V} => ",
    f"{FROM_Q} => && {FROM_V} => ",
    f"{FROM_Q}{FROM_K} => ",
    "matrix-of-another: In grad_x a gradient goes back through the matrix of another: grad_query @ "
    "w_q.T, grad_key @ w_k.T, grad_value @ w_v.T.",
    "grad_key @ back_k => grad_key @ back_q",
    "grad_query @ back_q => grad_query @ back_k",
    "grad_query @ back_q => grad_query @ back_k && grad_key @ back_k => grad_key @ back_q",
    "scale-missing-backward: grad_query and grad_key lack the factor 1/√d_k: the scores were "
    "scaled on the way forward, so their gradients are on the way back.",
    "scale * => ",
    "never-scaled: The factor 1/√d_k is missing, forward and backward: scores are query times key "
    "transposed, over √d_k.",
    "1 / math.sqrt(w_q.shape[-1]) => 1.0",
    "root-of-another-size: You scale by √D or √d_v: d_k is the width of the queries.",
    "w_q.shape => {x.shape|w_v.shape}",
    "mask-missing: The weights are computed without the causal mask: compute them again as the "
    "forward pass did.",
    f"{MASKED} => scores",
    "mask-missing-backward: The mask is missing only on the way back: attention_backward takes it, "
    "as attention does.",
    "mixture = weights @ value => "
    "mixture = weights @ value\n    weights = softmax(query @ key.mT * scale)",
    "only-gradient-masked: The mask is put on grad_scores only: the weights themselves must be "
    "the causal ones.",
    f"{MASKED} => scores && (grad_weights - mean) => (grad_weights - mean) * {PAST}",
    "own-place-missed: A place does not see itself here: the causal mask allows the diagonal too.",
    "x.shape[-2], dtype => x.shape[-2], k=-1, dtype",
    "no-softmax-step: Softmax's step is missing: grad_scores = softmax_vjp(weights, grad_weights).",
    "weights * (grad_weights - mean) => grad_weights",
    f"weights * (grad_weights - mean) => grad_weights * {PAST}",
    "weighted-mean-missing: In the step through softmax the weighted mean is missing: it is p (g "
    "− Σ p g), not p g.",
    " - mean => ",
    "only-diagonal: Only the diagonal p (1 − p) of softmax's step is used: it is p (g − Σ p g).",
    "(grad_weights - mean) => (1 - weights) * grad_weights",
    "plain-mean: The step through softmax subtracts the plain mean: weigh the gradients, Σ p g.",
    "np.sum(weights * => np.mean(",
    "w-o-missing: The way back through w_o is missing: grad_mixture is grad_output @ w_o.T.",
    " @ w_o.T => ",
    "w-o-not-transposed: w_o is not transposed going back: grad_mixture is grad_output @ w_o.T.",
    "w_o.T => w_o",
    "matrices-not-transposed: The matrices are not transposed in grad_x: query is x @ w_q, so its "
    "gradient goes back as grad_query @ w_q.T.",
    "w_q.T, w_k.T, w_v.T => w_q, w_k, w_v",
    "w-o-from-values: grad_w_o is made from x or from the values: w_o multiplied the mixture, "
    "weights @ value.",
    "summed(mixture => summed({value|x}",
    "w-o-from-mixture-gradient: grad_w_o is made from grad_mixture: w_o multiplied the mixture "
    "and gave the output, so it is mixture transposed times grad_output.",
    "summed(mixture, grad_output => summed(mixture, grad_mixture",
    "not-summed: The matrices' gradients keep the dimensions before the last two: the same matrix "
    "served every sequence, so sum over all of them.",
    f"{SUM} => left.mT @ right",
    "summed-over-first: The matrices' gradients are summed over the first dimension only: sum "
    "over all that come before the last two.",
    f"{SUM} => (left.mT @ right).sum(axis=0) if x.ndim > 2 else left.mT @ right",
    "averaged: The matrices' gradients are averaged over the sequences: sum them. A mean, if "
    "there is one, is in the loss and so in grad_output.",
    "rows(right) => rows(right) / math.prod(x.shape[:-2])",
    "rows(right) => rows(right) / len(rows(x))",
    "one-sequence-alone: The matrices' gradients come from only one sequence: sum over all.",
    f"{SUM} => (left.mT @ right)[({{0|-1}},) * (x.ndim - 2)]",
    "gradients-transposed: The matrices' gradients are transposed: for query = x @ w_q it is x "
    "transposed times grad_query, in the shape of w_q.",
    f"{SUM} => rows(right).T @ rows(left)",
    "grad-scores-not-transposed: grad_scores is not transposed in grad_key: key j gathers from "
    "all queries, the column j.",
    "grad_scores.mT => grad_scores",
    "weights-not-transposed: weights is not transposed in grad_value: value j gathers from all "
    "queries, the column j.",
    "weights.mT => weights",
    "query-key-exchanged: grad_w_q and grad_w_k have changed places: return (grad_x, grad_w_q, "
    "grad_w_k, grad_w_v, grad_w_o).",
    f"{RESULT} => return grad_x, grad_w_k, grad_w_q, grad_w_v, grad_w_o",
    "gradients-reordered: The five gradients are in another order: return (grad_x, grad_w_q, "
    "grad_w_k, grad_w_v, grad_w_o).",
    f"{RESULT} => return grad_w_q, grad_w_k, grad_w_v, grad_w_o, grad_x",
    f"{RESULT} => return grad_x, grad_w_v, grad_w_q, grad_w_k, grad_w_o",
    f"{RESULT} => return grad_x, grad_w_q, grad_w_k, grad_w_o, grad_w_v",
    "sign-reversed: grad_scores has the wrong sign: the step through softmax is p (g − Σ p g).",
    "grad_weights - mean => mean - grad_weights",
    "grad-output-unused: grad_output is not used: these are the gradients of the output's sum.",
    "grad_output): => grad_output):\n    grad_output = np.ones_like(grad_output)",
    "output-returned: The layer's output is returned: return the five gradients.",
    f"{RESULT} => return x + mixture @ w_o",
    "exp-overflows: exp overflows for large scores: use lesson 02's softmax, or lesson 05's "
    "attention, which returns the weights too.",
    "weights = np.nan_to_num(softmax(scores)) => "
    "powers = np.exp(scores)\n    weights = powers / powers.sum(axis=-1, keepdims=True)",
)


EXERCISE = Exercise(
    name="attention_layer_backward",
    points=4,
    minutes=12,
    reference=attention_layer_backward,
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
    built_on=("attention_layer",),
)
