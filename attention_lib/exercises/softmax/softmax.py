"""`softmax(scores, axis=-1)` turns each row of scores into positive weights that sum to 1.

Scores of any shape, below 50 in size; rows along any axis; the weights have the scores' shape.
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
    cut_to_integers,
    hard_softmax,
    in_rows_of_memory,
    plain_softmax,
    softmax_with_epsilon,
    softmax_with_one_maximum,
)
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


def row_sums(numbers: NDArray, axis: int) -> NDArray:
    return numbers.sum(axis=axis, keepdims=True)


@composable
def divided(
    power: Answer = np.exp,
    by: Answer = row_sums,
    along: Answer = lambda axis: axis,
    before: Answer = lambda scores, axis: scores,
    end: Answer = lambda weights, axis: weights,
) -> Answer:
    """Divide the exponentials by their sums, with a step replaced by a wrong one."""

    def answer(scores: NDArray, axis: int = -1) -> NDArray:
        powers = power(before(scores, axis))
        return end(powers / by(powers, along(axis)), axis)

    return answer


def standardized(scores: NDArray, axis: int, epsilon: float) -> NDArray:
    centered = scores - scores.mean(axis=axis, keepdims=True)
    return centered / (scores.std(axis=axis, keepdims=True) + epsilon)


MISTAKES = known_mistakes(
    "whole-array: These are softmax weights of the whole array: the sum must run along axis only.",
    divided(along=lambda axis: None),
    "last-axis-only: You always take the last axis: use the axis given, sum(axis=axis, ...).",
    divided(along=lambda axis: -1),
    "axis-0-only: You always take axis 0: use the axis you are given, sum(axis=axis, ...).",
    divided(along=lambda axis: 0),
    "axis-1-only: You always take axis 1: use the axis you are given, sum(axis=axis, ...).",
    divided(along=lambda axis: 1),
    "keepdims-missing: The sums have lost their axis, so they do not line up with the scores: use "
    "keepdims=True.",
    divided(by=lambda numbers, axis: numbers.sum(axis=axis)),
    divided(by=lambda numbers, axis: numbers.sum(axis=axis)[..., None]),
    divided(by=lambda numbers, axis: numbers.sum(axis=axis)[:, None]),
    "one-maximum: The largest score of the whole array is subtracted: a row far below it loses "
    "its digits in float32. Subtract each row's own maximum, along axis, or none.",
    lambda scores, axis=-1: softmax_with_one_maximum(scores, axis),
    "reshaped: A reshape cuts the array into rows along the last axis: move another axis to the end "
    "before it, with np.moveaxis, and back after it.",
    in_rows_of_memory(softmax),
    "not-moved-back: The axis is moved and not moved back: the weights must have their axes in the order "
    "of the scores.",
    divided(end=lambda weights, axis: np.moveaxis(weights, axis, -1)),
    divided(end=lambda weights, axis: np.swapaxes(weights, axis, -1)),
    divided(end=lambda weights, axis: np.moveaxis(weights, axis, 0)),
    "moved-back-by-swapaxes: swapaxes and moveaxis do not undo each other, as moveaxis shifts the axes "
    "between as well: moveaxis brings back what moveaxis moved, and swapaxes what it swapped.",
    lambda scores, axis=-1: np.swapaxes(plain_softmax(np.moveaxis(scores, axis, -1)), axis, -1),
    lambda scores, axis=-1: np.moveaxis(plain_softmax(np.swapaxes(scores, axis, -1)), -1, axis),
    "standardized: The scores are divided by their standard deviation, which changes how far apart they "
    "are, and so the weights: take them as they are.",
    *(
        divided(before=lambda scores, axis, e=small: standardized(scores, axis, e))
        for small in (0.0, *EPSILONS)
    ),
    "no-exponential: These are scores divided by their sum: take the exponential of each first.",
    divided(power=np.positive),
    "not-divided: These are the exponentials themselves: divide each by the sum of its row.",
    divided(by=lambda numbers, axis: 1.0),
    "sign-wrong: The exponent has the wrong sign: a larger score gets a larger weight, exp(score).",
    divided(power=lambda scores: np.exp(-scores)),
    "base-2: These are powers of 2: use np.exp, powers of e.",
    divided(power=np.exp2),
    "base-10: These are powers of 10: use np.exp, powers of e.",
    divided(power=lambda scores: 10.0**scores),
    "divided-by-largest: You divide by the largest exponential: divide by the sum of the row.",
    divided(by=lambda numbers, axis: numbers.max(axis=axis, keepdims=True)),
    "divided-by-mean: You divide by the mean of the exponentials: divide by their sum.",
    divided(by=lambda numbers, axis: numbers.mean(axis=axis, keepdims=True)),
    "divided-by-scores: You divide by the sum of the scores: divide by that of their exponentials.",
    lambda scores, axis=-1: np.exp(scores) / scores.sum(axis=axis, keepdims=True),
    "constant-in-sum: A small constant is added to the sum: the sum of exponentials is never 0, "
    "and with the constant the weights no longer sum to 1. Leave it out.",
    *(divided(by=lambda numbers, axis, e=small: row_sums(numbers, axis) + e) for small in EPSILONS),
    *map(lambda e: lambda scores, axis=-1: softmax_with_epsilon(scores, e, axis), EPSILONS),
    "logarithms: These are the logarithms of the weights: return the weights themselves.",
    lambda scores, axis=-1: np.log(softmax(scores, axis)),
    "softmax-twice: Softmax is applied twice: once is enough.",
    lambda scores, axis=-1: softmax(softmax(scores, axis), axis),
    "sigmoids: These are sigmoids, each of one score alone: softmax divides by the row's sum.",
    lambda scores, axis=-1: 1.0 / (1.0 + np.exp(-scores)),
    "only-largest: All the weight goes to the largest score: softmax gives each a share, e^score.",
    lambda scores, axis=-1: (scores == scores.max(axis=axis, keepdims=True)).astype(float),
    hard_softmax,
    "rounded: The weights are rounded: return them as they are.",
    *map(lambda n: lambda scores, axis=-1: softmax(scores, axis).round(n), (2, 3, 4, 6, 8)),
    "cut-to-integers: For integer scores the weights are cut to whole numbers: an array of "
    "integers holds no others. Make a float array.",
    cut_to_integers(softmax),
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
