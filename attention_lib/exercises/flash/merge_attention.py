"""`merge_attention(left, right)` joins the attention of the same queries over two sets of keys.

Each is a pair `(output, logsumexp)`, `(..., L, d_v)` and `(..., L)`, of the same queries over different
keys → the pair over all of them. `(0, -inf)`, no keys, is the identity, also on both sides.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
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


def plain(left, right):
    (left_output, left_lse), (right_output, right_lse) = left, right
    joined = np.logaddexp(left_lse, right_lse)
    shift = np.where(joined == -np.inf, 0, joined)
    left_share = np.exp(left_lse - shift)[..., None]
    right_share = np.exp(right_lse - shift)[..., None]
    output = left_share * left_output + right_share * right_output
    return output, joined


SHIFT = "np.where(joined == -np.inf, 0, joined)"
MIX = "left_share * left_output + right_share * right_output"
RESULT = "return output, joined => return output,"
DIVIDED = f"output = {MIX} => output = ({MIX}) / (left_share + right_share)"
DIVIDED_OR_ZERO = (
    f"output = {MIX} => total = left_share + right_share\n"
    f"    output = ({MIX}) / np.where(total == 0, 1, total)"
)
LOGARITHMS = (
    f"np.exp(left_lse - shift) => left_lse && np.exp(right_lse - shift) => right_lse && {DIVIDED}"
)
UNSHIFTED = "left_lse - shift => left_lse && right_lse - shift => right_lse"
OVERFLOWING = "np.logaddexp(left_lse, right_lse) => np.log(np.exp(left_lse) + np.exp(right_lse))"
ONE_MAXIMUM = (
    f"joined = np.logaddexp(left_lse, right_lse)\n    shift = {SHIFT} => "
    "shift = np.nan_to_num(np.max(np.maximum(left_lse, right_lse)), neginf=0.0)"
    f" && {RESULT} shift + np.log(left_share + right_share)[..., 0]"
)

MISTAKES = known_mistakes(
    plain,
    "empty-output-nan: Without keys on both sides the output is NaN: -inf - (-inf) is NaN. "
    "Subtract 0 where the joined logsumexp is -inf.",
    f"{SHIFT} => joined",
    "empty-where-all-are: A query without keys on both sides gets NaN: such queries are searched for, but "
    "all at once. Ask for each, as np.where does.",
    f"{SHIFT} => 0 if np.all(joined == -np.inf) else joined",
    "empty-logsumexp: Without keys on both sides the logsumexp is a number: the join of two empty "
    "parts is (0, -inf).",
    f"{RESULT} np.nan_to_num(joined, neginf=0.0)",
    f"{RESULT} np.nan_to_num(joined)",
    "outputs-averaged: The two outputs are averaged as if both sides had the same weight: the "
    "share of a side is exp(its logsumexp - the joined one).",
    f"{MIX} => (left_output + right_output) / 2",
    "outputs-added: The two outputs are added as they are: each is an average already. Multiply "
    "it by its share, exp(its logsumexp - the joined one).",
    f"{MIX} => left_output + right_output",
    "shares-exchanged: The shares have changed sides: each output is multiplied by its own.",
    f"{MIX} => right_share * left_output + left_share * right_output",
    "one-share-missing: One output keeps its whole weight: both are multiplied by their share.",
    "left_share * => ",
    "right_share * => ",
    "larger-logsumexp: The joined logsumexp is the larger of the two: the sums of exponentials "
    "add up, log(exp(left) + exp(right)).",
    "np.logaddexp => np.maximum",
    f"{RESULT} np.maximum(left_lse, right_lse)",
    "logarithms-added: The logarithms are added, which multiplies the sums: add the sums "
    "themselves, log(exp(left) + exp(right)).",
    "np.logaddexp => np.add",
    f"{RESULT} left_lse + right_lse",
    "base-2: The powers of the joined logsumexp are those of 2: np.logaddexp takes those of e.",
    "np.logaddexp => np.logaddexp2",
    f"{RESULT} np.logaddexp2(left_lse, right_lse)",
    "maximum-not-added: The maximum that was subtracted is not added again: the joined logsumexp is "
    "the maximum plus log(sum).",
    f"{RESULT} joined - np.nan_to_num(np.maximum(left_lse, right_lse), neginf=0.0)",
    "shares-of-logarithms: The shares are taken from the logarithms: a side's share is exp(its "
    "logsumexp - the joined one).",
    LOGARITHMS,
    "exp-overflows-and-empty: exp(logsumexp) overflows or vanishes: use differences, as np.logaddexp "
    "does. And without keys on both sides the output is NaN, of -inf - (-inf) or of 0 / 0: it is 0 there.",
    f"{OVERFLOWING} && {SHIFT} => joined",
    f"{OVERFLOWING} && {UNSHIFTED} && {DIVIDED}",
    f"{UNSHIFTED} && {DIVIDED}",
    "exp-overflows: exp(logsumexp) overflows or vanishes: use differences, as np.logaddexp does.",
    f"{OVERFLOWING} && {UNSHIFTED} && {DIVIDED_OR_ZERO}",
    f"{UNSHIFTED} && {DIVIDED_OR_ZERO}",
    OVERFLOWING,
    "one-maximum: One number is subtracted from all queries' logsumexps: the exponentials of a query far "
    "below it are 0. Each has a maximum of its own, the larger of its two.",
    f"{ONE_MAXIMUM} && {DIVIDED_OR_ZERO}",
    f"{ONE_MAXIMUM} && {DIVIDED}",
    "logsumexp-as-total: The second of each pair is treated as a sum of exponentials: it is its "
    "logarithm, so the shares are exp(logsumexp - joined), and joined is np.logaddexp of the two.",
    f"{LOGARITHMS} && np.logaddexp(left_lse, right_lse) => np.log(left_lse + right_lse)",
    f"{LOGARITHMS} && np.logaddexp => np.add",
    "shares-under-maximum: The output is not an average: its shares add up to 1 when both are "
    "taken under the joined logsumexp, not under the larger one.",
    f"np.logaddexp => np.maximum && {RESULT} np.logaddexp(left_lse, right_lse)",
    "pair-reversed: The pair is reversed: return (output, logsumexp).",
    "return output, joined => return joined, output",
    "output-alone: Only the output is returned: return the pair (output, logsumexp).",
    "return output, joined => return output",
    "one-side-alone: Only one side is returned: the result is over the keys of both.",
    "return output, joined => return {left|right}",
    "cut-to-integers: For integers the output is cut to whole numbers: make a float array for it.",
    "return output => return output.astype(left_output.dtype)",
)


EXERCISE = Exercise(
    name="merge_attention",
    points=2,
    minutes=7,
    reference=merge_attention,
    signature="merge_attention(left, right)",
    cases=cases,
    magnitude=magnitude,
    hints=HINTS,
    mistakes=MISTAKES,
)
