"""The exercises of lesson 04: what learning sees."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.calls.measuring import MIB, grows_faster_than_its_input, peak_bytes
from attention_lib.checks.exercise import Exercise, Mistake
from attention_lib.lessons.gradients import (
    attention_backward,
    cross_entropy_grad,
    numerical_gradient,
    softmax_jacobian,
    softmax_vjp,
)
from attention_lib.lessons.scaling import scaled_scores
from attention_lib.lessons.softmax import softmax

# softmax_jacobian


def _jacobian_cases(rng: Generator) -> Iterator[Case]:
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


def _jacobian_size(weights: NDArray) -> NDArray:
    identity = np.eye(weights.shape[-1])
    return weights[..., :, None] * (identity + weights[..., None, :])


def _diagonal(rows: NDArray) -> NDArray:
    """Put each row on the diagonal of a matrix: (..., n) becomes (..., n, n)."""
    return rows[..., None] * np.eye(rows.shape[-1], dtype=rows.dtype)


def _outer(weights: NDArray) -> NDArray:
    return weights[..., :, None] * weights[..., None, :]


SOFTMAX_JACOBIAN = Exercise(
    name="softmax_jacobian",
    points=2,
    minutes=8,
    reference=softmax_jacobian,
    cases=_jacobian_cases,
    magnitude=_jacobian_size,
    hints=(
        "Write the formula as p_i δ_ik − p_i p_k. The first part is a diagonal matrix, np.eye(n) "
        "times the weights; what is the second?",
        "weights[..., :, None] has shape (..., n, 1) and carries p_i; weights[..., None, :] has "
        "shape (..., 1, n) and carries p_k. Their product has shape (..., n, n).",
        "np.diag and np.outer know no batch: build both parts with None as above.",
    ),
    mistakes=(
        Mistake(
            "Only the diagonal is filled: raising one score lowers the other weights too, "
            "by p_i p_k.",
            lambda weights: _diagonal(weights * (1 - weights)),
        ),
        Mistake(
            "These are the derivatives of each weight by its own score alone, p (1 − p): the "
            "answer has one for every pair, shape (..., n, n).",
            lambda weights: weights * (1 - weights),
        ),
        Mistake(
            "The sign is reversed: raising a score raises its own weight, so the diagonal is "
            "positive.",
            lambda weights: _outer(weights) - _diagonal(weights),
        ),
        Mistake(
            "Off the diagonal the sign is wrong: raising one score lowers the other weights.",
            lambda weights: _diagonal(weights) + _outer(weights),
            lambda weights: _outer(weights) + _diagonal(weights - 2 * weights**2),
        ),
        Mistake(
            "These are −p_i p_k everywhere: on the diagonal p_i is added, where δ_ik is 1.",
            lambda weights: -_outer(weights),
        ),
        Mistake(
            "These are p_i p_k: the formula is p_i (δ_ik − p_k).",
            _outer,
        ),
        Mistake(
            "This is δ_ik − p_k (or δ_ik − p_i): it lacks the other weight as a factor.",
            lambda weights: np.eye(weights.shape[-1], dtype=weights.dtype) - weights[..., None, :],
            lambda weights: np.eye(weights.shape[-1], dtype=weights.dtype) - weights[..., :, None],
        ),
        Mistake(
            "This is δ_ik − p_i p_k: the δ_ik is multiplied by p_i as well.",
            lambda weights: np.eye(weights.shape[-1], dtype=weights.dtype) - _outer(weights),
        ),
        Mistake(
            "These are the weights on a diagonal: p_i p_k is still to be subtracted.",
            _diagonal,
        ),
        Mistake(
            "A square stands in place of a product of two weights: subtract p_i p_k, one weight "
            "along each axis.",
            lambda weights: _diagonal(weights) - weights[..., None, :] ** 2,
            lambda weights: _diagonal(weights) - weights[..., :, None] ** 2,
        ),
        Mistake(
            "np.diag and np.outer know no batch dimensions: use weights[..., :, None] and "
            "weights[..., None, :].",
            lambda weights: np.diag(weights) - np.outer(weights, weights),
            lambda weights: np.diagflat(weights) - np.outer(weights, weights),
        ),
        Mistake(
            "Softmax is applied to the weights: they are weights already.",
            lambda weights: softmax_jacobian(softmax(weights)),
        ),
    ),
)

# softmax_vjp


def _vjp_cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([0.5, 0.25, 0.25]), np.array([1.0, 0.0, 3.0]))
    yield Case(
        np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125]]),
        np.array([[1.0, 0.0, 0.0], [2.0, -4.0, 6.0]]),
    )
    yield Case(softmax(rng.normal(size=(3, 3))), rng.normal(size=(3, 3)))  # square: see above
    yield Case(softmax(rng.normal(size=(2, 5))), rng.normal(size=(2, 5)))
    yield Case(softmax(rng.normal(size=(2, 5))), rng.normal(size=(2, 5)))
    yield Case(softmax(rng.normal(size=(2, 3, 5))), rng.normal(size=(2, 3, 5)))
    yield Case(softmax(rng.normal(size=(2, 1, 3, 6))), rng.normal(size=(2, 1, 3, 6)))
    yield Case(
        softmax(rng.normal(size=(3, 7))).astype(np.float32),
        rng.normal(size=(3, 7)).astype(np.float32),
    )
    yield Case(softmax(rng.normal(size=(2, 6))), 5.0 + rng.normal(size=(2, 6)))
    yield Case(softmax(rng.normal(0.0, 12.0, (3, 5))), rng.normal(size=(3, 5)))


def _vjp_size(weights: NDArray, grad_weights: NDArray) -> NDArray:
    size = np.abs(grad_weights)
    return weights * (size + np.sum(weights * size, axis=-1, keepdims=True))


def _mean_of(grad_weights: NDArray, weights: NDArray) -> NDArray:
    return np.sum(weights * grad_weights, axis=-1, keepdims=True)


LONG_ROW = 1024
BYTES_ALLOWED = 64 * 8 * 2 * LONG_ROW  # 64 float64 numbers an entry: lists of Python floats fit
NO_MATRIX = (
    "Multiply the product out on paper: p_k (g_k − Σ p_i g_i) needs no matrix, one pass over "
    "the row will do."
)
NO_ROW_BY_ROW = (
    "A row of the Jacobian for every score is n × n numbers all the same: compute the sum "
    "Σ p_i g_i once and use it for every score."
)


def _long_rows(rows: int, length: int) -> tuple[NDArray, NDArray]:
    grad_weights = np.sin(np.arange(rows * length, dtype=np.float64)).reshape(rows, length)
    return softmax(grad_weights[:, ::-1]), grad_weights


def _holds_a_matrix(answer: Answer) -> str | None:
    arguments = _long_rows(2, LONG_ROW)
    held = peak_bytes(answer, *arguments)
    if held <= BYTES_ALLOWED:
        return None
    return (
        f"softmax_vjp returns the right values but builds an n × n matrix: for 2 rows of "
        f"{LONG_ROW} weights it held {held:,} bytes ({held / MIB:.0f} MiB) at once, and "
        f"{BYTES_ALLOWED:,} ({BYTES_ALLOWED / MIB:.0f} MiB) are allowed. {NO_MATRIX}"
    )


def _does_quadratic_work(answer: Answer) -> str | None:
    sizes = [2**power for power in range(6, 16)]
    found = grows_faster_than_its_input(answer, lambda length: _long_rows(1, length), sizes)
    if found is None:
        return None
    length, factor = found
    return (
        f"softmax_vjp returns the right values in too much work: a row of {length} weights took "
        f"{factor:.0f} times as long as one of {length // 16}, and 16 times would be in "
        f"proportion. {NO_ROW_BY_ROW}"
    )


def _vjp_row_by_row(weights: NDArray, grad_weights: NDArray) -> NDArray:
    result = np.empty_like(weights)
    for index in np.ndindex(weights.shape[:-1]):
        row = weights[index]
        for k in range(len(row)):
            column = -row * row[k]
            column[k] += row[k]
            result[(*index, k)] = np.sum(column * grad_weights[index])
    return result


SOFTMAX_VJP = Exercise(
    name="softmax_vjp",
    points=3,
    minutes=10,
    reference=softmax_vjp,
    cases=_vjp_cases,
    magnitude=_vjp_size,
    probes=(_holds_a_matrix, _does_quadratic_work),
    hints=(
        "Entry k of the product is the sum over i of g_i p_i (δ_ik − p_k). Only one term has "
        "δ_ik = 1: take it out of the sum.",
        "What is left in the sum is Σ p_i g_i, one number for a row: "
        "np.sum(weights * grad_weights, axis=-1, keepdims=True).",
        "The whole is p_k (g_k − Σ p_i g_i): each weight times how far its gradient stands above "
        "the weighted mean.",
    ),
    mistakes=(
        Mistake(
            NO_MATRIX,
            lambda p, g: np.einsum("...ki,...i->...k", _diagonal(p) - _outer(p), g),
            lambda p, g: ((_diagonal(p) - _outer(p)) @ g[..., None])[..., 0],
            lambda p, g: p * g - (_outer(p) @ g[..., None])[..., 0],
            lambda p, g: p * ((g[..., :, None] - g[..., None, :]) * p[..., None, :]).sum(axis=-1),
            measured=True,
        ),
        Mistake(NO_ROW_BY_ROW, _vjp_row_by_row, measured=True),
        Mistake(
            "This is p_k g_k alone: subtract the weighted mean Σ p_i g_i from each g_k first.",
            lambda p, g: p * g,
        ),
        Mistake(
            "The plain mean of the gradients is subtracted: take the weighted one, Σ p_i g_i.",
            lambda p, g: p * (g - g.mean(axis=-1, keepdims=True)),
        ),
        Mistake(
            "The sum of the gradients is subtracted: each must be weighted, Σ p_i g_i.",
            lambda p, g: p * (g - g.sum(axis=-1, keepdims=True)),
        ),
        Mistake(
            "This is g_k − Σ p_i g_i: it lacks the factor p_k.",
            lambda p, g: g - _mean_of(g, p),
        ),
        Mistake(
            "This is p_k g_k − Σ p_i g_i: the sum must be multiplied by p_k as well.",
            lambda p, g: p * g - _mean_of(g, p),
        ),
        Mistake(
            "This is p_k (1 − p_k) g_k, the diagonal of the Jacobian only: a score moves the other "
            "weights too. Subtract the sum Σ p_i g_i over the row.",
            lambda p, g: p * (1 - p) * g,
        ),
        Mistake(
            "The sum runs over the whole array: every row has its own, axis=-1.",
            lambda p, g: p * (g - np.sum(p * g)),
        ),
        Mistake(
            "The sums have lost their axis, so they do not line up with the rows: use keepdims=True.",
            lambda p, g: p * (g - np.sum(p * g, axis=-1)),
            lambda p, g: p * (g - (p * g).sum(-1)),
        ),
        Mistake(
            "The sum runs along axis 0: each row has its own, axis=-1.",
            lambda p, g: p * (g - np.sum(p * g, axis=0)),
            lambda p, g: p * (g - np.sum(p * g, axis=0, keepdims=True)),
        ),
        Mistake(
            "np.dot multiplies matrices here: Σ p_i g_i is one number for each row, "
            "np.sum(weights * grad_weights, axis=-1, keepdims=True).",
            lambda p, g: p * (g - np.dot(p, g)),
            lambda p, g: p * (g - p @ g),
            lambda p, g: p * (g - p @ g.T),
            lambda p, g: p * (g - np.dot(p, g.T)),
        ),
        Mistake(
            "The sign is reversed: it is g_k minus the weighted mean.",
            lambda p, g: p * (_mean_of(g, p) - g),
        ),
        Mistake(
            "The weighted mean is added: it is subtracted.",
            lambda p, g: p * (g + _mean_of(g, p)),
        ),
        Mistake(
            "Weights and gradients have changed places: the result is p_k (g_k − Σ p_i g_i).",
            lambda p, g: g * (p - _mean_of(g, p)),
        ),
        Mistake(
            "The squares of the weights are in the sum: it is Σ p_i g_i.",
            lambda p, g: p * (g - np.sum(p * p * g, axis=-1, keepdims=True)),
        ),
        Mistake(
            "The largest gradient is subtracted: subtract the weighted mean.",
            lambda p, g: p * (g - g.max(axis=-1, keepdims=True)),
        ),
        Mistake(
            "Softmax is applied to the weights: they are weights already.",
            lambda p, g: softmax_vjp(softmax(p), g),
        ),
    ),
)

# numerical_gradient


def sum_of_squares(x: NDArray) -> float:
    return np.sum(x**2)


def sum_of_cubes(x: NDArray) -> float:
    return np.sum(x**3)


def steep_cubes(x: NDArray) -> float:
    return 1e12 * np.sum(x**3)


def square_of_the_sum(x: NDArray) -> float:
    return np.sum(x) ** 2


def product(x: NDArray) -> float:
    return np.prod(x)


def _weighted(coefficients: NDArray, power: int) -> Callable[[NDArray], float]:
    def weighted_powers(x: NDArray) -> float:
        if x.shape != coefficients.shape:
            raise ValueError(
                f"f was called with shape {x.shape}; it takes arrays of x's shape, "
                f"{coefficients.shape}."
            )
        return float(np.sum(coefficients * x**power))

    return weighted_powers


def _loss(target: NDArray) -> Callable[[NDArray], float]:
    def loss_of_softmax(x: NDArray) -> float:
        return np.sum((softmax(x) - target) ** 2)

    return loss_of_softmax


def _difference_cases(rng: Generator) -> Iterator[Case]:
    yield Case(sum_of_squares, np.array([1.0, -3.0]), eps=0.5)  # any eps is exact here
    yield Case(sum_of_cubes, np.array([1.0, 2.0, -0.5]), eps=0.5)
    # At 0 the quotient of eps * x³ is eps², which tells one eps from another.
    yield Case(steep_cubes, np.zeros((1, 3)))
    yield Case(square_of_the_sum, np.array([[1.0, 0.5, 2.0], [0.25, -1.0, 3.0]]), eps=0.125)
    yield Case(product, rng.uniform(0.5, 1.5, (3, 2)), eps=1e-3)
    yield Case(_weighted(rng.uniform(1.0, 3.0, (3, 3)), 3), rng.uniform(-1.0, 1.0, (3, 3)), 0.25)
    yield Case(_weighted(rng.uniform(1.0, 3.0, (2, 3, 5)), 2), rng.normal(size=(2, 3, 5)))
    yield Case(_weighted(rng.uniform(1.0, 3.0, (5, 1, 2)), 4), rng.normal(size=(5, 1, 2)), eps=1e-2)
    yield Case(_loss(softmax(rng.normal(size=(2, 5)))), rng.normal(size=(2, 5)))


def _difference_size(f: Answer, x: NDArray, eps: float = 1e-6) -> NDArray:
    """Size the rounding of f, and that of x ± eps, both divided by eps."""
    slopes = np.abs(numerical_gradient(f, x, eps))
    size = np.empty(x.shape)
    for index in np.ndindex(x.shape):
        moved = x.copy()
        moved[index] += eps
        size[index] = 1.0 + 2.0 * abs(f(moved)) + slopes[index] * (1.0 + abs(x[index]))
    return size / eps


def _differences(
    quotient: Callable[[Callable[[float], float], float, float], float],
) -> Answer:
    """Make an answer from a rule for one entry: given f along it, where it is, and eps."""

    def answer(f: Answer, x: NDArray, eps: float = 1e-6) -> NDArray:
        result = np.zeros(x.shape)
        for index in np.ndindex(x.shape):

            def along(value: float, index: tuple[int, ...] = index) -> float:
                moved = x.copy()
                moved[index] = value
                return float(f(moved))

            result[index] = quotient(along, float(x[index]), eps)
        return result

    return answer


def _never_put_back(f: Answer, x: NDArray, eps: float = 1e-6, left_at: float = -1.0) -> NDArray:
    point, result = x.copy(), np.zeros(x.shape)
    for index in np.ndindex(x.shape):
        here = point[index]
        point[index] = here + eps
        above = f(point)
        point[index] = here - eps
        below = f(point)
        point[index] = here + left_at * eps
        result[index] = (above - below) / (2 * eps)
    return result


def _both_never_put_back(f: Answer, x: NDArray, eps: float = 1e-6) -> NDArray:
    above, below, result = x.copy(), x.copy(), np.zeros(x.shape)
    for index in np.ndindex(x.shape):
        above[index] += eps
        below[index] -= eps
        result[index] = (f(above) - f(below)) / (2 * eps)
    return result


def _whole_rows(f: Answer, x: NDArray, eps: float = 1e-6) -> NDArray:
    result = np.zeros(x.shape)
    for i in range(len(x)):
        above, below = x.copy(), x.copy()
        above[i] += eps
        below[i] -= eps
        result[i] = (f(above) - f(below)) / (2 * eps)
    return result


def _entry_by_entry(f: Answer, x: NDArray, eps: float = 1e-6) -> NDArray:
    return np.array([_all_at_once(f, entry, eps) for entry in x.ravel()]).reshape(x.shape)


def _all_at_once(f: Answer, x: NDArray, eps: float = 1e-6) -> float:
    return (f(x + eps) - f(x - eps)) / (2 * eps)


NUMERICAL_GRADIENT = Exercise(
    name="numerical_gradient",
    points=2,
    minutes=8,
    reference=numerical_gradient,
    cases=_difference_cases,
    magnitude=_difference_size,
    hints=(
        "for index in np.ndindex(x.shape) visits every entry of an array of any shape; "
        "x[index] is that entry.",
        "Copy x, move one entry of the copy up by eps, call f; then another copy, moved down. "
        "The entry of the result is (above - below) / (2 * eps).",
        "Take fresh copies for every entry, so that only one entry is moved at a time.",
    ),
    mistakes=(
        Mistake(
            "This difference is one-sided, from x to x + eps or to x − eps: take f at both x + eps "
            "and x − eps.",
            _differences(lambda f, here, eps: (f(here + eps) - f(here)) / eps),
            _differences(lambda f, here, eps: (f(here) - f(here - eps)) / eps),
        ),
        Mistake(
            "These are twice too large: from x − eps to x + eps is 2 * eps, so divide by 2 * eps.",
            _differences(lambda f, here, eps: (f(here + eps) - f(here - eps)) / eps),
        ),
        Mistake(
            "These are half too small: from x to x + eps is one eps, and one-sided. Take "
            "f(x + eps) − f(x − eps) and divide by 2 * eps.",
            _differences(lambda f, here, eps: (f(here + eps) - f(here)) / (2 * eps)),
            _differences(lambda f, here, eps: (f(here) - f(here - eps)) / (2 * eps)),
        ),
        Mistake(
            "The differences are not divided by 2 * eps.",
            _differences(lambda f, here, eps: f(here + eps) - f(here - eps)),
            _differences(lambda f, here, eps: (f(here + eps) - f(here - eps)) / 2),
        ),
        Mistake(
            "/ 2 * eps divides by 2 and then multiplies by eps: write / (2 * eps).",
            _differences(lambda f, here, eps: (f(here + eps) - f(here - eps)) / 2 * eps),
        ),
        Mistake(
            "All differences are 0, as if the points above and below were one and the same array: "
            "give each a copy of its own, x.copy().",
            _differences(lambda f, here, eps: 0.0),
        ),
        Mistake(
            "The sign is reversed: subtract f(x − eps) from f(x + eps).",
            _differences(lambda f, here, eps: (f(here - eps) - f(here + eps)) / (2 * eps)),
        ),
        Mistake(
            "All entries are moved at once: move one entry at a time, each has its own derivative.",
            _all_at_once,
            lambda f, x, eps=1e-6: np.full(x.shape, _all_at_once(f, x, eps)),
        ),
        Mistake(
            "An entry moved for one derivative is still moved for the next: put it back, or take "
            "a fresh copy of x.",
            lambda f, x, eps=1e-6: _never_put_back(f, x, eps, -1.0),
            lambda f, x, eps=1e-6: _never_put_back(f, x, eps, 1.0),
            _both_never_put_back,
        ),
        Mistake(
            "x[i] is a whole row when x has two axes: move one entry, such as x[index] for index "
            "in np.ndindex(x.shape).",
            _whole_rows,
        ),
        Mistake(
            "f is called with one entry of x: it takes the whole array, with that entry moved.",
            _entry_by_entry,
        ),
        Mistake(
            "You always take the same step: use the eps you are given.",
            *(
                lambda f, x, eps=1e-6, fixed=fixed: numerical_gradient(f, x, fixed)
                for fixed in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
            ),
        ),
        Mistake(
            "The default of eps is not 1e-6: the first line is def numerical_gradient(f, x, "
            "eps=1e-6).",
            *(
                lambda f, x, eps=default: numerical_gradient(f, x, eps)
                for default in (1e-2, 1e-3, 1e-4, 1e-5, 1e-7, 1e-8)
            ),
        ),
        Mistake(
            "Half a step is taken to either side: go from x − eps to x + eps.",
            _differences(lambda f, here, eps: (f(here + eps / 2) - f(here - eps / 2)) / eps),
        ),
        Mistake(
            "The step is made larger or smaller with x: it is eps for every entry.",
            lambda f, x, eps=1e-6: _differences(
                lambda g, here, e: (
                    (g(here + e * max(1, abs(here))) - g(here - e * max(1, abs(here))))
                    / (2 * e * max(1, abs(here)))
                )
            )(f, x, eps),
            lambda f, x, eps=1e-6: _differences(
                lambda g, here, e: (
                    (g(here + e * (1 + abs(here))) - g(here - e * (1 + abs(here))))
                    / (2 * e * (1 + abs(here)))
                )
            )(f, x, eps),
        ),
    ),
)

# cross_entropy_grad


def _loss_cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([[0.0, 0.0], [0.0, np.log(3.0)], [1.0, 1.0]]), np.array([0, 1, 1]))
    yield Case(np.array([[1, 2, 0], [3, 3, 1]]), np.array([2, 0]))
    yield Case(np.array([[0.0, 1000.0, -1000.0], [0.0, 1.0, 2.0]]), np.array([0, 2]))
    yield Case(rng.normal(0.0, 2.0, (3, 3)), np.array([1, 1, 0]))  # square: see softmax_vjp
    yield Case(rng.normal(0.0, 2.0, (5, 3)), np.array([2, 0, 0, 1, 2]))
    yield Case(rng.normal(0.0, 2.0, (2, 6)), rng.integers(6, size=2))
    yield Case(rng.normal(0.0, 2.0, (3, 5)).astype(np.float32), rng.integers(5, size=3))
    yield Case(rng.normal(0.0, 2.0, (1, 7)), np.array([6]))
    yield Case(rng.normal(0.0, 9.0, (5, 2)), rng.integers(2, size=5))
    # Far beyond what exp can take, and close together.
    yield Case(np.array([[3000.0, 3001.0, 3003.0], [-2000.0, -2001.0, -2000.5]]), np.array([1, 0]))


def _one_hot(scores: NDArray, targets: NDArray) -> NDArray:
    """Mark the right class of each example with 1, in a float array of the scores' shape."""
    dtype = np.result_type(scores.dtype, np.float32)
    return np.eye(scores.shape[1], dtype=dtype)[targets]


