"""`masked_softmax(scores, mask, axis=-1)` computes softmax over the allowed entries of each row.

The mask is boolean, True where allowed, and broadcasts to the scores. A row with nothing allowed gives all
zeros, never NaN. Lesson 01's `softmax` is already stable, and is not to be called.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
from attention_lib.exercises.parts.cases import drawn_again, other_arrays
from attention_lib.exercises.parts.hidden_nan import remark_on_hidden_nan
from attention_lib.exercises.parts.magnitudes import largest_finite
from attention_lib.exercises.parts.softmax import (
    EPSILONS,
    divided_by_sum,
    filled,
)
from attention_lib.lessons.softmax import softmax
from attention_lib.lessons.stability import logsumexp, masked_softmax, stable_softmax

HINTS = (
    "np.where(mask, scores, -np.inf) gives every forbidden entry weight 0: exp(-inf) is 0.",
    "Where nothing is allowed the maximum is -inf: use 0 there, so that -inf - 0 stays -inf.",
    "The sum of such a row is 0. Divide by 1 instead, and its weights are the zeros they are.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([1.0, 9.0, 1.0]), np.array([True, False, True]))
    yield Case(
        np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        np.array([[True, True, False], [False, False, False]]),
    )
    yield Case(np.array([[3, 1, 2], [0, 800, 900]]), np.array([[True, False, True]]))
    yield Case(
        rng.normal(0.0, 3.0, (2, 3, 5)),
        np.array([[True], [False], [True]]) | (np.arange(5) == rng.integers(5)),
    )
    yield Case(rng.normal(0.0, 3.0, (3, 5)), np.arange(3)[:, None] != np.array([1, 0, 2, 2, 1]), 0)
    yield Case(rng.normal(0.0, 3.0, (2, 5, 3)), rng.random((5, 1)) < 0.5, axis=1)
    yield Case(
        rng.normal(0.0, 3.0, (2, 3, 5)),
        np.array([[[True] * 5], [[True, False, True, False, True]]]),
    )
    # Square, so that a mask of one axis could lie along either; and a score of 0 is a score.
    yield Case(
        np.array([[0.0, 2.0, 0.0], [1.0, 0.0, -1.0], [0.0, 0.0, 3.0]]),
        np.array([True, True, False]),
    )
    # Nothing allowed in one column of the three.
    yield Case(
        rng.normal(0.0, 3.0, (5, 3)),
        np.array([True, False, True]) & (np.arange(5) != 1)[:, None],
        0,
    )
    yield Case(np.full((2, 3, 5), 0.5), np.zeros((2, 3, 5), bool), axis=1)
    # A large score behind the mask must not drown the allowed ones.
    yield Case(np.array([[-1000.0, 2000.0, -1001.0, 0.0]]), np.array([True, False, True, False]))
    yield Case(np.array([[1000.0, 1001.0], [1.0, 2.0], [-1000.0, -1001.0]]), np.ones((3, 2), bool))
    yield Case(
        (rng.normal(0.0, 3.0, (3, 6)) + 120.0).astype(np.float32),
        np.arange(6) < np.array([[6], [0], [2]]),
    )
    yield Case(np.array([[1e300, -1e300, 0.0]]), np.array([[False, True, False]]))
    yield Case(np.array([-500.0, -502.0, -501.0]), np.array([True, True, False]))
    # Beside such scores the logarithm of a sum is lost; the differences of the scores are exact.
    yield Case(
        np.array([[1e8, 1e8, 2e8], [3.0, -3e6, -3e6 + 0.25]], np.float32),
        np.array([[True, True, False], [False, True, True]]),
    )
    yield Case(np.array([[4e15, 4e15 + 1, 4e15 - 2, 0.0]]), np.array([True, True, True, False]))
    # Small weights are right in every digit too.
    yield Case(np.array([[0.0, -30.0, -80.0, 5.0]]), np.array([True, True, True, False]))
    yield Case(np.array([1.0, 9.0, 2.0]), np.array([False, True, True]))


def magnitude(scores: NDArray, mask: NDArray, axis: int = -1) -> NDArray:
    allowed = np.where(mask, scores, 0.0)
    return masked_softmax(scores, mask, axis) * (1.0 + largest_finite(allowed, axis))


def filled_with(fill: float) -> Answer:
    return lambda scores, mask, axis=-1: softmax(filled(scores, mask, fill), axis)


def sum_or_one(exponentials: NDArray, axis: int) -> NDArray:
    total = exponentials.sum(axis=axis, keepdims=True)
    return np.where(total == 0, 1, total)


@composable
def masked(
    *,
    seen: Answer = lambda mask: mask,
    shift: Answer = lambda scores, visible, axis: np.maximum(
        visible.max(axis=axis, keepdims=True), np.finfo(visible.dtype).min
    ),
    by: Answer = sum_or_one,
    along: Answer = lambda axis: axis,
) -> Answer:
    """Divide the exponentials of what is seen by their sums, with a step replaced by a wrong one."""

    def answer(scores: NDArray, mask: NDArray, axis: int = -1) -> NDArray:
        visible = filled(scores, seen(mask), -np.inf)
        exponentials = np.exp(visible - shift(scores, visible, along(axis)))
        return exponentials / by(exponentials, along(axis))

    return answer


def divided_in_logarithms(scores: NDArray, mask: NDArray, axis: int) -> NDArray:
    visible = filled(scores, mask, -np.inf)
    total = logsumexp(visible, axis, keepdims=True)
    return np.exp(visible - np.where(np.isneginf(total), 0.0, total).astype(total.dtype))


def normalized_after(epsilon: float) -> Answer:
    return lambda scores, mask, axis=-1: divided_by_sum(
        np.where(mask, stable_softmax(scores, axis), 0.0), axis, epsilon
    )


MISTAKES = known_mistakes(
    "empty-row-nan: A row with nothing allowed gives NaN, of -inf - (-inf) or of 0 / 0: such a row should "
    "get all zeros.",
    filled_with(-np.inf),
    "empty-row-on-forbidden: A row with nothing allowed gets equal weights on entries that are "
    "forbidden: a large negative number is not -inf. Such a row gets all zeros.",
    filled_with(-1e9),
    filled_with(-1e4),
    "empty-row-equal-weights: A row with nothing allowed gets equal weights: it gets all zeros.",
    lambda scores, mask, axis=-1: np.where(
        np.any(np.broadcast_to(mask, scores.shape), axis=axis, keepdims=True),
        masked_softmax(scores, mask, axis),
        1.0 / scores.shape[axis],
    ),
    "large-number-for-inf: A large negative number is not -inf: an allowed score may lie below "
    "it. Forbidden scores are -inf.",
    lambda scores, mask, axis=-1: softmax(filled(scores, mask, -1e9), axis) * mask,
    lambda scores, mask, axis=-1: softmax(filled(scores, mask, -1e4), axis) * mask,
    lambda scores, mask, axis=-1: softmax(scores - 1e4 * (1.0 - mask), axis) * mask,
    lambda scores, mask, axis=-1: softmax(scores - 1e8 * (1.0 - mask), axis) * mask,
    "masked-after-softmax: The mask is applied after softmax: forbidden entries still took their "
    "share of the sum. Mask the scores first.",
    lambda scores, mask, axis=-1: stable_softmax(scores, axis) * mask,
    "maximum-before-mask: The maximum is taken over forbidden scores too: a far larger one makes the "
    "allowed weights underflow. Take that of the masked scores; where nothing is allowed, subtract 0 and "
    "divide by 1.",
    masked(shift=lambda scores, visible, axis: scores.max(axis=axis, keepdims=True)),
    lambda *args, **axis: np.nan_to_num(normalized_after(0.0)(*args, **axis)),
    *map(normalized_after, (0.0, *EPSILONS)),
    "one-maximum: The maximum of the whole array is subtracted: a row far below it underflows to "
    "zeros. Take each row's own.",
    masked(shift=lambda scores, visible, axis: visible.max()),
    "mask-inverted: The mask is read the wrong way around: True is where attention is allowed.",
    masked(seen=np.invert),
    "mask-ignored: The mask is ignored: forbidden entries get weight 0.",
    lambda scores, mask, axis=-1: stable_softmax(scores, axis),
    "forbidden-scores-zero: Forbidden scores are set to 0, and exp(0) is 1: set them to -inf.",
    filled_with(0.0),
    "last-axis-only: You always work along the last axis: use the axis you are given.",
    masked(along=lambda axis: -1),
    "sum-of-last-axis: You always sum along the last axis: use the axis you are given.",
    masked(by=lambda exponentials, axis: sum_or_one(exponentials, -1)),
    "mask-added: The mask is added to the scores as 0 and 1: a boolean mask allows or forbids.",
    lambda scores, mask, axis=-1: stable_softmax(scores + mask, axis),
    "exp-overflows: exp overflows: subtract each row's largest allowed score first.",
    lambda scores, mask, axis=-1: divided_by_sum(np.where(mask, np.exp(scores), 0.0), axis),
    lambda scores, mask, axis=-1: np.nan_to_num(
        divided_by_sum(np.where(mask, np.exp(scores), 0.0), axis)
    ),
    masked(shift=lambda scores, visible, axis: 0.0),
    lambda scores, mask, axis=-1: np.exp(scores) * mask / sum_or_one(np.exp(scores) * mask, axis),
    "maximum-plus-log-sum: The logarithm of the sum is added to the maximum, beside which it is "
    "lost for large scores. Subtract the maximum first, then take exp and divide by the sum.",
    lambda scores, mask, axis=-1: divided_in_logarithms(scores, mask, axis),
    lambda scores, mask, axis=-1: divided_in_logarithms(scores.astype(float), mask, axis).astype(
        np.result_type(scores, np.float32)
    ),
    "constant-in-sum: A small constant is added to every sum: rows with something allowed no "
    "longer sum to 1. Treat the empty row apart.",
    *(
        masked(by=lambda exponentials, axis, e=epsilon: exponentials.sum(axis, keepdims=True) + e)
        for epsilon in EPSILONS
    ),
)

EXERCISE = Exercise(
    name="masked_softmax",
    points=3,
    minutes=8,
    reference=masked_softmax,
    cases=drawn_again(cases, other_arrays),
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
    built_on=("stable_softmax",),
    not_by={softmax: "which already subtracts the maximum: do that yourself, after the mask"},
    remarks=(
        remark_on_hidden_nan(
            "masked_softmax", np.array([[np.nan, 1.0, 2.0]]), np.array([[True, True, False]])
        ),
    ),
)
