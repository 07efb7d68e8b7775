"""`attention_layer_backward(x, w_q, w_k, w_v, w_o, grad_output)` returns the gradients of `attention_layer`.

Shapes as in `attention_layer`, grad_output `(..., L, D)` → `(grad_x, grad_w_q, grad_w_k, grad_w_v,
grad_w_o)`, each in its argument's shape, the matrices' summed over all leading dimensions. Lesson 04's
`attention_backward`, which takes the mask, may do attention's part. Not by one call of a function that
does the whole layer's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
from attention_lib.exercises.learning import attention_layer as forward
from attention_lib.exercises.parts.attention import softmax_or_zeros
from attention_lib.exercises.parts.magnitudes import vjp_magnitude
from attention_lib.exercises.parts.softmax import plain_softmax
from attention_lib.lessons.attention import causal_mask
from attention_lib.lessons.gradients import softmax_vjp
from attention_lib.lessons.learning import attention_layer, attention_layer_backward
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


def summed(left: NDArray, right: NDArray) -> NDArray:
    """Sum the products of two arrays' vectors over all leading dimensions."""
    return rows(left).T @ rows(right)


def past(scores: NDArray) -> NDArray:
    return causal_mask(scores.shape[-1])


@composable
def backward(
    *,
    scale: Callable[..., float] = lambda x, w_q, w_v: 1 / math.sqrt(w_q.shape[-1]),
    scale_back: float | None = None,
    allowed: Callable[[NDArray], NDArray] | None = past,
    is_masked_back: bool = True,
    weigh: Callable[[NDArray], NDArray] = stable_softmax,
    into_mixture: Callable[[NDArray, NDArray], NDArray] = lambda g, w_o: g @ w_o.T,
    through_softmax: Callable[[NDArray, NDArray], NDArray] = softmax_vjp,
    for_keys: Callable[[NDArray], NDArray] = lambda grad_scores: grad_scores.mT,
    for_values: Callable[[NDArray], NDArray] = lambda weights: weights.mT,
    add: Callable[..., NDArray] = lambda *parts: sum(parts),
    transposed: Callable[[NDArray], NDArray] = np.transpose,
    matrices: tuple[int, int, int] = (0, 1, 2),  # which carries the query's gradient back to x, ...
    of_w_o: Callable[..., tuple[NDArray, NDArray]] = lambda x, mixture, value, g, gm: (mixture, g),
    collect: Callable[[NDArray, NDArray], NDArray] = summed,
    end: Callable[[Gradients], tuple[NDArray, ...]] = lambda gradients: gradients,
) -> Answer:
    """Make the five gradients from parts; a mistake replaces one of them."""

    def answer(
        x: NDArray, w_q: NDArray, w_k: NDArray, w_v: NDArray, w_o: NDArray, grad_output: NDArray
    ) -> tuple[NDArray, ...]:
        query, key, value = x @ w_q, x @ w_k, x @ w_v
        factor = scale(x, w_q, w_v)
        scores = query @ key.mT * factor
        if allowed is not None:
            scores = np.where(allowed(scores), scores, -np.inf)
        weights = weigh(scores)
        mixture = weights @ value
        weights = weights if is_masked_back else weigh(query @ key.mT * factor)
        grad_mixture = into_mixture(grad_output, w_o)
        grad_scores = through_softmax(weights, grad_mixture @ value.mT)
        grad_scores = grad_scores * (factor if scale_back is None else scale_back)
        grad_query, grad_key = grad_scores @ key, for_keys(grad_scores) @ query
        grad_value = for_values(weights) @ grad_mixture
        back = [transposed((w_q, w_k, w_v)[number]) for number in matrices]
        grads = grad_query, grad_key, grad_value
        grad_x = add(grad_output, *(grad @ w for grad, w in zip(grads, back, strict=True)))
        return end(
            (
                grad_x,
                collect(x, grad_query),
                collect(x, grad_key),
                collect(x, grad_value),
                collect(*of_w_o(x, mixture, value, grad_output, grad_mixture)),
            )
        )

    return answer


