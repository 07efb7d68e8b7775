"""`tiled_attention_backward(query, key, value, output, logsumexp, grad_output, block_size)` returns gradients.

→ `(grad_query, grad_key, grad_value)` of unmasked attention scaled by 1/√d_k. Query `(..., L, d_k)`, key
`(..., S, d_k)`, value `(..., S, d_v)`, output and grad_output `(..., L, d_v)`, and the log-sum-exp of each
query's scores, `(..., L)`, from which the weights are formed again, keys `block_size` at a time, each
weight once. No more than `L × block_size` of them are held, and beside them a few arrays of the inputs'
size: the check measures the memory and counts how often a score is formed. Not by lesson 04's
`attention_backward`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.calls.measuring import peak_bytes
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
from attention_lib.exercises.parts.blocks import (
    FIXED_BLOCKS,
    NUMBER_OF_BLOCKS,
    block_slices,
    forms_scores_twice,
    held_and_allowed,
    ignores_block_size,
    keeps_every_block,
    long_inputs,
    takes_block_size_for_a_count,
)
from attention_lib.exercises.parts.by_name import by_name
from attention_lib.exercises.parts.cases import about
from attention_lib.exercises.parts.magnitudes import vjp_magnitude
from attention_lib.lessons.attention import attention
from attention_lib.lessons.flash import tiled_attention_backward
from attention_lib.lessons.gradients import attention_backward
from attention_lib.lessons.scaling import scaled_scores
from attention_lib.lessons.softmax import softmax
from attention_lib.lessons.stability import logsumexp

Gradients = tuple[NDArray, NDArray, NDArray]

HINTS = (
    "Before the loop: D is (grad_output * output).sum(axis=-1, keepdims=True), shape (..., L, 1). "
    "Make three arrays of zeros for the gradients, such as np.zeros(query.shape, dtype) with "
    "dtype = np.result_type(query, np.float32), which is float64 for integers.",
    "In each step: the scores of the block as in tiled_attention, and the weights "
    "np.exp(scores - logsumexp[..., None]). No maximum, no total, no correction.",
    "Then the chain of lesson 04, for one block: grad_value of the block is "
    "np.swapaxes(weights, -1, -2) @ grad_output, and the gradient of the weights is grad_output @ "
    "np.swapaxes(values, -1, -2), with the block's values.",
    "grad_scores = weights * (gradient of the weights - D). Times the block's keys it is added to "
    "grad_query; np.swapaxes(grad_scores, -1, -2) @ query is grad_key of the block. Both carry "
    "1/√d_k, as math.sqrt gives it: np.sqrt makes float64 of float32.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield saved(
        np.array([[2.0, 0.0]]),
        np.array([[0.0, 1.0], [0.5, 3.0], [1.0, 0.0]]),
        np.array([[2.0], [6.0], [4.0]]),
        np.array([[1.0]]),
        2,
    )
    yield drawn(rng, (), 2, 6, 5, 3, 3)
    yield drawn(rng, (), 2, 7, 3, 6, 3)  # the last block is short
    yield drawn(rng, (3,), 3, 3, 3, 3, 2)  # square: here a lost transpose gives numbers
    yield drawn(rng, (), 5, 2, 6, 3, 1)
    yield drawn(rng, (), 5, 4, 6, 3, 9)  # one block, larger than all keys
    yield drawn(rng, (2,), 3, 5, 7, 6, 2)
    yield drawn(rng, (2, 3), 5, 7, 2, 1, 3)
    yield drawn(rng, (3,), 2, 1, 5, 2, 1)  # one key: its weight is 1, whatever the query
    wide = drawn(rng, (2,), 3, 7, 5, 2, 3)
    yield Case(*(array.astype(np.float32) for array in wide.args[:-1]), block_size=3)
    yield saved(
        np.array([[1, 0, 2], [0, -1, 1]]),
        np.array([[1, 1, 0], [0, 2, 1], [2, 0, -1], [1, 0, 0], [0, 1, 1]]),
        np.array([[3, 0], [1, 2], [0, -1], [2, 2], [1, 1]]),
        np.array([[1, -1], [2, 1]]),
        2,
    )
    # Weights from 1 down to 1e-15: a key's gradients are as small as its weight.
    key = np.array([[0.0], [-12.0], [9.0], [3.0], [-20.0]])
    others = rng.normal(size=(5, 3)), rng.normal(size=(2, 3))
    yield saved(np.array([[1.2], [-0.7]]), key, *others, 2)
    query, key, value, _, _, grad_output, block_size = drawn(rng, (), 3, 5, 2, 6, 2).args
    far = np.array([3000.0, 0.0])  # lifts every score of a row alike, far beyond what exp can take,
    query[:, 0] = 0.5, -1.5, 3.0  # and each row to a height of its own
    yield saved(query, key + far, value, grad_output, block_size)


def saved(
    query: NDArray, key: NDArray, value: NDArray, grad_output: NDArray, block_size: int
) -> Case:
    """Make a case with the output and log-sum-exp that the forward pass saves."""
    output, lse = attention(query, key, value)[0], logsumexp(scaled_scores(query, key))
    return Case(query, key, value, output, lse, grad_output, block_size)


def drawn(
    rng: Generator,
    leading: tuple[int, ...],
    queries: int,
    keys: int,
    d_k: int,
    d_v: int,
    block_size: int,
) -> Case:
    shapes = ((queries, d_k), (keys, d_k), (keys, d_v), (queries, d_v))
    return saved(*(rng.normal(size=(*leading, *shape)) for shape in shapes), block_size)


@by_name(tiled_attention_backward)
def magnitude(query, key, value, logsumexp, grad_output):
    """Follow the sizes of the numbers, before any of them cancel, back to each argument."""
    scale = 1 / math.sqrt(query.shape[-1])
    products = np.abs(query) @ np.abs(key).mT * scale
    # A weight is as uncertain as its score and the log-sum-exp that is subtracted from it.
    reach = np.maximum(products.max(axis=-1, keepdims=True), np.abs(logsumexp)[..., None])
    weights = softmax(scaled_scores(query, key)) * (2 + 3 * reach)
    grad_scores = vjp_magnitude(weights, np.abs(grad_output) @ np.abs(value).mT)
    return (
        scale * grad_scores @ np.abs(key),
        scale * grad_scores.mT @ np.abs(query),
        weights.mT @ np.abs(grad_output),
    )


LENGTH, KEYS, BLOCK = 64, 640, 32
BYTES_ALLOWED = 26 * 8  # a weight of a block: temporaries, copies of the inputs
WHOLE_MATRIX = (
    "Form the weights of one block of keys, carry the gradient through them, and only then go on "
    "to the next block."
)
FORMED_TWICE = (
    "Form the scores and weights of each block once: what softmax's gradient subtracts in a row is "
    "the sum of grad_output * output, known before the loop."
)


def with_saved(query: NDArray, key: NDArray, value: NDArray) -> tuple[NDArray, ...]:
    """Return all arguments but block_size; a score of -inf has the weight 0."""
    with np.errstate(over="ignore"):
        scores = query @ key.mT / math.sqrt(query.shape[-1])
    lse = logsumexp(scores)
    output = np.exp(scores - lse[:, None]) @ value
    return query, key, value, output, lse, np.cos(np.arange(output.size)).reshape(output.shape)


def holds_the_matrix(answer: Answer, rng: Generator) -> str | None:
    length, keys = about(rng, LENGTH), about(rng, KEYS)
    held = peak_bytes(answer, *with_saved(*long_inputs(rng, length, keys)), BLOCK)
    allowed = BYTES_ALLOWED * length * BLOCK
    if held <= allowed:
        return None
    return (
        "tiled_attention_backward holds more than one block of "
        f"weights: for L = {length}, S = {keys:,} and block_size = {BLOCK} "
        f"{held_and_allowed(held, allowed)} {WHOLE_MATRIX}"
    )


# The loop from parts. Each default is right; a wrong answer exchanges one or two.


def root_scale(query: NDArray, value: NDArray) -> float:
    return 1 / math.sqrt(query.shape[-1])


def sum_of_products(output: NDArray, grad_output: NDArray) -> NDArray:
    return (grad_output * output).sum(axis=-1, keepdims=True)


@composable
def backward(
    *,
    scale: Callable[[NDArray, NDArray], float] = root_scale,
    scale_back: Callable[[float], tuple[float, float]] = lambda scale: (scale, scale),
    blocks: Callable[[int, int], list[slice]] = block_slices,
    value_block: Callable[[slice], slice] = lambda block: block,
    row_terms: Callable[[NDArray, NDArray], Any] = sum_of_products,
    weigh: Callable[[NDArray, NDArray], NDArray] = lambda scores, lse: np.exp(
        scores - lse[..., None]
    ),
    back: Callable[..., NDArray] = lambda weights, grad, terms: weights * (grad - terms),
    add: Callable[[Any, NDArray], NDArray] = np.add,
    value_weights: Callable[[NDArray, NDArray], NDArray] = lambda weights, grad_scores: weights,
    keeps_all: bool = False,
) -> Answer:
    """Make an answer to `tiled_attention_backward` from its parts."""

    @by_name(tiled_attention_backward)
    def answer(query, key, value, output, logsumexp, grad_output, block_size):
        dtype = np.result_type(query, np.float32)
        grads = [np.zeros(array.shape, dtype) for array in (query, key, value)]
        factor = scale(query, value)
        to_query, to_key = scale_back(factor)
        terms = row_terms(output, grad_output)
        kept: list[NDArray] = []
        for block in blocks(key.shape[-2], block_size):
            keys, values = key[..., block, :], value[..., value_block(block), :]
            weights = weigh((query @ keys.mT * factor).astype(dtype), logsumexp)
            grad_scores = back(weights, grad_output @ values.mT, terms)
            grads[0] = add(grads[0], to_query * grad_scores @ keys)
            grads[1][..., block, :] = to_key * grad_scores.mT @ query
            grads[2][..., block, :] = value_weights(weights, grad_scores).mT @ grad_output
            if keeps_all:
                kept.append(weights)
        return grads[0], grads[1], grads[2]

    return answer


@by_name(tiled_attention_backward)
def whole_matrix(query, key, value, output, logsumexp, grad_output):
    everything = max(key.shape[-2], 1)
    return backward()(query, key, value, output, logsumexp, grad_output, everything)


@by_name(tiled_attention_backward)
def scores_formed_twice(query, key, value, output, logsumexp, grad_output, block_size):
    """Sum what softmax's gradient subtracts in a loop of its own, from the weights."""
    dtype, terms = np.result_type(query, np.float32), 0.0
    for block in block_slices(key.shape[-2], block_size):
        scores = query @ key[..., block, :].mT / math.sqrt(query.shape[-1])
        weights = np.exp(scores.astype(dtype) - logsumexp[..., None])
        grad_weights = grad_output @ value[..., block, :].mT
        terms = terms + (weights * grad_weights).sum(axis=-1, keepdims=True)
    return backward(row_terms=lambda *_: terms)(
        query, key, value, output, logsumexp, grad_output, block_size
    )


