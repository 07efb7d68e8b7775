"""`weighted_sum(weights, values)` mixes the values: row i of the result is the sum of `weights[i, j] * values[j]`.

`(..., L, S)` weights and `(..., S, d_v)` values → `(..., L, d_v)`. Any numbers may be weights, and a row of
them need not sum to 1.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.cases import drawn_again, in_float32, other_arrays
from attention_lib.lessons.softmax import softmax, weighted_sum

HINTS = (
    "Row i of the result is weights[i, 0] * values[0] + weights[i, 1] * values[1] + ...",
    "(L, S) times (S, d_v) gives (L, d_v): that is a matrix product.",
    "The operator @ multiplies the last two axes and keeps the leading ones as a batch.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([[0.5, 0.5, 0.0]]), np.array([[2.0, 0.0], [4.0, 2.0], [6.0, 7.0]]))
    yield Case(softmax(rng.normal(size=(2, 3))), rng.normal(size=(3, 5)))
    yield Case(softmax(rng.normal(size=(2, 3, 5))), rng.normal(size=(2, 5, 6)))
    yield Case(softmax(rng.normal(size=(2, 3, 5, 7))), rng.normal(size=(2, 3, 7, 6)))
    yield Case(softmax(rng.normal(size=(3, 3))), rng.normal(size=(3, 3)))  # square: see softmax
    yield Case(rng.normal(size=(5, 3)), rng.normal(size=(3, 2)))  # any weights, not only softmax's
    yield Case(*in_float32((softmax(rng.normal(size=(6, 3))), rng.normal(size=(3, 2)))))
    yield Case(np.array([[1, 0, 2], [0, 3, 1]]), np.array([[2, 1], [0, 4], [5, 3]]))


def magnitude(weights: NDArray, values: NDArray) -> NDArray:
    return 2.0 * np.abs(weights) @ np.abs(values)


def plain(weights, values):
    rows = weights
    mixture = rows @ values
    return mixture


MISTAKES = known_mistakes(
    plain,
    "plain-average: These are plain averages of the values: every value must be weighted first.",
    "= weights => = np.ones_like(weights) / values.shape[-2]",
    "plain-sum: The values are summed without their weights: multiply each by its weight first.",
    "= weights => = np.ones_like(weights)",
    "np-dot: Every batch item of the weights meets every one of the values: @ keeps each with its own.",
    "rows @ values => np.dot(rows, values)",
    "entry-by-entry: Values and weights are multiplied entry by entry: a matrix product sums over "
    "the S keys.",
    "rows @ => rows *",
    "weights-transposed: The weights are transposed: row i of weights belongs to query i.",
    "= weights => = weights.mT",
    "product-reversed: The order is reversed: weights come first, weights @ values.",
    "rows @ values => values @ rows",
    "values-transposed: The values are transposed: keys are already their second-to-last axis.",
    "@ values => @ values.mT",
    "t-reverses-batch: No transpose is needed here: the keys are the last axis of weights already, "
    "and the second-to-last of values.",
    "@ values => @ values.T",
    "= weights => = weights.T",
    "softmax-of-weights: The weights are put through softmax again: they are weights already.",
    "values): => values):\n    weights = softmax(weights)",
    "divided-by-sum: The weights are divided by their sum again: use them as they are.",
    "values): => values):\n    weights = weights / weights.sum(axis=-1, keepdims=True)",
    "divided-by-keys: The result is divided by the number of keys: weights say how much of each.",
    "return mixture => return mixture / values.shape[-2]",
    "only-largest: Only the value with the largest weight is returned: mix all of them.",
    "rows @ values => np.take_along_axis(values, weights.argmax(axis=-1)[..., None], axis=-2)",
    "first-item-only: Only the first batch item is mixed: leading dimensions must be kept.",
    "rows @ values => rows[(0,) * (rows.ndim - 2)] @ values[(0,) * (values.ndim - 2)]",
)

EXERCISE = Exercise(
    name="weighted_sum",
    points=2,
    minutes=6,
    reference=weighted_sum,
    cases=drawn_again(cases, other_arrays),
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
