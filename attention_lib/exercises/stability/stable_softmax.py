"""`stable_softmax(scores, axis=-1)` computes softmax for every finite score of any size.

Each row is shifted by its own maximum. Scores of `-inf` get weight 0 as long as one score in the row is
finite. Lesson 01's `softmax` would do all of it, and is not to be called.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.cases import drawn_again, other_scores
from attention_lib.exercises.parts.choices import EPSILONS
from attention_lib.exercises.parts.magnitudes import weights_magnitude
from attention_lib.lessons.softmax import softmax
from attention_lib.lessons.stability import stable_softmax

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


def plain(scores, axis=-1):
    maximum = np.max(scores, axis=axis, keepdims=True)
    powers = np.exp(scores - maximum)
    total = np.sum(powers, axis=axis, keepdims=True)
    weights = powers / total
    return weights


LIMITS = "{30.0|50.0|80.0|88.0|100.0|500.0|700.0|709.0}"

MISTAKES = known_mistakes(
    plain,
    "exp-overflows: exp overflows (or everything underflows) before the division: subtract each "
    "row's largest score first.",
    "scores - maximum => scores",
    "one-maximum: You subtract the maximum of the whole array: a row far below it underflows to "
    "0/0. Take each row's own maximum, along axis.",
    "(scores, axis=axis, keepdims=True) => (scores)",
    "maximum-of-last-axis: You always take the last axis's maximum: use the axis you are given.",
    "(scores, axis=axis => (scores, axis=-1",
    "sum-of-last-axis: You always sum along the last axis: use the axis you are given.",
    "(powers, axis=axis => (powers, axis=-1",
    "last-axis-only: You always work along the last axis: use the axis you are given.",
    "axis=-1): => axis=-1):\n    axis = -1",
    "maximum-keepdims-missing: The maxima have lost their axis, so they do not line up with the "
    "scores: use keepdims=True.",
    "(scores, axis=axis, keepdims=True) => (scores, axis=axis)",
    "sum-keepdims-missing: The sums have lost their axis, so they do not line up with the scores: "
    "use keepdims=True.",
    "(powers, axis=axis, keepdims=True) => (powers, axis=axis)",
    "reshaped: A reshape cuts the array into rows along the last axis: move another axis to the end "
    "before it, with np.moveaxis, and back after it.",
    "axis=-1): => axis=-1):\n    shape = scores.shape\n    scores = scores.reshape(-1, shape[axis])"
    "\n    axis = -1 && return weights => return weights.reshape(shape)",
    "maximum-from-zero: The search for the maximum begins at 0, above every score of some rows: "
    "begin at -inf, or with the first score.",
    "- maximum => - np.maximum(maximum, 0)",
    "mean-subtracted: You subtract the mean: scores far above it overflow. Subtract the maximum.",
    "np.max => np.mean",
    "smallest-subtracted: You subtract the smallest score: the others grow. Subtract the largest.",
    "np.max => np.min",
    "largest-size-subtracted: You subtract the largest absolute value: a row of large negative "
    "scores underflows to 0/0. Subtract the largest score.",
    "np.max(scores => np.max(np.abs(scores)",
    "clipped: The scores are clipped, which changes the weights: subtracting the maximum does not.",
    f"scores - maximum => np.clip(scores, -{LIMITS}, {LIMITS})",
    "divided-by-maximum: You divide by the largest score, which changes the weights: subtract it.",
    "scores - maximum => scores / maximum",
    "not-divided: The exponentials of the shifted scores are not divided by their sum yet.",
    "powers / total => powers",
    "nan-replaced: NaN is replaced by 0 afterward, which hides the overflow and loses the "
    "weights: subtract each row's largest score first.",
    "scores - maximum => scores && return weights => return np.nan_to_num(weights)",
    "shift-sign-wrong: The shift has the wrong sign: subtract the maximum, do not add it.",
    "scores - maximum => scores + maximum",
    "constant-in-sum: A small constant is added to the sum: one exponential is exactly 1, so the "
    "sum is never 0. Leave it out.",
    f"/ total => / (total + {EPSILONS})",
    "maximum-plus-log-sum: The logarithm of the sum is added to the maximum, next to which it is "
    "lost for large scores. Subtract the maximum first, then take exp and divide by the sum.",
    "powers / total => np.exp(scores - (maximum + np.log(total)))",
    "axis=-1): => axis=-1):\n    dtype, scores = np.result_type(scores, np.float32), scores.astype(float)"
    " && powers / total => np.exp(scores - (maximum + np.log(total))).astype(dtype)",
    "logarithms: These are the logarithms of the weights: return the weights themselves.",
    "powers / total => scores - maximum - np.log(total)",
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
