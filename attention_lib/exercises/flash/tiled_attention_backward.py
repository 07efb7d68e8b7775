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
from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.calls.measuring import peak_bytes
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.blocks import (
    FIXED_BLOCKS,
    NUMBER_OF_BLOCKS,
    forms_scores_twice,
    held_and_allowed,
    ignores_block_size,
    keeps_every_block,
    long_inputs,
    takes_block_size_for_a_count,
)
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


def magnitude(query, key, value, output, logsumexp, grad_output, block_size):
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


def plain(query, key, value, output, logsumexp, grad_output, block_size):
    dtype = np.result_type(query, np.float32)
    scale = 1 / math.sqrt(query.shape[-1])
    grad_query = np.zeros(query.shape, dtype)
    grad_key = np.zeros(key.shape, dtype)
    grad_value = np.zeros(value.shape, dtype)
    terms = (grad_output * output).sum(axis=-1, keepdims=True)
    for start in range(0, key.shape[-2], block_size):
        block = slice(start, start + block_size)
        keys = key[..., block, :]
        values = value[..., block, :]
        scores = query @ keys.mT * scale
        weights = np.exp(scores - logsumexp[..., None])
        grad_weights = grad_output @ values.mT
        grad_scores = weights * (grad_weights - terms)
        grad_query = grad_query + scale * grad_scores @ keys
        grad_key[..., block, :] = scale * grad_scores.mT @ query
        grad_value[..., block, :] = weights.mT @ grad_output
    return grad_query, grad_key, grad_value


def scores_formed_twice(query, key, value, output, logsumexp, grad_output, block_size):
    """Form the output again, from weights in a loop of its own."""
    output, scale = 0.0, 1 / math.sqrt(query.shape[-1])
    for start in range(0, key.shape[-2], block_size):
        scores = query @ key[..., start : start + block_size, :].mT * scale
        weights = np.exp(scores - logsumexp[..., None])
        output = output + weights @ value[..., start : start + block_size, :]
    return plain(query, key, value, output, logsumexp, grad_output, block_size)


FIRST_LINE = "grad_output, block_size): => grad_output, block_size):\n    "
ONTO_QUERY, ONTO_KEY = "scale * grad_scores @", "scale * grad_scores.mT"
STEP = "weights * (grad_weights - terms)"
RESULT = "return grad_query, grad_key, grad_value"

