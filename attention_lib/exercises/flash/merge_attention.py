"""`merge_attention(left, right)` joins the attention of the same queries over two sets of keys.

Each is a pair `(output, logsumexp)`, `(..., L, d_v)` and `(..., L)`, of the same queries over different
keys → the pair over all of them. `(0, -inf)`, no keys, is the identity, also on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
from attention_lib.lessons.flash import merge_attention

Pair = tuple[NDArray, NDArray]

HINTS = (
    "The log-sum-exp over all keys first: log(exp(left) + exp(right)), which NumPy computes "
    "without overflow as np.logaddexp(left, right).",
    "The left keys have the share np.exp(left logsumexp - joined logsumexp) of all weights, the "
    "right ones the rest. The joined output is the average of the two outputs by these shares.",
    "A share has shape (..., L), an output (..., L, d_v): give the share one more axis with "
    "share[..., None].",
    "Where neither side has keys, the joined logsumexp is -inf, and -inf - (-inf) is NaN: subtract "
    "np.where(joined == -np.inf, 0, joined) there.",
)


def cases(rng: Generator) -> Iterator[Case]:
    # A single query; the right keys have three times the weight of the left ones.
    yield Case(
        (np.array([[1.0, 0.0]]), np.log(np.array([2.0]))),
        (np.array([[5.0, 4.0]]), np.log(np.array([6.0]))),
    )
    yield drawn(rng, (3,), 2)
    yield drawn(rng, (2, 3), 5)
    yield drawn(rng, (3, 3), 3)  # square: here a lost axis gives numbers, not an error
    yield drawn(rng, (3, 2, 5), 7)
    yield drawn(rng, (5,), 1)
    # No keys on one side, on the other, and on both.
    left, right = drawn(rng, (5,), 3).args
    for pair, rows in ((left, (0, 2)), (right, (1, 2))):
        pair[0][list(rows)], pair[1][list(rows)] = 0, -np.inf
    yield Case(left, right)
    nothing = np.zeros((2, 3)), np.full(2, -np.inf)
    yield Case(nothing, nothing)
    # Log-sum-exps that no exponential takes, near each other and far apart.
    far = np.array([[2000.0, 2001.0, -3000.0], [-1000.0, 900.0, 5000.0]])
    near = far + np.array([[1.0, -2.0, 0.5], [-1.0, 2000.0, -4000.0]])
    yield Case((rng.normal(size=(2, 3, 2)), far), (rng.normal(size=(2, 3, 2)), near))
    yield Case(*map(in_float32, drawn(rng, (2, 3), 5).args))
    yield Case(*map(in_float32, (left, right)))
    yield Case(
        (rng.integers(-5, 9, (3, 2)), np.array([0, 2, 1])),
        (rng.integers(-5, 9, (3, 2)), np.array([1, -1, 1])),
    )


def drawn(rng: Generator, rows: tuple[int, ...], d_v: int) -> Case:
    return Case(
        *((rng.normal(size=(*rows, d_v)), rng.normal(scale=2, size=rows)) for _ in range(2))
    )


def in_float32(pair: Pair) -> Pair:
    return pair[0].astype(np.float32), pair[1].astype(np.float32)


def magnitude(left: Pair, right: Pair) -> Pair:
    """Size the shares by the log-sum-exps that are subtracted, and both outputs by their shares."""
    sizes = [np.abs(np.where(np.isfinite(part[1]), part[1], 0)) for part in (left, right)]
    reach = 2 + 2 * np.maximum(*sizes)
    output, _ = merge_attention((np.abs(left[0]), left[1]), (np.abs(right[0]), right[1]))
    return output * reach[..., None], reach


def no_anchor(joined: NDArray) -> NDArray:
    return joined


def finite(joined: NDArray) -> NDArray:
    return np.where(joined == -np.inf, 0, joined)


@composable
def merging(
    *,
    join: Callable[[NDArray, NDArray], NDArray] = np.logaddexp,
    told: Callable[[NDArray, NDArray], NDArray] | None = None,
    anchor: Callable[[NDArray], NDArray] = finite,
    mix: Callable[..., NDArray] = lambda a, b, left, right: a * left + b * right,
) -> Answer:
    """Make an answer from parts; a wrong one exchanges one of them.

    `mix` gets both shares, with the axis of the values, and both outputs. `told` gives the second
    result where that is not what the shares were taken by.
    """

    def answer(left: Pair, right: Pair) -> Pair:
        with np.errstate(all="ignore"):
            joined = join(left[1], right[1])
            shares = [np.exp(part[1] - anchor(joined))[..., None] for part in (left, right)]
            second = told(left[1], right[1]) if told else joined
            return mix(*shares, left[0], right[0]), second

    return answer


def mixing_by(
    share: Callable[[NDArray], NDArray],
    join: Callable[[NDArray, NDArray], NDArray],
    whole: Callable[[NDArray], NDArray] = np.positive,
) -> Answer:
    """Make an answer that mixes by shares of the single log-sum-exps, and of a whole of these."""

    def answer(left: Pair, right: Pair) -> Pair:
        with np.errstate(all="ignore"):
            a, b = (share(part[1])[..., None] for part in (left, right))
            return (a * left[0] + b * right[0]) / whole(a + b), join(left[1], right[1])

    return answer


def never_zero(total: NDArray) -> NDArray:
    return np.where(total == 0, 1, total)


def overflowing_join(left: NDArray, right: NDArray) -> NDArray:
    return np.log(np.exp(left) + np.exp(right))


def with_one_maximum(whole: Callable[[NDArray], NDArray]) -> Answer:
    """Make an answer that subtracts one number from the log-sum-exps of all queries."""

    def answer(left: Pair, right: Pair) -> Pair:
        with np.errstate(all="ignore"):
            largest = finite(np.maximum(left[1], right[1]).max())
            a, b = (np.exp(part[1] - largest)[..., None] for part in (left, right))
            total = a + b
            output = (a * left[0] + b * right[0]) / whole(total)
            return output, largest + np.log(total[..., 0])

    return answer


def cut_to_integers(left: Pair, right: Pair) -> Pair:
    output, joined = merge_attention(left, right)
    return output.astype(left[0].dtype), joined


MISTAKES = known_mistakes(
    "empty-output-nan: Without keys on both sides the output is NaN: -inf - (-inf) is NaN. "
    "Subtract 0 where the joined logsumexp is -inf.",
    merging(anchor=no_anchor),
    "empty-where-all-are: A query without keys on both sides gets NaN: such queries are looked for, but "
    "all at once. Ask for each, as np.where does.",
    merging(anchor=lambda joined: finite(joined) if (joined == -np.inf).all() else joined),
    "empty-logsumexp: Without keys on both sides the logsumexp is a number: the join of two empty "
    "parts is (0, -inf).",
    merging(told=lambda left, right: np.nan_to_num(np.logaddexp(left, right), neginf=0.0)),
    merging(told=lambda left, right: np.nan_to_num(np.logaddexp(left, right))),
    "outputs-averaged: The two outputs are averaged as if both sides had the same weight: the "
    "share of a side is exp(its logsumexp - the joined one).",
    merging(mix=lambda a, b, left, right: (left + right) / 2),
    "outputs-added: The two outputs are added as they are: each is an average already. Multiply "
    "it by its share, exp(its logsumexp - the joined one).",
    merging(mix=lambda a, b, left, right: left + right),
    "shares-exchanged: The shares have changed sides: each output is multiplied by its own.",
    merging(mix=lambda a, b, left, right: b * left + a * right),
    "one-share-missing: One output keeps its whole weight: both are multiplied by their share.",
    merging(mix=lambda a, b, left, right: left + b * right),
    merging(mix=lambda a, b, left, right: a * left + right),
    "larger-logsumexp: The joined logsumexp is the larger of the two: the sums of exponentials "
    "add up, log(exp(left) + exp(right)).",
    merging(join=np.maximum),
    merging(told=np.maximum),
    "logarithms-added: The logarithms are added, which multiplies the sums: add the sums "
    "themselves, log(exp(left) + exp(right)).",
    merging(join=np.add),
    merging(told=np.add),
    "base-2: The powers of the joined logsumexp are those of 2: np.logaddexp takes those of e.",
    merging(join=np.logaddexp2),
    merging(told=np.logaddexp2),
    "maximum-not-added: The maximum that was subtracted is not added again: the joined logsumexp is "
    "the maximum plus log(sum).",
    merging(told=lambda left, right: np.logaddexp(left, right) - finite(np.maximum(left, right))),
    "shares-of-logarithms: The shares are taken from the logarithms: a side's share is exp(its "
    "logsumexp - the joined one).",
    mixing_by(np.positive, np.logaddexp),
    "exp-overflows-and-empty: exp(logsumexp) overflows or vanishes: use differences, as np.logaddexp "
    "does. And without keys on both sides the output is NaN, of -inf - (-inf) or of 0 / 0: it is 0 there.",
    merging(join=overflowing_join, anchor=no_anchor),
    mixing_by(np.exp, overflowing_join),
    mixing_by(np.exp, np.logaddexp),
    "exp-overflows: exp(logsumexp) overflows or vanishes: use differences, as np.logaddexp does.",
    mixing_by(np.exp, overflowing_join, never_zero),
    mixing_by(np.exp, np.logaddexp, never_zero),
    merging(join=overflowing_join),
    "one-maximum: One number is subtracted from all queries' logsumexps: the exponentials of a query far "
    "below it are 0. Each has a maximum of its own, the larger of its two.",
    with_one_maximum(never_zero),
    with_one_maximum(np.positive),
    "logsumexp-as-total: The second of each pair is taken for a sum of exponentials: it is its "
    "logarithm, so the shares are exp(logsumexp - joined), and joined is np.logaddexp of the two.",
    mixing_by(np.positive, lambda left, right: np.log(left + right)),
    mixing_by(np.positive, np.add),
    "shares-under-maximum: The output is not an average: its shares add up to 1 when both are "
    "taken under the joined logsumexp, not under the larger one.",
    merging(join=np.maximum, told=np.logaddexp),
    "pair-reversed: The pair is reversed: return (output, logsumexp).",
    lambda left, right: merge_attention(left, right)[::-1],
    "output-alone: The output alone is returned: return the pair (output, logsumexp).",
    lambda left, right: merge_attention(left, right)[0],
    "one-side-alone: Only one side comes back: the result is over the keys of both.",
    lambda left, right: left,
    lambda left, right: right,
    "cut-to-integers: For integers the output is cut to whole numbers: make a float array for it.",
    cut_to_integers,
)

EXERCISE = Exercise(
    name="merge_attention",
    points=2,
    minutes=8,
    reference=merge_attention,
    signature="merge_attention(left, right)",
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