def _loss_size(scores: NDArray, targets: NDArray) -> NDArray:
    largest = np.abs(scores).max(axis=-1, keepdims=True)
    return (softmax(scores) + _one_hot(scores, targets)) * (1.0 + largest) / len(targets)


def _every_column(scores: NDArray, targets: NDArray) -> NDArray:
    gradient = softmax(scores)
    gradient[:, targets] -= 1
    return gradient / len(targets)


def _rows_of_targets(scores: NDArray, targets: NDArray) -> NDArray:
    gradient = softmax(scores)
    gradient[targets] -= 1
    return gradient / len(targets)


def _overflowing(scores: NDArray, targets: NDArray) -> NDArray:
    exponentials = np.exp(scores)
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return (weights - _one_hot(scores, targets)) / len(targets)


def _cut_to_integers(scores: NDArray, targets: NDArray) -> NDArray:
    gradient = np.zeros_like(scores)
    gradient[...] = cross_entropy_grad(scores, targets)
    return gradient


CROSS_ENTROPY_GRAD = Exercise(
    name="cross_entropy_grad",
    points=2,
    minutes=7,
    reference=cross_entropy_grad,
    cases=_loss_cases,
    magnitude=_loss_size,
    hints=(
        "For one example the gradient is its weights, minus 1 at the right class.",
        "gradient[np.arange(N), targets] is the entry of the right class in every row.",
        "The loss is a mean over N examples, so each example counts with 1/N.",
    ),
    mistakes=(
        Mistake(
            "The division by N is missing: the loss is the mean over the examples.",
            lambda scores, targets: softmax(scores) - _one_hot(scores, targets),
        ),
        Mistake(
            "You divide by the number of all entries, N × C: divide by N, the number of examples.",
            lambda scores, targets: (softmax(scores) - _one_hot(scores, targets)) / scores.size,
            lambda scores, targets: cross_entropy_grad(scores, targets) / scores.shape[1],
        ),
        Mistake(
            "You divide by C, the number of classes: divide by N, the number of examples.",
            lambda scores, targets: (softmax(scores) - _one_hot(scores, targets)) / scores.shape[1],
        ),
        Mistake(
            "The sign is reversed: it is the weights minus 1 at the right class.",
            lambda scores, targets: (_one_hot(scores, targets) - softmax(scores)) / len(targets),
            lambda scores, targets: _one_hot(scores, targets) - softmax(scores),
        ),
        Mistake(
            "These are the weights divided by N: subtract 1 at the right class of each example.",
            lambda scores, targets: softmax(scores) / len(targets),
        ),
        Mistake(
            "Only the score of the right class counts here: the log-sum-exp of the row depends on "
            "every score, and its derivatives are the weights.",
            lambda scores, targets: -_one_hot(scores, targets) / len(targets),
        ),
        Mistake(
            "Only the entry of the right class is filled: every other score has its weight as "
            "gradient.",
            lambda scores, targets: (
                (softmax(scores) - 1) * _one_hot(scores, targets) / len(targets)
            ),
        ),
        Mistake(
            "1 is subtracted from the scores: take softmax of each row first.",
            lambda scores, targets: (scores - _one_hot(scores, targets)) / len(targets),
        ),
        Mistake(
            "These come from the logarithms of the weights: use the weights themselves.",
            lambda scores, targets: (
                (np.log(softmax(scores)) - _one_hot(scores, targets)) / len(targets)
            ),
        ),
        Mistake(
            "This is the gradient with respect to the weights, −1/p: carry it back to the scores.",
            lambda scores, targets: -_one_hot(scores, targets) / softmax(scores) / len(targets),
            lambda scores, targets: np.where(
                _one_hot(scores, targets) == 1, -1 / softmax(scores) / len(targets), 0.0
            ),
        ),
        Mistake(
            "The weights are divided by N before 1 is subtracted: subtract first, and divide both.",
            lambda scores, targets: softmax(scores) / len(targets) - _one_hot(scores, targets),
        ),
        Mistake(
            "1/p has no answer where a weight has underflowed to 0. On paper p cancels: what is left "
            "is the weights minus 1 at the right class.",
            lambda scores, targets: (
                softmax_vjp(softmax(scores), -_one_hot(scores, targets) / softmax(scores))
                / len(targets)
            ),
            lambda scores, targets: np.nan_to_num(
                softmax_vjp(softmax(scores), -_one_hot(scores, targets) / softmax(scores))
                / len(targets)
            ),
        ),
        Mistake(
            "gradient[:, targets] takes every target in every row: use "
            "gradient[np.arange(N), targets].",
            _every_column,
        ),
        Mistake(
            "gradient[targets] takes whole rows, those with the numbers of the classes: use "
            "gradient[np.arange(N), targets].",
            _rows_of_targets,
        ),
        Mistake(
            "1 is subtracted everywhere: only at the right class of each example.",
            lambda scores, targets: (softmax(scores) - 1) / len(targets),
        ),
        Mistake(
            "Softmax runs down the columns: each row is one example.",
            lambda scores, targets: (softmax(scores, 0) - _one_hot(scores, targets)) / len(targets),
        ),
        Mistake(
            "Softmax runs over the whole array: each row is one example.",
            lambda scores, targets: (
                (softmax(scores, None) - _one_hot(scores, targets)) / len(targets)
            ),
        ),
        Mistake(
            "exp overflows for large scores: subtract each row's maximum first, or use the softmax "
            "of attention_lib.",
            _overflowing,
        ),
        Mistake(
            "For integer scores the gradient is cut to whole numbers: np.zeros_like copies the "
            "integer dtype. Make a float array.",
            _cut_to_integers,
        ),
    ),
)

