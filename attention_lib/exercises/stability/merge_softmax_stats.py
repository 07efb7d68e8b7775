"""`merge_softmax_stats(left, right)` joins the softmax statistics of two parts of each row.

Each part is a pair `(maximum, total)` of arrays of equal shape, where `total` is Σ exp(score − maximum); so
is the result, for the joined rows. `(-inf, 0)`, an empty row, is the identity, also when both are empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
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


def rescaled(total: NDArray, old: NDArray, new: NDArray) -> NDArray:
    return total * np.exp(old - new)


def as_it_is(total: NDArray, old: NDArray, new: NDArray) -> NDArray:
    return total


def zero_if_nan(total: NDArray) -> NDArray:
    return np.where(np.isnan(total), 0.0, total)


@composable
def joined(
    bring_left: Callable[..., NDArray] = rescaled,
    bring_right: Callable[..., NDArray] | None = None,
    join: Callable[[NDArray, NDArray], NDArray] = np.add,
    largest: Callable[[NDArray, NDArray], NDArray] = np.maximum,
    clean: Callable[[NDArray], NDArray] = zero_if_nan,
) -> Answer:
    """Make an answer from how each total is brought to the new maximum, and how they are joined.

    `clean` gets each total that was brought, which is NaN where both parts are empty.
    """

    def answer(left: SoftmaxStats, right: SoftmaxStats) -> SoftmaxStats:
        new = largest(left[0], right[0])
        bring = bring_right or bring_left
        totals = bring_left(left[1], left[0], new), bring(right[1], right[0], new)
        return new, join(*map(clean, totals))

    return answer


merged = joined(clean=np.asarray)


MISTAKES = known_mistakes(
    "totals-added: The totals are added as they are: bring each to the new maximum first, total * "
    "exp(old - new).",
    joined(as_it_is),
    "both-empty-nan: Two empty parts give NaN, -inf - (-inf): their join is empty too, (-inf, 0).",
    merged,
    "both-empty-not-empty: Two empty parts do not give an empty one: the maximum -inf has become a "
    "number together with the NaN of the total. Replace the NaN alone.",
    lambda left, right: tuple(map(np.nan_to_num, merged(left, right))),
    "stand-in-returned: Two empty parts give the maximum 0: shift by 0 there, and return the true "
    "maximum, -inf.",
    lambda left, right: (
        np.nan_to_num(merge_softmax_stats(left, right)[0], neginf=0.0),
        merge_softmax_stats(left, right)[1],
    ),
    "only-right-rescaled: Only the right total is rescaled: when the left maximum is the smaller "
    "one, the left total must be rescaled as well.",
    joined(as_it_is, rescaled),
    "only-left-rescaled: Only the left total is rescaled: when the right maximum is the smaller "
    "one, the right total must be rescaled as well.",
    joined(rescaled, as_it_is),
    "empty-row-for-all: One empty row decides for all: whether a part is empty is a question of each row.",
    lambda left, right: (
        right if np.any(left[1] == 0) else left if np.any(right[1] == 0) else merged(left, right)
    ),
    "equal-maxima-lost: Where both maxima are equal, neither is the larger, and the totals are lost: the "
    "joint total is their sum there.",
    lambda left, right: (
        (joint := merge_softmax_stats(left, right))[0],
        np.where(np.equal(left[0], right[0]), 0.0, joint[1]),
    ),
    "smaller-total-rescaled: The smaller total is rescaled: it must be the one whose maximum is the "
    "smaller, whichever total that is.",
    lambda left, right: (
        np.maximum(left[0], right[0]),
        np.maximum(left[1], right[1])
        + np.minimum(left[1], right[1])
        * np.exp(-np.where(np.equal(left[0], right[0]), 0.0, np.abs(left[0] - right[0]))),
    ),
    "factor-upside-down: The factor is upside down: a total moves to the new maximum by exp(old - "
    "new), never more than 1.",
    joined(lambda total, old, new: total * np.exp(new - old), clean=np.asarray),
    joined(lambda total, old, new: total * np.exp(new - old)),
    "maxima-crossed: Each total is rescaled with the other part's maximum: it moves from its own "
    "maximum to the new one, exp(own - new).",
    lambda left, right: merge_softmax_stats((right[0], left[1]), (left[0], right[1])),
    lambda left, right: merged((right[0], left[1]), (left[0], right[1])),
    "exp-overflows: exp(maximum) overflows: use differences of maxima only, exp(old - new).",
    joined(lambda total, old, new: total * np.exp(old) * np.exp(-new), clean=np.asarray),
    "maxima-added: The maxima are added: the joined row has the larger one.",
    lambda left, right: (left[0] + right[0], left[1] + right[1]),
    lambda left, right: (left[0] + right[0], merge_softmax_stats(left, right)[1]),
    joined(largest=np.add),
    "larger-total: The larger total is returned: the totals of both parts count.",
    joined(as_it_is, join=np.maximum),
    "pair-reversed: The pair is reversed: return (maximum, total).",
    lambda left, right: merge_softmax_stats(left, right)[::-1],
    "one-maximum: One maximum is taken for all rows: each row has its own.",
    lambda left, right: merged(
        (np.full_like(left[0], np.max(left[0])), left[1]),
        (np.full_like(right[0], np.max(right[0])), right[1]),
    ),
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
