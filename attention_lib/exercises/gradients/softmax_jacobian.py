"""`softmax_jacobian(weights)` returns the derivative of every weight by every score.

Softmax weights `(..., n)` → `(..., n, n)` with `[i, k] = ∂p_i/∂s_k`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
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


def plain(weights):
    n = weights.shape[-1]
    diagonal = weights[..., :, None] * np.eye(n, dtype=weights.dtype)
    products = weights[..., :, None] * weights[..., None, :]
    return diagonal - products


PRODUCTS = "weights[..., :, None] * weights[..., None, :]"

MISTAKES = known_mistakes(
    plain,
    "only-diagonal: Only the diagonal is filled: raising a score lowers other weights, by p_i p_k.",
    "diagonal - products => diagonal * (1 - diagonal)",
    "diagonal-as-vector: These are the derivatives of each weight by its own score only, p (1 − "
    "p): the answer has one for every pair, shape (..., n, n).",
    "diagonal - products => weights * (1 - weights)",
    "sign-reversed: The sign is reversed: a score raises its own weight, and lowers the others.",
    "diagonal - products => products - diagonal",
    "off-diagonal-sign: Off the diagonal the sign is wrong: raising a score lowers other weights.",
    "- products => + products",
    "diagonal - products => products + diagonal * (1 - 2 * diagonal)",
    "diagonal-not-added: These are −p_i p_k everywhere: on the diagonal, where δ_ik is 1, add p_i.",
    "return diagonal => return ",
    "diagonal-replaced: On the diagonal p_i takes the place of −p_i p_i: add it, for p_i (1 − p_i).",
    "return diagonal => return diagonal * (1 + diagonal)",
    "delta-missing: These are p_i p_k: the formula is p_i (δ_ik − p_k).",
    "diagonal - products => products",
    "weight-missing: This is δ_ik − p_k (or δ_ik − p_i): it lacks the other weight as a factor.",
    f"weights[..., :, None] * np.eye => np.eye && {PRODUCTS} => weights[..., {{None, :|:, None}}]",
    "delta-without-weight: This is δ_ik − p_i p_k: the δ_ik is multiplied by p_i as well.",
    "weights[..., :, None] * np.eye => np.eye",
    "product-missing: These are the weights on a diagonal: p_i p_k is still to be subtracted.",
    " - products => ",
    "one-for-delta: This is p_i (1 − p_k): off the diagonal δ_ik is 0, and 1 is in its place.",
    "return diagonal => return weights[..., {:, None|None, :}]",
    "squared-weight: A square is in place of a product of two weights: subtract p_i p_k, one "
    "weight along each axis.",
    f"{PRODUCTS} => weights[..., {{None, :|:, None}}] ** 2",
    "no-batch-dimensions: np.diag and np.outer know no batch dimensions: use weights[..., :, "
    "None] and weights[..., None, :].",
    "return diagonal - products => "
    "return {np.diag(weights)|np.diagflat(weights)|np.eye(n) * weights} - np.outer(weights, weights)",
    "diagonal-of-one-matrix: np.fill_diagonal fills only one matrix: with batch dimensions, the "
    "diagonals are weights[..., None] * np.eye(n).",
    "return diagonal - products => jacobian = -products\n"
    "    np.fill_diagonal(jacobian, weights * (1 - weights))\n    return jacobian",
    "rows-behind: The matrices are numbered along the last axis, and a reshape to (..., n, n) mixes them "
    "up: put the axis that numbers them first.",
    "return diagonal - products => matrices = diagonal - products\n"
    "    return np.moveaxis(matrices.reshape(-1, n, n), 0, -1).reshape(matrices.shape)",
    "softmax-of-weights: Softmax is applied to the weights: they are weights already.",
    "(weights): => (weights):\n    weights = softmax(weights)",
)

EXERCISE = Exercise(
    name="softmax_jacobian",
    points=2,
    minutes=7,
    reference=softmax_jacobian,
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
