"""`top_p(weights, p)` keeps of each row the fewest largest weights whose sum is at least p.

`(..., n)` weights and 0 < p ≤ 1 → the weights kept, divided by their sum, and zeros elsewhere, in the
weights' shape and dtype. p = 1 keeps the whole row. Any other p raises `ValueError`. No two weights of a
row are equal, and for a p below 1 no sum of the largest weights lies within 1e-6 of p. A tiny p keeps the
largest weight only.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.lessons.model import top_p
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
    yield Case(drawn(rng, 3, 6), 10.0 ** -float(rng.uniform(8.0, 15.0)))
    yield Case(drawn(rng, 2, 5).astype(np.float32), 1e-30)
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


def plain(weights, p):
    if not 0 < p <= 1:
        raise ValueError("p must be above 0 and at most 1")
    order = np.argsort(-weights, axis=-1)
    ranked = np.take_along_axis(weights, order, axis=-1)
    before = np.cumsum(ranked, axis=-1) - ranked
    is_enough = (before >= p) & (p < 1)
    back = np.argsort(order, axis=-1)
    kept = np.where(np.take_along_axis(is_enough, back, axis=-1), 0, weights)
    result = kept / kept.sum(axis=-1, keepdims=True)
    return result


ENOUGH = "(before >= p) & (p < 1)"
KEPT = "np.where(np.take_along_axis(is_enough, back, axis=-1), 0, weights)"
DIVIDED = "kept / kept.sum(axis=-1, keepdims=True)"
ALL_REFUSED = "not 0 < p <= 1"
LARGEST_AT_LEAST = "order = => p = max(p, 1e-9)\n    order ="

MISTAKES = known_mistakes(
    plain,
    "not-divided: The weights kept are not divided by their sum: each row must sum to 1 again.",
    f"{DIVIDED} => kept",
    "divided-by-p: The weights kept are divided by p: divide by their own sum, which is p at least.",
    f"{DIVIDED} => kept / p",
    "one-too-few: The weight that reaches p is left out: the sum of those kept must be at least p.",
    "before >= p => np.cumsum(ranked, axis=-1) > p",
    "before >= p => np.cumsum(ranked, axis=-1) > p && return result => return np.nan_to_num(result)",
    "before >= p => (np.cumsum(ranked, axis=-1) > p) & (before > 0)",
    f"{ENOUGH} => np.cumsum(ranked, axis=-1) {{>|>=}} p",
    f"{ENOUGH} => np.cumsum(ranked, axis=-1) {{>|>=}} p && return result => return np.nan_to_num(result)",
    f"{ENOUGH} => (np.cumsum(ranked, axis=-1) {{>|>=}} p) & (before > 0)",
    "one-too-many: One weight too many is kept: stop as soon as the sum is at least p.",
    "before >= p => before - np.roll(ranked, 1, axis=-1) >= p",
    "threshold: Weights are compared with p, one by one: it is the sum of the largest that reaches p.",
    f"{ENOUGH} => ranked < p",
    f"{ENOUGH} => ranked < p && return result => return np.nan_to_num(result)",
    "smallest-first: The smallest weights are kept: sort in falling order.",
    "-weights => weights",
    "not-sorted: The weights are added up in the order in which they stand: begin with the largest.",
    "np.argsort(-weights, axis=-1) => np.arange(weights.shape[-1]) + np.zeros(weights.shape, int)",
    "in-falling-order: The result is in falling order: every weight stays in its place.",
    "return result => return np.sort(result, axis=-1)[..., ::-1]",
    "return result => return weights if p == 1 else np.sort(result, axis=-1)[..., ::-1]",
    "order-for-its-inverse: The weights are put in order, and the same order does not bring them back: "
    "its inverse does, np.argsort(order), or np.put_along_axis with order.",
    f"{KEPT} => np.take_along_axis(np.where(is_enough, 0, ranked), order, axis=-1)",
    f"{KEPT} => np.take_along_axis(np.where(is_enough, 0, ranked), order, axis=-1)"
    " && return result => return weights if p == 1 else result",
    "np.argsort(order, axis=-1) => order",
    "p-of-1-by-rounding: With p = 1 the sums may end just below 1, by rounding: then none reaches p, and "
    "np.argmax of nothing but False is 0. Keep the whole row there.",
    f"is_enough = {ENOUGH} => first = np.argmax(before + ranked >= p, axis=-1)[..., None]\n"
    "    is_enough = np.arange(weights.shape[-1]) > first",
    "softmax-again: Softmax is taken of the weights kept: divide them by their sum.",
    f"{DIVIDED} => softmax(np.where(kept > 0, weights, -np.inf))",
    "only-largest: Only the largest weight is kept: go on until the sum is at least p.",
    f"{ENOUGH} => before > 0",
    "whole-array: The sum runs over the whole array: every row has its own.",
    "weights, p): => weights, p):\n    shape, weights = weights.shape, weights.reshape(-1) / weights[..., 0].size"
    " && return result => return result.reshape(shape)",
    "first-row-for-all: The places to keep are taken from the first row: every row has its own.",
    f"{KEPT} => {KEPT.replace('),', ').reshape(-1, weights.shape[-1])[0],')}",
    "one-count-for-all: As many weights are kept in every row as the row needs that needs most: each has "
    "a count of its own.",
    "(before >= p) => (before >= p).all(tuple(range(before.ndim - 1)), keepdims=True) & (ranked >= 0)",
    "share-of-entries: A share p of the entries is kept: it is a share of the weight.",
    f"{ENOUGH} => (ranked >= 0) & (np.arange(weights.shape[-1]) >= np.ceil(p * weights.shape[-1]))",
    "dropped: The weights that are dropped leave the row: zeros take their places.",
    "return result => return result[result > 0]",
    "mask-returned: This says which weights are kept: return the weights, divided by their sum.",
    "return result => return result > 0",
    "small-p-lost: For a tiny p nothing is kept: the largest weight always stays.",
    "before >= p => before >= p - {1e-6|1e-8|1e-9|1e-10|1e-12}",
    "before >= p => before >= p - {1e-6|1e-8|1e-9|1e-10|1e-12} && return result => return "
    "np.nan_to_num(result)",
    "never-raises: A p of 0 or below, or above 1, must raise ValueError.",
    f"{ALL_REFUSED} => False && {LARGEST_AT_LEAST}",
    "above-1-accepted: A p above 1 must raise ValueError too: no weights have a larger sum than 1.",
    f"{ALL_REFUSED} => p <= 0",
    "zero-or-below-accepted: A p of 0 or below must raise ValueError too.",
    f"{ALL_REFUSED} => p > 1 && {LARGEST_AT_LEAST}",
    "zero-accepted: A p of 0 must raise ValueError too: ask for p <= 0.",
    f"{ALL_REFUSED} => not 0 <= p <= 1 && {LARGEST_AT_LEAST}",
)

EXERCISE = Exercise(
    name="top_p",
    points=2,
    minutes=8,
    reference=top_p,
    cases=cases,
    hints=HINTS,
    mistakes=MISTAKES,
)
