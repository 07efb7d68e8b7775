"""`attention_backward(query, key, value, grad_output, mask=None)` returns the gradients of attention.

The attention is scaled by 1/√d_k. Query `(..., L, d_k)`, key `(..., S, d_k)`, value `(..., S, d_v)`,
grad_output `(..., L, d_v)` → `(grad_query, grad_key, grad_value)`. The mask is boolean, True where
attention is allowed, and broadcast to `(..., L, S)`. A row with nothing allowed has zero gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
from attention_lib.exercises.parts.by_name import by_name
from attention_lib.exercises.parts.magnitudes import vjp_magnitude
from attention_lib.exercises.parts.softmax import (
    EPSILONS,
    plain_softmax,
    plain_softmax_or_zeros,
    softmax_with_epsilon,
    softmax_with_one_maximum,
)
from attention_lib.lessons.gradients import attention_backward, softmax_vjp
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

Gradients = tuple[NDArray, NDArray, NDArray]


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


def weigh_by_softmax(scores: NDArray, mask: NDArray | None) -> NDArray:
    return softmax(scores) if mask is None else masked_softmax(scores, mask)


@by_name(attention_backward)
def magnitude(query, key, value, grad_output, mask):
    """Follow the sizes of the numbers, before any of them cancel, back to each argument."""
    scale = 1 / math.sqrt(query.shape[-1])
    products = np.abs(query) @ np.abs(key).mT * scale
    # A weight is as uncertain as its score: in proportion to the products summed for it.
    weights = weigh_by_softmax(scaled_scores(query, key), mask)
    products = np.where(weights > 0, products, 0.0)
    weights = weights * (1 + 2 * products.max(axis=-1, keepdims=True))
    grad_scores = vjp_magnitude(weights, np.abs(grad_output) @ np.abs(value).mT)
    return (
        scale * grad_scores @ np.abs(key),
        scale * grad_scores.mT @ np.abs(query),
        weights.mT @ np.abs(grad_output),
    )


def backward(
    query: NDArray,
    key: NDArray,
    value: NDArray,
    grad_output: NDArray,
    mask: NDArray | None = None,
    *,
    weigh: Callable[[NDArray, NDArray | None], NDArray] = weigh_by_softmax,
    through_softmax: Callable[[NDArray, NDArray], NDArray] = softmax_vjp,
    scale: float | Callable[[NDArray, NDArray, NDArray], float] | None = None,
    scale_back: float | None = None,
    to_query: Callable[..., NDArray] = lambda grad_scores, query, key: grad_scores @ key,
    to_key: Callable[..., NDArray] = lambda grad_scores, query, key: grad_scores.mT @ query,
    to_value: Callable[..., NDArray] = lambda weights, grad_scores, grad: weights.mT @ grad,
) -> Gradients:
    """Compute the three gradients with one of the steps replaced by a wrong one."""
    right_scale = 1 / math.sqrt(query.shape[-1])
    scale = right_scale if scale is None else scale
    scale = scale(query, key, value) if callable(scale) else scale
    scale_back = scale if scale_back is None else scale_back
    weights = weigh(query @ key.mT * scale, mask)
    grad_scores = through_softmax(weights, grad_output @ value.mT)
    return (
        to_query(scale_back * grad_scores, query, key),
        to_key(scale_back * grad_scores, query, key),
        to_value(weights, grad_scores, grad_output),
    )


@composable
def with_step(**changes: Callable | float) -> Answer:
    return lambda *args, **mask: backward(*args, **mask, **changes)


def with_softmax(softmax: Callable[[NDArray], NDArray]) -> Answer:
    """Take another softmax of the scores, in which those that are forbidden are -inf."""
    return with_step(weigh=lambda scores, mask: softmax(filled(scores, mask)))


def filled(scores: NDArray, mask: NDArray | None, fill: float = -np.inf) -> NDArray:
    return scores if mask is None else np.where(mask, scores, fill)


def softmax_or_nan(scores: NDArray, axis: int | None = -1) -> NDArray:
    """Compute softmax as a learner does, with NaN where nothing is allowed."""
    with np.errstate(invalid="ignore"):
        exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
        return exponentials / exponentials.sum(axis=axis, keepdims=True)


def equal_if_empty(weights: NDArray) -> NDArray:
    """Give a row of zeros equal weights."""
    return np.where(weights.any(axis=-1, keepdims=True), weights, 1 / weights.shape[-1])


def with_scale(scale: Callable[[NDArray, NDArray, NDArray], float]) -> Answer:
    return with_step(scale=scale)


def afterward(change: Callable[[Gradients, NDArray], tuple[NDArray, ...]]) -> Answer:
    """Change the three gradients, with a look at the query."""
    return lambda *args, **mask: change(backward(*args, **mask), args[0])


def one_rescaled(power: float) -> tuple[Answer, Answer]:
    """Multiply grad_query by a power of d_k, or grad_key."""
    return (
        with_step(to_query=lambda grad, query, key: grad @ key * query.shape[-1] ** power),
        with_step(to_key=lambda grad, query, key: grad.mT @ query * query.shape[-1] ** power),
    )


@by_name(attention_backward)
def nothing_where_a_row_is_empty(query, key, value, grad_output, mask):
    is_empty = mask is not None and not mask.any(axis=-1).all()
    gradients = attention_backward(query, key, value, grad_output, mask)
    return tuple(0 * gradient for gradient in gradients) if is_empty else gradients


@by_name(attention_backward)
def transposed_whole(query, key, value, grad_output, mask):
    root = math.sqrt(query.shape[-1])
    weights = weigh_by_softmax(query @ key.T / root, mask)
    grad_scores = softmax_vjp(weights, grad_output @ value.T)
    return grad_scores @ key / root, grad_scores.T @ query / root, weights.T @ grad_output


MISTAKES = known_mistakes(
    "scale-missing-backward: grad_query and grad_key lack the factor 1/√d_k: the scores were "
    "scaled on the way forward, so their gradients are on the way back.",
    with_step(scale_back=1.0),
    "never-scaled: The factor 1/√d_k is missing: scores are query times key transposed, over "
    "√d_k, and grad_query and grad_key carry it too.",
    with_step(scale=1.0),
    "scale-missing-forward: The weights are made without 1/√d_k: scale the scores before softmax.",
    lambda *args, **mask: backward(
        *args, **mask, scale=1.0, scale_back=1 / math.sqrt(args[0].shape[-1])
    ),
    "root-of-another-size: You scale by √d_v or by the number of keys or queries: d_k is the last "
    "size of query and key.",
    with_scale(lambda query, key, value: 1 / math.sqrt(value.shape[-1])),
    with_scale(lambda query, key, value: 1 / math.sqrt(key.shape[-2])),
    with_scale(lambda query, key, value: 1 / math.sqrt(query.shape[-2])),
    with_scale(lambda query, key, value: 1 / math.sqrt(query.shape[0])),
    "divided-by-d-k: You scale by 1/d_k: it is 1/√d_k.",
    with_scale(lambda query, key, value: 1 / query.shape[-1]),
    "multiplied-by-root: You multiply by √d_k: divide by it.",
    with_scale(lambda query, key, value: math.sqrt(query.shape[-1])),
    "query-unscaled: grad_query lacks the factor 1/√d_k, and grad_key has it: both carry it.",
    one_rescaled(0.5)[0],
    "key-unscaled: grad_key lacks the factor 1/√d_k, and grad_query has it: both carry it.",
    one_rescaled(0.5)[1],
    "value-scaled: grad_value is divided by √d_k too: forward, the values were not scaled.",
    afterward(lambda gradients, query: (*gradients[:2], gradients[2] / query.shape[-1] ** 0.5)),
    "scale-twice: The factor 1/√d_k is taken twice on the way back: once is enough.",
    lambda *args, **mask: backward(*args, **mask, scale_back=1 / args[0].shape[-1]),
    "scale-twice-on-one: grad_query or grad_key carries the factor 1/√d_k twice: a query or key that was "
    "scaled has it already.",
    *one_rescaled(-0.5),
    "no-softmax-step: The step through softmax is missing: grad_scores is softmax_vjp(weights, "
    "grad_weights), not grad_weights itself.",
    with_step(through_softmax=lambda p, g: g),
    "weighted-mean-missing: In the step through softmax the weighted mean is missing: it is p (g "
    "− Σ p g), not p g.",
    with_step(through_softmax=lambda p, g: p * g),
    "only-diagonal: In the step through softmax only the diagonal p (1 − p) is used: a score "
    "moves the other weights too. It is p (g − Σ p g).",
    with_step(through_softmax=lambda p, g: p * (1 - p) * g),
    "plain-mean: The step through softmax subtracts the plain mean: weigh the gradients, Σ p g.",
    with_step(through_softmax=lambda p, g: p * (g - g.mean(axis=-1, keepdims=True))),
    "plain-sum: The step through softmax subtracts the plain sum: weigh the gradients, Σ p g.",
    with_step(through_softmax=lambda p, g: p * (g - g.sum(axis=-1, keepdims=True))),
    "sum-over-wrong-axis: In the step through softmax the sum must run over the keys, the last "
    "axis, with keepdims=True.",
    with_step(through_softmax=lambda p, g: p * (g - (p * g).sum(axis=-2, keepdims=True))),
    with_step(through_softmax=lambda p, g: p * (g - (p * g).sum())),
    with_step(through_softmax=lambda p, g: p * (g - (p * g).sum(axis=0, keepdims=True))),
    with_step(through_softmax=lambda p, g: p * (g - (p * g).sum(axis=-1))),
    "softmax-over-wrong-axis: Softmax must run over the keys, the last axis of the scores.",
    with_softmax(lambda scores: softmax_or_nan(scores, -2)),
    with_softmax(lambda scores: softmax_or_nan(scores, 0)),
    with_softmax(lambda scores: softmax_or_nan(scores, None)),
    "gradients-reordered: The gradients are reordered: return grad_query, grad_key, grad_value.",
    *(
        afterward(lambda gradients, query, order=order: tuple(gradients[i] for i in order))
        for order in ((1, 0, 2), (2, 1, 0), (0, 2, 1), (1, 2, 0), (2, 0, 1))
    ),
    "weights-not-transposed: weights is not transposed in grad_value: value j gathers from all "
    "queries that weighed it, the column j.",
    with_step(to_value=lambda weights, grad_scores, grad: weights @ grad),
    "grad-scores-not-transposed: grad_scores is not transposed in grad_key: key j gathers from "
    "all queries, the column j.",
    with_step(to_key=lambda grad_scores, query, key: grad_scores @ query),
    "query-key-exchanged: Query and key have changed places: grad_query comes from the keys, "
    "grad_key from the queries.",
    with_step(
        to_query=lambda grad_scores, query, key: grad_scores @ query,
        to_key=lambda grad_scores, query, key: grad_scores.mT @ key,
    ),
    "t-reverses-batch: .T reverses the batch dimensions as well: swap the last two axes only, "
    "np.swapaxes(key, -1, -2).",
    transposed_whole,
    "value-not-transposed: value is not transposed in grad_weights: entry [i, j] is grad_output[i] "
    "· value[j].",
    lambda query, key, value, *others, **mask: backward(query, key, value.mT, *others, **mask),
    "value-from-scores: grad_value comes from grad_scores: the output is weights @ value, so it "
    "takes the weights.",
    with_step(to_value=lambda weights, grad_scores, grad: grad_scores.mT @ grad),
    "sign-reversed: The sign of grad_query and grad_key is reversed: in the step through softmax "
    "it is p (g − Σ p g).",
    with_step(through_softmax=lambda p, g: p * ((p * g).sum(axis=-1, keepdims=True) - g)),
    "divided-by-queries: The gradients are divided by the number of queries: grad_output is all "
    "there is to carry back.",
    afterward(lambda gradients, query: tuple(g / query.shape[-2] for g in gradients)),
    "exp-overflows: exp overflows: use a softmax that subtracts each row's maximum.",
    with_softmax(plain_softmax),
    with_softmax(plain_softmax_or_zeros),
    "mask-ignored: The mask is ignored: the weights are those of the forward pass, 0 where it forbids.",
    with_step(weigh=lambda scores, mask: softmax(scores)),
    "mask-inverted: The mask is inverted: True is where attention is allowed.",
    with_step(weigh=lambda scores, mask: weigh_by_softmax(scores, None if mask is None else ~mask)),
    "mask-added: The mask is added to the scores as 0 and 1: where it is False, the score becomes -inf.",
    with_step(weigh=lambda scores, mask: softmax(scores + (0 if mask is None else mask))),
    "forbidden-scores-zero: Forbidden scores become 0, and exp(0) is 1: make them -inf.",
    with_step(weigh=lambda scores, mask: softmax(filled(scores, mask, 0.0))),
    "masked-after-softmax: The mask is put on the weights: forbidden keys still took their share of the "
    "sum. Mask the scores, as lib.masked_softmax does.",
    with_step(weigh=lambda scores, mask: softmax(scores) * (True if mask is None else mask)),
    "only-gradient-masked: The mask is put on the gradient of the scores alone: the weights themselves "
    "must be the masked ones.",
    lambda *args, mask=True: backward(*args, through_softmax=lambda p, g: softmax_vjp(p, g) * mask),
    "empty-row-nan: A row with nothing allowed gives NaN: its weights are zeros, and so are its "
    "gradients. lib.masked_softmax sees to that.",
    with_softmax(softmax_or_nan),
    "empty-row-for-all: One row with nothing allowed makes all gradients 0: those of the other rows stay, "
    "as with lib.masked_softmax.",
    nothing_where_a_row_is_empty,
    "empty-row-equal-weights: A row with nothing allowed gets equal weights, as a large negative number "
    "makes them: they should be 0, as lib.masked_softmax has them, and so should its gradients.",
    with_step(weigh=lambda scores, mask: softmax(filled(scores, mask, -1e9))),
    with_step(to_value=lambda weights, grad_scores, grad: equal_if_empty(weights).mT @ grad),
    "one-maximum: One maximum is subtracted from all rows, and a row far below it underflows to "
    "0/0: use a softmax that subtracts each row's own.",
    with_softmax(softmax_with_one_maximum),
    "constant-in-sum: A small constant is added to softmax's sum, which is never 0: leave it out.",
    *map(lambda e: with_softmax(lambda scores: softmax_with_epsilon(scores, e)), EPSILONS),
)

EXERCISE = Exercise(
    name="attention_backward",
    points=4,
    minutes=18,
    reference=attention_backward,
    signature="attention_backward(query, key, value, grad_output, mask=None)",
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
    built_on=("softmax_vjp",),
)