# attention_backward

Gradients = tuple[NDArray, NDArray, NDArray]


def _attention_cases(rng: Generator) -> Iterator[Case]:
    yield Case(
        np.array([[2.0, 0.0]]),
        np.array([[0.0, 1.0], [0.5, 3.0], [1.0, 0.0]]),
        np.array([[2.0], [6.0], [4.0]]),
        np.array([[1.0]]),
    )
    yield _drawn(rng, (), 2, 3, 5, 6)
    yield _drawn(rng, (3,), 3, 3, 3, 3)  # square: here a lost transpose gives numbers
    yield _drawn(rng, (), 5, 2, 6, 3)
    yield _drawn(rng, (), 5, 2, 6, 3)  # the same shapes, other numbers
    yield _drawn(rng, (2,), 3, 5, 7, 6)
    yield _drawn(rng, (2, 3), 5, 6, 1, 7)
    yield _drawn(rng, (3,), 2, 1, 5, 2)  # one key: its weight is 1, whatever the query
    yield Case(*(a.astype(np.float32) for a in _drawn(rng, (2,), 3, 6, 5, 2).args))
    yield Case(
        np.array([[1, 0, 2], [0, -1, 1]]),
        np.array([[1, 1, 0], [0, 2, 1], [2, 0, -1], [1, 0, 0], [0, 1, 1]]),
        np.array([[3, 0], [1, 2], [0, -1], [2, 2], [1, 1]]),
        np.array([[1, -1], [2, 1]]),
    )
    query, key, *others = _drawn(rng, (), 3, 5, 2, 6).args
    far = np.array([3000.0, 0.0])  # lifts every score of a row alike, far beyond what exp can take,
    query[:, 0] = 0.5, 1.5, 3.0  # and each row to a height of its own
    yield Case(query, key + far, *others)


