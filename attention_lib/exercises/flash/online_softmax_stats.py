"""`online_softmax_stats(blocks)` returns the maximum and total of rows that come in blocks.

`blocks` is an iterator over one or more `(..., block)` score blocks, whose sizes may differ. It can be
read once, and its blocks are never held all at a time: the check measures the memory. →
`(maximum, total)` of the whole rows, each `(...)`, with total = Σ exp(score − maximum).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case, Stream
from attention_lib.checks.calls.measuring import peak_bytes
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.checks.patch import patches
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


def read_twice(blocks):
    maximum = -np.inf
    for block in blocks:
        maximum = np.maximum(maximum, block.max(axis=-1))
    total = np.zeros_like(maximum)
    for block in blocks:
        total = total + np.exp(block - maximum[..., None]).sum(axis=-1)
    return maximum, total


def all_at_once(blocks):
    return stats(np.concatenate(list(blocks), axis=-1))


def from_a_list(blocks):
    blocks = list(blocks)
    maximum = np.max([block.max(axis=-1) for block in blocks], axis=0)
    return maximum, sum(np.exp(block - maximum[..., None]).sum(axis=-1) for block in blocks)


def plain(blocks):
    maximum, total = -np.inf, 0.0
    for block in blocks:
        largest = block.max(axis=-1)
        old, maximum = maximum, np.maximum(maximum, largest)
        part = np.exp(block - maximum[..., None]).sum(axis=-1)
        total = total * np.exp(old - maximum) + part
    return maximum, total


UNCORRECTED = " * np.exp(old - maximum) => "
OWN_MAXIMUM = "block - maximum[..., None] => block - largest[..., None]"
UNSHIFTED = "block - maximum[..., None] => block"

MISTAKES = known_mistakes(
    plain,
    "blocks-read-twice: You read the blocks a second time, and find none: an iterator can be read "
    "once. Update maximum and total in one and the same loop.",
    read_twice,
    *patches(read_twice, "np.zeros_like(maximum) => 0"),
    f"all-blocks-kept: {ALL_KEPT}",
    all_at_once,
    from_a_list,
    "old-total-uncorrected: The total so far is not corrected: when the maximum grows, multiply it by "
    "exp(old maximum − new maximum), with the old one as it was before the new one took its place.",
    f"{UNCORRECTED} && {OWN_MAXIMUM}",
    UNCORRECTED,
    "new-total-uncorrected: The new block's total is not corrected: it must be taken under the "
    "maximum of all blocks so far, which may lie in an earlier one.",
    OWN_MAXIMUM,
    "correction-reversed: The correction is reversed: multiply the old total by exp(old maximum − "
    "new maximum), never above 1.",
    "np.exp(old - maximum) => np.where(np.isinf(old), 0, np.exp(maximum - old))",
    "old - maximum => maximum - old",
    "all-rows-at-once: The maxima of all rows are replaced, or none: each row keeps the larger of its "
    "own two, np.maximum(old, new).",
    "np.maximum(maximum, largest) => largest if np.{any|all}(largest > maximum) else maximum",
    "corrected-late: The new block is corrected with the rest: correct the total so far, and add the "
    "block's exponentials after it.",
    "total * np.exp(old - maximum) + part => "
    "(total + part) * np.where(np.isinf(old), 1, np.exp(old - maximum))",
    "last-maximum: The maximum is that of the last block: keep the larger of the old and the new.",
    "np.maximum(maximum, largest) => largest",
    f"np.maximum(maximum, largest) => largest && {UNCORRECTED}",
    "last-total: The total is that of the last block: add to what the blocks before it have left.",
    "total * np.exp(old - maximum) + part => part",
    "first-total-lost: The total of the first block is lost: start it with the sum of that "
    "block's exponentials.",
    "+ part => + part * np.isfinite(old)",
    "maximum-starts-at-zero: The maximum starts at 0, which is wrong where all scores are below "
    "0: start at -inf, or with the first block.",
    "-np.inf => 0.0",
    "maximum-starts-at-number: The maximum starts at a number, which is wrong where all scores "
    "are below it: start at -inf, or with the first block.",
    "-np.inf => {-1e2|-1e3|-1e4|-1e6|-1e9|-1e20|-1e30}",
    "exp-overflows: The exponentials overflow: subtract the maximum before you take them.",
    f"{UNSHIFTED} && {UNCORRECTED} && return maximum, total => return maximum, total / np.exp(maximum)",
    "plain-exponentials: The total is a plain sum of exponentials: sum exp(score − maximum).",
    f"{UNSHIFTED} && {UNCORRECTED}",
    "total-is-logarithm: The total is a logarithm: return the sum of exponentials itself.",
    "return maximum, total => return maximum, np.log(total)",
    "return maximum, total => return maximum, maximum + np.log(total)",
    "pair-reversed: The pair is reversed: return (maximum, total).",
    "return maximum, total => return total, maximum",
    "one-block-alone: These are the numbers of only one block: all blocks belong to the same rows.",
    "in blocks => in list(blocks){[:1]|[-1:]}",
    "block-left-out: One block is left out.",
    "(blocks): => (blocks):\n    blocks = list(blocks)\n    blocks = {blocks[1:]|blocks[:-1]} or blocks",
    "one-maximum: There is one maximum for all rows here: every row has its own, along axis=-1.",
    "block.max(axis=-1) => np.full(block.shape[:-1], block.max())",
    "block.max(axis=-1) => block.max() && .sum(axis=-1) => .sum()",
    "block.max(axis=-1) => block.max()",
    "axis-kept: The last axis is still there: maximum and total have shape (...), a number a row.",
    "return maximum, total => return maximum[..., None], total[..., None]",
    "total-averaged: The total is an average: add the exponentials up.",
    ".sum => .mean",
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
