"""The exercises of lesson 01: from scores to attention weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, Mistake
from attention_lib.lessons.softmax import normalize_by_sum, softmax, weighted_sum

STUDY_SCORES = np.array([2.0, 4.0, 4.0])

# normalize_by_sum


def _sum_cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([1.0, 0.0, 1.0]))
    yield Case(np.array([[1.0, 0.0, 3.0], [2.0, -1.0, 4.0]]))
    yield Case(np.array([[2, 4, 4], [2, 2, 3]]))
    yield Case(rng.uniform(0.5, 9.0, (3, 3)))  # square: here a lost axis gives numbers
    yield Case(rng.uniform(0.5, 9.0, (2, 3, 5)))
    yield Case(rng.uniform(0.5, 9.0, (3, 6)).astype(np.float32))
    yield Case(-rng.uniform(0.5, 9.0, (2, 7)))  # sums below zero are sums all the same


def _sum_size(scores: NDArray) -> NDArray:
    total = scores.sum(axis=-1, keepdims=True)
    return np.abs(scores / total) * (1 + np.abs(scores).sum(axis=-1, keepdims=True) / np.abs(total))


NORMALIZE_BY_SUM = Exercise(
    name="normalize_by_sum",
    points=1,
    minutes=5,
    reference=normalize_by_sum,
    cases=_sum_cases,
    magnitude=_sum_size,
    hints=(
        "The sum of each row is scores.sum(axis=-1). What shape has it, beside the shape of scores?",
        "With keepdims=True the sum keeps its axis, with length 1, and divides row by row.",
    ),
    mistakes=(
        Mistake(
            "You divide by the sum of the whole array: every row needs its own sum, along axis=-1.",
            lambda scores: scores / scores.sum(),
        ),
        Mistake(
            "The sums have lost their axis, so they do not line up with the rows: use keepdims=True.",
            lambda scores: scores / scores.sum(axis=-1),
        ),
        Mistake(
            "You sum down the columns (axis 0): each row is divided by its own sum, along axis=-1.",
            lambda scores: scores / scores.sum(axis=0),
            lambda scores: scores / scores.sum(axis=0, keepdims=True),
        ),
        Mistake(
            "You divide by the largest score: divide by the sum of the row.",
            lambda scores: scores / scores.max(axis=-1, keepdims=True),
        ),
        Mistake(
            "You divide by the mean of the row: divide by its sum.",
            lambda scores: scores / scores.mean(axis=-1, keepdims=True),
        ),
        Mistake(
            "You divide by the sum of absolute values: here the plain sum is asked for, signs and all.",
            lambda scores: scores / np.abs(scores).sum(axis=-1, keepdims=True),
        ),
        Mistake(
            "You divide by the row's length (its Euclidean norm): divide by its sum.",
            lambda scores: scores / np.linalg.norm(scores, axis=-1, keepdims=True),
        ),
        Mistake(
            "You divide by the number of entries: divide by their sum.",
            lambda scores: scores / scores.shape[-1],
        ),
        Mistake(
            "These are softmax weights, which come next: here just divide each row by its sum.",
            lambda scores: softmax(scores),
        ),
    ),
)

# softmax


def _softmax_cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([1.0, 0.0, 1.0]))
    yield Case(np.array([[0.0, 1.0, 2.0], [3.0, -1.0, 0.5]]))
    yield Case(np.array([[0.0, 1.0, 2.0], [3.0, -1.0, 0.5]]), axis=0)
    yield Case(np.array([[2, 4, 4], [2, 2, 3]]))
    yield Case(np.array([[2.5, -1.5, 0.0], [1.0, 1.0, 4.0]]))  # a shape seen before, other scores
    yield Case(rng.normal(0.0, 3.0, (3, 3)))  # square: here a lost axis gives numbers, not an error
    yield Case(rng.normal(0.0, 3.0, (3, 3)), axis=0)
    yield Case(rng.normal(0.0, 3.0, (2, 3, 5)), axis=1)
    yield Case(rng.normal(0.0, 3.0, (3, 2, 5)), 0)
    yield Case(rng.normal(0.0, 3.0, (2, 3, 5, 6)), axis=-2)
    yield Case(rng.normal(0.0, 3.0, (5, 2, 3)))
    yield Case(rng.normal(0.0, 3.0, (2, 5, 3, 6)), axis=2)
    yield Case(rng.normal(0.0, 3.0, (3, 2, 5)), axis=-3)
    yield Case(rng.normal(0.0, 2.0, (3, 7)).astype(np.float32))
    yield Case(rng.normal(0.0, 2.0, (5, 2)).astype(np.float32), axis=0)
    # Rows far apart: what one row adds to another's sum would drown it.
    yield Case(np.array([[40.0], [0.0], [-45.0]]) + rng.uniform(-1.0, 1.0, (3, 6)))
    far = np.array([[49.0], [-49.0]]) + rng.uniform(-0.5, 0.5, (2, 5))
    yield Case(far.astype(np.float32))
    yield Case(np.array([[49.0, -49.0, 20.0, 0.0]]))  # a small weight has as many right digits
    yield Case(rng.normal(0.0, 1.0, (6, 1)))


def _weights_size(scores: NDArray, axis: int = -1) -> NDArray:
    largest = np.abs(np.where(np.isfinite(scores), scores, 0.0)).max(axis=axis, keepdims=True)
    return softmax(scores, axis) * (1.0 + largest)


def _divided(exponentials: NDArray, axis: int | None = -1) -> NDArray:
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def _with_epsilon(epsilon: float) -> tuple[Answer, Answer]:
    def plain(scores: NDArray, axis: int = -1) -> NDArray:
        exponentials = np.exp(scores)
        return exponentials / (exponentials.sum(axis=axis, keepdims=True) + epsilon)

    def shifted(scores: NDArray, axis: int = -1) -> NDArray:
        return plain(scores - scores.max(axis=axis, keepdims=True), axis)

    return plain, shifted


def _cut_to_integers(scores: NDArray, axis: int = -1) -> NDArray:
    weights = np.empty_like(scores)
    weights[...] = softmax(scores, axis)
    return weights


EPSILONS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-12)

SOFTMAX = Exercise(
    name="softmax",
    points=3,
    minutes=15,
    reference=softmax,
    signature="softmax(scores, axis=-1)",
    cases=_softmax_cases,
    magnitude=_weights_size,
    hints=(
        "Two steps: the exponential of every score, then each divided by the sum of its row.",
        "The row runs along axis, whichever that is: np.sum takes axis too.",
        "A sum loses the axis it runs along. keepdims=True keeps it, with length 1, and the "
        "division lines up again.",
    ),
    mistakes=(
        Mistake(
            "These are the weights of softmax over the whole array: the sum must run along axis only.",
            lambda scores, axis=-1: _divided(np.exp(scores), None),
            lambda scores, axis=-1: np.exp(scores) / np.exp(scores).sum(),
        ),
        Mistake(
            "You always take the last axis: use the axis you are given, sum(axis=axis, ...).",
            lambda scores, axis=-1: _divided(np.exp(scores), -1),
        ),
        Mistake(
            "You always take axis 0: use the axis you are given, sum(axis=axis, ...).",
            lambda scores, axis=-1: _divided(np.exp(scores), 0),
        ),
        Mistake(
            "You always take axis 1: use the axis you are given, sum(axis=axis, ...).",
            lambda scores, axis=-1: _divided(np.exp(scores), 1),
        ),
        Mistake(
            "The sums have lost their axis, so they do not line up with the scores: use keepdims=True.",
            lambda scores, axis=-1: np.exp(scores) / np.exp(scores).sum(axis=axis),
            lambda scores, axis=-1: np.exp(scores) / np.exp(scores).sum(axis=axis)[..., None],
            lambda scores, axis=-1: np.exp(scores) / np.exp(scores).sum(axis=axis)[:, None],
        ),
        Mistake(
            "The largest score of the whole array is subtracted: a row far below it loses its digits "
            "in float32. Subtract each row's own maximum, along axis, or none.",
            lambda scores, axis=-1: _divided(np.exp(scores - scores.max()), axis),
        ),
        Mistake(
            "These are the scores divided by their sum: take the exponential of each score first.",
            lambda scores, axis=-1: _divided(scores, axis),
        ),
        Mistake(
            "These are the exponentials themselves: divide each by the sum of its row.",
            lambda scores, axis=-1: np.exp(scores),
        ),
        Mistake(
            "The exponentials have the wrong sign: a larger score must get a larger weight, exp(score).",
            lambda scores, axis=-1: _divided(np.exp(-scores), axis),
        ),
        Mistake(
            "These are powers of 2: use np.exp, powers of e.",
            lambda scores, axis=-1: _divided(np.exp2(scores), axis),
        ),
        Mistake(
            "These are powers of 10: use np.exp, powers of e.",
            lambda scores, axis=-1: _divided(10.0**scores, axis),
        ),
        Mistake(
            "You divide by the largest exponential: divide by the sum, so that a row sums to 1.",
            lambda scores, axis=-1: np.exp(scores) / np.exp(scores).max(axis=axis, keepdims=True),
            lambda scores, axis=-1: np.exp(scores - scores.max(axis=axis, keepdims=True)),
        ),
        Mistake(
            "You divide by the mean of the exponentials: divide by their sum.",
            lambda scores, axis=-1: np.exp(scores) / np.exp(scores).mean(axis=axis, keepdims=True),
        ),
        Mistake(
            "You divide by the Euclidean norm of the exponentials: divide by their plain sum.",
            lambda scores, axis=-1: (
                np.exp(scores) / np.sqrt((np.exp(scores) ** 2).sum(axis=axis, keepdims=True))
            ),
        ),
        Mistake(
            "You divide by the sum of the scores: divide by the sum of their exponentials.",
            lambda scores, axis=-1: np.exp(scores) / scores.sum(axis=axis, keepdims=True),
        ),
        Mistake(
            "A small constant is added to the sum: the sum of exponentials is never 0, and with the "
            "constant the weights no longer sum to 1. Leave it out.",
            *(variant for epsilon in EPSILONS for variant in _with_epsilon(epsilon)),
        ),
        Mistake(
            "These are the logarithms of the weights: return the weights themselves.",
            lambda scores, axis=-1: np.log(softmax(scores, axis)),
        ),
        Mistake(
            "Softmax is applied twice: once is enough.",
            lambda scores, axis=-1: softmax(softmax(scores, axis), axis),
        ),
        Mistake(
            "These are sigmoids, each of one score alone: softmax divides by the sum over the row.",
            lambda scores, axis=-1: 1.0 / (1.0 + np.exp(-scores)),
        ),
        Mistake(
            "All the weight goes to the largest score: softmax gives every score a share, e^score.",
            lambda scores, axis=-1: (scores == scores.max(axis=axis, keepdims=True)).astype(float),
            lambda scores, axis=-1: _divided(
                (scores == scores.max(axis=axis, keepdims=True)).astype(float), axis
            ),
        ),
        Mistake(
            "The weights are rounded: return them as they are.",
            *(
                lambda scores, axis=-1, digits=digits: softmax(scores, axis).round(digits)
                for digits in (2, 3, 4, 6, 8)
            ),
        ),
        Mistake(
            "For integer scores the weights are cut to whole numbers: np.empty_like and "
            "np.zeros_like copy the integer dtype. Make a float array.",
            _cut_to_integers,
        ),
    ),
)

# study_weights

STUDY_WEIGHTS = Exercise(
    name="study_weights",
    points=1,
    minutes=5,
    reference=softmax(STUDY_SCORES),
    tolerance=6e-4,
    hints=(
        "e^2 is about 7.389 and e^4 about 54.598. What is their sum, with two e^4 in it?",
        "Your own softmax gives all three: softmax(np.array([2.0, 4.0, 4.0])).",
    ),
    mistakes=(
        Mistake(
            "These are the published numbers, and they are those of the scores [2, 4, 2]: the row "
            "of study is [2, 4, 4].",
            softmax(np.array([2.0, 4.0, 2.0])),
        ),
        Mistake(
            "These are the weights for [1, 0, 1]: the row of study is [2, 4, 4].",
            softmax(np.array([1.0, 0.0, 1.0])),
        ),
        Mistake(
            "These are the weights for [2, 2, 3]: the row of study is [2, 4, 4].",
            softmax(np.array([2.0, 2.0, 3.0])),
        ),
        Mistake(
            "These are the scores divided by their sum: take exponentials first.",
            STUDY_SCORES / STUDY_SCORES.sum(),
        ),
        Mistake(
            "These are the exponentials: divide each by their sum.",
            np.exp(STUDY_SCORES),
        ),
        Mistake(
            "These are percentages: write the weights as numbers that sum to 1.",
            100.0 * softmax(STUDY_SCORES),
        ),
        Mistake(
            "These are the right numbers in another order: the first score, 2, is the smallest.",
            softmax(STUDY_SCORES)[::-1],
            softmax(STUDY_SCORES)[[1, 0, 2]],
        ),
        Mistake(
            "These come from powers of 2: use powers of e.",
            np.array([1.0, 4.0, 4.0]) / 9.0,
        ),
    ),
)

# weighted_sum


def _mixing_cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([[0.5, 0.5, 0.0]]), np.array([[2.0, 0.0], [4.0, 2.0], [6.0, 7.0]]))
    yield Case(softmax(rng.normal(size=(2, 3))), rng.normal(size=(3, 5)))
    yield Case(softmax(rng.normal(size=(2, 3, 5))), rng.normal(size=(2, 5, 6)))
    yield Case(softmax(rng.normal(size=(2, 3, 5, 7))), rng.normal(size=(2, 3, 7, 6)))
    yield Case(softmax(rng.normal(size=(3, 3))), rng.normal(size=(3, 3)))  # square: see softmax
    yield Case(rng.normal(size=(5, 3)), rng.normal(size=(3, 2)))  # any weights, not only softmax's
    yield Case(
        softmax(rng.normal(size=(6, 3))).astype(np.float32),
        rng.normal(size=(3, 2)).astype(np.float32),
    )
    yield Case(np.array([[1, 0, 2], [0, 3, 1]]), np.array([[2, 1], [0, 4], [5, 3]]))


def _mixing_size(weights: NDArray, values: NDArray) -> NDArray:
    return 2.0 * np.abs(weights) @ np.abs(values)


WEIGHTED_SUM = Exercise(
    name="weighted_sum",
    points=2,
    minutes=10,
    reference=weighted_sum,
    cases=_mixing_cases,
    magnitude=_mixing_size,
    hints=(
        "Row i of the result is weights[i, 0] * values[0] + weights[i, 1] * values[1] + ...",
        "(L, S) times (S, d_v) gives (L, d_v): that is a matrix product.",
        "The operator @ multiplies the last two axes and keeps the leading ones as a batch.",
    ),
    mistakes=(
        Mistake(
            "These are the plain averages of the values: every value must be weighted first.",
            lambda weights, values: np.broadcast_to(
                values.mean(axis=-2, keepdims=True), (*weights.shape[:-1], values.shape[-1])
            ),
        ),
        Mistake(
            "The values are summed without their weights: multiply each by its weight first.",
            lambda weights, values: np.broadcast_to(
                values.sum(axis=-2, keepdims=True), (*weights.shape[:-1], values.shape[-1])
            ),
        ),
        Mistake(
            "np.dot pairs every batch item with every other: @ keeps the batch dimensions together.",
            lambda weights, values: np.dot(weights, values),
        ),
        Mistake(
            "Values and weights are multiplied entry by entry: a matrix product sums over the S keys.",
            lambda weights, values: weights * values,
        ),
        Mistake(
            "The weights are transposed: row i of weights belongs to query i.",
            lambda weights, values: np.swapaxes(weights, -1, -2) @ values,
        ),
        Mistake(
            "The order is reversed: weights come first, weights @ values.",
            lambda weights, values: values @ weights,
        ),
        Mistake(
            "The values are transposed: keys are already their second-to-last axis.",
            lambda weights, values: weights @ np.swapaxes(values, -1, -2),
        ),
        Mistake(
            "You transpose with .T, which reverses the batch dimensions as well: no transpose is "
            "needed here.",
            lambda weights, values: weights @ values.T,
            lambda weights, values: weights.T @ values,
        ),
        Mistake(
            "The weights are put through softmax again: they are weights already.",
            lambda weights, values: softmax(weights) @ values,
        ),
        Mistake(
            "The weights are divided by their sum again: use them as they are.",
            lambda weights, values: (weights / weights.sum(axis=-1, keepdims=True)) @ values,
        ),
        Mistake(
            "The result is divided by the number of keys: weights already say how much of each.",
            lambda weights, values: weights @ values / values.shape[-2],
        ),
        Mistake(
            "Only the value with the largest weight is returned: mix all of them.",
            lambda weights, values: np.take_along_axis(
                values, weights.argmax(axis=-1)[..., None], axis=-2
            ),
        ),
        Mistake(
            "Only the first batch item is mixed: leading dimensions must be kept.",
            lambda weights, values: (
                weights[(0,) * (weights.ndim - 2)] @ values[(0,) * (values.ndim - 2)]
            ),
        ),
    ),
)

WRITTEN_SOFTMAX = Exercise(name="written_softmax", points=2, minutes=10)

EXERCISES = (NORMALIZE_BY_SUM, SOFTMAX, STUDY_WEIGHTS, WEIGHTED_SUM, WRITTEN_SOFTMAX)
