"""`cross_entropy_grad(scores, targets)` returns the gradient of `cross_entropy` with respect to the scores.

`(N, C)` scores and `(N,)` integer targets → `(N, C)`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.cases import drawn_again, other_scores
from attention_lib.lessons.gradients import cross_entropy_grad
from attention_lib.lessons.softmax import softmax

HINTS = (
    "For one example the gradient is its weights, minus 1 at the right class.",
    "gradient[np.arange(N), targets] is the entry of the right class in every row.",
    "The loss is a mean over N examples, so each example counts with 1/N.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([[0.0, 0.0], [0.0, np.log(3.0)], [1.0, 1.0]]), np.array([0, 1, 1]))
    yield Case(np.array([[1, 2, 0], [3, 3, 1]]), np.array([2, 0]))
    yield Case(np.array([[0.0, 1000.0, -1000.0], [0.0, 1.0, 2.0]]), np.array([0, 2]))
    # Square: here a lost axis gives numbers.
    yield Case(rng.normal(0.0, 2.0, (3, 3)), np.array([1, 1, 0]))
    yield Case(rng.normal(0.0, 2.0, (5, 3)), np.array([2, 0, 0, 1, 2]))
    yield Case(rng.normal(0.0, 2.0, (2, 6)), rng.integers(6, size=2))
    yield Case(rng.normal(0.0, 2.0, (3, 5)).astype(np.float32), rng.integers(5, size=3))
    yield Case(rng.normal(0.0, 2.0, (1, 7)), np.array([6]))
    yield Case(rng.normal(0.0, 9.0, (5, 2)), rng.integers(2, size=5))
    # Far beyond what exp can take, and close together.
    yield Case(np.array([[3000.0, 3001.0, 3003.0], [-2000.0, -2001.0, -2000.5]]), np.array([1, 0]))


def one_hot(scores: NDArray, targets: NDArray) -> NDArray:
    """Mark the right class of each example with 1, in a float array of the scores' shape."""
    dtype = np.result_type(scores.dtype, np.float32)
    return np.eye(scores.shape[1], dtype=dtype)[targets]


def magnitude(scores: NDArray, targets: NDArray) -> NDArray:
    largest = np.abs(scores).max(axis=-1, keepdims=True)
    return (softmax(scores) + one_hot(scores, targets)) * (1.0 + largest) / len(targets)


def plain(scores, targets):
    gradient = softmax(scores)
    gradient[np.arange(len(targets)), targets] -= 1
    return gradient / len(targets)


ONE_SUBTRACTED = "gradient[np.arange(len(targets)), targets] -= 1"
ONE_HOT = "np.eye(scores.shape[1], dtype=gradient.dtype)[targets]"

MISTAKES = known_mistakes(
    plain,
    "not-divided-by-n: The division by N is missing: the loss is the mean over the examples.",
    " / len(targets) => ",
    "divided-by-entries: You divide by N × C, all entries: divide by N, the number of examples.",
    "/ len(targets) => / scores.size",
    "divided-by-classes: You divide by C, the number of classes: divide by N, that of examples.",
    "/ len(targets) => / scores.shape[1]",
    "sign-reversed: The sign is reversed: it is the weights minus 1 at the right class.",
    "return gradient => return -gradient",
    "one-not-subtracted: These are the weights over N: subtract 1 at each example's right class.",
    "-= 1 => -= 0",
    "weights-missing: Only the score of the right class counts here: the log-sum-exp of the row "
    "depends on every score, and its derivatives are the weights.",
    "softmax(scores) => np.zeros_like(softmax(scores))",
    "only-right-class: Only the entry of the right class is filled: every other score has its "
    "weight as gradient.",
    f"return gradient => return gradient * {ONE_HOT}",
    "classes-from-targets: Classes without a target are left out: all scores.shape[1] classes have a column.",
    f"{ONE_SUBTRACTED} => gradient = gradient - (targets[:, None] == np.unique(targets))",
    "no-softmax: 1 is subtracted from the scores: take softmax of each row first.",
    "softmax(scores) => scores.copy()",
    "logarithms-of-weights: These come from the weights' logarithms: use the weights themselves.",
    "softmax(scores) => np.log(softmax(scores))",
    "gradient-of-weights: This is the gradient of the weights, −1/p: carry it back to the scores.",
    f"return gradient => return -{ONE_HOT} / softmax(scores)",
    f"return gradient => return np.where({ONE_HOT} == 1, -1 / softmax(scores), 0.0)",
    "divided-too-early: The weights are divided by N before 1 is subtracted: subtract 1 first.",
    "softmax(scores) => softmax(scores) / len(targets) && gradient / len(targets) => gradient",
    "through-one-over-p: 1/p has no answer where a weight has underflowed to 0. On paper p "
    "cancels: what is left is the weights minus 1 at the right class.",
    f"return gradient => return softmax_vjp(softmax(scores), -{ONE_HOT} / softmax(scores))",
    "return gradient => return np.nan_to_num("
    f"softmax_vjp(softmax(scores), -{ONE_HOT} / softmax(scores)))",
    "every-target-in-row: gradient[:, targets] takes every target in every row: use "
    "gradient[np.arange(N), targets].",
    "np.arange(len(targets)) => :",
    "whole-rows: gradient[targets] takes whole rows, those with the numbers of the classes: use "
    "gradient[np.arange(N), targets].",
    "np.arange(len(targets)),  => ",
    "class-number-subtracted: The class's number is subtracted: subtract 1, only at the right class.",
    f"{ONE_SUBTRACTED} => gradient = gradient - targets[:, None]",
    "one-subtracted-everywhere: 1 is subtracted everywhere: only at each example's right class.",
    f"{ONE_SUBTRACTED} => gradient -= 1",
    "softmax-down-columns: Softmax runs down the columns: each row is one example.",
    "(scores) => (scores, 0)",
    "softmax-over-everything: Softmax runs over the whole array: each row is one example.",
    "(scores) => (scores, None)",
    "exp-overflows: exp overflows: subtract each row's maximum first, or use lib.softmax.",
    "softmax(scores) => np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)",
    "cut-to-integers: For integer scores the gradient is cut to whole numbers: np.zeros_like "
    "copies the integer dtype. Make a float array.",
    "gradient / len(targets) => (gradient / len(targets)).astype(scores.dtype)",
)

EXERCISE = Exercise(
    name="cross_entropy_grad",
    points=2,
    minutes=6,
    reference=cross_entropy_grad,
    cases=drawn_again(cases, other_scores),
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