def _drawn(
    rng: Generator, leading: tuple[int, ...], queries: int, keys: int, d_k: int, d_v: int
) -> Case:
    return Case(
        rng.normal(size=(*leading, queries, d_k)),
        rng.normal(size=(*leading, keys, d_k)),
        rng.normal(size=(*leading, keys, d_v)),
        rng.normal(size=(*leading, queries, d_v)),
    )


def _turned(array: NDArray) -> NDArray:
    return np.swapaxes(array, -1, -2)


def _backward_size(query: NDArray, key: NDArray, value: NDArray, grad_output: NDArray) -> Gradients:
    """Follow the sizes of the numbers, before any of them cancel, back to each argument."""
    scale = 1 / math.sqrt(query.shape[-1])
    products = np.abs(query) @ _turned(np.abs(key)) * scale
    # A weight is as uncertain as its score: in proportion to the products summed for it.
    weights = softmax(scaled_scores(query, key)) * (1 + 2 * products.max(axis=-1, keepdims=True))
    grad_weights = np.abs(grad_output) @ _turned(np.abs(value))
    grad_scores = _vjp_size(weights, grad_weights)
    return (
        scale * grad_scores @ np.abs(key),
        scale * _turned(grad_scores) @ np.abs(query),
        _turned(weights) @ np.abs(grad_output),
    )


