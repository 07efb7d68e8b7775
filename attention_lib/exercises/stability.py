"""The exercises of lesson 02: the same numbers, without overflow."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, Mistake
from attention_lib.lessons.softmax import softmax
from attention_lib.lessons.stability import (
    SoftmaxStats,
    cross_entropy,
    largest_exponent,
    log_softmax,
    logsumexp,
    masked_softmax,
    merge_softmax_stats,
    stable_softmax,
)


def _finite_size(scores: NDArray, axis: int = -1) -> NDArray:
    """Return the largest finite score of each row in absolute value, axes kept."""
    return np.abs(np.where(np.isfinite(scores), scores, 0.0)).max(axis=axis, keepdims=True)


def _weights_size(scores: NDArray, axis: int = -1) -> NDArray:
    return stable_softmax(scores, axis) * (1.0 + _finite_size(scores, axis))


def _log_size(scores: NDArray, axis: int = -1) -> NDArray:
    return 2.0 + np.log(scores.shape[axis]) + 2.0 * _finite_size(scores, axis)


# largest_exponent


def _dtype_cases(rng: Generator) -> Iterator[Case]:
    for dtype in (np.float16, np.float32, np.float64):
        exact = largest_exponent(dtype)
        for spelled in (dtype, np.dtype(dtype), np.dtype(dtype).name):
            yield Case(spelled, verify=lambda got, exact=exact: _near(got, exact))


def _near(got: object, exact: float) -> str | None:
    exact_kind = isinstance(got, (Decimal, Fraction))  # numbers too, which NumPy does not know
    number = np.asarray(float(got) if exact_kind else got)
    if number.ndim or number.dtype.kind not in "fiu":
        return "largest_exponent should return one number."
    if abs(float(number) / exact - 1) <= 1e-3:
        return None
    return (
        f"largest_exponent gives {float(number):.5g} where exp overflows above {exact:.5g}: "
        "np.finfo(dtype).max is the largest finite number."
    )


LARGEST_EXPONENT = Exercise(
    name="largest_exponent",
    points=1,
    minutes=5,
    reference=largest_exponent,
    cases=_dtype_cases,
    hints=(
        "np.finfo(dtype).max is the largest finite number of a dtype.",
        "exp(x) reaches that number where x is its logarithm.",
    ),
    mistakes=(
        Mistake(
            "This is the largest number itself: the x you look for has exp(x) equal to it.",
            lambda dtype: np.finfo(dtype).max,
            lambda dtype: float(np.finfo(dtype).max),
        ),
        Mistake(
            "These are powers of 2: exp uses e, so take the natural logarithm.",
            lambda dtype: np.log2(float(np.finfo(dtype).max)),
            lambda dtype: np.finfo(dtype).maxexp,
        ),
        Mistake(
            "These are powers of 10: exp uses e, so take the natural logarithm.",
            lambda dtype: np.log10(float(np.finfo(dtype).max)),
        ),
        Mistake(
            "The answer is the same for every dtype: each has its own largest number.",
            lambda dtype: 709.782712893384,
            lambda dtype: 88.722839111,
            lambda dtype: 11.089866,
        ),
        Mistake(
            "This is where exp becomes too small: the question is where it becomes too large.",
            lambda dtype: float(np.log(np.finfo(dtype).tiny.astype(float))),
            lambda dtype: -float(np.log(np.finfo(dtype).tiny.astype(float))),
        ),
        Mistake(
            "np.exp was tried on Python floats or float64 numbers: exp must be computed in dtype.",
            lambda dtype: 709,
            lambda dtype: 709.0,
            lambda dtype: 710.0,
        ),
    ),
)

# stable_softmax


def _stable_cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([1000.0, 1000.0, 999.0]))
    yield Case(np.array([-1000.0, -1001.0]))
    yield Case(np.array([[2000.0, 0.0, -1.0], [-2000.0, -2001.0, -2003.0]]))
    yield Case(np.array([[5.0, -np.inf, 4.0], [-np.inf, -np.inf, 700.0]]))
    yield Case(np.array([[100, 102, 101], [900, 1, 899]]))
    yield Case(rng.normal(0.0, 3.0, (3, 3)))  # square: here a lost axis gives numbers, not an error
    yield Case(rng.normal(0.0, 3.0, (2, 3, 5)), axis=1)
    yield Case(
        rng.normal(0.0, 3.0, (3, 2, 5))
        + np.array([[[900.0], [0.0]], [[-800.0], [90.0]], [[0.0], [-900.0]]]),
        axis=-1,
    )
    yield Case(rng.normal(0.0, 3.0, (3, 2, 5)), axis=-3)
    yield Case(rng.normal(0.0, 3.0, (2, 3, 5, 6)), axis=2)
    # However large the scores beside it, -inf is smaller still.
    yield Case(np.array([[-np.inf, -2e9, -2e9 + 1.0], [-1000.0, -np.inf, -1001.0]]))
    yield Case(np.array([[0.0, -30.0, -80.0, -600.0]]))  # small weights, right in every digit
    yield Case(rng.normal(0.0, 3.0, (5, 3)) + np.array([-900.0, 0.0, 1200.0]), 0)
    yield Case((rng.normal(0.0, 3.0, (3, 6)) + 120.0).astype(np.float32))
    yield Case((rng.normal(0.0, 3.0, (3, 6)) - 300.0).astype(np.float32))
    yield Case(rng.normal(0.0, 2.0, (2, 7)))
    yield Case(np.array([[8e307, -8e307, 3e307], [-8e307, -8.9e307, -8.5e307]]))
    yield Case(np.array([[-1.6e38, 1.6e38], [-9e37, -1.6e38]], np.float32))


def _shifted(scores: NDArray, by: NDArray, axis: int) -> NDArray:
    exponentials = np.exp(scores - by)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _clipped(scores: NDArray, axis: int, limit: float) -> NDArray:
    exponentials = np.exp(np.clip(scores, -limit, limit))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _stable_with_epsilon(scores: NDArray, axis: int, epsilon: float) -> NDArray:
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / (exponentials.sum(axis=axis, keepdims=True) + epsilon)


EPSILONS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-12)

STABLE_SOFTMAX = Exercise(
    name="stable_softmax",
    points=3,
    minutes=8,
    reference=stable_softmax,
    cases=_stable_cases,
    magnitude=_weights_size,
    hints=(
        "Softmax does not change when the same number is subtracted from every score of a row.",
        "Subtract the row's largest score: then every exponential lies between 0 and 1.",
        "scores.max(axis=axis, keepdims=True) gives each row's own maximum, ready to subtract.",
    ),
    mistakes=(
        Mistake(
            "exp overflows (or everything underflows) before the division: subtract each row's "
            "largest score first.",
            lambda scores, axis=-1: _shifted(scores, np.zeros(1, scores.dtype), axis),
        ),
        Mistake(
            "You subtract the maximum of the whole array: a row far below it underflows to 0/0. "
            "Take each row's own maximum, along axis.",
            lambda scores, axis=-1: _shifted(scores, scores.max(), axis),
        ),
        Mistake(
            "The maximum is always taken along the last axis: use the axis you are given.",
            lambda scores, axis=-1: _shifted(scores, scores.max(axis=-1, keepdims=True), axis),
        ),
        Mistake(
            "You always work along the last axis: use the axis you are given.",
            lambda scores, axis=-1: _shifted(scores, scores.max(axis=-1, keepdims=True), -1),
        ),
        Mistake(
            "The maxima have lost their axis, so they do not line up with the scores: use "
            "keepdims=True.",
            lambda scores, axis=-1: _shifted(scores, scores.max(axis=axis), axis),
        ),
        Mistake(
            "The sums have lost their axis, so they do not line up with the scores: use keepdims=True.",
            lambda scores, axis=-1: (
                np.exp(scores - scores.max(axis=axis, keepdims=True))
                / np.exp(scores - scores.max(axis=axis, keepdims=True)).sum(axis=axis)
            ),
        ),
        Mistake(
            "You subtract the mean: scores far above it still overflow. Subtract the maximum.",
            lambda scores, axis=-1: _shifted(scores, scores.mean(axis=axis, keepdims=True), axis),
        ),
        Mistake(
            "You subtract the smallest score: the others then grow. Subtract the largest.",
            lambda scores, axis=-1: _shifted(scores, scores.min(axis=axis, keepdims=True), axis),
        ),
        Mistake(
            "You subtract the largest absolute value: a row of large negative scores underflows to "
            "0/0. Subtract the largest score.",
            lambda scores, axis=-1: _shifted(
                scores, np.abs(scores).max(axis=axis, keepdims=True), axis
            ),
        ),
        Mistake(
            "The scores are clipped, which changes the weights: subtracting the maximum does not.",
            *(
                lambda scores, axis=-1, limit=limit: _clipped(scores, axis, limit)
                for limit in (30.0, 50.0, 80.0, 88.0, 100.0, 500.0, 700.0, 709.0)
            ),
        ),
        Mistake(
            "You divide by the largest score instead of subtracting it: that changes the weights.",
            lambda scores, axis=-1: _shifted(
                scores / scores.max(axis=axis, keepdims=True), np.zeros(1, scores.dtype), axis
            ),
        ),
        Mistake(
            "The exponentials of the shifted scores are not divided by their sum yet.",
            lambda scores, axis=-1: np.exp(scores - scores.max(axis=axis, keepdims=True)),
        ),
        Mistake(
            "NaN is replaced by 0 afterward, which hides the overflow and loses the weights: "
            "subtract each row's largest score first.",
            lambda scores, axis=-1: np.nan_to_num(
                _shifted(scores, np.zeros(1, scores.dtype), axis)
            ),
        ),
        Mistake(
            "The shift has the wrong sign: subtract the maximum, do not add it.",
            lambda scores, axis=-1: _shifted(scores, -scores.max(axis=axis, keepdims=True), axis),
        ),
        Mistake(
            "A small constant is added to the sum: one exponential is exactly 1, so the sum is never "
            "0. Leave it out.",
            *(
                lambda scores, axis=-1, e=epsilon: _stable_with_epsilon(scores, axis, e)
                for epsilon in EPSILONS
            ),
        ),
        Mistake(
            "These are the logarithms of the weights: return the weights themselves.",
            lambda scores, axis=-1: log_softmax(scores, axis),
        ),
    ),
)

# logsumexp


def _logsumexp_cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([1000.0, 1000.0]))
    yield Case(np.array([-1000.0, -1001.0, -1002.0]))
    yield Case(np.array([[1.0, 2.0, 3.0], [-1e4, -1e4, -1e4]]))
    yield Case(np.array([[1.0, 2.0, 3.0], [-1e4, -1e4, -1e4]]), keepdims=True)
    yield Case(np.array([[-np.inf, -np.inf, -np.inf], [-np.inf, 2.0, 700.0]]))
    yield Case(np.array([-np.inf, -np.inf]))
    yield Case(np.array([[-np.inf, -2e9], [-2e9, -2e9]]))
    yield Case(np.array([[3, 1, 2], [0, 800, 900]]))
    yield Case(rng.normal(0.0, 3.0, (1, 5)))  # only the axis summed over goes away
    yield Case(rng.normal(0.0, 3.0, (3, 1, 2)), axis=2, keepdims=False)
    yield Case(rng.normal(0.0, 3.0, (2, 3, 5)), axis=1)
    yield Case(rng.normal(0.0, 3.0, (3, 2, 5)), axis=0, keepdims=True)
    yield Case(rng.normal(0.0, 3.0, (5, 3)) + np.array([-900.0, 0.0, 1200.0]), 0)
    yield Case((rng.normal(0.0, 3.0, (3, 6)) + 120.0).astype(np.float32))
    yield Case(rng.normal(0.0, 3.0, (6, 2)).astype(np.float32), axis=-2, keepdims=True)
    yield Case(np.array([[8e307, -8e307, 3e307], [-8e307, -8.5e307, -8.9e307]]))


def _logsumexp_size(scores: NDArray, axis: int = -1, keepdims: bool = False) -> NDArray:
    size = _log_size(scores, axis)
    return size if keepdims else np.squeeze(size, axis=axis)


def _log_of_sum(
    scores: NDArray, shift: NDArray | float, axis: int, keepdims: bool = False
) -> NDArray:
    total = np.exp(scores - shift).sum(axis=axis, keepdims=True)
    result = shift + np.log(total)
    return result if keepdims else np.squeeze(result, axis=axis)


LOGSUMEXP = Exercise(
    name="logsumexp",
    points=2,
    minutes=7,
    reference=logsumexp,
    cases=_logsumexp_cases,
    magnitude=_logsumexp_size,
    hints=(
        "Shift by each row's maximum m: the sum of exp(s - m) is at least 1.",
        "e^m is a common factor of the sum, so its logarithm comes out in front: m + log(sum).",
        "A row of -inf has maximum -inf, and -inf - (-inf) is NaN: shift such a row by 0 instead.",
        "Then its sum is 0, and np.log(0) is -inf, as it should be, but warns: take the logarithm "
        'under `with np.errstate(divide="ignore"):`.',
    ),
    mistakes=(
        Mistake(
            "exp overflows or underflows before the logarithm: shift each row by its maximum first.",
            lambda scores, axis=-1, keepdims=False: np.log(
                np.exp(scores).sum(axis=axis, keepdims=keepdims)
            ),
        ),
        Mistake(
            "The maximum is subtracted but never added back: the result is m + log(sum of exp(s - m)).",
            lambda scores, axis=-1, keepdims=False: np.log(
                np.exp(scores - scores.max(axis=axis, keepdims=True)).sum(
                    axis=axis, keepdims=keepdims
                )
            ),
            lambda scores, axis=-1, keepdims=False: (
                logsumexp(scores, axis, keepdims)
                - np.where(
                    np.isfinite(scores.max(axis=axis, keepdims=keepdims)),
                    scores.max(axis=axis, keepdims=keepdims),
                    0.0,
                )
            ),
        ),
        Mistake(
            "A row of -inf gives NaN: its maximum is -inf, and -inf - (-inf) is NaN. Shift such a row "
            "by 0 instead; its result is -inf.",
            lambda scores, axis=-1, keepdims=False: _log_of_sum(
                scores, scores.max(axis=axis, keepdims=True), axis, keepdims
            ),
        ),
        Mistake(
            "keepdims is ignored: with keepdims=True the summed axis stays, with length 1.",
            lambda scores, axis=-1, keepdims=False: logsumexp(scores, axis),
        ),
        Mistake(
            "The summed axis is always kept: without keepdims=True it goes away.",
            lambda scores, axis=-1, keepdims=False: logsumexp(scores, axis, True),
        ),
        Mistake(
            "You always work along the last axis: use the axis you are given.",
            lambda scores, axis=-1, keepdims=False: logsumexp(scores, -1, keepdims),
        ),
        Mistake(
            "You shift by the maximum of the whole array: a row far below it underflows to log(0). "
            "Take each row's own maximum.",
            lambda scores, axis=-1, keepdims=False: _log_of_sum(
                scores, scores.max(), axis, keepdims
            ),
        ),
        Mistake(
            "This is the maximum alone: add log(sum of exp(s - m)).",
            lambda scores, axis=-1, keepdims=False: scores.max(axis=axis, keepdims=keepdims),
        ),
        Mistake(
            "This is the sum of the exponentials: return its logarithm.",
            lambda scores, axis=-1, keepdims=False: np.exp(scores).sum(
                axis=axis, keepdims=keepdims
            ),
        ),
        Mistake(
            "This is the mean in place of the sum: the logarithm of the number of entries is missing.",
            lambda scores, axis=-1, keepdims=False: (
                logsumexp(scores, axis, keepdims) - np.log(scores.shape[axis])
            ),
        ),
        Mistake(
            "np.log1p adds 1 to the sum: use np.log.",
            lambda scores, axis=-1, keepdims=False: np.squeeze(
                scores.max(axis=axis, keepdims=True)
                + np.log1p(
                    np.exp(scores - scores.max(axis=axis, keepdims=True)).sum(
                        axis=axis, keepdims=True
                    )
                ),
                axis=() if keepdims else axis,
            ),
        ),
    ),
)

# log_softmax


def _log_softmax_cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([0.0, -1000.0]))
    yield Case(np.array([1000.0, 0.0, 1000.0]))  # log 2 counts where the weight is 0 as well
    yield Case(np.array([[1000.0, 0.0, -1.0], [-2000.0, -2001.0, -2003.0]]))
    yield Case(np.array([[3, 1, 2], [0, 800, 900]]))
    yield Case(rng.normal(0.0, 3.0, (3, 3)))  # square: here a lost axis gives numbers, not an error
    yield Case(rng.normal(0.0, 3.0, (2, 3, 5)), axis=1)
    yield Case(rng.normal(0.0, 3.0, (5, 3)) + np.array([-900.0, 0.0, 1200.0]), 0)
    yield Case(rng.normal(0.0, 2.0, (3, 7)))
    yield Case((rng.normal(0.0, 40.0, (3, 6)) + 120.0).astype(np.float32))
    yield Case(rng.normal(0.0, 3.0, (6, 2)).astype(np.float32), axis=-2)
    yield Case(np.array([[8e307, -8e307, 3e307], [-8e307, -8.5e307, -8.9e307]]))


LOG_SOFTMAX = Exercise(
    name="log_softmax",
    points=2,
    minutes=6,
    reference=log_softmax,
    signature="log_softmax(scores, axis=-1)",
    cases=_log_softmax_cases,
    magnitude=_log_size,
    hints=(
        "Write log(e^s_i / sum) as a difference: no weight needs to be computed at all.",
        "log p_i = s_i - logsumexp(s). With which keepdims does the subtraction line up?",
    ),
    mistakes=(
        Mistake(
            "This is the logarithm of the computed weights: a weight that underflows to 0 has "
            "logarithm -inf. Subtract logsumexp from the scores instead.",
            lambda scores, axis=-1: np.log(stable_softmax(scores, axis)),
        ),
        Mistake(
            "exp overflows before the shift: subtract each row's largest score first.",
            lambda scores, axis=-1: scores - np.log(np.exp(scores).sum(axis=axis, keepdims=True)),
            lambda scores, axis=-1: np.log(
                np.exp(scores) / np.exp(scores).sum(axis=axis, keepdims=True)
            ),
        ),
        Mistake(
            "The logarithm of 0 is avoided by adding a small constant, which changes the result: "
            "subtract logsumexp from the scores instead.",
            *(
                lambda scores, axis=-1, e=epsilon: np.log(stable_softmax(scores, axis) + e)
                for epsilon in (*EPSILONS, 1e-15, 1e-16, 1e-20, 1e-30, 1e-300)
            ),
            *(
                lambda scores, axis=-1, e=epsilon: np.log(
                    np.maximum(stable_softmax(scores, axis), e)
                )
                for epsilon in (*EPSILONS, 1e-15, 1e-16, 1e-20, 1e-30, 1e-300)
            ),
        ),
        Mistake(
            "These are the weights: return their logarithms.",
            lambda scores, axis=-1: stable_softmax(scores, axis),
        ),
        Mistake(
            "The maximum is subtracted inside exp only: subtract it from the scores as well.",
            lambda scores, axis=-1: (
                scores
                - np.log(
                    np.exp(scores - scores.max(axis=axis, keepdims=True)).sum(
                        axis=axis, keepdims=True
                    )
                )
            ),
        ),
        Mistake(
            "You subtract the maximum of the whole array: a row far below it underflows to log(0). "
            "Take each row's own maximum, along axis.",
            lambda scores, axis=-1: (
                scores
                - scores.max()
                - np.log(np.exp(scores - scores.max()).sum(axis=axis, keepdims=True))
            ),
        ),
        Mistake(
            "Only the maximum is subtracted: the logarithm of the sum is missing.",
            lambda scores, axis=-1: scores - scores.max(axis=axis, keepdims=True),
        ),
        Mistake(
            "You always work along the last axis: use the axis you are given.",
            lambda scores, axis=-1: log_softmax(scores, -1),
        ),
        Mistake(
            "You take the whole array as one row: use the axis you are given.",
            lambda scores, axis=-1: log_softmax(scores, None),
        ),
        Mistake(
            "logsumexp has lost its axis, so it does not line up with the scores: use keepdims=True.",
            lambda scores, axis=-1: scores - logsumexp(scores, axis),
        ),
        Mistake(
            "The sign is reversed: a logarithm of a weight is never positive.",
            lambda scores, axis=-1: -log_softmax(scores, axis),
        ),
        Mistake(
            "These are logarithms to base 2: use the natural logarithm.",
            lambda scores, axis=-1: log_softmax(scores, axis) / np.log(2.0),
        ),
        Mistake(
            "You divide the scores by logsumexp: the logarithm of a quotient is a difference.",
            lambda scores, axis=-1: scores / logsumexp(scores, axis, True),
        ),
    ),
)

# cross_entropy


def _cross_entropy_cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([[2.0, 1.0, 0.0]]), np.array([0]))
    yield Case(np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0]]), np.array([2, 1]))
    yield Case(np.array([[0.0, 1000.0], [-1000.0, 0.0], [5.0, 5.0]]), np.array([0, 0, 1]))
    yield Case(np.array([[3, 1, 2, 0, 4], [0, 800, 900, 1, 2]]), np.array([4, 2]))
    yield Case(rng.normal(0.0, 3.0, (5, 3)), rng.integers(0, 3, 5))
    yield Case(rng.normal(0.0, 3.0, (3, 7)), rng.integers(0, 7, 3))
    yield Case(rng.normal(0.0, 3.0, (6, 5)).astype(np.float32), rng.integers(0, 5, 6))
    yield Case(np.array([[-8e307, 8e307, 0.0]]), np.array([0]))


def _cross_entropy_size(scores: NDArray, targets: NDArray) -> float:
    return float(np.max(_log_size(scores)))


def _losses(scores: NDArray, targets: NDArray) -> NDArray:
    return -log_softmax(scores)[np.arange(len(targets)), targets]


def _naive_loss(scores: NDArray, targets: NDArray, weights: NDArray) -> NDArray:
    return -np.log(weights[np.arange(len(targets)), targets]).mean()


CROSS_ENTROPY = Exercise(
    name="cross_entropy",
    points=2,
    minutes=7,
    reference=cross_entropy,
    cases=_cross_entropy_cases,
    magnitude=_cross_entropy_size,
    hints=(
        "Which log-likelihood belongs to the right class of each row? That one, negated.",
        "log_softmax(scores) has shape (N, C): one entry of each row counts, and the mean over N.",
        "scores[np.arange(N), targets] picks entry targets[i] from row i.",
    ),
    mistakes=(
        Mistake(
            "The logarithm is taken of a weight that underflows to 0, so the loss is infinite: use "
            "log_softmax.",
            lambda scores, targets: _naive_loss(scores, targets, stable_softmax(scores)),
        ),
        Mistake(
            "exp overflows: use log_softmax, which shifts each row by its maximum.",
            lambda scores, targets: _naive_loss(
                scores, targets, np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
            ),
            lambda scores, targets: (
                np.log(np.exp(scores).sum(axis=-1)) - scores[np.arange(len(targets)), targets]
            ).mean(),
        ),
        Mistake(
            "The maximum is subtracted inside exp only: add it to the logarithm of the sum again.",
            lambda scores, targets: (_losses(scores, targets) - scores.max(axis=-1)).mean(),
        ),
        Mistake(
            "One maximum is subtracted from all rows: an example far below it underflows to log(0). "
            "Subtract each row's own.",
            lambda scores, targets: (
                np.log(np.exp(scores - scores.max()).sum(axis=-1))
                - (scores - scores.max())[np.arange(len(targets)), targets]
            ).mean(),
        ),
        Mistake(
            "A small constant inside the logarithm changes the loss: use log_softmax.",
            *(
                lambda scores, targets, e=epsilon: _naive_loss(
                    scores, targets, stable_softmax(scores) + e
                )
                for epsilon in (*EPSILONS, 1e-15, 1e-16, 1e-20, 1e-30, 1e-300)
            ),
            *(
                lambda scores, targets, e=epsilon: _naive_loss(
                    scores, targets, np.clip(stable_softmax(scores), e, 1.0)
                )
                for epsilon in (*EPSILONS, 1e-15, 1e-16, 1e-20, 1e-30, 1e-300)
            ),
            *(
                lambda scores, targets, e=epsilon: _naive_loss(
                    scores, targets, np.clip(stable_softmax(scores), e, 1.0 - e)
                )
                for epsilon in (*EPSILONS, 1e-15)
            ),
        ),
        Mistake(
            "This is the sum over the examples: take their mean.",
            lambda scores, targets: _losses(scores, targets).sum(),
        ),
        Mistake(
            "One loss for each example is returned: take their mean, one number.",
            lambda scores, targets: _losses(scores, targets),
        ),
        Mistake(
            "The sign is reversed: the loss is the negative log-likelihood.",
            lambda scores, targets: -_losses(scores, targets).mean(),
        ),
        Mistake(
            "The sum is divided by the number of classes, C: divide by that of the examples, N.",
            lambda scores, targets: _losses(scores, targets).sum() / scores.shape[-1],
        ),
        Mistake(
            "The mean runs over all N × C entries: only the right class of each example counts, "
            "divided by N.",
            lambda scores, targets: _losses(scores, targets).sum() / scores.size,
        ),
        Mistake(
            "Every class is counted: only the right class of each example counts.",
            lambda scores, targets: -log_softmax(scores).mean(),
            lambda scores, targets: -log_softmax(scores).sum() / len(targets),
        ),
        Mistake(
            "log_softmax(scores)[:, targets] takes every target from every row: pick entry "
            "targets[i] from row i, with [np.arange(N), targets].",
            lambda scores, targets: -log_softmax(scores)[:, targets].mean(),
        ),
        Mistake(
            "The scores themselves are averaged: take log_softmax of each row first.",
            lambda scores, targets: -scores[np.arange(len(targets)), targets].mean(),
        ),
        Mistake(
            "Softmax runs down the columns: each row is one example.",
            lambda scores, targets: (
                -log_softmax(scores, 0)[np.arange(len(targets)), targets].mean()
            ),
        ),
        Mistake(
            "Softmax runs over the whole array: each row is one example.",
            lambda scores, targets: (
                -log_softmax(scores, None)[np.arange(len(targets)), targets].mean()
            ),
        ),
        Mistake(
            "The mean of the weights is taken, not of their logarithms.",
            lambda scores, targets: (
                -stable_softmax(scores)[np.arange(len(targets)), targets].mean()
            ),
            lambda scores, targets: (
                1.0 - stable_softmax(scores)[np.arange(len(targets)), targets].mean()
            ),
        ),
        Mistake(
            "The logarithm is taken after the mean: average the logarithms.",
            lambda scores, targets: (
                -np.log(stable_softmax(scores)[np.arange(len(targets)), targets].mean())
            ),
        ),
        Mistake(
            "These are logarithms to base 2: use the natural logarithm.",
            lambda scores, targets: _losses(scores, targets).mean() / np.log(2.0),
        ),
    ),
)

# masked_softmax


def _masked_cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([1.0, 9.0, 1.0]), np.array([True, False, True]))
    yield Case(
        np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        np.array([[True, True, False], [False, False, False]]),
    )
    yield Case(np.array([[3, 1, 2], [0, 800, 900]]), np.array([[True, False, True]]))
    yield Case(
        rng.normal(0.0, 3.0, (2, 3, 5)),
        np.array([[True], [False], [True]]) | (np.arange(5) == rng.integers(5)),
    )
    yield Case(rng.normal(0.0, 3.0, (3, 5)), np.arange(3)[:, None] != np.array([1, 0, 2, 2, 1]), 0)
    yield Case(rng.normal(0.0, 3.0, (2, 5, 3)), rng.random((5, 1)) < 0.5, axis=1)
    yield Case(
        rng.normal(0.0, 3.0, (2, 3, 5)),
        np.array([[[True] * 5], [[True, False, True, False, True]]]),
    )
    # Square, so that a mask of one axis could lie along either; and a score of 0 is a score.
    yield Case(
        np.array([[0.0, 2.0, 0.0], [1.0, 0.0, -1.0], [0.0, 0.0, 3.0]]),
        np.array([True, True, False]),
    )
    # Nothing allowed in one column of the three.
    yield Case(
        rng.normal(0.0, 3.0, (5, 3)),
        np.array([True, False, True]) & (np.arange(5) != 1)[:, None],
        0,
    )
    yield Case(np.full((2, 3, 5), 0.5), np.zeros((2, 3, 5), bool), axis=1)
    # A large score behind the mask must not drown the allowed ones.
    yield Case(np.array([[-1000.0, 2000.0, -1001.0, 0.0]]), np.array([True, False, True, False]))
    yield Case(np.array([[1000.0, 1001.0], [1.0, 2.0], [-1000.0, -1001.0]]), np.ones((3, 2), bool))
    yield Case(
        (rng.normal(0.0, 3.0, (3, 6)) + 120.0).astype(np.float32),
        np.arange(6) < np.array([[6], [0], [2]]),
    )
    yield Case(np.array([[1e300, -1e300, 0.0]]), np.array([[False, True, False]]))
    yield Case(np.array([-500.0, -502.0, -501.0]), np.array([True, True, False]))
    # Small weights are right in every digit too.
    yield Case(np.array([[0.0, -30.0, -80.0, 5.0]]), np.array([True, True, True, False]))
    yield Case(np.array([1.0, 9.0, 2.0]), np.array([False, True, True]))


def _masked_size(scores: NDArray, mask: NDArray, axis: int = -1) -> NDArray:
    allowed = np.where(mask, scores, 0.0)
    return masked_softmax(scores, mask, axis) * (1.0 + _finite_size(allowed, axis))


LARGE_NEGATIVES = (-1e9, -1e10, -1e20, -1e30, -1e4, -1e5, -1e6, -1e8)


def _masked_by(scores: NDArray, mask: NDArray, axis: int, fill: float) -> NDArray:
    filled = np.where(mask, scores, np.array(fill, np.result_type(scores, np.float32)))
    return softmax(filled, axis)


def _over_its_sum(exponentials: NDArray, axis: int) -> NDArray:
    total = exponentials.sum(axis=axis, keepdims=True)
    return exponentials / np.where(total == 0, 1, total)


def _zeroed_after(scores: NDArray, mask: NDArray, axis: int) -> NDArray:
    return np.where(mask, stable_softmax(scores, axis), 0.0)


def _normalized_after(scores: NDArray, mask: NDArray, axis: int, epsilon: float = 0.0) -> NDArray:
    kept = np.where(mask, stable_softmax(scores, axis), 0.0)
    return kept / (kept.sum(axis=axis, keepdims=True) + epsilon)


MASKED_SOFTMAX = Exercise(
    name="masked_softmax",
    points=3,
    minutes=8,
    reference=masked_softmax,
    cases=_masked_cases,
    magnitude=_masked_size,
    hints=(
        "np.where(mask, scores, -np.inf) gives every forbidden entry weight 0: exp(-inf) is 0.",
        "Where nothing is allowed the maximum is -inf: use 0 there, so that -inf - 0 stays -inf.",
        "The sum of such a row is 0. Divide by 1 instead, and its weights are the zeros they are.",
    ),
    mistakes=(
        Mistake(
            "A row with nothing allowed gives NaN: its maximum is -inf and its sum 0. Such a row "
            "gets all zeros.",
            lambda scores, mask, axis=-1: _masked_by(scores, mask, axis, -np.inf),
        ),
        Mistake(
            "A row with nothing allowed gets equal weights on entries that are forbidden: a large "
            "negative number is not -inf. Such a row gets all zeros.",
            *(
                lambda scores, mask, axis=-1, fill=fill: _masked_by(scores, mask, axis, fill)
                for fill in LARGE_NEGATIVES
            ),
        ),
        Mistake(
            "A row with nothing allowed gets equal weights: such a row gets all zeros.",
            lambda scores, mask, axis=-1: np.where(
                np.any(np.broadcast_to(mask, scores.shape), axis=axis, keepdims=True),
                masked_softmax(scores, mask, axis),
                1.0 / scores.shape[axis],
            ),
        ),
        Mistake(
            "A large negative number is not -inf: an allowed score may lie below it. Forbidden "
            "scores are -inf.",
            *(
                lambda scores, mask, axis=-1, fill=fill: _masked_by(scores, mask, axis, fill) * mask
                for fill in LARGE_NEGATIVES
            ),
            *(
                lambda scores, mask, axis=-1, fill=fill: (
                    softmax(scores + fill * (1.0 - mask), axis) * mask
                )
                for fill in LARGE_NEGATIVES
            ),
        ),
        Mistake(
            "The mask is applied after softmax: forbidden entries still took their share of the sum. "
            "Mask the scores first.",
            lambda scores, mask, axis=-1: _zeroed_after(scores, mask, axis),
            lambda scores, mask, axis=-1: stable_softmax(scores, axis) * mask,
        ),
        Mistake(
            "A forbidden score that is far larger makes the allowed weights underflow before the mask "
            "is applied, and 0/0 follows. Mask the scores first, then subtract the maximum.",
            lambda scores, mask, axis=-1: _normalized_after(scores, mask, axis),
            lambda scores, mask, axis=-1: np.nan_to_num(_normalized_after(scores, mask, axis)),
            *(
                lambda scores, mask, axis=-1, e=epsilon: _normalized_after(scores, mask, axis, e)
                for epsilon in EPSILONS
            ),
        ),
        Mistake(
            "The mask is read the wrong way around: True is where attention is allowed.",
            lambda scores, mask, axis=-1: masked_softmax(scores, ~mask, axis),
        ),
        Mistake(
            "The mask is ignored: forbidden entries get weight 0.",
            lambda scores, mask, axis=-1: stable_softmax(scores, axis),
        ),
        Mistake(
            "Forbidden scores are set to 0, and exp(0) is 1: set them to -inf.",
            lambda scores, mask, axis=-1: _masked_by(scores, mask, axis, 0.0),
            lambda scores, mask, axis=-1: softmax(scores * mask, axis),
        ),
        Mistake(
            "You always work along the last axis: use the axis you are given.",
            lambda scores, mask, axis=-1: masked_softmax(scores, mask, -1),
        ),
        Mistake(
            "The mask is added to the scores as 0 and 1: a boolean mask allows or forbids.",
            lambda scores, mask, axis=-1: stable_softmax(scores + mask, axis),
        ),
        Mistake(
            "exp overflows: subtract each row's largest allowed score first.",
            lambda scores, mask, axis=-1: (
                np.where(mask, np.exp(scores), 0.0)
                / np.where(mask, np.exp(scores), 0.0).sum(axis=axis, keepdims=True)
            ),
            lambda scores, mask, axis=-1: np.nan_to_num(
                np.where(mask, np.exp(scores), 0.0)
                / np.where(mask, np.exp(scores), 0.0).sum(axis=axis, keepdims=True)
            ),
            lambda scores, mask, axis=-1: _over_its_sum(np.where(mask, np.exp(scores), 0), axis),
            lambda scores, mask, axis=-1: _over_its_sum(np.exp(scores) * mask, axis),
        ),
        Mistake(
            "A small constant is added to every sum: rows with something allowed no longer sum to 1. "
            "Treat the empty row apart.",
            *(
                lambda scores, mask, axis=-1, e=epsilon: _masked_with_epsilon(scores, mask, axis, e)
                for epsilon in EPSILONS
            ),
        ),
    ),
)


def _masked_with_epsilon(scores: NDArray, mask: NDArray, axis: int, epsilon: float) -> NDArray:
    filled = np.where(mask, scores, -np.inf)
    maximum = filled.max(axis=axis, keepdims=True)
    exponentials = np.exp(filled - np.where(np.isfinite(maximum), maximum, 0.0))
    return exponentials / (exponentials.sum(axis=axis, keepdims=True) + epsilon)


# merge_softmax_stats


def _stats(scores: NDArray) -> SoftmaxStats:
    maximum = scores.max(axis=-1)
    return maximum, np.exp(scores - maximum[..., None]).sum(axis=-1, dtype=scores.dtype)


def _merge_cases(rng: Generator) -> Iterator[Case]:
    yield Case((np.array([1.0]), np.array([2.0])), (np.array([3.0]), np.array([1.5])))
    yield Case((np.array([3.0]), np.array([1.5])), (np.array([1.0]), np.array([2.0])))
    empty = np.array([-np.inf, -np.inf, 0.5]), np.array([0.0, 0.0, 1.25])
    yield Case(empty, (np.array([-np.inf, 2.0, -np.inf]), np.array([0.0, 3.0, 0.0])))
    yield Case((np.array([1000.0, -5.0]), np.array([1.0, 2.0])), _far(rng))
    yield Case(
        (np.array([-3e9, -np.inf, -4e9]), np.array([2.0, 0.0, 1.5])),
        (np.array([-3e9 - 1.0, -2e9, -np.inf]), np.array([1.0, 3.0, 0.0])),
    )
    yield Case(_stats(rng.normal(0.0, 3.0, (2, 3, 5))), _stats(rng.normal(0.0, 3.0, (2, 3, 6))))
    yield Case(
        _stats(rng.normal(0.0, 3.0, (3, 5)).astype(np.float32)),
        _stats(rng.normal(0.0, 3.0, (3, 2)).astype(np.float32)),
    )
    yield Case((np.array([2.0]), np.array([1.5])), (np.array([2.0]), np.array([2.5])))


def _far(rng: Generator) -> SoftmaxStats:
    return np.array([-1000.0, 900.0]), rng.uniform(1.0, 3.0, 2)


def _merge_size(left: SoftmaxStats, right: SoftmaxStats) -> tuple[NDArray, NDArray]:
    maximum, total = merge_softmax_stats(left, right)
    sizes = [np.where(np.isfinite(part[0]), np.abs(part[0]), 0.0) for part in (left, right)]
    return np.zeros_like(maximum), total * (1.0 + np.maximum(*sizes))


def _merged(left: SoftmaxStats, right: SoftmaxStats) -> SoftmaxStats:
    maximum = np.maximum(left[0], right[0])
    total = left[1] * np.exp(left[0] - maximum) + right[1] * np.exp(right[0] - maximum)
    return maximum, total


def _totals_at_sums(left: SoftmaxStats, right: SoftmaxStats) -> SoftmaxStats:
    maximum = np.maximum(left[0], right[0])
    total = left[1] * np.exp(left[0]) + right[1] * np.exp(right[0])
    return maximum, total * np.exp(-maximum)


def _wrong_sign(left: SoftmaxStats, right: SoftmaxStats) -> SoftmaxStats:
    maximum = np.maximum(left[0], right[0])
    total = left[1] * np.exp(maximum - left[0]) + right[1] * np.exp(maximum - right[0])
    return maximum, total


MERGE_SOFTMAX_STATS = Exercise(
    name="merge_softmax_stats",
    points=3,
    minutes=10,
    reference=merge_softmax_stats,
    cases=_merge_cases,
    magnitude=_merge_size,
    hints=(
        "The maximum of the joined row is the larger of the two. Each total refers to its own maximum.",
        "A total counted from m1 is worth total * exp(m1 - m) when counted from m.",
        "Where both parts are empty, m is -inf and m1 - m is NaN: count from 0 there instead.",
    ),
    mistakes=(
        Mistake(
            "The totals are added as they are: bring each to the new maximum first, "
            "total * exp(old - new).",
            lambda left, right: (np.maximum(left[0], right[0]), left[1] + right[1]),
        ),
        Mistake(
            "Two empty parts give NaN: -inf - (-inf) is NaN. Their join is empty too, (-inf, 0).",
            _merged,
        ),
        Mistake(
            "Two empty parts do not give an empty one: their join is (-inf, 0), and nothing else.",
            lambda left, right: tuple(map(np.nan_to_num, _merged(left, right))),
            lambda left, right: (
                np.nan_to_num(merge_softmax_stats(left, right)[0], neginf=0.0),
                merge_softmax_stats(left, right)[1],
            ),
        ),
        Mistake(
            "Only the right total is rescaled: when the left maximum is the smaller one, the left "
            "total must be rescaled as well.",
            lambda left, right: (
                np.maximum(left[0], right[0]),
                left[1] + right[1] * np.exp(right[0] - np.maximum(left[0], right[0])),
            ),
            lambda left, right: (
                np.maximum(left[0], right[0]),
                left[1]
                + np.nan_to_num(right[1] * np.exp(right[0] - np.maximum(left[0], right[0]))),
            ),
        ),
        Mistake(
            "Only the left total is rescaled: when the right maximum is the smaller one, the right "
            "total must be rescaled as well.",
            lambda left, right: (
                np.maximum(left[0], right[0]),
                left[1] * np.exp(left[0] - np.maximum(left[0], right[0])) + right[1],
            ),
            lambda left, right: (
                np.maximum(left[0], right[0]),
                np.nan_to_num(left[1] * np.exp(left[0] - np.maximum(left[0], right[0]))) + right[1],
            ),
        ),
        Mistake(
            "The factor is upside down: a total moves to the new maximum by exp(old - new), never "
            "more than 1.",
            _wrong_sign,
        ),
        Mistake(
            "exp(maximum) overflows: use differences of maxima only, exp(old - new).",
            _totals_at_sums,
        ),
        Mistake(
            "The maxima are added: the joined row has the larger one.",
            lambda left, right: (left[0] + right[0], left[1] + right[1]),
            lambda left, right: (left[0] + right[0], merge_softmax_stats(left, right)[1]),
        ),
        Mistake(
            "The larger total is returned: the totals of both parts count.",
            lambda left, right: (
                np.maximum(left[0], right[0]),
                np.maximum(left[1], right[1]),
            ),
        ),
        Mistake(
            "The pair is reversed: return (maximum, total).",
            lambda left, right: merge_softmax_stats(left, right)[::-1],
        ),
        Mistake(
            "One maximum is taken for all rows: each row has its own.",
            lambda left, right: _merged(
                (np.full_like(left[0], np.max(left[0])), left[1]),
                (np.full_like(right[0], np.max(right[0])), right[1]),
            ),
        ),
    ),
)

EXERCISES = (
    LARGEST_EXPONENT,
    STABLE_SOFTMAX,
    LOGSUMEXP,
    LOG_SOFTMAX,
    CROSS_ENTROPY,
    MASKED_SOFTMAX,
    MERGE_SOFTMAX_STATS,
)
