"""`normalize_by_sum(scores)` divides each row by its sum.

Rows lie along the last axis: `(..., n)` → `(..., n)`. No sum is 0 in the check. It shows where plain
normalization breaks: at zero scores, negative scores and zero sums.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.cases import drawn_again, other_scores
from attention_lib.lessons.softmax import normalize_by_sum

HINTS = (
    "The sum of each row is scores.sum(axis=-1): axis -1 is the last one, however many there are. "
    "What is its shape, and what is that of scores?",
    "With keepdims=True the sum keeps its axis, with length 1, and divides row by row.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([1.0, 0.0, 1.0]))
    yield Case(np.array([[1.0, 0.0, 3.0], [2.0, -1.0, 4.0]]))
    yield Case(np.array([[2, 4, 4], [2, 2, 3]]))
    yield Case(rng.uniform(0.5, 9.0, (3, 3)))  # square: here a lost axis gives numbers
    yield Case(rng.uniform(0.5, 9.0, (2, 3, 5)))
    yield Case(rng.uniform(0.5, 9.0, (3, 6)).astype(np.float32))
    yield Case(-rng.uniform(0.5, 9.0, 7))  # sums below zero are sums all the same


def magnitude(scores: NDArray) -> NDArray:
    total = scores.sum(axis=-1, keepdims=True)
    return np.abs(scores / total) * (1 + np.abs(scores).sum(axis=-1, keepdims=True) / np.abs(total))


def plain(scores):
    total = scores.sum(axis=-1, keepdims=True)
    return scores / total


MISTAKES = known_mistakes(
    plain,
    "whole-array: You divide by the sum of the whole array: each row has its own, along axis=-1.",
    "axis=-1 => axis=None",
    "total-goes-on: The total goes on from row to row: start at 0 again for each.",
    "scores / total => scores / np.cumsum(total).reshape(total.shape)",
    "keepdims-missing: The sums lost their axis and do not line up with rows: use keepdims=True.",
    ", keepdims=True => ",
    "items-of-first-axis: Each item along the first axis is divided by its own sum: that is a row in a "
    "table alone. Rows lie along the last axis.",
    "scores / total => np.stack([item / item.sum() for item in scores])",
    "axis-0: You sum down the columns (axis 0): each row is divided by its own sum, along axis=-1.",
    "axis=-1 => axis=0",
    "divided-by-largest: You divide by the largest score: divide by the sum of the row.",
    "sum => max",
    "divided-by-mean: You divide by the mean of the row: divide by its sum.",
    "sum => mean",
    "absolute-values: You divide by the sum of absolute values: here the plain sum is asked for, "
    "signs and all.",
    "= scores => = np.abs(scores)",
    "divided-by-count: You divide by the number of entries: divide by their sum.",
    "/ total => / scores.shape[-1]",
    "softmax-weights: These are softmax weights, which come next: here divide each row by its sum.",
    "scores / total => softmax(scores)",
)

EXERCISE = Exercise(
    name="normalize_by_sum",
    points=1,
    minutes=5,
    reference=normalize_by_sum,
    cases=drawn_again(cases, other_scores),
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
