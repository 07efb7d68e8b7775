"""`softmax_vjp(weights, grad_weights)` returns the gradient with respect to the scores.

Softmax weights and the gradient with respect to them, both `(..., n)` → `(..., n)`, in O(n) time and memory
per row.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.calls.measuring import growth_of_work, peak_bytes
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.cases import about, in_float32
from attention_lib.exercises.parts.magnitudes import vjp_magnitude
from attention_lib.lessons.gradients import softmax_vjp
from attention_lib.lessons.softmax import softmax

HINTS = (
    "Entry k of the product is the sum over i of g_i p_i (δ_ik − p_k). Only one term has "
    "δ_ik = 1: take it out of the sum.",
    "What is left in the sum is Σ p_i g_i, one number for a row: "
    "np.sum(weights * grad_weights, axis=-1, keepdims=True).",
    "The whole is p_k (g_k − Σ p_i g_i): each weight times how far its gradient stands above "
    "the weighted mean.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([0.5, 0.25, 0.25]), np.array([1.0, 0.0, 3.0]))
    yield Case(
        np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125]]),
        np.array([[1.0, 0.0, 0.0], [2.0, -4.0, 6.0]]),
    )
    # Square: here a lost axis gives numbers.
    yield Case(softmax(rng.normal(size=(3, 3))), rng.normal(size=(3, 3)))
    yield Case(softmax(rng.normal(size=(2, 5))), rng.normal(size=(2, 5)))
    yield Case(softmax(rng.normal(size=(2, 5))), rng.normal(size=(2, 5)))
    yield Case(softmax(rng.normal(size=(2, 3, 5))), rng.normal(size=(2, 3, 5)))
    yield Case(softmax(rng.normal(size=(2, 1, 3, 6))), rng.normal(size=(2, 1, 3, 6)))
    yield Case(*in_float32((softmax(rng.normal(size=(3, 7))), rng.normal(size=(3, 7)))))
    yield Case(softmax(rng.normal(size=(2, 6))), 5.0 + rng.normal(size=(2, 6)))
    yield Case(softmax(rng.normal(0.0, 12.0, (3, 5))), rng.normal(size=(3, 5)))


LONG_ROW = 256
TIMES = 4  # as long, to see how the work grows

BYTES_ALLOWED = 64 * 8  # an entry: lists of Python floats fit

NO_MATRIX = (
    "Multiply the product out on paper: p_k (g_k − Σ p_i g_i) needs no matrix, one pass over "
    "the row will do."
)

NO_ROW_BY_ROW = (
    "A row of the Jacobian for every score is n × n numbers all the same: compute the sum "
    "Σ p_i g_i once and use it for every score."
)


def long_rows(rng: Generator, rows: int, length: int) -> tuple[NDArray, NDArray]:
    """Draw weights, of which a row sums to 1, and gradients."""
    first = rng.uniform(0.0, 99.0)
    grad_weights = np.sin(first + np.arange(rows * length)).reshape(rows, length)
    weights = grad_weights[:, ::-1] ** 2
    return weights / weights.sum(axis=-1, keepdims=True), grad_weights


def holds_a_matrix(answer: Answer, rng: Generator) -> str | None:
    length = about(rng, LONG_ROW)
    held, allowed = peak_bytes(answer, *long_rows(rng, 2, length)), 2 * length * BYTES_ALLOWED
    if held <= allowed:
        return None
    return (
        f"softmax_vjp builds an n × n matrix: for 2 rows of "
        f"{length} weights it held {held:,} bytes at once, and {allowed:,} are "
        f"allowed. {NO_MATRIX}"
    )


def does_quadratic_work(answer: Answer, rng: Generator) -> str | None:
    shorter = about(rng, LONG_ROW)
    growth = growth_of_work(
        answer, lambda length: long_rows(rng, 1, length), (shorter, TIMES * shorter)
    )
    if growth <= 1.5 * TIMES:
        return None
    return (
        f"softmax_vjp does too much work: a row of {TIMES * shorter} weights takes {growth:.0f} times "
        f"the steps of one of {shorter}, and {TIMES} times would be in proportion. {NO_ROW_BY_ROW}"
    )


def row_by_row(weights: NDArray, grad_weights: NDArray) -> NDArray:
    result = np.empty_like(weights)
    for index in np.ndindex(weights.shape[:-1]):
        row = weights[index]
        for k in range(len(row)):
            column = -row * row[k]
            column[k] += row[k]
            result[(*index, k)] = np.sum(column * grad_weights[index])
    return result


def plain(weights, grad_weights):
    mean = np.sum(weights * grad_weights, axis=-1, keepdims=True)
    return weights * (grad_weights - mean)


MEAN = "np.sum(weights * grad_weights, axis=-1, keepdims=True)"
RESULT = "weights * (grad_weights - mean)"
MATRIX = "(weights[..., :, None] * (np.eye(weights.shape[-1]) - weights[..., None, :]))"
OUTER = "weights[..., :, None] * weights[..., None, :]"

MISTAKES = known_mistakes(
    plain,
    f"whole-matrix: {NO_MATRIX}",
    f'{RESULT} => np.einsum("...ki,...i->...k", {MATRIX}, grad_weights)',
    f"{RESULT} => ({MATRIX} @ grad_weights[..., None])[..., 0]",
    f"{RESULT} => weights * grad_weights - ({OUTER} @ grad_weights[..., None])[..., 0]",
    f"{RESULT} => weights * ((grad_weights[..., :, None] - grad_weights[..., None, :])"
    " * weights[..., None, :]).sum(axis=-1)",
    f"row-by-row: {NO_ROW_BY_ROW}",
    row_by_row,
    "mean-not-subtracted: This is p_k g_k: first subtract the weighted mean Σ p_i g_i from g_k.",
    " - mean => ",
    "plain-mean: The plain mean of the gradients is subtracted: take the weighted one, Σ p_i g_i.",
    "np.sum(weights * => np.mean(",
    "divided-again: The weighted mean is divided by n once more: Σ p_i g_i is a mean already, as the weights "
    "sum to 1.",
    "np.sum => np.mean",
    "plain-sum: The sum of the gradients is subtracted: each must be weighted, Σ p_i g_i.",
    "(weights * grad_weights => (grad_weights",
    "weight-missing: This is g_k − Σ p_i g_i: it lacks the factor p_k.",
    "return weights *  => return ",
    "sum-without-weight: This is p_k g_k − Σ p_i g_i: the sum must be multiplied by p_k as well.",
    "(grad_weights - mean) => grad_weights - mean",
    "only-diagonal: This is p_k (1 − p_k) g_k, the diagonal of the Jacobian only: a score moves "
    "the other weights too. It is p_k (g_k − Σ p_i g_i).",
    "(grad_weights - mean) => (1 - weights) * grad_weights",
    "sum-over-everything: The sum runs over the whole array: every row has its own, axis=-1.",
    ", axis=-1, keepdims=True => ",
    f"{MEAN} => np.average(grad_weights, weights=weights)",
    "keepdims-missing: The sums lost their axis and do not line up with rows: use keepdims=True.",
    ", keepdims=True => ",
    "axis-0: The sum runs along axis 0: each row has its own, axis=-1.",
    "axis=-1, keepdims=True => axis=0",
    "np-dot: np.dot multiplies matrices here: Σ p_i g_i is one number for each row, "
    "np.sum(weights * grad_weights, axis=-1, keepdims=True).",
    f"{MEAN} => np.dot(weights, {{grad_weights|grad_weights.T}})",
    "sign-reversed: The sign is reversed: it is g_k minus the weighted mean.",
    "grad_weights - mean => mean - grad_weights",
    "mean-added: The weighted mean is added: it is subtracted.",
    "- mean => + mean",
    "arguments-exchanged: Weights and gradients are exchanged: it is p_k (g_k − Σ p_i g_i).",
    f"{RESULT} => grad_weights * (weights - mean)",
    "weights-squared: The squares of the weights are in the sum: it is Σ p_i g_i.",
    "(weights * => (weights**2 *",
    "largest-subtracted: The largest gradient is subtracted: subtract the weighted mean.",
    "np.sum(weights * => np.max(",
    "softmax-of-weights: Softmax is applied to the weights: they are weights already.",
    "grad_weights): => grad_weights):\n    weights = softmax(weights)",
    measured=(
        "whole-matrix",
        "row-by-row",
    ),
)

EXERCISE = Exercise(
    name="softmax_vjp",
    points=3,
    minutes=8,
    reference=softmax_vjp,
    cases=cases,
    magnitude=vjp_magnitude,
    probes=(holds_a_matrix, does_quadratic_work),
    hints=HINTS,
    mistakes=MISTAKES,
)
