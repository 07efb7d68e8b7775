"""`cross_entropy(scores, targets)` returns the mean negative log-likelihood of the right classes.

`(N, C)` scores and `(N,)` integer targets → a scalar (float, NumPy scalar or 0-d array), finite for
finite scores below half the largest number of their dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
from attention_lib.exercises.parts.cases import drawn_again, other_scores
from attention_lib.exercises.parts.magnitudes import logarithms_magnitude
from attention_lib.exercises.parts.softmax import EPSILONS, plain_softmax
from attention_lib.lessons.stability import cross_entropy, log_softmax, stable_softmax

HINTS = (
    "Which log-likelihood belongs to the right class of each row? That one, negated.",
    "log_softmax(scores) has shape (N, C): one entry of each row counts, and the mean over N.",
    "table[np.arange(N), targets] picks entry targets[i] from row i of a table.",
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


def log_sums(scores: NDArray, shift: NDArray) -> NDArray:
    """Take logarithms of softmax, with the numbers of `shift` subtracted first."""
    return scores - shift - np.log(np.exp(scores - shift).sum(axis=-1, keepdims=True))


def of_targets(logarithms: NDArray, targets: NDArray) -> NDArray:
    return logarithms[np.arange(len(targets)), targets]


@composable
def with_step(
    log: Callable[[NDArray], NDArray] = log_softmax,
    pick: Callable[[NDArray, NDArray], NDArray] = of_targets,
    average: Callable[[NDArray, NDArray], NDArray] = lambda losses, scores: losses.mean(),
) -> Answer:
    """Compute the loss with one of its steps replaced by a wrong one."""
    return lambda scores, targets: average(-pick(log(scores), targets), scores)


def log_of(softmax: Callable[[NDArray], NDArray]) -> Answer:
    return with_step(log=lambda scores: np.log(softmax(scores)))


MISTAKES = known_mistakes(
    "log-of-zero: The logarithm is taken of a weight that underflows to 0, or of a sum that overflows, "
    "so the loss is infinite: use log_softmax.",
    log_of(stable_softmax),
    "exp-overflows: exp overflows: use log_softmax, which shifts each row by its maximum.",
    log_of(plain_softmax),
    with_step(log=lambda scores: log_sums(scores, 0)),
    "maximum-not-added-back: The maximum is subtracted inside exp only: add it to the logarithm "
    "of the sum again.",
    with_step(log=lambda scores: log_softmax(scores) + scores.max(axis=-1, keepdims=True)),
    "one-maximum: One maximum is subtracted from all rows: an example far below it underflows to "
    "log(0). Subtract each row's own.",
    with_step(log=lambda scores: log_sums(scores, scores.max())),
    "constant-in-logarithm: A small constant in the logarithm changes the loss: use log_softmax.",
    *(
        log_of(lambda scores, e=epsilon, change=change: change(stable_softmax(scores), e))
        for epsilon in (*EPSILONS, 1e-15, 1e-16, 1e-20, 1e-30, 1e-300)
        for change in (np.add, np.maximum, lambda weights, e: np.clip(weights, e, 1.0 - e))
    ),
    "sum: This is the sum over the examples: take their mean.",
    with_step(average=lambda losses, scores: losses.sum()),
    "not-averaged: One loss for each example is returned: take their mean, one number.",
    with_step(average=lambda losses, scores: losses),
    "sign-reversed: The sign is reversed: the loss is the negative log-likelihood.",
    with_step(average=lambda losses, scores: -losses.mean()),
    "divided-by-classes: You divide by C, the number of classes: divide by N, that of examples.",
    with_step(average=lambda losses, scores: losses.sum() / scores.shape[-1]),
    "mean-over-entries: The mean runs over all N × C entries: only the right class of each "
    "example counts, divided by N.",
    with_step(average=lambda losses, scores: losses.sum() / scores.size),
    "every-class-counted: Every class is counted: only the right class of each example counts.",
    with_step(pick=lambda logarithms, targets: logarithms),
    with_step(pick=lambda logarithms, targets: logarithms.sum(axis=-1)),
    "every-target-in-row: log_softmax(scores)[:, targets] takes every target from every row: pick "
    "entry targets[i] from row i, with [np.arange(N), targets].",
    with_step(pick=lambda logarithms, targets: logarithms[:, targets]),
    "whole-rows: The targets take whole rows here: pick entry targets[i] of row i.",
    with_step(pick=lambda logarithms, targets: logarithms[targets]),
    "counted-from-1: Classes are counted from 1: the first one has number 0, so take targets as they are.",
    with_step(pick=lambda logarithms, targets: of_targets(logarithms, targets - 1)),
    "one-hot-too-narrow: The one-hot table ends at the largest target: it needs scores.shape[1] columns.",
    with_step(
        pick=lambda logarithms, targets: (np.eye(targets.max() + 1)[targets] * logarithms).sum(
            axis=1
        )
    ),
    "no-log-softmax: The scores themselves are averaged: take log_softmax of each row first.",
    with_step(log=lambda scores: scores),
    "softmax-down-columns: Softmax runs down the columns: each row is one example.",
    with_step(log=lambda scores: log_softmax(scores, 0)),
    "softmax-over-everything: Softmax runs over the whole array: each row is one example.",
    with_step(log=lambda scores: log_softmax(scores, None)),
    "weights-averaged: The mean of the weights is taken, not of their logarithms.",
    with_step(log=stable_softmax),
    lambda scores, targets: 1.0 - of_targets(stable_softmax(scores), targets).mean(),
    "logarithm-of-mean: The logarithm is taken after the mean: average the logarithms.",
    lambda scores, targets: -np.log(of_targets(stable_softmax(scores), targets).mean()),
    "base-2: These are logarithms to base 2: use the natural logarithm.",
    with_step(log=lambda scores: log_softmax(scores) / np.log(2.0)),
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