def _backward(
    query: NDArray,
    key: NDArray,
    value: NDArray,
    grad_output: NDArray,
    *,
    weigh: Callable[[NDArray], NDArray] = softmax,
    through_softmax: Callable[[NDArray, NDArray], NDArray] = softmax_vjp,
    scale: float | None = None,
    scale_back: float | None = None,
) -> Gradients:
    """Compute the three gradients with one of the steps replaced by a wrong one."""
    right_scale = 1 / math.sqrt(query.shape[-1])
    scale = right_scale if scale is None else scale
    scale_back = scale if scale_back is None else scale_back
    weights = weigh(query @ _turned(key) * scale)
    grad_weights = grad_output @ _turned(value)
    grad_scores = through_softmax(weights, grad_weights)
    return (
        scale_back * grad_scores @ key,
        scale_back * _turned(grad_scores) @ query,
        _turned(weights) @ grad_output,
    )


def _variant(**changes: Callable | float) -> Answer:
    return lambda query, key, value, grad_output: _backward(
        query, key, value, grad_output, **changes
    )


def _scaled_by(scale: Callable[[NDArray, NDArray, NDArray], float]) -> Answer:
    return lambda query, key, value, grad_output: _backward(
        query, key, value, grad_output, scale=scale(query, key, value)
    )