def unscaled_scores_alone(query: NDArray, *others: Any, **named: Any) -> Gradients:
    root = math.sqrt(query.shape[-1])
    make = backward(scale=lambda query, value: 1.0, scale_back=lambda scale: (1 / root, 1 / root))
    return make(query, *others, **named)


def returned(change: Callable[[Gradients], Any]) -> Answer:
    return lambda *arguments, **named: change(tiled_attention_backward(*arguments, **named))


MISTAKES = known_mistakes(
    f"whole-matrix: {WHOLE_MATRIX}",
    whole_matrix,
    backward(keeps_all=True),
    f"formed-twice: {FORMED_TWICE}",
    scores_formed_twice,
    f"fixed-blocks: {FIXED_BLOCKS}",
    backward(blocks=lambda keys, size: block_slices(keys, 1)),
    backward(blocks=lambda keys, size: block_slices(keys, 32)),
    f"number-of-blocks: {NUMBER_OF_BLOCKS}",
    backward(blocks=lambda keys, count: block_slices(keys, -(-keys // count))),
    "d-missing: D is missing: the gradient of the scores is weights * (grad_weights - D), with D "
    "the sum of grad_output * output in each row.",
    backward(row_terms=lambda output, grad: 0.0),
    "d-of-one-block: What is subtracted is the sum over one block alone: it runs over all keys, "
    "and is the sum of grad_output * output in each row.",
    backward(
        back=lambda weights, grad_weights, terms: (
            weights * (grad_weights - (weights * grad_weights).sum(axis=-1, keepdims=True))
        )
    ),
    "d-added: D is added: the gradient of the scores is weights * (grad_weights - D).",
    backward(back=lambda weights, grad_weights, terms: weights * (grad_weights + terms)),
    "sign-reversed: grad_query and grad_key are negated: it is weights * (grad_weights - D).",
    backward(back=lambda weights, grad_weights, terms: weights * (terms - grad_weights)),
    "d-over-queries: D is summed over queries too: each query has its own, along the last axis.",
    backward(row_terms=lambda output, grad: (grad * output).sum()),
    backward(row_terms=lambda output, grad: (grad * output).sum(axis=(-2, -1), keepdims=True)),
    "d-averaged: D is a mean: it is the sum of grad_output * output over the last axis.",
    backward(row_terms=lambda output, grad: (grad * output).mean(axis=-1, keepdims=True)),
    "brackets-missing: D is multiplied by the weights no longer: it is weights * (grad_weights - "
    "D), brackets included.",
    backward(back=lambda weights, grad_weights, terms: weights * grad_weights - terms),
    "weights-missing: The factor weights is missing: the gradient of the scores is weights * "
    "(grad_weights - D).",
    backward(back=lambda weights, grad_weights, terms: grad_weights - terms),
    "no-softmax-step: The step through softmax is missing: the gradient of the scores is weights "
    "* (grad_weights - D), not that of the weights.",
    backward(back=lambda weights, grad_weights, terms: grad_weights),
    "softmax-per-block: Each block has a softmax of its own here: a weight is exp(score - "
    "logsumexp), with the logsumexp of the whole row.",
    backward(weigh=lambda scores, lse: softmax(scores)),
    "logsumexp-not-subtracted: logsumexp is not subtracted: a weight is exp(score - logsumexp).",
    backward(weigh=lambda scores, lse: np.exp(scores)),
    "exp-overflows: exp(scores) overflows: subtract logsumexp before the exponential, not after.",
    backward(weigh=lambda scores, lse: np.exp(scores) / np.exp(lse)[..., None]),
    "divided-by-logsumexp: The scores are divided by logsumexp: subtract it, np.exp(scores - "
    "logsumexp[..., None]).",
    backward(weigh=lambda scores, lse: np.exp(scores) / lse[..., None]),
    backward(weigh=lambda scores, lse: np.exp(scores / lse[..., None])),
    "last-block-query: grad_query comes from the last block alone: every block adds to it.",
    backward(add=lambda old, new: new),
    "scale-missing-backward: grad_query and grad_key lack the factor 1/√d_k: the scores were "
    "scaled on the way forward, so their gradients are on the way back.",
    backward(scale_back=lambda scale: (1.0, 1.0)),
    "query-unscaled: grad_query lacks the factor 1/√d_k, and grad_key has it: both carry it.",
    backward(scale_back=lambda scale: (1.0, scale)),
    "key-unscaled: grad_key lacks the factor 1/√d_k, and grad_query has it: both carry it.",
    backward(scale_back=lambda scale: (scale, 1.0)),
    "scale-twice: The factor 1/√d_k is taken twice on the way back: once is enough.",
    backward(scale_back=lambda scale: (scale**2, scale**2)),
    "scale-twice-on-one: grad_query or grad_key carries the factor 1/√d_k twice: a query or key that was "
    "scaled has it already.",
    backward(scale_back=lambda scale: (scale, scale**2)),
    backward(scale_back=lambda scale: (scale**2, scale)),
    "scale-missing-forward: The scores lack 1/√d_k, so exp(score - logsumexp) is not a weight: "
    "scale them as on the way forward.",
    backward(scale=lambda query, value: 1.0, scale_back=lambda scale: (1.0, 1.0)),
    unscaled_scores_alone,
    "divided-by-d-k: The scores are divided by d_k itself: divide them by √d_k.",
    backward(scale=lambda query, value: 1 / query.shape[-1]),
    "root-of-d-v: The scores are divided by √d_v: divide by √d_k, the width of queries and keys.",
    backward(scale=lambda query, value: 1 / math.sqrt(value.shape[-1])),
    "last-keys-lost: Keys are lost at the end: the last block is short where block_size does not "
    "divide their number.",
    backward(blocks=lambda keys, size: block_slices(keys, size)[: keys // size]),
    "first-values-always: Every block of keys meets the first values: slice value like key.",
    backward(value_block=lambda block: slice(0, block.stop - block.start)),
    "value-from-scores: grad_value comes from the gradient of the scores: the output is weights @ "
    "value, so it takes the weights.",
    backward(value_weights=lambda weights, grad_scores: grad_scores),
    "gradients-reordered: The gradients are reordered: return grad_query, grad_key, grad_value.",
    *(
        returned(lambda grads, order=order: tuple(grads[i] for i in order))
        for order in ((1, 0, 2), (2, 1, 0), (0, 2, 1), (1, 2, 0), (2, 0, 1))
    ),
    measured=(
        "whole-matrix",
        "formed-twice",
        "fixed-blocks",
        "number-of-blocks",
    ),
)

EXERCISE = Exercise(
    name="tiled_attention_backward",
    points=4,
    minutes=16,
    reference=tiled_attention_backward,
    signature=(
        "tiled_attention_backward(query, key, value, output, logsumexp, grad_output, block_size)"
    ),
    cases=cases,
    magnitude=magnitude,
    probes=(
        holds_the_matrix,
        ignores_block_size("tiled_attention_backward", 30, 100, with_saved),
        takes_block_size_for_a_count("tiled_attention_backward", 3, 60, with_saved),
        # The bytes of several copies of a key, its value and their gradients.
        keeps_every_block("tiled_attention_backward", 3, 1100, WHOLE_MATRIX, with_saved),
        forms_scores_twice("tiled_attention_backward", FORMED_TWICE, with_saved),
    ),
    hints=HINTS,
    mistakes=MISTAKES,
    not_by={
        attention_backward: "which holds the whole L × S matrix: carry the gradient block by block"
    },
)
