"""`softmax_with_temperature(scores, temperature, axis=-1)` computes the softmax of scores / temperature.

It is stable wherever that quotient is finite. A temperature of 0 or below raises `ValueError`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.cases import drawn_again, other_scores
from attention_lib.lessons.scaling import softmax_with_temperature

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


def plain(scores, temperature, axis=-1):
    if temperature <= 0:
        raise ValueError("temperature must be above 0")
    quotients = scores / temperature
    maximum = np.max(quotients, axis=axis, keepdims=True)
    powers = np.exp(quotients - maximum)
    weights = powers / np.sum(powers, axis=axis, keepdims=True)
    return weights


MISTAKES = known_mistakes(
    plain,
    "multiplied: The scores are multiplied by the temperature: divide by it.",
    "scores / temperature => scores * temperature",
    "temperature-unused: The temperature changes nothing: divide the scores by it before softmax.",
    "scores / temperature => scores",
    "temperature-added: The temperature is added to or subtracted from the scores, which changes "
    "no weight: divide the scores by it.",
    "temperature <= 0 => False && scores / temperature => scores - temperature",
    "weights-divided: Weights are divided by the temperature: divide the scores, before softmax.",
    "scores / temperature => scores && return weights => return weights / temperature",
    "root-of-temperature: You divide by the root of the temperature: divide by the temperature.",
    "/ temperature => / math.sqrt(temperature)",
    "exp-overflows: exp overflows or underflows before the division: subtract each row's largest "
    "quotient first.",
    "quotients - maximum => quotients",
    "maximum-of-scores: The maximum subtracted is that of the scores, but the quotients have "
    "another: subtract first and divide then, or take the maximum of the quotients.",
    "np.max(quotients => np.max(scores",
    "one-maximum: One maximum is subtracted from the whole array: a row far below it underflows "
    "to 0/0. Take each row's own maximum, along axis.",
    "(quotients, axis=axis, keepdims=True) => (quotients)",
    "powers-of-weights: Weights at temperature 1 are raised to the power 1/T: those that "
    "underflowed to 0 stay 0. Divide the scores first.",
    "scores / temperature => scores && return weights => weights = weights ** (1 / temperature)\n"
    "    return weights / np.sum(weights, axis=axis, keepdims=True)",
    "scores / temperature => scores && - maximum) => - maximum) ** (1 / temperature)",
    "last-axis-only: You always work along the last axis: use the axis you are given.",
    "axis=-1): => axis=-1):\n    axis = -1",
    "whole-array: These are softmax weights of the whole array: the sum must run along axis only.",
    "axis=-1): => axis=-1):\n    axis = None",
    "zero-as-limit: A temperature of 0 gives the largest score everything, the limit: the "
    "contract asks for a ValueError there.",
    "temperature <= 0 => temperature < 0 && quotients = => if temperature == 0:\n"
    "        scores, temperature = np.where(scores == np.max(scores, axis, keepdims=True), 0.0, -np.inf), 1.0\n"
    "    quotients =",
    "never-raises: A temperature of 0 or below must raise ValueError: check it first.",
    "temperature <= 0 => False",
    "zero-accepted: A temperature of 0 must raise ValueError too: ask for temperature <= 0.",
    "temperature <= 0 => temperature < 0",
    "negative-accepted: A negative temperature must raise ValueError too: test temperature <= 0.",
    "temperature <= 0 => temperature == 0",
    "not-divided: These are the quotients' exponentials: divide each by the sum of its row.",
    "powers / np.sum(powers, axis=axis, keepdims=True) => powers",
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