def _times_root(which: int, *args: NDArray, power: float = 0.5) -> Gradients:
    """Compute the three gradients, and multiply one of them by a power of d_k."""
    factor = args[0].shape[-1] ** power
    return tuple(g * (factor if i == which else 1.0) for i, g in enumerate(_backward(*args)))


def _plain_softmax(scores: NDArray) -> NDArray:
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def _softmax_with_one_maximum(scores: NDArray) -> NDArray:
    return _plain_softmax(scores - scores.max())


def _transposed_whole(
    query: NDArray, key: NDArray, value: NDArray, grad_output: NDArray
) -> Gradients:
    root = math.sqrt(query.shape[-1])
    weights = softmax(query @ key.T / root)
    grad_scores = softmax_vjp(weights, grad_output @ value.T)
    return grad_scores @ key / root, grad_scores.T @ query / root, weights.T @ grad_output


def _leaking_softmax(epsilon: float) -> Callable[[NDArray], NDArray]:
    def weigh(scores: NDArray) -> NDArray:
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return exponentials / (exponentials.sum(axis=-1, keepdims=True) + epsilon)

    return weigh


def _mixed_up(
    combine: Callable[[NDArray, NDArray, NDArray, NDArray, NDArray, NDArray, float], Gradients],
) -> Answer:
    """Make an answer from the arguments, the weights, dS and the scale, combined wrongly."""

    def answer(query: NDArray, key: NDArray, value: NDArray, grad_output: NDArray) -> Gradients:
        scale = 1 / math.sqrt(query.shape[-1])
        weights = softmax(query @ _turned(key) * scale)
        grad_scores = softmax_vjp(weights, grad_output @ _turned(value))
        return combine(query, key, grad_output, weights, grad_scores, scale)

    return answer


