"""`stable_softmax(scores, axis=-1)` computes softmax for every finite score of any size.

Each row is shifted by its own maximum. Scores of `-inf` get weight 0 as long as one score in the row is
finite. Lesson 01's `softmax` would do all of it, and is not to be called.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
from attention_lib.exercises.parts.cases import drawn_again, other_scores
from attention_lib.exercises.parts.magnitudes import weights_magnitude
from attention_lib.exercises.parts.softmax import (
    EPSILONS,
    clipped_softmax,
    in_rows_of_memory,
    plain_softmax,
)
from attention_lib.lessons.softmax import softmax
from attention_lib.lessons.stability import log_softmax, logsumexp, stable_softmax

HINTS = (
    "Softmax does not change when the same number is subtracted from every score of a row.",
    "Subtract the row's largest score: then every exponential lies between 0 and 1.",
    "scores.max(axis=axis, keepdims=True) gives each row's own maximum, ready to subtract.",
)


def cases(rng: Generator) -> Iterator[Case]:
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
    # Beside such scores the logarithm of a sum is lost; the differences of the scores are exact.
    yield Case(np.array([[1e8, 1e8, 1e8 - 8], [-3e6, -3e6 + 0.25, -3e6 - 2]], np.float32))
    yield Case(np.array([[4e15, 4e15 + 1, 4e15 - 2], [-5e15, -5e15, -5e15 - 1]]))
    yield Case(np.array([[8e307, -8e307, 3e307], [-8e307, -8.9e307, -8.5e307]]))
    yield Case(np.array([[-1.6e38, 1.6e38], [-9e37, -1.6e38]], np.float32))


def maxima(scores: NDArray, axis: int) -> NDArray:
    return scores.max(axis=axis, keepdims=True)


def sums(exponentials: NDArray, axis: int) -> NDArray:
    return exponentials.sum(axis=axis, keepdims=True)


@composable
def shifted(
    *, shift: Answer = maxima, by: Answer = sums, along: Answer = lambda axis: axis
) -> Answer:
    """Divide shifted exponentials by their sums, with a step replaced by a wrong one."""

    def answer(scores: NDArray, axis: int = -1) -> NDArray:
        exponentials = np.exp(scores - shift(scores, along(axis)))
        return exponentials / by(exponentials, along(axis))

    return answer


MISTAKES = known_mistakes(
    "exp-overflows: exp overflows (or everything underflows) before the division: subtract each "
    "row's largest score first.",
    shifted(shift=lambda scores, axis: 0.0),
    "one-maximum: You subtract the maximum of the whole array: a row far below it underflows to "
    "0/0. Take each row's own maximum, along axis.",
    shifted(shift=lambda scores, axis: scores.max()),
    "maximum-of-last-axis: You always take the last axis's maximum: use the axis you are given.",
    shifted(shift=lambda scores, axis: maxima(scores, -1)),
    "sum-of-last-axis: You always sum along the last axis: use the axis you are given.",
    shifted(by=lambda exponentials, axis: sums(exponentials, -1)),
    "last-axis-only: You always work along the last axis: use the axis you are given.",
    shifted(along=lambda axis: -1),
    "maximum-keepdims-missing: The maxima have lost their axis, so they do not line up with the "
    "scores: use keepdims=True.",
    shifted(shift=lambda scores, axis: scores.max(axis=axis)),
    "sum-keepdims-missing: The sums have lost their axis, so they do not line up with the scores: "
    "use keepdims=True.",
    shifted(by=lambda exponentials, axis: exponentials.sum(axis=axis)),
    "reshaped: A reshape cuts the array into rows along the last axis: move another axis to the end "
    "before it, with np.moveaxis, and back after it.",
    in_rows_of_memory(stable_softmax),
    "maximum-from-zero: The search for the maximum begins at 0, above every score of some rows: "
    "begin at -inf, or with the first score.",
    shifted(shift=lambda scores, axis: np.maximum(maxima(scores, axis), 0)),
    "mean-subtracted: You subtract the mean: scores far above it overflow. Subtract the maximum.",
    shifted(shift=lambda scores, axis: np.mean(scores, axis, keepdims=True)),
    "smallest-subtracted: You subtract the smallest score: the others grow. Subtract the largest.",
    shifted(shift=lambda scores, axis: scores.min(axis=axis, keepdims=True)),
    "largest-size-subtracted: You subtract the largest absolute value: a row of large negative "
    "scores underflows to 0/0. Subtract the largest score.",
    shifted(shift=lambda scores, axis: maxima(np.abs(scores), axis)),
    "clipped: The scores are clipped, which changes the weights: subtracting the maximum does not.",
    *(
        lambda scores, axis=-1, limit=limit: clipped_softmax(scores, limit, axis)
        for limit in (30.0, 50.0, 80.0, 88.0, 100.0, 500.0, 700.0, 709.0)
    ),
    "divided-by-maximum: You divide by the largest score, which changes the weights: subtract it.",
    lambda scores, axis=-1: plain_softmax(scores / scores.max(axis=axis, keepdims=True), axis),
    "not-divided: The exponentials of the shifted scores are not divided by their sum yet.",
    shifted(by=lambda exponentials, axis: 1.0),
    "nan-replaced: NaN is replaced by 0 afterward, which hides the overflow and loses the "
    "weights: subtract each row's largest score first.",
    lambda scores, axis=-1: np.nan_to_num(plain_softmax(scores, axis)),
    "shift-sign-wrong: The shift has the wrong sign: subtract the maximum, do not add it.",
    shifted(shift=lambda scores, axis: -maxima(scores, axis)),
    "constant-in-sum: A small constant is added to the sum: one exponential is exactly 1, so the "
    "sum is never 0. Leave it out.",
    *(shifted(by=lambda exps, axis, e=epsilon: sums(exps, axis) + e) for epsilon in EPSILONS),
    "maximum-plus-log-sum: The logarithm of the sum is added to the maximum, beside which it is "
    "lost for large scores. Subtract the maximum first, then take exp and divide by the sum.",
    lambda scores, axis=-1: np.exp(scores - logsumexp(scores, axis, keepdims=True)),
    lambda scores, axis=-1: np.exp(
        scores - logsumexp(scores.astype(float), axis, keepdims=True)
    ).astype(np.result_type(scores, np.float32)),
    "logarithms: These are the logarithms of the weights: return the weights themselves.",
    lambda scores, axis=-1: log_softmax(scores, axis),
)

EXERCISE = Exercise(
    name="stable_softmax",
    points=3,
    minutes=6,
    reference=stable_softmax,
    cases=drawn_again(cases, other_scores),
    magnitude=weights_magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
    not_by={softmax: "which already subtracts the maximum: do that yourself"},
)
