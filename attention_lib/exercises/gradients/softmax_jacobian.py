"""`softmax_jacobian(weights)` returns the derivative of every weight by every score.

Softmax weights `(..., n)` → `(..., n, n)` with `[i, k] = ∂p_i/∂s_k`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
from attention_lib.lessons.gradients import softmax_jacobian
from attention_lib.lessons.softmax import softmax

HINTS = (
    "Write the formula as p_i δ_ik − p_i p_k. The first part is a matrix with the weights on its "
    "diagonal, the second a table of the products of all pairs.",
    "weights[..., :, None] has shape (..., n, 1) and carries p_i; weights[..., None, :] has "
    "shape (..., 1, n) and carries p_k. Their product has shape (..., n, n): it is the second part.",
    "The first part is weights[..., :, None] * np.eye(n, dtype=weights.dtype), with n = "
    "weights.shape[-1]. Without dtype, np.eye makes float64. np.diag and np.outer know no batch.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([0.5, 0.25, 0.25]))
    yield Case(np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125]]))
    yield Case(softmax(rng.normal(size=(1, 5))))
    yield Case(softmax(rng.normal(size=(3, 3))))  # square: here a lost axis gives numbers
    yield Case(softmax(rng.normal(size=(2, 3, 5))))
    yield Case(softmax(rng.normal(size=(2, 1, 3, 6))))
    yield Case(softmax(rng.normal(size=(3, 7))).astype(np.float32))
    yield Case(np.array([0.0, 1.0, 0.0]))  # nothing left to learn
    yield Case(softmax(rng.normal(0.0, 12.0, (2, 6))))
    yield Case(np.array([[1.0], [1.0]]))


def magnitude(weights: NDArray) -> NDArray:
    identity = np.eye(weights.shape[-1])
    return weights[..., :, None] * (identity + weights[..., None, :])


def diagonal(rows: NDArray) -> NDArray:
    """Put each row on the diagonal of a matrix: (..., n) becomes (..., n, n)."""
    return rows[..., None] * np.eye(rows.shape[-1], dtype=rows.dtype)


def outer(weights: NDArray) -> NDArray:
    return weights[..., :, None] * weights[..., None, :]


def filled_diagonal(weights: NDArray) -> NDArray:
    jacobian = -outer(weights)
    np.fill_diagonal(jacobian, weights * (1 - weights))
    return jacobian


def numbered_last(weights: NDArray) -> NDArray:
    *_, n = weights.shape
    matrices = diagonal(weights) - outer(weights)
    return np.moveaxis(matrices.reshape(-1, n, n), 0, -1).reshape(matrices.shape)


@composable
def jacobian(
    delta: Answer = diagonal, product: Answer = outer, weigh: Answer = lambda weights: weights
) -> Answer:
    """Subtract p_i p_k from p_i on the diagonal, with a step replaced by a wrong one."""
    return lambda weights: delta(weigh(weights)) - product(weigh(weights))


def identity(weights: NDArray) -> NDArray:
    return np.eye(weights.shape[-1], dtype=weights.dtype)


MISTAKES = known_mistakes(
    "only-diagonal: Only the diagonal is filled: raising a score lowers other weights, by p_i p_k.",
    lambda weights: diagonal(weights * (1 - weights)),
    "diagonal-as-vector: These are the derivatives of each weight by its own score alone, p (1 − "
    "p): the answer has one for every pair, shape (..., n, n).",
    lambda weights: weights * (1 - weights),
    "sign-reversed: The sign is reversed: a score raises its own weight, and lowers the others.",
    lambda weights: outer(weights) - diagonal(weights),
    "off-diagonal-sign: Off the diagonal the sign is wrong: raising a score lowers other weights.",
    jacobian(product=lambda weights: -outer(weights)),
    lambda weights: outer(weights) + diagonal(weights - 2 * weights**2),
    "diagonal-not-added: These are −p_i p_k everywhere: on the diagonal, where δ_ik is 1, add p_i.",
    jacobian(delta=lambda weights: 0),
    "diagonal-replaced: On the diagonal p_i takes the place of −p_i p_i: add it, for p_i (1 − p_i).",
    jacobian(delta=lambda weights: diagonal(weights + weights**2)),
    "delta-missing: These are p_i p_k: the formula is p_i (δ_ik − p_k).",
    outer,
    "weight-missing: This is δ_ik − p_k (or δ_ik − p_i): it lacks the other weight as a factor.",
    jacobian(identity, lambda weights: weights[..., None, :]),
    jacobian(identity, lambda weights: weights[..., :, None]),
    "delta-without-weight: This is δ_ik − p_i p_k: the δ_ik is multiplied by p_i as well.",
    jacobian(delta=identity),
    "product-missing: These are the weights on a diagonal: p_i p_k is still to be subtracted.",
    jacobian(product=lambda weights: 0),
    "one-for-delta: This is p_i (1 − p_k): off the diagonal δ_ik is 0, and 1 stands in its place.",
    lambda weights: weights[..., :, None] * (1 - weights[..., None, :]),
    lambda weights: weights[..., None, :] * (1 - weights[..., :, None]),
    "squared-weight: A square stands in place of a product of two weights: subtract p_i p_k, one "
    "weight along each axis.",
    jacobian(product=lambda weights: weights[..., None, :] ** 2),
    jacobian(product=lambda weights: weights[..., :, None] ** 2),
    "no-batch-dimensions: np.diag and np.outer know no batch dimensions: use weights[..., :, "
    "None] and weights[..., None, :].",
    lambda weights: np.diag(weights) - np.outer(weights, weights),
    lambda weights: np.diagflat(weights) - np.outer(weights, weights),
    lambda weights: np.eye(weights.shape[-1]) * weights - np.outer(weights, weights),
    "diagonal-of-one-matrix: np.fill_diagonal fills one matrix alone: with batch dimensions, the "
    "diagonals are weights[..., None] * np.eye(n).",
    filled_diagonal,
    "rows-behind: The matrices are numbered along the last axis, and a reshape to (..., n, n) mixes them "
    "up: put the axis that numbers them first.",
    numbered_last,
    "softmax-of-weights: Softmax is applied to the weights: they are weights already.",
    jacobian(weigh=softmax),
)

EXERCISE = Exercise(
    name="softmax_jacobian",
    points=2,
    minutes=8,
    reference=softmax_jacobian,
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
