"""`softmax_with_temperature(scores, temperature, axis=-1)` computes the softmax of scores / temperature.

It is stable wherever that quotient is finite. A temperature of 0 or below raises `ValueError`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
from attention_lib.exercises.parts.cases import drawn_again, other_scores
from attention_lib.exercises.parts.softmax import (
    divided_by_sum,
    hard_softmax,
    plain_softmax,
    shifted_softmax,
    softmax_with_one_maximum,
)
from attention_lib.lessons.scaling import softmax_with_temperature
from attention_lib.lessons.softmax import softmax

HINTS = (
    "Divide the scores by the temperature, then take the softmax of lesson 02, along axis.",
    "A small temperature makes large quotients: subtract each row's maximum before np.exp.",
    'raise ValueError("...") comes first: `if temperature <= 0:`.',
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([1.0, 0.0, 1.0]), 0.5)
    yield Case(np.array([2.0, 4.0, 3.0]), 10.0)
    yield Case(np.array([[2, -4, 3], [2, 2, 7]]), 2)
    yield Case(np.array([2.0, 4.0, 4.0]), 0.0, raises=ValueError)
    yield Case(np.array([2.0, 4.0, 4.0]), -1.0, raises=ValueError)
    yield Case(rng.normal(0.0, 3.0, (2, 5)), temperature=1.0)
    yield Case(rng.normal(0.0, 3.0, (3, 3)), 0.7)  # square: here a lost axis gives numbers
    yield Case(rng.normal(0.0, 3.0, (3, 3)), 1.6, axis=0)
    yield Case(rng.normal(0.0, 3.0, (2, 3, 5)), 2.5, 1)
    yield Case(rng.normal(0.0, 3.0, (2, 5, 3, 6)), 3.0, axis=-2)
    yield Case((2.0 * rng.normal(size=(3, 7))).astype(np.float32), 1.5)
    yield Case((2.0 * rng.normal(size=(5, 2))).astype(np.float32), 0.8, axis=0)
    # Quotients far beyond exp's reach, and rows that need a maximum each.
    yield Case(np.array([[30.0, 29.0, 30.0], [-30.0, -30.5, -30.0]]), 0.01)
    yield Case(np.array([[3000.0, 2997.0, 2999.0], [-5000.0, -5001.0, -5004.0]]), 2.0)
    yield Case(np.array([[900.0, 898.0, 899.0], [880.0, 890.0, 885.0]]), 1.125)
    # High scores at a temperature as high: at temperature 1 all but one weight would be 0.
    yield Case(np.array([0.0, -4000.0, -7000.0]), 2000.0)
    yield Case(np.array([3.0, 1.0, 2.0]), 1e-6)
    yield Case(np.array([4e-8, 1e-8, 3e-8]), 2e-8)
    yield Case(np.array([5e8, -2e8, 9e8]), 4e8)
    yield Case(np.array([5.0, -1.0, 2.0]), -0.25, raises=ValueError)


def other_quotients(rng: Generator, case: Case) -> Case:
    """Draw another temperature, and other rows of scores in another order."""
    temperature = case.args[1] * float(rng.uniform(0.85, 0.99))
    changed = other_scores(rng, case)
    return Case(changed.args[0], temperature, raises=case.raises)


def magnitude(scores: NDArray, temperature: float, axis: int = -1) -> NDArray:
    largest = np.abs(scores / temperature).max(axis=axis, keepdims=True)
    return softmax_with_temperature(scores, temperature, axis) * (1.0 + largest)


@composable
def checked(
    compute: Callable[[NDArray, float, int], NDArray],
    is_refused: Callable[[float], bool] = lambda temperature: temperature <= 0,
) -> Answer:
    """Make an answer that refuses some temperatures before it computes."""

    def answer(scores: NDArray, temperature: float, axis: int = -1) -> NDArray:
        if is_refused(temperature):
            raise ValueError
        return compute(scores, temperature, axis)

    return answer


def unchecked(scores: NDArray, temperature: float, axis: int) -> NDArray:
    with np.errstate(all="ignore"):
        quotients = scores / temperature
        return shifted_softmax(quotients, quotients.max(axis=axis, keepdims=True), axis)


MISTAKES = known_mistakes(
    "multiplied: The scores are multiplied by the temperature: divide by it.",
    checked(lambda scores, t, axis: softmax(scores * t, axis)),
    "temperature-unused: The temperature changes nothing: divide the scores by it before softmax.",
    checked(lambda scores, t, axis: softmax(scores, axis)),
    "temperature-added: The temperature is added to or subtracted from the scores, which changes "
    "no weight: divide the scores by it.",
    lambda scores, temperature, axis=-1: softmax(scores - temperature, axis),
    "weights-divided: Weights are divided by the temperature: divide the scores, before softmax.",
    checked(lambda scores, t, axis: softmax(scores, axis) / t),
    "root-of-temperature: You divide by the root of the temperature: divide by the temperature.",
    checked(lambda scores, t, axis: softmax(scores / math.sqrt(t), axis)),
    "exp-overflows: exp overflows or underflows before the division: subtract each row's largest "
    "quotient first.",
    checked(lambda scores, t, axis: plain_softmax(scores / t, axis)),
    "maximum-of-scores: The maximum subtracted is that of the scores, but the quotients have "
    "another: subtract first and divide then, or take the maximum of the quotients.",
    checked(lambda s, t, axis: shifted_softmax(s / t, s.max(axis=axis, keepdims=True), axis)),
    "one-maximum: One maximum is subtracted from the whole array: a row far below it underflows "
    "to 0/0. Take each row's own maximum, along axis.",
    checked(lambda scores, t, axis: softmax_with_one_maximum(scores / t, axis)),
    "powers-of-weights: Weights at temperature 1 are raised to the power 1/T: those that "
    "underflowed to 0 stay 0. Divide the scores first.",
    checked(lambda scores, t, axis: divided_by_sum(softmax(scores, axis) ** (1 / t), axis)),
    checked(
        lambda s, t, axis: divided_by_sum(
            np.exp(s - s.max(axis=axis, keepdims=True)) ** (1 / t), axis
        )
    ),
    "last-axis-only: You always work along the last axis: use the axis you are given.",
    lambda scores, temperature, axis=-1: softmax_with_temperature(scores, temperature, -1),
    "whole-array: These are softmax weights of the whole array: the sum must run along axis only.",
    lambda scores, temperature, axis=-1: softmax_with_temperature(scores, temperature, None),
    "zero-as-limit: A temperature of 0 gives the largest score everything, the limit: the "
    "contract asks for a ValueError there.",
    checked(
        lambda scores, t, axis: (
            softmax_with_temperature(scores, t, axis) if t else hard_softmax(scores, axis)
        ),
        lambda t: t < 0,
    ),
    "never-raises: A temperature of 0 or below must raise ValueError: check it first.",
    checked(unchecked, lambda t: False),
    "zero-accepted: A temperature of 0 must raise ValueError too: ask for temperature <= 0.",
    checked(unchecked, lambda t: t < 0),
    "negative-accepted: A negative temperature must raise ValueError too: test temperature <= 0.",
    checked(unchecked, lambda t: t == 0),
    "not-divided: These are the quotients' exponentials: divide each by the sum of its row.",
    checked(lambda s, t, axis: np.exp(s / t - (s / t).max(axis=axis, keepdims=True))),
)

EXERCISE = Exercise(
    name="softmax_with_temperature",
    points=2,
    minutes=5,
    reference=softmax_with_temperature,
    signature="softmax_with_temperature(scores, temperature, axis=-1)",
    cases=drawn_again(cases, other_quotients),
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
