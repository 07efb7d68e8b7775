"""`softmax(scores, axis=-1)` turns each row of scores into positive weights that sum to 1.

Scores of any shape, below 50 in size; rows along any axis; the weights have the scores' shape.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.cases import drawn_again, other_scores
from attention_lib.exercises.parts.choices import EPSILONS, ZERO_OR_EPSILONS
from attention_lib.exercises.parts.magnitudes import weights_magnitude
from attention_lib.lessons.softmax import softmax

HINTS = (
    "Two steps: the exponential of every score, then each divided by the sum of its row.",
    "The row runs along axis, whichever that is: np.sum takes axis too.",
    "A sum loses the axis it runs along. keepdims=True keeps it, with length 1, and the "
    "division lines up again.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([1.0, 0.0, 1.0]))
    yield Case(np.array([[0.0, 1.0, 2.0], [3.0, -1.0, 0.5]]))
    yield Case(np.array([[0.0, 1.0, 2.0], [3.0, -1.0, 0.5]]), axis=0)
    yield Case(np.array([[2, 4, 4], [2, 2, 3]]))
    yield Case(np.array([[2.5, -1.5, 0.0], [1.0, 1.0, 4.0]]))  # a shape seen before, other scores
    yield Case(rng.normal(0.0, 3.0, (3, 3)))  # square: here a lost axis gives numbers, not an error
    yield Case(rng.normal(0.0, 3.0, (3, 3)), axis=0)
    yield Case(rng.normal(0.0, 3.0, (2, 3, 5)), axis=1)
    yield Case(rng.normal(0.0, 3.0, (3, 2, 5)), 0)
    yield Case(rng.normal(0.0, 3.0, (2, 3, 5, 6)), axis=-2)
    yield Case(rng.normal(0.0, 3.0, (5, 2, 3)))
    yield Case(rng.normal(0.0, 3.0, (2, 5, 3, 6)), axis=2)
    yield Case(rng.normal(0.0, 3.0, (3, 2, 5)), axis=-3)
    yield Case(rng.normal(0.0, 2.0, (3, 7)).astype(np.float32))
    yield Case(rng.normal(0.0, 2.0, (5, 2)).astype(np.float32), axis=0)
    # Rows far apart: what one row adds to another's sum would drown it.
    yield Case(np.array([[40.0], [0.0], [-45.0]]) + rng.uniform(-1.0, 1.0, (3, 6)))
    far = np.array([[49.0], [-49.0]]) + rng.uniform(-0.5, 0.5, (2, 5))
    yield Case(far.astype(np.float32))
    yield Case(np.array([[49.0, -49.0, 20.0, 0.0]]))  # a small weight has as many right digits
    yield Case(rng.normal(0.0, 1.0, (6, 1)))


def plain(scores, axis=-1):
    powers = np.exp(scores)
    total = powers.sum(axis=axis, keepdims=True)
    weights = powers / total
    return weights


MAXIMUM = "scores.max(axis=axis, keepdims=True)"

MISTAKES = known_mistakes(
    plain,
    "whole-array: These are softmax weights of the whole array: the sum must run along axis only.",
    "axis=axis => axis=None",
    "last-axis-only: You always take the last axis: use the axis given, sum(axis=axis, ...).",
    "axis=axis => axis=-1",
    "axis-0-only: You always take axis 0: use the axis you are given, sum(axis=axis, ...).",
    "axis=axis => axis=0",
    "axis-1-only: You always take axis 1: use the axis you are given, sum(axis=axis, ...).",
    "axis=axis => axis=1",
    "keepdims-missing: The sums have lost their axis, so they do not line up with the scores: use "
    "keepdims=True.",
    ", keepdims=True) => )",
    ", keepdims=True) => )[{...|:}, None]",
    "one-maximum: The largest score of the whole array is subtracted: a row far below it loses "
    "its digits in float32. Subtract each row's own maximum, along axis, or none.",
    "(scores) => (scores - scores.max())",
    "reshaped: A reshape cuts the array into rows along the last axis: move another axis to the end "
    "before it, with np.moveaxis, and back after it.",
    "(scores) => (scores.reshape(-1, scores.shape[axis])) && axis=axis => axis=-1"
    " && return weights => return weights.reshape(scores.shape)",
    "not-moved-back: The axis is moved and not moved back: the weights must have their axes in the order "
    "of the scores.",
    "return weights => return np.{moveaxis|swapaxes}(weights, axis, -1)",
    "return weights => return np.moveaxis(weights, axis, 0)",
    "moved-back-by-swapaxes: swapaxes and moveaxis do not undo each other, as moveaxis shifts the axes "
    "between as well: moveaxis brings back what moveaxis moved, and swapaxes what it swapped.",
    "(scores) => (np.moveaxis(scores, axis, -1)) && axis=axis => axis=-1"
    " && return weights => return np.swapaxes(weights, axis, -1)",
    "(scores) => (np.swapaxes(scores, axis, -1)) && axis=axis => axis=-1"
    " && return weights => return np.moveaxis(weights, -1, axis)",
    "standardized: The scores are divided by their standard deviation, which changes how far apart they "
    "are, and so the weights: take them as they are.",
    "(scores) => ((scores - scores.mean(axis=axis, keepdims=True))"
    f" / (scores.std(axis=axis, keepdims=True) + {ZERO_OR_EPSILONS}))",
    "no-exponential: These are scores divided by their sum: take the exponential of each first.",
    "np.exp => ",
    "not-divided: These are the exponentials themselves: divide each by the sum of its row.",
    "powers / total => powers",
    "sign-wrong: The exponent has the wrong sign: a larger score gets a larger weight, exp(score).",
    "np.exp => 1.0 / np.exp",
    "base-2: These are powers of 2: use np.exp, powers of e.",
    "np.exp => np.exp2",
    "base-10: These are powers of 10: use np.exp, powers of e.",
    "np.exp => 10.0 ** ",
    "divided-by-largest: You divide by the largest exponential: divide by the sum of the row.",
    "sum => max",
    "divided-by-mean: You divide by the mean of the exponentials: divide by their sum.",
    "sum => mean",
    "divided-by-scores: You divide by the sum of the scores: divide by that of their exponentials.",
    "powers.sum => scores.sum",
    "constant-in-sum: A small constant is added to the sum: the sum of exponentials is never 0, "
    "and with the constant the weights no longer sum to 1. Leave it out.",
    f"/ total => / (total + {EPSILONS})",
    f"(scores) => (scores - {MAXIMUM}) && / total => / (total + {EPSILONS})",
    "logarithms: These are the logarithms of the weights: return the weights themselves.",
    "return weights => return np.log(weights)",
    "softmax-twice: Softmax is applied twice: once is enough.",
    "return weights => return softmax(weights, axis)",
    "sigmoids: These are sigmoids, each of one score: softmax divides by the row's sum.",
    "/ total => / (1.0 + powers)",
    "only-largest: All the weight goes to the largest score: softmax gives each a share, e^score.",
    f"return weights => return (scores == {MAXIMUM}).astype(float)",
    f"np.exp(scores) => (scores == {MAXIMUM}).astype(float)",
    "rounded: The weights are rounded: return them as they are.",
    "return weights => return weights.round({2|3|4|6|8})",
    "cut-to-integers: For integer scores the weights are cut to whole numbers: an array of "
    "integers holds no others. Make a float array.",
    "return weights => return weights.astype(scores.dtype)",
)

EXERCISE = Exercise(
    name="softmax",
    points=3,
    minutes=10,
    reference=softmax,
    signature="softmax(scores, axis=-1)",
    cases=drawn_again(cases, other_scores),
    magnitude=weights_magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
