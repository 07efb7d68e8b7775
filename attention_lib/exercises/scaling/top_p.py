"""`top_p(weights, p)` keeps of each row the fewest largest weights whose sum is at least p.

`(..., n)` weights and 0 < p ≤ 1 → the weights kept, divided by their sum, and zeros elsewhere, in the
weights' shape and dtype. p = 1 keeps the whole row. Any other p raises `ValueError`. No two weights of a
row are equal, and for a p below 1 no sum of the largest weights lies within 1e-6 of p.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
from attention_lib.lessons.scaling import top_p
from attention_lib.lessons.softmax import softmax

HINTS = (
    "Take the weights of a row in falling order: np.sort(weights, axis=-1)[..., ::-1]. np.cumsum of "
    "them says how much the first one, two, three ... have together.",
    "A weight is kept while the larger ones before it do not reach p: where cumsum - weight < p. So the "
    "one that reaches p is kept too.",
    "Back to the places: the smallest weight that is kept is a limit for its row. np.where(weights >= "
    "limit, weights, 0), with the limit as a column, needs no index at all.",
    'raise ValueError("...") comes first: `if not 0 < p <= 1:`. For p = 1 rounding could lose the smallest '
    "weights: return the row as it is.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(np.array([0.5, 0.3, 0.15, 0.05]), 0.7)
    yield Case(np.array([0.1, 0.6, 0.25, 0.05]), 0.5)
    yield Case(np.array([0.1, 0.6, 0.25, 0.05]), 0.9)
    yield Case(np.array([[0.2, 0.7, 0.1], [0.3, 0.33, 0.37]]), 0.6)
    for outside in (0.0, -0.5, 1.5):
        yield Case(np.array([0.75, 0.25]), outside, raises=ValueError)
    yield Case(drawn(rng, 3, 3), 1.0)
    yield Case(drawn(rng, 1, 60, 20.0), 1)  # weights that are lost beside 1
    yield between(rng, drawn(rng, 4, 4))  # square: here a lost axis gives numbers
    yield between(rng, drawn(rng, 2, 7))
    yield between(rng, drawn(rng, 6, 5).reshape(2, 3, 5))
    yield between(rng, drawn(rng, 3, 9).astype(np.float32))
    yield between(rng, drawn(rng, 5, 8), 0.0, 0.15)  # the largest one alone, or nearly so
    yield between(rng, drawn(rng, 5, 8), 0.97, 1.0)
    yield between(rng, drawn(rng, 2, 40, 0.3))
    yield Case(np.array([[1.0]]), 0.3)
    yield Case(drawn(rng, 1, 4)[0], float(rng.uniform(1.01, 1.2)), raises=ValueError)
    yield Case(drawn(rng, 1, 4)[0], -float(rng.uniform(0.1, 0.9)), raises=ValueError)
    yield Case(drawn(rng, 1, 4)[0], 0.0, raises=ValueError)


def drawn(rng: Generator, rows: int, size: int, spread: float = 1.5) -> NDArray:
    return softmax(rng.normal(0.0, spread, (rows, size)))


def between(rng: Generator, weights: NDArray, low: float = 0.15, high: float = 0.95) -> Case:
    """Draw a p that is not the sum of the largest weights of any row."""
    sums = np.cumsum(np.sort(weights.astype(float), axis=-1)[..., ::-1], axis=-1)
    while True:
        p = float(rng.uniform(low, high))
        if np.abs(sums - p).min() > 1e-5:
            return Case(weights, p)


def kept(
    weights: NDArray,
    p: float,
    enough: Callable[[NDArray, float], NDArray],
    axis: int = -1,
    smallest_first: bool = False,
    order_again: bool = False,
    ranked_again: bool = False,
) -> NDArray:
    """Keep the weights for which `enough` is not yet true of the sum of those before them.

    `order_again` takes the sorting order for its inverse, on the way back, and `ranked_again` does so
    with weights in that order.
    """
    if not 0 < p <= 1:
        raise ValueError("p must be above 0 and at most 1")
    order = np.argsort(weights if smallest_first else -weights, axis=axis)
    ranked = np.take_along_axis(weights, order, axis=axis)
    if ranked_again:
        return np.take_along_axis(np.where(enough(ranked, p), 0, ranked), order, axis=axis)
    back = order if order_again else np.argsort(order, axis=axis)
    return np.where(np.take_along_axis(~enough(ranked, p), back, axis=axis), weights, 0)


def reached_before(ranked: NDArray, p: float) -> NDArray:
    return (np.cumsum(ranked, axis=-1) - ranked >= p) & (p < 1)


def reached(ranked: NDArray, p: float) -> NDArray:
    return (np.cumsum(ranked, axis=-1) > p) & (p < 1)


def reached_two_before(ranked: NDArray, p: float) -> NDArray:
    first = np.zeros((*ranked.shape[:-1], 1), bool)
    return np.concatenate([first, reached_before(ranked, p)[..., :-1]], axis=-1)


def after_first_that_reaches(ranked: NDArray, p: float) -> NDArray:
    first = np.argmax(np.cumsum(ranked, axis=-1) >= p, axis=-1)[..., None]
    return np.arange(ranked.shape[-1]) > first


def normalized(weights: NDArray) -> NDArray:
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total == 0, np.nan, total)


@composable
def with_rule(
    enough: Callable[[NDArray, float], NDArray] = reached_before,
    is_whole: bool = False,
    **changes: bool | int,
) -> Answer:
    """Make an answer; `is_whole` returns the whole row for p = 1 before it sorts."""

    def answer(weights: NDArray, p: float) -> NDArray:
        if is_whole and p == 1:
            return weights
        return normalized(kept(weights, p, enough, **changes))

    return answer


def right_for(is_right: Callable[[float], bool]) -> Answer:
    """Make an answer that refuses less than it should."""
    return lambda weights, p: top_p(weights, p if is_right(p) else min(max(p, 1e-9), 1.0))


def in_order(weights: NDArray, p: float) -> NDArray:
    """Keep weights from the front of the row, as they stand."""
    top_p(weights, p)
    return normalized(np.where(np.cumsum(weights, axis=-1) - weights < p, weights, 0))


MISTAKES = known_mistakes(
    "not-divided: The weights kept are not divided by their sum: each row must sum to 1 again.",
    lambda weights, p: np.where(top_p(weights, p) > 0, weights, 0),
    "divided-by-p: The weights kept are divided by p: divide by their own sum, which is p at least.",
    lambda weights, p: np.where(top_p(weights, p) > 0, weights, 0) / p,
    "one-too-few: The weight that reaches p is left out: the sum of those kept must be at least p.",
    with_rule(reached),
    lambda weights, p: np.nan_to_num(with_rule(reached)(weights, p)),
    with_rule(lambda ranked, p: reached(ranked, p) & (np.arange(ranked.shape[-1]) > 0)),
    "one-too-many: One weight too many is kept: stop as soon as the sum is at least p.",
    with_rule(reached_two_before),
    "threshold: Weights are compared with p, one by one: it is the sum of the largest that reaches p.",
    with_rule(lambda ranked, p: ranked < p),
    lambda weights, p: np.nan_to_num(with_rule(lambda ranked, p: ranked < p)(weights, p)),
    "smallest-first: The smallest weights are kept: sort in falling order.",
    with_rule(smallest_first=True),
    "not-sorted: The weights are added up in the order in which they stand: begin with the largest.",
    in_order,
    "in-falling-order: The result is in falling order: every weight stays in its place.",
    lambda weights, p: np.sort(top_p(weights, p), axis=-1)[..., ::-1],
    lambda weights, p: weights if p == 1 else np.sort(top_p(weights, p), axis=-1)[..., ::-1],
    "order-for-its-inverse: The weights are put in order, and the same order does not bring them back: "
    "its inverse does, np.argsort(order), or np.put_along_axis with order.",
    with_rule(ranked_again=True),
    with_rule(ranked_again=True, is_whole=True),
    with_rule(order_again=True),
    "p-of-1-by-rounding: With p = 1 the sums may end just below 1, by rounding: then none reaches p, and "
    "np.argmax of nothing but False is 0. Keep the whole row there.",
    with_rule(after_first_that_reaches),
    "softmax-again: Softmax is taken of the weights kept: divide them by their sum.",
    lambda weights, p: softmax(np.where(top_p(weights, p) > 0, weights, -np.inf)),
    "only-largest: The largest weight alone is kept: go on until the sum is at least p.",
    lambda weights, p: top_p(weights, p) * 0.0 + (weights == weights.max(axis=-1, keepdims=True)),
    "whole-array: The sum runs over the whole array: every row has its own.",
    lambda weights, p: top_p(weights.reshape(-1) / weights[..., 0].size, p).reshape(weights.shape),
    "first-row-for-all: The places to keep are taken from the first row: every row has its own.",
    lambda weights, p: normalized(
        np.where(top_p(weights.reshape(-1, weights.shape[-1])[0], p) > 0, weights, 0)
        + 0 * top_p(weights, p)
    ),
    "one-count-for-all: As many weights are kept in every row as the row needs that needs most: each has "
    "a count of its own.",
    with_rule(
        lambda ranked, p: (
            reached_before(ranked, p).all(tuple(range(ranked.ndim - 1)), keepdims=True)
            & (ranked >= 0)
        )
    ),
    "share-of-entries: A share p of the entries is kept: it is a share of the weight.",
    with_rule(lambda ranked, p: np.arange(ranked.shape[-1]) >= np.ceil(p * ranked.shape[-1])),
    "dropped: The weights that are dropped leave the row: zeros stand in their places.",
    lambda weights, p: top_p(weights, p)[top_p(weights, p) > 0],
    "mask-returned: This says which weights are kept: return the weights, divided by their sum.",
    lambda weights, p: top_p(weights, p) > 0,
    "never-raises: A p of 0 or below, or above 1, must raise ValueError.",
    right_for(lambda p: False),
    "above-1-accepted: A p above 1 must raise ValueError too: no weights have a larger sum than 1.",
    right_for(lambda p: p <= 0),
    "zero-or-below-accepted: A p of 0 or below must raise ValueError too.",
    right_for(lambda p: p > 0),
    "zero-accepted: A p of 0 must raise ValueError too: ask for p <= 0.",
    right_for(lambda p: p != 0),
)

EXERCISE = Exercise(
    name="top_p",
    points=2,
    minutes=9,
    reference=top_p,
    cases=cases,
    hints=HINTS,
    mistakes=MISTAKES,
)
