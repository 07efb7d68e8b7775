"""Tiled attention with a wrong step, and the probes of block size that tiled exercises share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.calls.measuring import lines_run, overflows, peak_bytes, returned
from attention_lib.checks.exercise import Probe, Table
from attention_lib.exercises.parts.choices import EPSILONS
from attention_lib.lessons.attention import attention

Arguments = tuple[Any, ...]  # of a tiled function, all but block_size


def large_scores(rng: Generator) -> Iterator[Case]:
    """Yield scores far beyond what exp can take, some rows rising and some falling."""
    query, key = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 2.0]]), np.zeros((7, 2))
    key[:, 0] = 1000 * np.sqrt(2) * np.arange(-3, 4) + np.array([0, 1, 2, 0, 1, 1, 2])
    key[:, 1] = -3000 + np.array([1, 2, 0, 0, 2, 1, 2])
    yield Case(query, key, rng.normal(size=(7, 3)), 2)
    yield Case(query, key[::-1].copy(), rng.normal(size=(7, 5)), 3)
    # All far above 0, and the rows far from each other.
    key = np.array([[1000.0, 4000.0]]) + rng.integers(0, 3, (5, 2))
    yield Case(np.array([[0.0, 2.0], [2.0, 0.0]]), key, rng.normal(size=(5, 3)), 3)
    key = np.zeros((6, 3), np.float32)
    key[:, 0] = [-2000, -1999, -1998, -2000, -1997, -1999]
    query = np.array([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]], np.float32)
    yield Case(query, key, rng.normal(size=(6, 2)).astype(np.float32), 4)
    # Below every number that might stand for -inf.
    query, key = np.array([[1e70, 0.0], [-1e70, 0.0]]), np.zeros((5, 2))
    key[:, 0] = 1e70 * np.array([-3, -1, -2, -5, -4])
    yield Case(query, key, rng.normal(size=(5, 3)), 2)


def output_magnitude(
    query: NDArray, key: NDArray, value: NDArray, block_size: int, mask: NDArray | None = None
) -> NDArray:
    """Size the output: an error in any score of a row moves all its weights."""
    _, weights = attention(query, key, value, mask)
    scores = np.abs(query) @ np.abs(key).mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, 0)
    reach = scores.max(axis=-1, keepdims=True)
    return weights * (2 + 4 * reach) @ np.abs(value)


# Mistakes of a loop over blocks of keys, as patches: the plain answers of the exercises have these lines.
# They are in the order in which they are recognized.

UNCORRECTED = "total * shrink => total && output * shrink => output"
WRONG_STEPS: Table = (
    "nothing-corrected: Nothing is corrected when the maximum grows: multiply the total and the "
    "output so far by exp(old maximum − new maximum), while the old one is there.",
    UNCORRECTED,
    "output-uncorrected: The output so far is not corrected when the maximum grows: multiply it by "
    "exp(old maximum − new maximum), like the total, while the old one is there.",
    "output * shrink => output",
    "total-uncorrected: The total so far is not corrected when the maximum grows: multiply it, while "
    "the old one is there, by exp(old maximum − new maximum).",
    "total * shrink => total",
    "corrected-late: The new block is corrected with the rest: correct what was there before, and add "
    "the block's part after it.",
    "np.exp(scores - maximum) => np.exp(scores - maximum) * np.exp(old - maximum)",
    "width-of-queries: The output so far is as wide as a query: it has d_v columns, as value has.",
    "value.shape[-1]), dtype => query.shape[-1]), dtype",
    "old-maximum: A block's exponentials are taken with the maximum from before it: take exp(score − "
    "maximum) with the new one.",
    "scores - maximum => scores - np.where(np.isinf(old), maximum, old)",
    "scores - maximum => scores - old && -np.inf, dtype => 0.0, dtype",
    "own-maximum: A block's exponentials are taken with the maximum of that block only, and the sums "
    "so far have another one: take exp(score − maximum) with the larger of the two.",
    "scores - maximum => scores - largest",
    "softmax-in-every-block: The weights of each block are divided by its own sum: take exp(score − "
    "maximum) alone, and divide once, at the very end.",
    "exponentials = np.exp(scores - maximum) => exponentials = np.exp(scores - maximum)"
    " / np.exp(scores - maximum).sum(axis=-1, keepdims=True)",
    "correction-reversed: The correction is reversed: multiply by exp(old maximum − new maximum), "
    "which is never above 1.",
    "np.exp(old - maximum) => np.where(np.isinf(old), 0, np.exp(maximum - old))",
    "block-maximum: The maximum is that of the present block only: keep the larger one of the old "
    "and the new.",
    "np.maximum(maximum, largest) => largest",
    f"np.maximum(maximum, largest) => largest && {UNCORRECTED}",
    "maximum-starts-at-number: The maximum starts at a number: where all scores lie far below it, "
    "every exponential is 0. Start at -inf.",
    "-np.inf, dtype => {0.0|-1e3|-1e4|-1e6|-1e9|-1e20|-1e30}, dtype",
    "exp-overflows: No maximum is subtracted, so the exponentials of large scores overflow.",
    "np.maximum(maximum, largest) => maximum && -np.inf, dtype => 0.0, dtype",
    "one-maximum: There is one maximum for all queries: each has its own, along the last axis.",
    "scores.max(axis=-1, keepdims=True) => np.full((*scores.shape[:-1], 1), scores.max())",
    "not-divided: The output is not divided: at the very end, divide it by the total.",
    " / total => ",
    "constant-in-total: A constant is added to the total, which is at least 1: leave it out.",
    f"/ total => / (total + {EPSILONS})",
)
OUTPUT_NOT_ALONE = (
    "output-not-alone: The output is returned with something else: return only the output."
)
WRONG_BLOCKS: Table = (
    "last-keys-lost: Keys are lost at the end: the last block is short where block_size does not "
    "divide their number.",
    # The first and the third keep one block where there would be none.
    "range(0, keys, => range(0, keys // block_size * block_size or 1,",
    "range(0, keys, => range(0, keys // block_size * block_size,",
    "range(0, keys, => range(0, max(1, keys - block_size),",
    "first-values-always: Every block of keys meets the first values: slice value like key.",
    "value[..., start:stop, :] => value[..., : stop - start, :]",
)
WRONG_SCALES: Table = (
    "never-scaled: The scores are not scaled: divide them by √d_k.",
    "1 / math.sqrt(query.shape[-1]) => 1.0",
    "divided-by-d-k: The scores are divided by d_k itself: divide them by √d_k.",
    "math.sqrt => ",
    "root-of-d-v: The scores are divided by √d_v: divide by √d_k, the width of queries and keys.",
    "(query.shape[-1]) => (value.shape[-1])",
    "root-of-keys: The scores are divided by √S, the number of keys: divide them by √d_k.",
    "(query.shape[-1]) => (key.shape[-2])",
    "root-of-block-size: The scores are divided by √block_size: divide them by √d_k.",
    "(query.shape[-1]) => (block_size)",
    "multiplied-by-root: The scores are multiplied by √d_k: divide them by it.",
    "1 / math.sqrt => math.sqrt",
)
DIVIDED_IN_EVERY_STEP: Table = (
    "divided-every-step: The output is divided by the total in every step: the next step must then "
    "undo it. Divide once, after the last block.",
    "output + exponentials => output / total + exponentials / total && output / total => output",
)
FIRST_ITEM_ONLY: Table = (
    "first-item-only: Only the first batch item is computed: leading dimensions must be kept.",
    "value, block_size): => value, block_size):\n"
    "    query, key, value = (a[(0,) * (a.ndim - 2)] for a in (query, key, value))",
)


# What is measured: bytes held, whether block_size matters, whether it is the size of a block.

FIXED_BLOCKS = (
    "Cut the keys into range(0, S, block_size): the caller decides how much is held at a time."
)
NUMBER_OF_BLOCKS = "block_size is how many keys a block has, not how many blocks there are."


def long_inputs(
    rng: Generator, length: int, keys: int, d_v: int = 1
) -> tuple[NDArray, NDArray, NDArray]:
    """Draw queries and keys of two components each: little beside the scores they make."""
    return tuple(rng.normal(size=shape) for shape in ((length, 2), (keys, 2), (keys, d_v)))


def held_and_allowed(held: int, allowed: int) -> str:
    return f"it held {held:,} bytes at once, and {allowed:,} are allowed."


def as_they_are(query: NDArray, key: NDArray, value: NDArray) -> Arguments:
    return query, key, value


def ignores_block_size(
    name: str, length: int, keys: int, complete: Callable[..., Arguments] = as_they_are
) -> Probe:
    """Return a probe that asks whether block_size makes any difference at all.

    Sums taken in other blocks are rounded otherwise, so among many numbers some differ in
    their last bits. Where not one bit changes, and not one line more is run for smaller
    blocks, the same work was done. `complete` makes the answer's arguments, all but block_size,
    out of query, key and value.
    """

    def probe(answer: Answer, rng: Generator) -> str | None:
        arguments = complete(*long_inputs(rng, length, keys, 9))
        sizes = (2, 7, 40)
        if len({_bits(returned(answer, *arguments, size)) for size in sizes}) > 1:
            return None
        if len({lines_run(answer, *arguments, size) for size in sizes}) > 1:
            return None
        return (
            f"{name} ignores block_size: with 2, 7 and 40 it returns "
            f"the same numbers to the last bit, as it did the same work. {FIXED_BLOCKS}"
        )

    return probe


def _bits(result: Any) -> bytes:
    """Return the bits of one array, or of several one after another."""
    parts = result if isinstance(result, (tuple, list)) else [result]
    return b"".join(np.asarray(part).tobytes() for part in parts)


def takes_block_size_for_a_count(
    name: str, length: int, keys: int, complete: Callable[..., Arguments] = as_they_are
) -> Probe:
    """Return a probe that asks whether more is done for two large blocks than for many small."""

    def probe(answer: Answer, rng: Generator) -> str | None:
        arguments, half = complete(*long_inputs(rng, length, keys)), keys // 2
        many, two = (lines_run(answer, *arguments, size) for size in (2, half))
        if two <= 2 * many:
            return None
        return (
            f"{name} cuts {keys} keys into more blocks for "
            f"block_size = {half} than for 2. {NUMBER_OF_BLOCKS}"
        )

    return probe


def growth_in_bytes(answer: Answer, small: Arguments, large: Arguments, block_size: int) -> int:
    """Return how much more one call holds at a time for the larger of two inputs."""
    first = peak_bytes(answer, *small, block_size)
    return peak_bytes(answer, *large, block_size) - first


FEW_KEYS, MANY_KEYS, SMALL_BLOCK = 64, 160, 4


def keeps_every_block(
    name: str,
    d_v: int,
    bytes_a_key: int,
    remedy: str,
    complete: Callable[..., Arguments] = as_they_are,
) -> Probe:
    """Return a probe of memory for few and many keys: what is kept of each block grows with them."""

    def probe(answer: Answer, rng: Generator) -> str | None:
        few, many = (complete(*long_inputs(rng, 128, keys, d_v)) for keys in (FEW_KEYS, MANY_KEYS))
        growth = growth_in_bytes(answer, few, many, SMALL_BLOCK)
        allowed = bytes_a_key * (MANY_KEYS - FEW_KEYS)
        if growth <= allowed:
            return None
        return (
            f"{name} keeps something of every block: for {MANY_KEYS} "
            f"keys in blocks of {SMALL_BLOCK} it held {growth:,} bytes more than for {FEW_KEYS}, "
            f"and {allowed:,} more are allowed. {remedy}"
        )

    return probe


HUGE = 1e200  # two such numbers multiplied overflow
FORMED_TWICE = (
    "Form the scores of each block once, and use them up in that step: the maximum, the total and "
    "the output so far grow side by side."
)


def forms_scores_twice(
    name: str,
    remedy: str = FORMED_TWICE,
    complete: Callable[..., Arguments] = as_they_are,
) -> Probe:
    """Return a probe that counts how often one score is formed.

    The score of one query and one key overflows to -inf, which a right answer gives the weight 0
    like any other, and no other score does. So every operation that forms this score overflows
    once. A query and a key as large whose product stays small show what else overflows.
    """

    def probe(answer: Answer, rng: Generator) -> str | None:
        huge_score, apart = inputs_with_a_huge_score(rng)
        formed, other = (overflows(answer, *complete(*one), 2) for one in (huge_score, apart))
        if formed - other < 2:
            return None
        return (
            f"{name} forms the score of one query and one key "
            f"{formed - other} times, and once is enough. {remedy}"
        )

    return probe


def inputs_with_a_huge_score(rng: Generator) -> Iterator[tuple[NDArray, NDArray, NDArray]]:
    """Yield query, key and value with one score that overflows to -inf, then without.

    There the two large numbers lie in different components.
    """
    query, key, value = (rng.normal(size=shape) for shape in ((3, 5), (7, 5), (7, 2)))
    query[:, :2], key[:, :2] = 0, 0
    query[rng.integers(3), 0] = -HUGE
    number = rng.integers(6)  # not the last, which is a block of its own
    for component in (0, 1):
        key[number, :2] = 0
        key[number, component] = HUGE
        yield query, key.copy(), value
