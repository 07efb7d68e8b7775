"""`merge_softmax_stats(left, right)` joins the softmax statistics of two parts of each row.

Each part is a pair `(maximum, total)` of arrays of equal shape, where `total` is Σ exp(score − maximum); so
is the result, for the joined rows. `(-inf, 0)`, an empty row, is the identity, also when both are empty.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.cases import drawn_again
from attention_lib.lessons.stability import SoftmaxStats, merge_softmax_stats

HINTS = (
    "The maximum of the joined row is the larger of the two. Each total refers to its own maximum.",
    "A total counted from m1 is worth total * exp(m1 - m) when counted from m.",
    "Where both parts are empty, m is -inf and m1 - m is NaN: subtract 0 there instead of m. The "
    "maximum that you return stays -inf.",
)


def stats(scores: NDArray) -> SoftmaxStats:
    maximum = scores.max(axis=-1)
    return maximum, np.exp(scores - maximum[..., None]).sum(axis=-1, dtype=scores.dtype)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case((np.array([1.0]), np.array([2.0])), (np.array([3.0]), np.array([1.5])))
    yield Case((np.array([3.0]), np.array([1.5])), (np.array([1.0]), np.array([2.0])))
    empty = np.array([-np.inf, -np.inf, 0.5]), np.array([0.0, 0.0, 1.25])
    yield Case(empty, (np.array([-np.inf, 2.0, -np.inf]), np.array([0.0, 3.0, 0.0])))
    yield Case(
        (np.array([1000.0, -5.0]), np.array([1.0, 2.0])),
        (np.array([-1000.0, 900.0]), rng.uniform(1.0, 3.0, 2)),
    )
    yield Case(
        (np.array([-3e9, -np.inf, -4e9]), np.array([2.0, 0.0, 1.5])),
        (np.array([-3e9 - 1.0, -2e9, -np.inf]), np.array([1.0, 3.0, 0.0])),
    )
    yield Case(stats(rng.normal(0.0, 3.0, (2, 3, 5))), stats(rng.normal(0.0, 3.0, (2, 3, 6))))
    yield Case(
        stats(rng.normal(0.0, 3.0, (3, 5)).astype(np.float32)),
        stats(rng.normal(0.0, 3.0, (3, 2)).astype(np.float32)),
    )
    equal = rng.normal(0.0, 3.0, 2)
    yield Case((equal, rng.uniform(1.0, 3.0, 2)), (equal, rng.uniform(1.0, 3.0, 2)))
    yield Case((1, 2), (3, 1))  # plain numbers, as the lesson's example has them
    yield Case((3.5, 1.25), (-1.0, 2.0))
    yield Case((-np.inf, 0.0), (2.0, 3.0))
    yield Case((-np.inf, 0.0), (-np.inf, 0.0))


def other_pairs(rng: Generator, case: Case) -> Case:
    """Draw other maxima and totals for parts that are not empty."""

    def changed(part: SoftmaxStats) -> SoftmaxStats:
        maximum, total = (np.asarray(one, float) for one in part)
        maximum = maximum + rng.normal(0.0, 1.0, maximum.shape)
        total = total * rng.uniform(0.5, 2.0, total.shape)
        return (maximum, total) if np.ndim(part[0]) else (float(maximum), float(total))

    return Case(*map(changed, case.args))


def magnitude(left: SoftmaxStats, right: SoftmaxStats) -> tuple[NDArray, NDArray]:
    maximum, total = merge_softmax_stats(left, right)
    sizes = [np.where(np.isfinite(part[0]), np.abs(part[0]), 0.0) for part in (left, right)]
    return np.zeros_like(maximum), total * (1.0 + np.maximum(*sizes))


def plain(left, right):
    (left_maximum, left_total), (right_maximum, right_total) = left, right
    maximum = np.maximum(left_maximum, right_maximum)
    shift = np.where(np.isneginf(maximum), 0.0, maximum)
    left_part = left_total * np.exp(left_maximum - shift)
    right_part = right_total * np.exp(right_maximum - shift)
    total = left_part + right_part
    return maximum, total


UNSHIFTED = "np.where(np.isneginf(maximum), 0.0, maximum) => maximum"
WITHOUT_NAN = (
    "left_part + right_part => "
    "np.nan_to_num(left_part, posinf=np.inf) + np.nan_to_num(right_part, posinf=np.inf)"
)
LEFT_PART = "left_total * np.exp(left_maximum - shift)"
RIGHT_PART = "right_total * np.exp(right_maximum - shift)"
UPSIDE_DOWN = (
    "left_maximum - shift => shift - left_maximum && right_maximum - shift => shift - right_maximum"
)
CROSSED = "(left_maximum - => (right_maximum - && (right_maximum - => (left_maximum -"

MISTAKES = known_mistakes(
    plain,
    "totals-added: The totals are added as they are: bring each to the new maximum first, total * "
    "exp(old - new).",
    f"{LEFT_PART} => left_total && {RIGHT_PART} => right_total",
    "both-empty-nan: Two empty parts give NaN, -inf - (-inf): their join is empty too, (-inf, 0).",
    UNSHIFTED,
    "both-empty-not-empty: Two empty parts do not give an empty one: the maximum -inf has become a "
    "number together with the NaN of the total. Replace only the NaN.",
    f"{UNSHIFTED} && return maximum, total => return np.nan_to_num(maximum), np.nan_to_num(total)",
    "stand-in-returned: Two empty parts give the maximum 0: shift by 0 there, and return the true "
    "maximum, -inf.",
    "return maximum => return shift",
    "only-right-rescaled: Only the right total is rescaled: when the left maximum is the smaller "
    "one, the left total must be rescaled as well.",
    f"{LEFT_PART}\n    right_part => left_total\n    right_part",
    "only-left-rescaled: Only the left total is rescaled: when the right maximum is the smaller "
    "one, the right total must be rescaled as well.",
    f"right_part = {RIGHT_PART} => right_part = right_total",
    "empty-row-for-all: One empty row decides for all: whether a part is empty is a question of each row.",
    "right): => right):\n    if np.any(left[1] == 0):\n        return right\n"
    "    if np.any(right[1] == 0):\n        return left",
    "equal-maxima-lost: Where both maxima are equal, neither is the larger, and the totals are lost: the "
    "joint total is their sum there.",
    "left_part + right_part => np.where(np.equal(left_maximum, right_maximum), 0.0, left_part + right_part)",
    "smaller-total-rescaled: The smaller total is rescaled: it must be the one whose maximum is the "
    "smaller, whichever total that is.",
    "left_part + right_part => np.maximum(left_total, right_total) + np.minimum(left_total, right_total)"
    " * np.exp(np.minimum(left_maximum, right_maximum) - shift)",
    "factor-upside-down: The factor is upside down: a total moves to the new maximum by exp(old - "
    "new), never more than 1.",
    UPSIDE_DOWN,
    f"{UPSIDE_DOWN} && {WITHOUT_NAN}",
    "maxima-crossed: Each total is rescaled with the other part's maximum: it moves from its own "
    "maximum to the new one, exp(own - new).",
    CROSSED,
    f"{CROSSED} && {UNSHIFTED}",
    "exp-overflows: exp(maximum) overflows: use differences of maxima only, exp(old - new).",
    f"{UNSHIFTED} && (left_maximum - shift) => (left_maximum) * np.exp(-maximum)"
    " && (right_maximum - shift) => (right_maximum) * np.exp(-maximum)",
    "maxima-added: The maxima are added: the joined row has the larger one.",
    "return maximum, total => return left_maximum + right_maximum, left_total + right_total",
    "return maximum => return left_maximum + right_maximum",
    f"np.maximum => np.add && {UNSHIFTED} && {WITHOUT_NAN}",
    "larger-total: The larger total is returned: the totals of both parts count.",
    "left_part + right_part => np.maximum(left_total, right_total)",
    "pair-reversed: The pair is reversed: return (maximum, total).",
    "return maximum, total => return total, maximum",
    "one-maximum: One maximum is taken for all rows: each row has its own.",
    f"{UNSHIFTED} && = left, right => = left, right\n"
    "    left_maximum = np.full_like(left_maximum, np.max(left_maximum))\n"
    "    right_maximum = np.full_like(right_maximum, np.max(right_maximum))",
)

EXERCISE = Exercise(
    name="merge_softmax_stats",
    points=3,
    minutes=9,
    reference=merge_softmax_stats,
    cases=drawn_again(cases, other_pairs),
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
