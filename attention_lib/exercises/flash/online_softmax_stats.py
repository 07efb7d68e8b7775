"""`online_softmax_stats(blocks)` returns the maximum and total of rows that come in blocks.

`blocks` is an iterator over one or more `(..., block)` score blocks, whose sizes may differ. It can be
read once, and its blocks are never held all at a time: the check measures the memory. →
`(maximum, total)` of the whole rows, each `(...)`, with total = Σ exp(score − maximum).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case, Stream
from attention_lib.checks.calls.measuring import peak_bytes
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
from attention_lib.exercises.parts.cases import about
from attention_lib.lessons.flash import online_softmax_stats

Blocks = Iterable[NDArray]
Pair = tuple[NDArray, NDArray]

HINTS = (
    "One loop over the blocks. Of each block you need its maximum along the last axis, and the "
    "sum of exp(block - maximum).",
    "You have joined such pairs before: merge_softmax_stats of lesson 02 takes the pair so far "
    "and the pair of the new block. The first block has nothing to be joined to.",
    "block.max(axis=-1) has lost the last axis; to subtract it from the block, give it back "
    "with maximum[..., None].",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(Stream([np.array([[1.0, 3.0]]), np.array([[2.0]])]))
    yield Case(Stream([np.array([[0.0], [5.0]]), np.array([[1.0, 2.0], [4.0, 3.0]])]))
    yield Case(cut(rng.normal(size=(2, 7)), 3, 5))
    yield Case(cut(rng.normal(size=6), 1, 2))  # one row: both results are numbers
    yield Case(cut(rng.normal(size=(3, 3)), 1, 2))
    yield Case(cut(rng.normal(size=(2, 3, 11)), 5, 6, 9))
    yield Case(cut(rng.normal(size=(3, 2, 2, 7)), 2))
    yield Case(Stream([rng.normal(size=(3, 5))]))  # one block
    # Rows that rise and rows that fall, and each block far from the others.
    steps = 3.0 * np.arange(6) * np.array([[1.0], [-1.0], [0.0]])
    yield Case(cut(steps + rng.normal(size=(3, 6)), 2, 4))
    yield Case(cut(rng.normal(0.0, 3.0, (5, 13)).astype(np.float32), 4, 8, 12))
    # Scores that no exponential takes, all above 0 in one row and all below in the other.
    far = np.array([[1000.0], [-1000.0]]) + rng.integers(-9, 9, size=(2, 8))
    yield Case(cut(far, 3, 6))
    yield Case(cut(far.astype(np.float32), 1, 6))
    # Below every number that might stand for -inf.
    yield Case(cut(1e290 * rng.uniform(-9.0, -1.0, (2, 4)), 1, 3))
    whole = [np.array([[2, 5], [-1, 0]]), np.array([[3], [0]])]
    yield Case(Stream(whole), verify=functools.partial(problem_with_integers, blocks=whole))


def cut(rows: NDArray, *places: int) -> Stream:
    """Cut rows along their last axis at these places."""
    return Stream(np.split(rows, places, axis=-1))


def stats(rows: NDArray) -> Pair:
    maximum = rows.max(axis=-1)
    return maximum, np.exp(rows - maximum[..., None]).sum(axis=-1)


def problem_with_integers(value: Any, blocks: list[NDArray]) -> str | None:
    """Judge the result for integer scores, whose maximum may stay an integer."""
    pair = isinstance(value, (tuple, list)) and len(value) == 2
    if not pair or any(isinstance(part, tuple) for part in value):
        return "online_softmax_stats should return the pair (maximum, total)."
    rights = stats(np.concatenate(blocks, axis=-1))
    for name, got, right in zip(("maximum", "total"), value, rights, strict=True):
        if np.shape(got) != right.shape or not np.allclose(got, right, rtol=1e-12, atol=0):
            return (
                f"For integer scores the {name} is {np.array2string(np.asarray(got), precision=4)}; "
                f"it should be {np.array2string(right, precision=4)}, computed in float64."
            )
    return None


def magnitude(blocks: Stream) -> Pair:
    rows = np.concatenate(blocks.items, axis=-1)
    maximum, total = stats(rows)
    return np.abs(maximum), total * (2 + 2 * np.abs(rows).max(axis=-1))


BLOCK_COUNT, BLOCK_SHAPE = 64, (8, 128)
ONE_BLOCK = 8 * math.prod(BLOCK_SHAPE)
BYTES_ALLOWED = 20 * ONE_BLOCK  # a block in Python floats takes as much as four
ALL_KEPT = (
    "Keep the maximum and the total, and let each block go: nothing more of it is needed when "
    "the next one comes."
)


class MadeOneByOne:
    """Make score blocks as they are asked for, so that the answer alone can hold them."""

    def __init__(self, first: float, count: int) -> None:
        self.number, self.count = first, count

    def __iter__(self) -> Iterator[NDArray]:
        return self

    def __next__(self) -> NDArray:
        if not self.count:
            raise StopIteration
        self.number, self.count = self.number + 1, self.count - 1
        return np.sin(self.number + np.arange(ONE_BLOCK // 8)).reshape(BLOCK_SHAPE)


def keeps_the_blocks(answer: Answer, rng: Generator) -> str | None:
    count = about(rng, BLOCK_COUNT)
    held = peak_bytes(answer, MadeOneByOne(rng.uniform(0.0, 99.0), count))
    if held <= BYTES_ALLOWED:
        return None
    return (
        f"online_softmax_stats keeps the blocks: of {count} "
        f"blocks of {ONE_BLOCK:,} bytes it held {held:,} bytes at once, and {BYTES_ALLOWED:,} are "
        f"allowed. {ALL_KEPT}"
    )


def read_twice(blocks: Blocks, empty: Callable[[NDArray], Any] = np.zeros_like) -> Pair:
    maximum = None
    for block in blocks:
        peak = block.max(axis=-1)
        maximum = peak if maximum is None else np.maximum(maximum, peak)
    total = empty(maximum)
    for block in blocks:
        total = total + np.exp(block - maximum[..., None]).sum(axis=-1)
    return maximum, total


def joined(blocks: Blocks) -> NDArray:
    return np.concatenate(list(blocks), axis=-1)


def all_at_once(blocks: Blocks) -> Pair:
    return stats(joined(blocks))


def from_a_list(blocks: Blocks) -> Pair:
    blocks = list(blocks)
    maximum = np.max([block.max(axis=-1) for block in blocks], axis=0)
    return maximum, sum(np.exp(block - maximum[..., None]).sum(axis=-1) for block in blocks)


def totaled(rule: Callable[..., NDArray]) -> Callable[..., Pair]:
    """Join by a rule for the totals, given both and how far both maxima lie below the joint one."""
    return lambda m1, t1, m2, t2: (m := np.maximum(m1, m2), rule(t1, t2, m1 - m, m2 - m))


merged = totaled(lambda t1, t2, d1, d2: t1 * np.exp(d1) + t2 * np.exp(d2))


def replaced_together(ask: Callable[[NDArray], Any]) -> Callable[..., Pair]:
    """Replace the maxima of all rows, or of none."""

    def merge(m1: NDArray, t1: NDArray, m2: NDArray, t2: NDArray) -> Pair:
        is_first = np.isinf(m1).all()
        m = m2 if is_first or ask(m2 > m1) else m1
        return m, t1 * np.exp(m1 - m) + t2 * np.exp(m2 - m)

    return merge


@composable
def one_by_one(
    first: float = -np.inf,
    merge: Callable[..., Any] = merged,
    own: Callable[[NDArray], Pair] = stats,
) -> Answer:
    """Make an answer from a rule that joins (old maximum, old total, maximum, total)."""

    def answer(blocks: Blocks) -> Pair:
        pair = None
        for block in blocks:
            maximum, total = own(block)
            if pair is None:
                pair = np.full_like(maximum, first, dtype=total.dtype), np.zeros_like(total)
            pair = merge(*pair, maximum, total)
        return pair

    return answer


def of_rows(compute: Callable[[NDArray], Any]) -> Answer:
    """Make an answer that joins all blocks, and computes its result from the whole rows."""
    return lambda blocks: compute(joined(blocks))


def of_some(choose: Callable[[list[NDArray]], list[NDArray]]) -> Answer:
    return lambda blocks: all_at_once(choose(list(blocks)))


def reshaped(change: Callable[[Pair], Any]) -> Answer:
    return lambda blocks: change(all_at_once(blocks))


MISTAKES = known_mistakes(
    "blocks-read-twice: You read the blocks a second time, and find none: an iterator can be read "
    "once. Update maximum and total in one and the same loop.",
    read_twice,
    lambda blocks: read_twice(blocks, lambda _: 0),
    f"all-blocks-kept: {ALL_KEPT}",
    all_at_once,
    from_a_list,
    "old-total-uncorrected: The total so far is not corrected: when the maximum grows, multiply it by "
    "exp(old maximum − new maximum), with the old one as it was before the new one took its place.",
    one_by_one(merge=totaled(lambda t1, t2, d1, d2: t1 + t2)),
    one_by_one(merge=totaled(lambda t1, t2, d1, d2: t1 + t2 * np.exp(d2))),
    "new-total-uncorrected: The new block's total is not corrected: it must be taken under the "
    "maximum of all blocks so far, which may lie in an earlier one.",
    one_by_one(merge=totaled(lambda t1, t2, d1, d2: t1 * np.exp(d1) + t2)),
    "correction-reversed: The correction is reversed: multiply the old total by exp(old maximum − "
    "new maximum), never above 1.",
    one_by_one(
        merge=totaled(
            lambda t1, t2, d1, d2: np.where(t1 == 0, 0, t1 * np.exp(-d1)) + t2 * np.exp(d2)
        )
    ),
    one_by_one(merge=totaled(lambda t1, t2, d1, d2: t1 * np.exp(-d1) + t2 * np.exp(d2))),
    "all-rows-at-once: The maxima of all rows are replaced, or none: each row keeps the larger of its "
    "own two, np.maximum(old, new).",
    one_by_one(merge=replaced_together(np.any)),
    one_by_one(merge=replaced_together(np.all)),
    "corrected-late: The new block is corrected with the rest: correct the total so far, and add the "
    "block's exponentials after it.",
    one_by_one(
        merge=totaled(
            lambda t1, t2, d1, d2: (t1 + t2 * np.exp(d2)) * np.where(np.isneginf(d1), 1, np.exp(d1))
        )
    ),
    "last-maximum: The maximum is that of the last block: keep the larger of the old and the new.",
    one_by_one(merge=lambda m1, t1, m2, t2: (m2, t1 * np.exp(m1 - m2) + t2)),
    one_by_one(merge=lambda m1, t1, m2, t2: (m2, t1 + t2)),
    "last-total: The total is that of the last block: add to what the blocks before it have left.",
    one_by_one(merge=totaled(lambda t1, t2, d1, d2: t2 * np.exp(d2))),
    "first-total-lost: The total of the first block is lost: start it with the sum of that "
    "block's exponentials.",
    one_by_one(merge=lambda m1, t1, m2, t2: merged(m1, t1, m2, t2 * np.isfinite(m1))),
    "maximum-starts-at-zero: The maximum starts at 0, which is wrong where all scores are below "
    "0: start at -inf, or with the first block.",
    one_by_one(first=0.0),
    "maximum-starts-at-number: The maximum starts at a number, which is wrong where all scores "
    "are below it: start at -inf, or with the first block.",
    *(one_by_one(first=first) for first in (-1e2, -1e3, -1e4, -1e6, -1e9, -1e20, -1e30)),
    "exp-overflows: The exponentials overflow: subtract the maximum before you take them.",
    of_rows(lambda s: (s.max(axis=-1), np.exp(s).sum(axis=-1) / np.exp(s.max(axis=-1)))),
    "plain-exponentials: The total is a plain sum of exponentials: sum exp(score − maximum).",
    of_rows(lambda s: (s.max(axis=-1), np.exp(s).sum(axis=-1))),
    "total-is-logarithm: The total is a logarithm: return the sum of exponentials itself.",
    reshaped(lambda pair: (pair[0], np.log(pair[1]))),
    reshaped(lambda pair: (pair[0], pair[0] + np.log(pair[1]))),
    "pair-reversed: The pair is reversed: return (maximum, total).",
    reshaped(lambda pair: pair[::-1]),
    "one-block-alone: These are the numbers of one block alone: all blocks belong to the same "
    "rows.",
    of_some(lambda blocks: blocks[:1]),
    of_some(lambda blocks: blocks[-1:]),
    "block-left-out: One block is left out.",
    of_some(lambda blocks: blocks[1:] or blocks),
    of_some(lambda blocks: blocks[:-1] or blocks),
    "one-maximum: There is one maximum for all rows here: every row has its own, along axis=-1.",
    of_rows(lambda s: (np.full(s.shape[:-1], s.max()), np.exp(s - s.max()).sum(axis=-1))),
    of_rows(lambda s: (s.max(), np.exp(s - s.max()).sum())),
    of_rows(lambda s: (s.max(), np.exp(s - s.max()).sum(axis=-1))),
    "axis-kept: The last axis is still there: maximum and total have shape (...), a number a row.",
    reshaped(lambda pair: (pair[0][..., None], pair[1][..., None])),
    "total-averaged: The total is an average: add the exponentials up.",
    one_by_one(
        own=lambda block: (
            block.max(axis=-1),
            np.exp(block - block.max(axis=-1, keepdims=True)).mean(axis=-1),
        )
    ),
    measured=("all-blocks-kept",),
)

EXERCISE = Exercise(
    name="online_softmax_stats",
    points=2,
    minutes=7,
    reference=online_softmax_stats,
    cases=cases,
    magnitude=magnitude,
    probes=(keeps_the_blocks,),
    hints=HINTS,
    mistakes=MISTAKES,
)
