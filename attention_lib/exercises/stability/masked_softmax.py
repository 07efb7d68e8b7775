"""`masked_softmax(scores, mask, axis=-1)` computes softmax over the allowed entries of each row.

The mask is boolean, True where allowed, and broadcasts to the scores. A row with nothing allowed gives all
zeros, never NaN. Lesson 01's `softmax` is already stable, and is not to be called.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.cases import drawn_again, other_arrays
from attention_lib.exercises.parts.choices import EPSILONS, ZERO_OR_EPSILONS
from attention_lib.exercises.parts.hidden_nan import remark_on_hidden_nan
from attention_lib.exercises.parts.magnitudes import largest_finite
from attention_lib.lessons.softmax import softmax
from attention_lib.lessons.stability import masked_softmax

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


def plain(scores, mask, axis=-1):
    seen = np.where(mask, scores, -np.inf)
    maximum = np.max(seen, axis=axis, keepdims=True)
    shift = np.where(np.isneginf(maximum), 0.0, maximum)
    powers = np.exp(seen - shift)
    total = np.sum(powers, axis=axis, keepdims=True)
    weights = powers / np.where(total == 0, 1.0, total)
    return weights


SHIFT = "np.where(np.isneginf(maximum), 0.0, maximum)"
TOTAL = "np.where(total == 0, 1.0, total)"
NOT_MASKED = "np.where(mask, scores, -np.inf) => scores"
MASKED_AT_THE_END = "return weights => return weights * mask"
DIVIDED_AGAIN = (
    "return weights => weights = weights * mask\n"
    "    total = np.sum(weights, axis=axis, keepdims=True)\n"
    "    return "
)

MISTAKES = known_mistakes(
    plain,
    "empty-row-nan: A row with nothing allowed gives NaN, of -inf - (-inf) or of 0 / 0: such a row should "
    "get all zeros.",
    f"{SHIFT} => maximum",
    "empty-row-on-forbidden: A row with nothing allowed gets equal weights on entries that are "
    "forbidden: a large negative number is not -inf. Such a row gets all zeros.",
    "-np.inf => {-1e9|-1e4}",
    "empty-row-equal-weights: A row with nothing allowed gets equal weights: it gets all zeros.",
    "return weights => return np.where(total == 0, 1.0 / scores.shape[axis], weights)",
    "large-number-for-inf: A large negative number is not -inf: an allowed score may lie below "
    "it. Forbidden scores are -inf.",
    f"-np.inf => {{-1e9|-1e4}} && {MASKED_AT_THE_END}",
    f"{NOT_MASKED} - {{1e4|1e8}} * (1.0 - mask) && {MASKED_AT_THE_END}",
    "masked-after-softmax: The mask is applied after softmax: forbidden entries still took their "
    "share of the sum. Mask the scores first.",
    f"{NOT_MASKED} && {MASKED_AT_THE_END}",
    "maximum-before-mask: The maximum is taken over forbidden scores too: a far larger one makes the "
    "allowed weights underflow. Take that of the masked scores; where nothing is allowed, subtract 0 and "
    "divide by 1.",
    "np.max(seen => np.max(scores",
    f"{NOT_MASKED} && {DIVIDED_AGAIN}np.nan_to_num(weights / total)",
    f"{NOT_MASKED} && {DIVIDED_AGAIN}weights / (total + {ZERO_OR_EPSILONS})",
    "one-maximum: The maximum of the whole array is subtracted: a row far below it underflows to "
    "zeros. Take each row's own.",
    f"{SHIFT} => np.max(seen)",
    "mask-inverted: The mask is inverted: True is where attention is allowed.",
    "where(mask => where(~mask",
    "mask-ignored: The mask is ignored: forbidden entries get weight 0.",
    NOT_MASKED,
    "forbidden-scores-zero: Forbidden scores are set to 0, and exp(0) is 1: set them to -inf.",
    "-np.inf => 0.0",
    "last-axis-only: You always work along the last axis: use the axis you are given.",
    "axis=-1): => axis=-1):\n    axis = -1",
    "sum-of-last-axis: You always sum along the last axis: use the axis you are given.",
    "(powers, axis=axis => (powers, axis=-1",
    "mask-added: The mask is added to the scores as 0 and 1: a boolean mask allows or forbids.",
    f"{NOT_MASKED} + mask",
    "exp-overflows: exp overflows: subtract each row's largest allowed score first.",
    f"seen - shift => seen && {TOTAL} => total",
    f"seen - shift => seen && {TOTAL} => total && return weights => return np.nan_to_num(weights)",
    "seen - shift => seen",
    "np.exp(seen - shift) => np.exp(scores) * mask",
    "maximum-plus-log-sum: The logarithm of the sum is added to the maximum, next to which it is "
    "lost for large scores. Subtract the maximum first, then take exp and divide by the sum.",
    f"powers / {TOTAL} => np.exp(seen - (shift + np.log({TOTAL})))",
    f"(mask, scores => (mask, scores.astype(float) && powers / {TOTAL} => np.exp(seen - (shift + np.log({TOTAL})))"
    " && return weights => return weights.astype(np.result_type(scores, np.float32))",
    "constant-in-sum: A small constant is added to every sum: rows with something allowed no "
    "longer sum to 1. Treat the empty row apart.",
    f"{TOTAL} => (total + {EPSILONS})",
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
