"""`rms_norm(x, gain, epsilon=1e-5)` divides each vector by the root of the mean of its squares.

`(..., D)`, `(D,)` → x / √(mean of x² over the last axis + epsilon) · gain, in the shape of `x`. No mean is
subtracted.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.lessons.model import rms_norm

HINTS = (
    "Read the name backward: square, then mean, then root. Each vector has one such number, and is "
    "divided by it.",
    "The mean runs along the last axis. keepdims=True leaves that axis in place, with length 1, so that "
    "the division fits.",
    "epsilon is added to the mean, before the root. The gain has one number for each component, and "
    "multiplies at the end.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([3.0, 4.0, 0.0, 0.0]), np.ones(4))
    yield Case(np.array([[3.0, 4.0], [6.0, 8.0]]), np.array([1.0, 2.0]))
    yield Case(np.array([[0.0, 0.0], [0.001, -0.002]]), np.array([1.0, 3.0]))
    yield Case(np.array([[1.0, -2.0, 2.0]]), np.ones(3), 7.0)
    yield Case(rng.normal(3.0, 1.0, (5, 6)), rng.uniform(0.5, 2.0, 6))  # a mean to subtract
    yield Case(rng.normal(size=(4, 4)), rng.normal(size=4))  # square: a wrong axis fits as well
    yield Case(rng.normal(size=(2, 3, 8)), rng.uniform(0.5, 2.0, 8), epsilon=0.5)
    yield Case(rng.normal(size=(3, 2, 4, 5)), rng.normal(size=5))
    yield Case(1e3 * rng.normal(size=(3, 7)), rng.uniform(0.5, 2.0, 7))
    yield Case(1e-3 * rng.normal(size=(3, 7)), rng.uniform(0.5, 2.0, 7))
    yield Case(rng.normal(size=(6, 2)).T, rng.uniform(0.5, 2.0, 6))
    yield Case(rng.normal(size=(4, 9)).astype(np.float32), rng.normal(size=9).astype(np.float32))
    yield Case(rng.integers(-4, 5, (3, 5)), rng.uniform(0.5, 2.0, 5))


def plain(x, gain, epsilon=1e-5):
    inside = np.mean(x * x, axis=-1, keepdims=True) + epsilon
    size = np.sqrt(inside)
    result = x / size
    return result * gain


MISTAKES = known_mistakes(
    plain,
    "epsilon-missing: epsilon is not added, which matters where a vector is small: add it to the mean "
    "of the squares, before the root.",
    " + epsilon => ",
    "epsilon-outside: epsilon is added to the root: add it to the mean of the squares, inside the root.",
    " + epsilon =>  && np.sqrt(inside) => np.sqrt(inside) + epsilon",
    "default-of-epsilon: The default of epsilon is not 1e-5.",
    "1e-5 => {1e-6|1e-8|1e-12|1e-3}",
    "epsilon-ignored: You always add 1e-5: add the epsilon you are given.",
    " + epsilon =>  + {1e-5|1e-6|1e-8}",
    "mean-subtracted: The mean is subtracted first, as layer normalization does: here it stays, and "
    "only the size is divided out.",
    "inside = => x = x - np.mean(x, axis=-1, keepdims=True)\n    inside =",
    "standard-deviation: x is divided by its standard deviation, which leaves out the mean: take the "
    "mean of the squares of x itself.",
    "np.mean(x * x, axis=-1, keepdims=True) => np.var(x, axis=-1, keepdims=True)",
    "np.mean(x * x, axis=-1, keepdims=True) + epsilon => np.var(x, axis=-1, keepdims=True) && "
    "np.sqrt(inside) => np.sqrt(inside) + epsilon",
    "sum-for-mean: The squares are summed: take their mean, so that the result's size does not hang on "
    "D.",
    "np.mean => np.sum",
    "root-missing: The root is missing: x is divided by the mean of its squares.",
    "np.sqrt(inside) => inside",
    "not-squared: The mean of the components themselves is taken: square them first.",
    "x * x => x",
    "x * x => np.abs(x)",
    "np.sqrt(inside) => inside && x * x => np.abs(x)",
    "multiplied: x is multiplied by its size: divide by it.",
    "x / size => x * size",
    "whole-array: One number is taken for the whole array: each vector, along the last axis, has its "
    "own.",
    "axis=-1, keepdims=True => axis=None",
    "first-axis: The mean runs along the first axis: each vector lies along the last one.",
    "axis=-1 => axis=0",
    "second-axis: The mean runs along axis 1, which is the last one only where x has two axes: take "
    "axis=-1.",
    "axis=-1 => axis=1",
    "gain-missing: The gain is missing: multiply each component by its own at the end.",
    "result * gain => result",
    "gain-added: The gain is added: it multiplies.",
    "result * gain => result + gain",
    "gain-divided: The result is divided by the gain: multiply by it.",
    "result * gain => result / gain",
    "gain-plus-one: The gain is taken as 1 + gain, as some models do: here it is the factor itself.",
    "result * gain => result * (1 + gain)",
    "gain-first: The gain multiplies before the size is taken, and changes it: take the size of x "
    "itself, and multiply at the end.",
    "inside = => x = x * gain\n    inside = && result * gain => result",
    "softmax: This is softmax: it divides exponentials by their sum. Here the numbers themselves are "
    "divided by their size.",
    "result = x / size => powers = np.exp(x - x.max(-1, keepdims=True))\n    "
    "result = powers / powers.sum(-1, keepdims=True)",
    "size-returned: This is the size of each vector: divide x by it.",
    "return result * gain => return size",
)

EXERCISE = Exercise(
    name="rms_norm",
    points=2,
    minutes=4,
    reference=rms_norm,
    cases=cases,
    hints=HINTS,
    mistakes=MISTAKES,
)
