"""`cross_entropy(scores, targets)` returns the mean negative log-likelihood of the right classes.

`(N, C)` scores and `(N,)` integer targets → a scalar (float, NumPy scalar or 0-d array), finite for
finite scores below half the largest number of their dtype.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.cases import drawn_again, other_scores
from attention_lib.exercises.parts.choices import TINIER
from attention_lib.exercises.parts.magnitudes import logarithms_magnitude
from attention_lib.lessons.stability import cross_entropy, log_softmax

HINTS = (
    "Which log-likelihood belongs to the right class of each row? That one, negated.",
    "log_softmax(scores) has shape (N, C): one entry of each row counts, and the mean over N.",
    "table[np.arange(N), targets] picks entry targets[i] from row i of a table.",
    "The sum of many huge losses may overflow. Divide each loss by N first, then add them.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([[2.0, 1.0, 0.0]]), np.array([0]))
    yield Case(np.array([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0]]), np.array([2, 1]))
    yield Case(np.array([[0.0, 1000.0], [-1000.0, 0.0], [5.0, 5.0]]), np.array([0, 0, 1]))
    yield Case(np.array([[3, 1, 2, 0, 4], [0, 800, 900, 1, 2]]), np.array([4, 2]))
    yield Case(rng.normal(0.0, 3.0, (5, 3)), rng.integers(0, 3, 5))
    yield Case(rng.normal(0.0, 3.0, (3, 7)), rng.integers(0, 7, 3))
    yield Case(rng.normal(0.0, 3.0, (6, 5)).astype(np.float32), rng.integers(0, 5, 6))
    yield Case(np.array([[-8e307, 8e307, 0.0]]), np.array([0]))


def magnitude(scores: NDArray, targets: NDArray) -> float:
    return float(np.max(logarithms_magnitude(scores)))


def plain(scores, targets):
    logs = log_softmax(scores)
    picked = logs[np.arange(len(targets)), targets]
    loss = -picked.mean()
    return loss


MISTAKES = known_mistakes(
    plain,
    "log-of-zero: The logarithm is taken of a weight that underflows to 0, or of a sum that overflows, "
    "so the loss is infinite: use log_softmax.",
    "log_softmax(scores) => np.log(stable_softmax(scores))",
    "exp-overflows: exp overflows: use log_softmax, which shifts each row by its maximum.",
    "log_softmax(scores) => np.log(np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True))",
    "log_softmax(scores) => scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))",
    "maximum-not-added-back: The maximum is subtracted inside exp only: add it to the logarithm "
    "of the sum again.",
    "log_softmax(scores) => log_softmax(scores) + scores.max(axis=-1, keepdims=True)",
    "one-maximum: One maximum is subtracted from all rows: an example far below it underflows to "
    "log(0). Subtract each row's own.",
    "log_softmax(scores) => scores - scores.max()\n"
    "    logs = logs - np.log(np.exp(logs).sum(axis=-1, keepdims=True))",
    "constant-in-logarithm: A small constant in the logarithm changes the loss: use log_softmax.",
    f"log_softmax(scores) => np.log(stable_softmax(scores) + {TINIER})",
    f"log_softmax(scores) => np.log(np.maximum(stable_softmax(scores), {TINIER}))",
    f"log_softmax(scores) => np.log(np.clip(stable_softmax(scores), {TINIER}, 1.0 - {TINIER}))",
    "sum: This is the sum over the examples: take their mean.",
    "mean() => sum()",
    "not-averaged: One loss for each example is returned: take their mean, one number.",
    ".mean() => ",
    "sign-reversed: The sign is reversed: the loss is the negative log-likelihood.",
    "-picked => picked",
    "divided-by-classes: You divide by C, the number of classes: divide by N, that of examples.",
    "mean() => sum() / scores.shape[-1]",
    "mean-over-entries: The mean runs over all N × C entries: only the right class of each "
    "example counts, divided by N.",
    "mean() => sum() / scores.size",
    "every-class-counted: Every class is counted: only the right class of each example counts.",
    "[np.arange(len(targets)), targets] => ",
    "[np.arange(len(targets)), targets] => .sum(axis=-1)",
    "every-target-in-row: log_softmax(scores)[:, targets] takes every target from every row: pick "
    "entry targets[i] from row i, with [np.arange(N), targets].",
    "np.arange(len(targets)) => :",
    "whole-rows: The targets take whole rows here: pick entry targets[i] of row i.",
    "np.arange(len(targets)),  => ",
    "counted-from-1: Classes are counted from 1: the first one has number 0, so take targets as they are.",
    "targets] => targets - 1]",
    "one-hot-too-narrow: The one-hot table ends at the largest target: it needs scores.shape[1] columns.",
    "logs[np.arange(len(targets)), targets] => (np.eye(targets.max() + 1)[targets] * logs).sum(axis=1)",
    "no-log-softmax: The scores themselves are averaged: take log_softmax of each row first.",
    "log_softmax(scores) => scores",
    "softmax-down-columns: Softmax runs down the columns: each row is one example.",
    "log_softmax(scores) => log_softmax(scores, 0)",
    "softmax-over-everything: Softmax runs over the whole array: each row is one example.",
    "log_softmax(scores) => log_softmax(scores, None)",
    "weights-averaged: The mean of the weights is taken, not of their logarithms.",
    "log_softmax => stable_softmax",
    "log_softmax => stable_softmax && -picked => 1.0 - picked",
    "logarithm-of-mean: The logarithm is taken after the mean: average the logarithms.",
    "log_softmax => stable_softmax && -picked.mean() => -np.log(picked.mean())",
    "base-2: These are logarithms to base 2: use the natural logarithm.",
    "log_softmax(scores) => log_softmax(scores) / np.log(2.0)",
)

EXERCISE = Exercise(
    name="cross_entropy",
    points=2,
    minutes=5,
    reference=cross_entropy,
    cases=drawn_again(cases, other_scores),
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
    built_on=("logsumexp", "log_softmax"),
)
