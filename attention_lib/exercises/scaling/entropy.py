"""`entropy(weights, axis=-1)` returns the entropy of each row of weights, in nats.

A zero weight adds 0. The axis summed over goes away.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.choices import EPSILONS
from attention_lib.exercises.parts.hidden_nan import remark_on_hidden_nan
from attention_lib.lessons.scaling import entropy
from attention_lib.lessons.softmax import softmax

HINTS = (
    "Each weight p adds -p log p, with the natural logarithm, and the sum runs along axis.",
    "log(0) is -inf, and 0 times -inf is NaN. A weight of 0 should add 0.",
    "np.where(weights > 0, weights, 1) puts a 1, whose logarithm is 0, in place of every 0 "
    "before the logarithm is taken.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([0.25, 0.25, 0.25, 0.25]))
    yield Case(np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]))
    yield Case(np.array([0.0, 0.0, 1.0]))
    yield Case(np.array([[0.1, 0.5], [0.2, 0.5], [0.7, 0.0]]), axis=0)
    yield Case(softmax(rng.normal(size=(3, 3))))  # square: here a lost axis gives numbers
    yield Case(softmax(rng.normal(size=(3, 3)), axis=0), 0)
    yield Case(softmax(3.0 * rng.normal(size=(2, 5, 3)), axis=1), axis=1)
    yield Case(softmax(rng.normal(size=(2, 3, 5, 6)), axis=-2), axis=-2)
    yield Case(softmax(rng.normal(size=(5, 7))).astype(np.float32))
    yield Case(np.array([[0.75, 0.0, 0.25], [1.0, 0.0, 0.0]], np.float32))
    tiny = Case(np.array([[1.0 - 3e-13, 1e-13, 2e-13], [1.0, 1e-200, 0.0]]))
    yield tiny
    yield other_weights(rng, tiny)
    yield Case(softmax(rng.normal(size=(6, 1))))


def other_weights(rng: Generator, case: Case) -> Case:
    """Draw other weights; those that are 0 stay so, and each row sums to 1."""
    weights = case.args[0] * rng.uniform(0.5, 1.5, case.args[0].shape)
    return Case(rng.permuted(weights / weights.sum(axis=-1, keepdims=True), axis=-1))


def magnitude(weights: NDArray, axis: int = -1) -> NDArray:
    logs = np.log(np.where(weights == 0, 1.0, weights))
    return (weights * (1.0 + np.abs(logs))).sum(axis=axis)


def plain(weights, axis=-1):
    p = weights
    inside = np.where(weights > 0, weights, 1.0)
    terms = p * np.log(inside)
    result = -np.sum(terms, axis=axis)
    return result


SAFE = "np.where(weights > 0, weights, 1.0)"

MISTAKES = known_mistakes(
    plain,
    "zero-weight-nan: A weight of 0 gives NaN: log(0) is -inf, and 0 times -inf is NaN. Put a 1 "
    "in place of each 0 before the logarithm.",
    f"{SAFE} => weights",
    "minus-missing: The minus is missing: logarithms of weights are negative, and so is their sum.",
    "-np => np",
    "bits: This is the entropy in bits: use the natural logarithm, np.log, which gives nats.",
    "np.log => np.log2",
    "base-10: This is the entropy with logarithms to base 10: use np.log, which gives nats.",
    "np.log => np.log10",
    "whole-array: This is one number for the whole array: each row along axis has its own entropy.",
    "axis=axis => axis=None",
    "last-axis-only: You always sum along the last axis: use the axis you are given.",
    "axis=axis => axis=-1",
    "axis-0-only: You always sum along axis 0: use the axis you are given.",
    "axis=axis => axis=0",
    "means: These are means of -p log p: entropy is their sum.",
    "sum => mean",
    "terms-not-summed: These are the terms -p log p: add them up along axis.",
    "np.sum(terms, axis=axis) => terms",
    "unweighted-logarithms: Unweighted logarithms are summed: each counts p times, -p log p.",
    "p = weights => p = 1.0",
    f"p = weights => p = 1.0 && {SAFE} => weights",
    "small-constant: A small constant is added to the weights, or put in place of them: that "
    "changes the entropy. Treat a weight of exactly 0 apart.",
    f"{SAFE} => weights + {EPSILONS}",
    f"p = weights => p = np.maximum(weights, {EPSILONS}) && inside = {SAFE} => inside = p",
    f"{SAFE} => np.maximum(weights, {EPSILONS})",
    "divided-by-log-n: The entropy is divided by log n: leave it in nats.",
    "return result => return result / max(np.log(weights.shape[axis]), 1e-300)",
    "return result => return result / np.log(weights.shape[axis])",
    "exponential: This is the exponential of the entropy, the effective number of entries: return "
    "the entropy itself.",
    "return result => return np.exp(result)",
    "sum-of-squares: This is 1 minus the sum of squares, another measure: entropy sums -p log p.",
    "return result => return 1.0 - (weights**2).sum(axis=axis)",
    "softmax-of-weights: The weights are put through softmax first: they are weights already.",
    "p = weights => p = weights = softmax(weights, axis)",
    "axis-kept: The summed axis is kept: there is one number for each row, without keepdims.",
    "axis=axis => axis=axis, keepdims=True",
)

EXERCISE = Exercise(
    name="entropy",
    points=2,
    minutes=5,
    reference=entropy,
    signature="entropy(weights, axis=-1)",
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
    remarks=(remark_on_hidden_nan("entropy", np.array([[np.nan, 0.5, 0.5]])),),
)