ATTENTION_BACKWARD = Exercise(
    name="attention_backward",
    points=4,
    minutes=15,
    reference=attention_backward,
    signature="attention_backward(query, key, value, grad_output)",
    cases=_attention_cases,
    magnitude=_backward_size,
    hints=(
        "First compute the weights again, as the forward pass did: softmax of query times key "
        "transposed, over √d_k.",
        "Then go backward. Through output = weights @ value: grad_value is weights transposed "
        "times grad_output, and grad_weights is grad_output times value transposed.",
        "Through softmax: grad_scores = softmax_vjp(weights, grad_weights), your own function.",
        "Through scores = query times key transposed, over √d_k: grad_query is grad_scores times "
        "key, grad_key is grad_scores transposed times query, both over √d_k.",
        "Transpose the last two axes only: np.swapaxes(key, -1, -2). For √d_k use math.sqrt or "
        "** 0.5, which leave float32 as it is; np.sqrt turns it into float64.",
    ),
    mistakes=(
        Mistake(
            "grad_query and grad_key lack the factor 1/√d_k: the scores were scaled on the way "
            "forward, so their gradients are on the way back.",
            _variant(scale_back=1.0),
        ),
        Mistake(
            "The factor 1/√d_k is missing: scores are query times key transposed, over √d_k, and "
            "grad_query and grad_key carry it too.",
            _variant(scale=1.0),
        ),
        Mistake(
            "The weights are computed without 1/√d_k: scale the scores before softmax.",
            lambda query, key, value, grad_output: _backward(
                query,
                key,
                value,
                grad_output,
                scale=1.0,
                scale_back=1 / math.sqrt(query.shape[-1]),
            ),
        ),
        Mistake(
            "You scale by √d_v or by the number of keys or queries: d_k is the last size of query "
            "and key.",
            _scaled_by(lambda query, key, value: 1 / math.sqrt(value.shape[-1])),
            _scaled_by(lambda query, key, value: 1 / math.sqrt(key.shape[-2])),
            _scaled_by(lambda query, key, value: 1 / math.sqrt(query.shape[-2])),
            _scaled_by(lambda query, key, value: 1 / math.sqrt(query.shape[0])),
        ),
        Mistake(
            "You scale by 1/d_k: it is 1/√d_k.",
            _scaled_by(lambda query, key, value: 1 / query.shape[-1]),
        ),
        Mistake(
            "You multiply by √d_k: divide by it.",
            _scaled_by(lambda query, key, value: math.sqrt(query.shape[-1])),
        ),
        Mistake(
            "grad_query and grad_key carry the factor 1/√d_k both, and here only one of them does.",
            lambda query, key, value, grad_output: _times_root(0, query, key, value, grad_output),
            lambda query, key, value, grad_output: _times_root(1, query, key, value, grad_output),
        ),
        Mistake(
            "grad_value is divided by √d_k as well: the values were not scaled on the way forward.",
            lambda query, key, value, grad_output: _times_root(
                2, query, key, value, grad_output, power=-0.5
            ),
        ),
        Mistake(
            "The factor 1/√d_k is taken twice on the way back: once is enough.",
            lambda query, key, value, grad_output: _backward(
                query, key, value, grad_output, scale_back=1 / query.shape[-1]
            ),
        ),
        Mistake(
            "The step through softmax is missing: grad_scores is softmax_vjp(weights, "
            "grad_weights), not grad_weights itself.",
            _variant(through_softmax=lambda p, g: g),
        ),
        Mistake(
            "In the step through softmax the weighted mean is missing: it is "
            "p (g − Σ p g), not p g.",
            _variant(through_softmax=lambda p, g: p * g),
        ),
        Mistake(
            "In the step through softmax only the diagonal p (1 − p) is used: a score moves the "
            "other weights too. It is p (g − Σ p g).",
            _variant(through_softmax=lambda p, g: p * (1 - p) * g),
        ),
        Mistake(
            "In the step through softmax the plain mean is subtracted: weigh the gradients, Σ p g.",
            _variant(through_softmax=lambda p, g: p * (g - g.mean(axis=-1, keepdims=True))),
        ),
        Mistake(
            "In the step through softmax the sum must run over the keys, the last axis, with "
            "keepdims=True.",
            _variant(through_softmax=lambda p, g: p * (g - (p * g).sum(axis=-2, keepdims=True))),
            _variant(through_softmax=lambda p, g: p * (g - (p * g).sum())),
            _variant(through_softmax=lambda p, g: p * (g - (p * g).sum(axis=0, keepdims=True))),
            _variant(through_softmax=lambda p, g: p * (g - (p * g).sum(axis=-1))),
        ),
        Mistake(
            "Softmax must run over the keys, the last axis of the scores.",
            _variant(weigh=lambda scores: softmax(scores, -2)),
            _variant(weigh=lambda scores: softmax(scores, 0)),
            _variant(weigh=lambda scores: softmax(scores, None)),
        ),
        Mistake(
            "The three gradients are in another order: return grad_query, grad_key, grad_value.",
            *(
                lambda query, key, value, grad_output, order=order: tuple(
                    _backward(query, key, value, grad_output)[i] for i in order
                )
                for order in ((1, 0, 2), (2, 1, 0), (0, 2, 1), (1, 2, 0), (2, 0, 1))
            ),
        ),
        Mistake(
            "weights is not transposed in grad_value: value j gathers from all queries that "
            "weighed it, the column j.",
            _mixed_up(
                lambda q, k, g, weights, grad_scores, scale: (
                    scale * grad_scores @ k,
                    scale * _turned(grad_scores) @ q,
                    weights @ g,
                )
            ),
        ),
        Mistake(
            "grad_scores is not transposed in grad_key: key j gathers from all queries, the "
            "column j.",
            _mixed_up(
                lambda q, k, g, weights, grad_scores, scale: (
                    scale * grad_scores @ k,
                    scale * grad_scores @ q,
                    _turned(weights) @ g,
                )
            ),
        ),
        Mistake(
            "Query and key have changed places: grad_query comes from the keys, grad_key from the "
            "queries.",
            _mixed_up(
                lambda q, k, g, weights, grad_scores, scale: (
                    scale * grad_scores @ q,
                    scale * _turned(grad_scores) @ k,
                    _turned(weights) @ g,
                )
            ),
        ),
        Mistake(
            ".T reverses the batch dimensions as well: swap the last two axes only, "
            "np.swapaxes(key, -1, -2).",
            _transposed_whole,
        ),
        Mistake(
            "value is not transposed in grad_weights: entry [i, j] is grad_output[i] · value[j].",
            lambda query, key, value, grad_output: _backward(
                query, key, _turned(value), grad_output
            ),
        ),
        Mistake(
            "grad_value comes from grad_scores: the output is weights @ value, so it takes the "
            "weights.",
            _mixed_up(
                lambda q, k, g, weights, grad_scores, scale: (
                    scale * grad_scores @ k,
                    scale * _turned(grad_scores) @ q,
                    _turned(grad_scores) @ g,
                )
            ),
        ),
        Mistake(
            "The sign of grad_query and grad_key is reversed: in the step through softmax it "
            "is p (g − Σ p g).",
            _variant(through_softmax=lambda p, g: p * ((p * g).sum(axis=-1, keepdims=True) - g)),
        ),
        Mistake(
            "The gradients are divided by the number of queries: grad_output is all there is to "
            "carry back.",
            lambda query, key, value, grad_output: tuple(
                gradient / query.shape[-2] for gradient in _backward(query, key, value, grad_output)
            ),
        ),
        Mistake(
            "exp overflows for large scores: use a softmax that subtracts each row's maximum.",
            _variant(weigh=_plain_softmax),
        ),
        Mistake(
            "One maximum is subtracted from all rows, and a row far below it underflows to 0/0: use a "
            "softmax that subtracts each row's own.",
            _variant(weigh=_softmax_with_one_maximum),
        ),
        Mistake(
            "A small constant is added to the sum in softmax: leave it out, the sum is never 0.",
            *(
                _variant(weigh=_leaking_softmax(epsilon))
                for epsilon in (1e-3, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-12)
            ),
        ),
    ),
)

WRITTEN_SATURATION = Exercise(name="written_saturation", points=2, minutes=8)

EXERCISES = (
    SOFTMAX_JACOBIAN,
    NUMERICAL_GRADIENT,
    SOFTMAX_VJP,
    CROSS_ENTROPY_GRAD,
    ATTENTION_BACKWARD,
    WRITTEN_SATURATION,
)