MISTAKES = known_mistakes(
    plain,
    f"whole-matrix: {WHOLE_MATRIX}",
    f"{FIRST_LINE}block_size = key.shape[-2]",
    "terms = => kept = []\n    terms ="
    " && grad_weights = => kept.append(weights)\n        grad_weights =",
    f"formed-twice: {FORMED_TWICE}",
    scores_formed_twice,
    f"fixed-blocks: {FIXED_BLOCKS}",
    f"{FIRST_LINE}block_size = {{1|32}}",
    f"number-of-blocks: {NUMBER_OF_BLOCKS}",
    f"{FIRST_LINE}block_size = -(-key.shape[-2] // block_size)",
    "d-missing: D is missing: the gradient of the scores is weights * (grad_weights - D), with D "
    "the sum of grad_output * output in each row.",
    " - terms => ",
    "d-of-one-block: What is subtracted is the sum over only one block: it runs over all keys, "
    "and is the sum of grad_output * output in each row.",
    "- terms => - (weights * grad_weights).sum(axis=-1, keepdims=True)",
    "d-added: D is added: the gradient of the scores is weights * (grad_weights - D).",
    "- terms => + terms",
    "sign-reversed: grad_query and grad_key are negated: it is weights * (grad_weights - D).",
    "grad_weights - terms => terms - grad_weights",
    "d-over-queries: D is summed over queries too: each query has its own, along the last axis.",
    "axis=-1, keepdims=True => ",
    "axis=-1, keepdims => axis=(-2, -1), keepdims",
    "d-averaged: D is a mean: it is the sum of grad_output * output over the last axis.",
    "output).sum => output).mean",
    "brackets-missing: D is multiplied by the weights no longer: it is weights * (grad_weights - "
    "D), brackets included.",
    f"{STEP} => weights * grad_weights - terms",
    "weights-missing: The factor weights is missing: the gradient of the scores is weights * "
    "(grad_weights - D).",
    f"{STEP} => grad_weights - terms",
    "no-softmax-step: The step through softmax is missing: the gradient of the scores is weights "
    "* (grad_weights - D), not that of the weights.",
    f"{STEP} => grad_weights",
    "softmax-per-block: Each block has a softmax of its own here: a weight is exp(score - "
    "logsumexp), with the logsumexp of the whole row.",
    "np.exp(scores - logsumexp[..., None]) => softmax(scores)",
    "logsumexp-not-subtracted: logsumexp is not subtracted: a weight is exp(score - logsumexp).",
    " - logsumexp[..., None] => ",
    "exp-overflows: exp(scores) overflows: subtract logsumexp before the exponential, not after.",
    " - logsumexp[..., None]) => ) / np.exp(logsumexp)[..., None]",
    "divided-by-logsumexp: The scores are divided by logsumexp: subtract it, np.exp(scores - "
    "logsumexp[..., None]).",
    " - logsumexp[..., None]) => ) / logsumexp[..., None]",
    "- logsumexp[ => / logsumexp[",
    "last-block-query: grad_query comes only from the last block: every block adds to it.",
    "= grad_query + => =",
    "scale-missing-backward: grad_query and grad_key lack the factor 1/√d_k: the scores were "
    "scaled on the way forward, so their gradients are on the way back.",
    f"{ONTO_QUERY} => grad_scores @ && {ONTO_KEY} => grad_scores.mT",
    "query-unscaled: grad_query lacks the factor 1/√d_k, and grad_key has it: both carry it.",
    f"{ONTO_QUERY} => grad_scores @",
    "key-unscaled: grad_key lacks the factor 1/√d_k, and grad_query has it: both carry it.",
    f"{ONTO_KEY} => grad_scores.mT",
    "scale-twice: The factor 1/√d_k is taken twice on the way back: once is enough.",
    f"{ONTO_QUERY} => scale**2 * grad_scores @ && {ONTO_KEY} => scale**2 * grad_scores.mT",
    "scale-twice-on-one: grad_query or grad_key carries the factor 1/√d_k twice: a query or key that was "
    "scaled has it already.",
    f"{ONTO_KEY} => scale**2 * grad_scores.mT",
    f"{ONTO_QUERY} => scale**2 * grad_scores @",
    "scale-missing-forward: The scores lack 1/√d_k, so exp(score - logsumexp) is not a weight: "
    "scale them as on the way forward.",
    "1 / math.sqrt(query.shape[-1]) => 1.0",
    "keys.mT * scale => keys.mT",
    "divided-by-d-k: The scores are divided by d_k itself: divide them by √d_k.",
    "math.sqrt => ",
    "root-of-d-v: The scores are divided by √d_v: divide by √d_k, the width of queries and keys.",
    "(query.shape[-1]) => (value.shape[-1])",
    "last-keys-lost: Keys are lost at the end: the last block is short where block_size does not "
    "divide their number.",
    "range(0, key.shape[-2], => range(0, key.shape[-2] // block_size * block_size,",
    "first-values-always: Every block of keys meets the first values: slice value like key.",
    "= value[..., block, :] => = value[..., : keys.shape[-2], :]",
    "value-from-scores: grad_value comes from the gradient of the scores: the output is weights @ "
    "value, so it takes the weights.",
    "weights.mT => grad_scores.mT",
    "gradients-reordered: The gradients are reordered: return grad_query, grad_key, grad_value.",
    f"{RESULT} => return grad_key, grad_query, grad_value",
    f"{RESULT} => return grad_value, grad_key, grad_query",
    f"{RESULT} => return grad_query, grad_value, grad_key",
    f"{RESULT} => return grad_key, grad_value, grad_query",
    f"{RESULT} => return grad_value, grad_query, grad_key",
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