def one_matrix_each(left: NDArray, right: NDArray) -> NDArray:
    return left.mT @ right


def parts(*chosen: int) -> Answer:
    """Add only some of the parts of grad_x."""
    return backward(add=lambda *all_parts: sum(all_parts[i] for i in chosen))


def reordered(*order: int) -> Answer:
    return backward(end=lambda gradients: tuple(gradients[i] for i in order))


MISTAKES = known_mistakes(
    "residual-missing: In grad_x the residual is forgotten: x went straight into the output as "
    "well, so grad_output is a part of grad_x.",
    parts(1, 2, 3),
    "only-residual: grad_x is grad_output alone: x also made queries, keys and values, and each "
    "of them sends its gradient back, grad_query @ w_q.T and so on.",
    parts(0),
    "part-of-x-missing: In grad_x a part is missing: x made queries, keys and values. Add "
    "grad_query @ w_q.T, grad_key @ w_k.T and grad_value @ w_v.T to grad_output.",
    parts(0, 1, 2),
    parts(0, 1, 3),
    parts(0, 2, 3),
    parts(0, 1),
    parts(0, 2),
    parts(0, 3),
    "matrix-of-another: In grad_x a gradient goes back through the matrix of another: grad_query @ "
    "w_q.T, grad_key @ w_k.T, grad_value @ w_v.T.",
    *(backward(matrices=chosen) for chosen in ((0, 0, 2), (1, 1, 2), (1, 0, 2))),
    "scale-missing-backward: grad_query and grad_key lack the factor 1/√d_k: the scores were "
    "scaled on the way forward, so their gradients are on the way back.",
    backward(scale_back=1.0),
    "never-scaled: The factor 1/√d_k is missing, forward and backward: scores are query times key "
    "transposed, over √d_k.",
    backward(scale=lambda x, w_q, w_v: 1.0),
    "root-of-another-size: You scale by √D or √d_v: d_k is the width of the queries.",
    backward(scale=lambda x, w_q, w_v: 1 / math.sqrt(x.shape[-1])),
    backward(scale=lambda x, w_q, w_v: 1 / math.sqrt(w_v.shape[-1])),
    "mask-missing: The weights are computed without the causal mask: compute them again as the "
    "forward pass did.",
    backward(allowed=None),
    "mask-missing-backward: The mask is missing on the way back alone: attention_backward takes it, "
    "as attention does.",
    backward(is_masked_back=False),
    "only-gradient-masked: The mask is put on grad_scores only: the weights themselves must be "
    "the causal ones.",
    backward(
        allowed=None,
        through_softmax=lambda p, g: softmax_vjp(p, g) * past(p),
    ),
    "own-place-missed: A place does not see itself here: the causal mask allows the diagonal too.",
    backward(allowed=lambda s: np.tri(s.shape[-1], k=-1, dtype=bool), weigh=softmax_or_zeros),
    "no-softmax-step: Softmax's step is missing: grad_scores = softmax_vjp(weights, grad_weights).",
    backward(through_softmax=lambda p, g: g),
    backward(through_softmax=lambda p, g: g * past(g)),
    "weighted-mean-missing: In the step through softmax the weighted mean is missing: it is p (g "
    "− Σ p g), not p g.",
    backward(through_softmax=lambda p, g: p * g),
    "only-diagonal: Only the diagonal p (1 − p) of softmax's step is used: it is p (g − Σ p g).",
    backward(through_softmax=lambda p, g: p * (1 - p) * g),
    "plain-mean: The step through softmax subtracts the plain mean: weigh the gradients, Σ p g.",
    backward(through_softmax=lambda p, g: p * (g - g.mean(axis=-1, keepdims=True))),
    "w-o-missing: The way back through w_o is missing: grad_mixture is grad_output @ w_o.T.",
    backward(into_mixture=lambda g, w_o: g),
    "w-o-not-transposed: w_o is not transposed going back: grad_mixture is grad_output @ w_o.T.",
    backward(into_mixture=lambda g, w_o: g @ w_o),
    "matrices-not-transposed: The matrices are not transposed in grad_x: query is x @ w_q, so its "
    "gradient goes back as grad_query @ w_q.T.",
    backward(transposed=lambda matrix: matrix),
    "w-o-from-values: grad_w_o is made from x or from the values: w_o multiplied the mixture, "
    "weights @ value.",
    backward(of_w_o=lambda x, mixture, value, g, gm: (value, g)),
    backward(of_w_o=lambda x, mixture, value, g, gm: (x, g)),
    "w-o-from-mixture-gradient: grad_w_o is made from grad_mixture: w_o multiplied the mixture "
    "and gave the output, so it is mixture transposed times grad_output.",
    backward(of_w_o=lambda x, mixture, value, g, gm: (mixture, gm)),
    "not-summed: The matrices' gradients keep the dimensions before the last two: the same matrix "
    "served every sequence, so sum over all of them.",
    backward(collect=one_matrix_each),
    "summed-over-first: The matrices' gradients are summed over the first dimension only: sum "
    "over all that come before the last two.",
    backward(
        collect=lambda a, b: (a.mT @ b).sum(axis=0) if a.ndim > 2 else a.mT @ b,
    ),
    "averaged: The matrices' gradients are averaged over the sequences: sum them. A mean, if "
    "there is one, is in the loss and so in grad_output.",
    backward(collect=lambda a, b: summed(a, b) / math.prod(a.shape[:-2])),
    backward(collect=lambda a, b: summed(a, b) / len(rows(a))),
    "one-sequence-alone: The matrices' gradients come from one sequence alone: sum over all.",
    backward(collect=lambda a, b: one_matrix_each(a, b)[(0,) * (a.ndim - 2)]),
    backward(collect=lambda a, b: one_matrix_each(a, b)[(-1,) * (a.ndim - 2)]),
    "gradients-transposed: The matrices' gradients are transposed: for query = x @ w_q it is x "
    "transposed times grad_query, in the shape of w_q.",
    backward(collect=lambda a, b: summed(b, a)),
    "grad-scores-not-transposed: grad_scores is not transposed in grad_key: key j gathers from "
    "all queries, the column j.",
    backward(for_keys=lambda grad_scores: grad_scores),
    "weights-not-transposed: weights is not transposed in grad_value: value j gathers from all "
    "queries, the column j.",
    backward(for_values=lambda weights: weights),
    "query-key-exchanged: grad_w_q and grad_w_k have changed places: return (grad_x, grad_w_q, "
    "grad_w_k, grad_w_v, grad_w_o).",
    reordered(0, 2, 1, 3, 4),
    "gradients-reordered: The five gradients are in another order: return (grad_x, grad_w_q, "
    "grad_w_k, grad_w_v, grad_w_o).",
    reordered(1, 2, 3, 4, 0),
    reordered(0, 3, 1, 2, 4),
    reordered(0, 1, 2, 4, 3),
    "sign-reversed: grad_scores has the wrong sign: the step through softmax is p (g − Σ p g).",
    backward(through_softmax=lambda p, g: -softmax_vjp(p, g)),
    "grad-output-unused: grad_output is not used: these are the gradients of the output's sum.",
    lambda x, w_q, w_k, w_v, w_o, grad_output: attention_layer_backward(
        x, w_q, w_k, w_v, w_o, np.ones_like(grad_output)
    ),
    "output-returned: The layer's output is returned: return the five gradients.",
    lambda x, w_q, w_k, w_v, w_o, grad_output: attention_layer(x, w_q, w_k, w_v, w_o),
    "exp-overflows: exp overflows for large scores: use lesson 02's softmax, or lesson 05's "
    "attention, which returns the weights too.",
    backward(weigh=plain_softmax),
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
