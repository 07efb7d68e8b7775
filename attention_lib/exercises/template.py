"""`centered(scores, axis=-1)` subtracts from each row its mean.

Scores of any shape, rows along any axis; the result has the scores' shape.
"""

# A small, complete exercise to copy: CONTRIBUTING.md says how. The docstring above is the contract.

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes

HINTS = (
    "The mean of each row is scores.mean(axis=axis). What shape has it, beside that of scores?",
    "With keepdims=True the mean keeps its axis, with length 1, and is subtracted row by row.",
)


def centered(scores: NDArray, axis: int = -1) -> NDArray:
    """Serve as the reference. In a copy, delete it: import the reference from its lesson."""
    return scores - scores.mean(axis=axis, keepdims=True)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([1.0, 2.0, 6.0]))  # readable ones first: a learner sees the case that fails
    yield Case(np.array([[1.0, 2.0, 6.0], [0.0, -3.0, 3.0]]), axis=0)
    yield Case(rng.integers(-9, 9, size=(2, 5)))
    yield Case(rng.normal(size=(3, 3)))  # square: here a lost axis gives numbers, not an error
    yield Case(rng.normal(size=(2, 3, 5)), axis=1)  # elsewhere every size is another
    yield Case(rng.normal(size=(3, 7)).astype(np.float32))


def magnitude(scores: NDArray, axis: int = -1) -> NDArray:
    """Size the numbers that any right answer forms: rounding is allowed in proportion."""
    return np.abs(scores) + np.abs(scores).mean(axis=axis, keepdims=True)


def plain(scores, axis=-1):  # a right answer as a learner writes it, one step a line
    means = scores.mean(axis=axis, keepdims=True)
    result = scores - means
    return result


# "id: sentence", and below it what makes the mistake: patches of the plain answer, "old => new". The
# first mistake that gives a learner's numbers on every case is named: the more exact ones first.
MISTAKES = known_mistakes(
    plain,
    "one-mean: You subtract the mean of the whole array: every row has its own, along axis.",
    "(axis=axis, keepdims=True) => ()",
    "last-axis-only: You always take the last axis: use the axis you are given.",
    "axis=axis => axis=-1",
    "keepdims-missing: The means have lost their axis, so they do not line up with the rows: use "
    "keepdims=True.",
    ", keepdims=True => ",
    "sum-subtracted: You subtract the sum of the row: subtract its mean.",
    "mean( => sum(",
    "cut-to-integers: For integer scores the result is cut to whole numbers: an array of "
    "integers holds no others. Make a float array.",
    "return result => return result.astype(scores.dtype)",
)

EXERCISE = Exercise(
    name="centered",
    points=1,
    minutes=5,
    reference=centered,
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
