"""The exercises of lesson 07: attention without the L × S matrix, measured as well as compared."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case, Stream
from attention_lib.checks.calls.measuring import MIB, lines_run, overflows, peak_bytes
from attention_lib.checks.exercise import Exercise, Mistake
from attention_lib.lessons.attention import attention, causal_mask
from attention_lib.lessons.flash import (
    Tile,  # its methods are the steps that a solution shows
    attention_bytes,
    online_softmax_stats,
    tiled_attention,
    tiled_causal_attention,
)
from attention_lib.lessons.stability import stable_softmax

Blocks = Iterable[NDArray]
Pair = tuple[NDArray, NDArray]

# online_softmax_stats


def _stream_cases(rng: Generator) -> Iterator[Case]:
    yield Case(Stream([np.array([[1.0, 3.0]]), np.array([[2.0]])]))
    yield Case(Stream([np.array([[0.0], [5.0]]), np.array([[1.0, 2.0], [4.0, 3.0]])]))
    yield Case(_cut(rng.normal(size=(2, 7)), 3, 5))
    yield Case(_cut(rng.normal(size=6), 1, 2))  # one row: both results are numbers
    yield Case(_cut(rng.normal(size=(3, 3)), 1, 2))
    yield Case(_cut(rng.normal(size=(2, 3, 11)), 5, 6, 9))
    yield Case(_cut(rng.normal(size=(3, 2, 2, 7)), 2))
    yield Case(Stream([rng.normal(size=(3, 5))]))  # one block
    # Rows that rise and rows that fall, and each block far from the others.
    steps = 3.0 * np.arange(6) * np.array([[1.0], [-1.0], [0.0]])
    yield Case(_cut(steps + rng.normal(size=(3, 6)), 2, 4))
    yield Case(_cut(rng.normal(0.0, 3.0, (5, 13)).astype(np.float32), 4, 8, 12))
    # Scores that no exponential takes, all above 0 in one row and all below in the other.
    far = np.array([[1000.0], [-1000.0]]) + rng.integers(-9, 9, size=(2, 8))
    yield Case(_cut(far, 3, 6))
    yield Case(_cut(far.astype(np.float32), 1, 6))
    # Below every number that might stand for -inf.
    yield Case(_cut(1e290 * np.array([[-3.0, -1.0, -2.0, -9.0], [-5.0, -8.0, -6.0, -4.0]]), 1, 3))
    whole = [np.array([[2, 5], [-1, 0]]), np.array([[3], [0]])]
    yield Case(Stream(whole), verify=lambda value: _wrong_pair(value, whole))


def _cut(rows: NDArray, *places: int) -> Stream:
    """Cut rows along their last axis at these places."""
    return Stream(np.split(rows, places, axis=-1))


def _stats(rows: NDArray) -> Pair:
    maximum = rows.max(axis=-1)
    return maximum, np.exp(rows - maximum[..., None]).sum(axis=-1)


def _wrong_pair(value: Any, blocks: list[NDArray]) -> str | None:
    """Judge the result for integer scores, whose maximum may stay an integer."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        return "online_softmax_stats should return the pair (maximum, total)."
    rights = _stats(np.concatenate(blocks, axis=-1))
    for name, got, right in zip(("maximum", "total"), value, rights, strict=True):
        if np.shape(got) != right.shape or not np.allclose(got, right, rtol=1e-12, atol=0):
            return (
                f"For integer scores the {name} is {np.array2string(np.asarray(got), precision=4)}; "
                f"it should be {np.array2string(right, precision=4)}, computed in float64."
            )
    return None


def _stats_size(blocks: Stream) -> Pair:
    rows = np.concatenate(blocks.items, axis=-1)
    maximum, total = _stats(rows)
    return np.abs(maximum), total * (2 + 2 * np.abs(rows).max(axis=-1))


BLOCK_COUNT, BLOCK_SHAPE = 64, (8, 128)
ONE_BLOCK = 8 * math.prod(BLOCK_SHAPE)
BLOCKS_ALLOWED = 20  # a block in Python floats takes as much as four
STREAMED = (
    "Keep the maximum and the total, and let each block go: nothing more of it is needed when "
    "the next one comes."
)


def _keeps_the_blocks(answer: Answer) -> str | None:
    def blocks() -> Iterator[NDArray]:
        for number in range(BLOCK_COUNT):
            yield np.sin(np.arange(number, number + ONE_BLOCK // 8)).reshape(BLOCK_SHAPE)

    held, allowed = peak_bytes(answer, blocks()), BLOCKS_ALLOWED * ONE_BLOCK
    if held <= allowed:
        return None
    return (
        f"online_softmax_stats returns the right values but keeps the blocks: of {BLOCK_COUNT} "
        f"blocks of {ONE_BLOCK:,} bytes it held {held:,} bytes at once, and {allowed:,} are "
        f"allowed. {STREAMED}"
    )


def _one_by_one(
    first: float = -np.inf,
    merge: Callable[..., Any] | None = None,
    own: Callable[[NDArray], Pair] = _stats,
) -> Answer:
    """Make an answer from a rule that joins (old maximum, old total, maximum, total)."""

    def answer(blocks: Blocks) -> Pair:
        stats = None
        for block in blocks:
            maximum, total = own(block)
            if stats is None:
                stats = np.full_like(maximum, first, dtype=float), np.zeros_like(total)
            stats = (merge or _merged)(*stats, maximum, total)
        return stats

    return answer


def _merged(m1: NDArray, t1: NDArray, m2: NDArray, t2: NDArray) -> Pair:
    m = np.maximum(m1, m2)
    return m, t1 * np.exp(m1 - m) + t2 * np.exp(m2 - m)


def _read_twice(blocks: Blocks, empty: Callable[[NDArray], Any] = np.zeros_like) -> Pair:
    maximum = None
    for block in blocks:
        peak = block.max(axis=-1)
        maximum = peak if maximum is None else np.maximum(maximum, peak)
    total = empty(maximum)
    for block in blocks:
        total = total + np.exp(block - maximum[..., None]).sum(axis=-1)
    return maximum, total


def _all_at_once(blocks: Blocks) -> Pair:
    return _stats(np.concatenate(list(blocks), axis=-1))


def _as_a_list(blocks: Blocks) -> Pair:
    blocks = list(blocks)
    maximum = np.max([block.max(axis=-1) for block in blocks], axis=0)
    return maximum, sum(np.exp(block - maximum[..., None]).sum(axis=-1) for block in blocks)


def _without_a_maximum(blocks: Blocks) -> Pair:
    maximum, total = None, 0.0
    for block in blocks:
        peak = block.max(axis=-1)
        maximum = peak if maximum is None else np.maximum(maximum, peak)
        total = total + np.exp(block).sum(axis=-1)
    return maximum, total * np.exp(-maximum)


def _without_the_first_total(blocks: Blocks) -> Pair:
    first, *others = blocks
    stats = first.max(axis=-1), np.zeros_like(first.max(axis=-1))
    for block in others:
        stats = _merged(*stats, *_stats(block))
    return stats


def _of_some(choose: Callable[[list[NDArray]], list[NDArray]]) -> Answer:
    return lambda blocks: _all_at_once(choose(list(blocks)))


def _reshaped(change: Callable[[Pair], Any]) -> Answer:
    return lambda blocks: change(_all_at_once(blocks))


ONLINE_SOFTMAX_STATS = Exercise(
    name="online_softmax_stats",
    points=2,
    minutes=8,
    reference=online_softmax_stats,
    cases=_stream_cases,
    magnitude=_stats_size,
    probes=(_keeps_the_blocks,),
    hints=(
        "One loop over the blocks. Of each block you need its maximum along the last axis, and the "
        "sum of exp(block - maximum).",
        "You have joined such pairs before: merge_softmax_stats of lesson 02 takes the pair so far "
        "and the pair of the new block. The first block has nothing to be joined to.",
        "block.max(axis=-1) has lost the last axis; to subtract it from the block, give it back "
        "with maximum[..., None].",
    ),
    mistakes=(
        Mistake(
            "You read the blocks a second time, and find none: an iterator can be read once. "
            "Update maximum and total in one and the same loop.",
            _read_twice,
            lambda blocks: _read_twice(blocks, lambda _: 0),
            lambda blocks: _read_twice(blocks, lambda _: 0.0),
            lambda blocks: _read_twice(blocks, lambda maximum: np.zeros(maximum.shape)),
        ),
        Mistake(STREAMED, _all_at_once, _as_a_list, measured=True),
        Mistake(
            "The total so far is not corrected: when the maximum grows, it must be multiplied by "
            "exp(old maximum − new maximum).",
            _one_by_one(merge=lambda m1, t1, m2, t2: (np.maximum(m1, m2), t1 + t2)),
            _one_by_one(
                merge=lambda m1, t1, m2, t2: (
                    m := np.maximum(m1, m2),
                    t1 + t2 * np.exp(m2 - m),
                )
            ),
        ),
        Mistake(
            "The new block's total is not corrected: it must be taken under the maximum of all "
            "blocks so far, which may lie in an earlier one.",
            _one_by_one(
                merge=lambda m1, t1, m2, t2: (
                    m := np.maximum(m1, m2),
                    t1 * np.exp(m1 - m) + t2,
                )
            ),
        ),
        Mistake(
            "The correction is reversed: multiply the old total by exp(old maximum − new "
            "maximum), never above 1.",
            _one_by_one(
                merge=lambda m1, t1, m2, t2: (
                    m := np.maximum(m1, m2),
                    np.where(t1 == 0, 0, t1 * np.exp(m - m1)) + t2 * np.exp(m2 - m),
                )
            ),
            _one_by_one(
                merge=lambda m1, t1, m2, t2: (
                    m := np.maximum(m1, m2),
                    t1 * np.exp(m - m1) + t2 * np.exp(m2 - m),
                )
            ),
        ),
        Mistake(
            "The maximum is that of the last block: keep the larger one of the old and the new.",
            _one_by_one(merge=lambda m1, t1, m2, t2: (m2, t1 * np.exp(m1 - m2) + t2)),
            _one_by_one(merge=lambda m1, t1, m2, t2: (m2, t1 + t2)),
        ),
        Mistake(
            "The total is that of the last block: add to what the blocks before it have left.",
            _one_by_one(
                merge=lambda m1, t1, m2, t2: (m := np.maximum(m1, m2), t2 * np.exp(m2 - m)),
            ),
        ),
        Mistake(
            "The total of the first block is lost: start it with the sum of that block's "
            "exponentials.",
            _without_the_first_total,
        ),
        Mistake(
            "The maximum starts at 0, which is wrong where all scores are below 0: start at -inf, "
            "or with the first block.",
            _one_by_one(first=0.0),
        ),
        Mistake(
            "The maximum starts at a number, which is wrong where all scores are below it: start at "
            "-inf, or with the first block.",
            *(_one_by_one(first=first) for first in (-1e2, -1e3, -1e4, -1e6, -1e9, -1e20, -1e30)),
        ),
        Mistake(
            "The exponentials overflow: subtract the maximum before you take them.",
            _without_a_maximum,
            lambda blocks: (
                (s := np.concatenate(list(blocks), axis=-1)).max(axis=-1),
                np.exp(s).sum(axis=-1) / np.exp(s.max(axis=-1)),
            ),
        ),
        Mistake(
            "The total is the plain sum of exponentials: it is that of exp(score − maximum).",
            lambda blocks: (
                (s := np.concatenate(list(blocks), axis=-1)).max(axis=-1),
                np.exp(s).sum(axis=-1),
            ),
        ),
        Mistake(
            "The total is a logarithm: return the sum of exponentials itself.",
            _reshaped(lambda pair: (pair[0], np.log(pair[1]))),
            _reshaped(lambda pair: (pair[0], pair[0] + np.log(pair[1]))),
        ),
        Mistake(
            "The pair is reversed: return (maximum, total).",
            _reshaped(lambda pair: (pair[1], pair[0])),
        ),
        Mistake(
            "These are the numbers of one block alone: all blocks belong to the same rows.",
            _of_some(lambda blocks: blocks[:1]),
            _of_some(lambda blocks: blocks[-1:]),
        ),
        Mistake(
            "One block is left out.",
            _of_some(lambda blocks: blocks[1:] or blocks),
            _of_some(lambda blocks: blocks[:-1] or blocks),
        ),
        Mistake(
            "There is one maximum for all rows here: every row has its own, along axis=-1.",
            lambda blocks: (
                np.full((s := np.concatenate(list(blocks), axis=-1)).shape[:-1], s.max()),
                np.exp(s - s.max()).sum(axis=-1),
            ),
            lambda blocks: (
                (s := np.concatenate(list(blocks), axis=-1)).max(),
                np.exp(s - s.max()).sum(),
            ),
            lambda blocks: (
                (s := np.concatenate(list(blocks), axis=-1)).max(),
                np.exp(s - s.max()).sum(axis=-1),
            ),
        ),
        Mistake(
            "The last axis is still there: maximum and total have shape (...), one number a row.",
            _reshaped(lambda pair: (pair[0][..., None], pair[1][..., None])),
        ),
        Mistake(
            "The total is an average: add the exponentials up.",
            _one_by_one(
                own=lambda block: (
                    block.max(axis=-1),
                    np.exp(block - block.max(axis=-1, keepdims=True)).mean(axis=-1),
                )
            ),
        ),
    ),
)

# tiled_attention


def _tiled_cases(rng: Generator) -> Iterator[Case]:
    def draw(*shape: int) -> NDArray:
        return rng.normal(size=shape)

    query, key = np.array([[1.0, 0.0]]), np.array([[1.0, 1.0], [0.0, 2.0], [2.0, 0.0]])
    value = np.array([[2.0], [8.0], [4.0]])
    yield Case(query, key, value, 2)
    yield Case(query, key, value, 1)
    yield Case(draw(2, 5), draw(6, 5), draw(6, 7), 3)
    yield Case(draw(2, 5), draw(7, 5), draw(7, 3), 3)
    # All sizes equal: here a lost transpose or axis gives numbers, not an error.
    yield Case(draw(3, 3), draw(3, 3), draw(3, 3), 2)
    yield Case(draw(3, 3, 3), draw(3, 3, 3), draw(3, 3, 3), 2)
    yield Case(draw(3, 6), draw(5, 6), draw(5, 2), 5)
    yield Case(draw(3, 6), draw(5, 6), draw(5, 2), 8)  # one block, larger than all keys
    yield Case(draw(2, 3, 5), draw(2, 7, 5), draw(2, 7, 6), 2)
    yield Case(draw(3, 2, 5, 2), draw(3, 2, 11, 2), draw(3, 2, 11, 7), block_size=3)
    yield Case(draw(7, 2), draw(13, 2), draw(13, 3), 5)
    yield Case(draw(1, 3), draw(1, 3), draw(1, 2), 1)
    yield Case(
        rng.integers(-1, 3, (2, 3)), rng.integers(-1, 3, (5, 3)), rng.integers(-3, 9, (5, 2)), 2
    )
    yield Case(*(draw(*shape).astype(np.float32) for shape in ((5, 3), (7, 3), (7, 2))), 3)
    yield Case(*(draw(*shape).astype(np.float32) for shape in ((2, 3, 6), (2, 5, 6), (2, 5, 7))), 2)
    yield from _large_scores(rng)


def _large_scores(rng: Generator) -> Iterator[Case]:
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


def _output_size(
    query: NDArray, key: NDArray, value: NDArray, block_size: int, mask: NDArray | None = None
) -> NDArray:
    """Size the output: an error in any score of a row moves all its weights."""
    _, weights = attention(query, key, value, mask)
    scores = np.abs(query) @ np.abs(key).mT / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, 0)
    reach = scores.max(axis=-1, keepdims=True)
    return weights * (2 + 4 * reach) @ np.abs(value)


# What is measured: bytes held, whether block_size matters, blocks of the future computed.

LENGTH, KEYS, D_K, D_V, BLOCK = 96, 2560, 2, 1, 48
BYTES_ALLOWED = 26 * 8 * LENGTH * BLOCK  # beside the scores: temporaries, copies of K and V
NO_MATRIX = (
    "Form the scores of one block of keys, use them up, and only then go on to the next block."
)
NO_QUERY_BLOCKS = (
    "You take the queries block_size at a time, each with all keys: it is the keys that come "
    "block_size at a time."
)
NO_FIXED_BLOCKS = (
    "Cut the keys into range(0, S, block_size): the caller decides how much is held at a time."
)
NO_COUNT = "block_size is how many keys a block has, not how many blocks there are."


def _long(length: int, keys: int, d_v: int = D_V) -> tuple[NDArray, NDArray, NDArray]:
    rng = np.random.default_rng(7)
    return tuple(rng.normal(size=(n, d)) for n, d in ((length, D_K), (keys, D_K), (keys, d_v)))


def _holds_the_matrix(answer: Answer) -> str | None:
    arguments = _long(LENGTH, KEYS)
    held = peak_bytes(answer, *arguments, BLOCK)
    if held <= BYTES_ALLOWED:
        return None
    less_for_small_blocks = peak_bytes(answer, *arguments, BLOCK // 16) < held / 4
    less_for_few_keys = peak_bytes(answer, *_long(LENGTH, KEYS // 4), BLOCK) < held / 2
    if less_for_small_blocks and less_for_few_keys:
        what, help_ = f"every block of queries with all {KEYS:,} keys", NO_QUERY_BLOCKS
    elif held < 8 * LENGTH * KEYS:
        what, help_ = "more than one block of scores", NO_MATRIX
    else:
        what, help_ = "the whole L × S matrix", NO_MATRIX
    return (
        f"tiled_attention returns the right values but holds {what}: for L = {LENGTH}, "
        f"S = {KEYS:,} and block_size = {BLOCK} it held {held:,} bytes ({held / MIB:.1f} MiB) at "
        f"once, and {BYTES_ALLOWED:,} ({BYTES_ALLOWED / MIB:.1f} MiB) are allowed. {help_}"
    )


def _ignores_block_size(name: str, length: int, keys: int) -> Callable[[Answer], str | None]:
    """Return a probe that asks whether block_size makes any difference at all.

    Sums taken in other blocks are rounded otherwise, so among many numbers some differ in
    their last bits. Where not one bit changes, and not one line more is run for smaller
    blocks, the same work was done.
    """

    def probe(answer: Answer) -> str | None:
        arguments = _long(length, keys, 9)
        sizes = (2, 7, 40)
        if len({np.asarray(answer(*arguments, size)).tobytes() for size in sizes}) > 1:
            return None
        if len({lines_run(answer, *arguments, size) for size in sizes}) > 1:
            return None
        return (
            f"{name} returns the right values but ignores block_size: with 2, 7 and 40 it returns "
            f"the same numbers to the last bit, as it did the same work. {NO_FIXED_BLOCKS}"
        )

    return probe


def _counts_blocks(name: str, length: int, keys: int) -> Callable[[Answer], str | None]:
    """Return a probe that asks whether more is done for many small blocks than for two."""

    def probe(answer: Answer) -> str | None:
        arguments, half = _long(length, keys), keys // 2
        many, two = (lines_run(answer, *arguments, size) for size in (2, half))
        if two <= 2 * many:
            return None
        return (
            f"{name} returns the right values but cuts {keys} keys into more blocks for "
            f"block_size = {half} than for 2. {NO_COUNT}"
        )

    return probe


# Wrong answers are made from one description of the method, with a part of it exchanged.


def _root(query: NDArray, key: NDArray, value: NDArray, block_size: int) -> float:
    return 1 / math.sqrt(query.shape[-1])


def _blocks(keys: int, block_size: int) -> list[slice]:
    return [slice(j, min(j + block_size, keys)) for j in range(0, keys, block_size)]


def _row_maximum(scores: NDArray) -> NDArray:
    return scores.max(axis=-1, keepdims=True)


def _shrink(old: NDArray, new: NDArray) -> NDArray:
    return np.exp(old - new)


def _unchanged(old: NDArray, new: NDArray) -> float:
    return 1.0


def _tiled(
    *,
    scale: Callable[..., float] = _root,
    blocks: Callable[[int, int], list[slice]] = _blocks,
    value_block: Callable[[slice], slice] = lambda block: block,
    first: float = -np.inf,
    peak: Callable[[NDArray], Any] = _row_maximum,
    raise_to: Callable[[Any, Any], Any] = np.maximum,
    shrink_total: Callable[..., Any] = _shrink,
    shrink_output: Callable[..., Any] = _shrink,
    end: Callable[..., Any] = lambda output, total, maximum: output / total,
    hidden: Callable[[NDArray, NDArray], Any] | None = None,
) -> Answer:
    """Make tiled attention; `hidden` says which keys (columns) are hidden from which queries."""

    def answer(query: NDArray, key: NDArray, value: NDArray, block_size: int) -> Any:
        dtype = np.result_type(query, np.float32)
        factor = scale(query, key, value, block_size)
        rows = query.shape[:-1]
        maximum, total = np.full((*rows, 1), first, dtype), np.zeros((*rows, 1), dtype)
        output = np.zeros((*rows, value.shape[-1]), dtype)
        for block in blocks(key.shape[-2], block_size):
            scores = (query @ key[..., block, :].mT * factor).astype(dtype)
            if hidden is not None:
                columns = np.arange(block.start, block.stop)
                future = hidden(np.arange(query.shape[-2])[:, None], columns)
                scores = np.where(future, dtype.type(-np.inf), scores)
            new = raise_to(maximum, peak(scores))
            exponentials = np.exp(scores - new)
            total = total * shrink_total(maximum, new) + exponentials.sum(-1, keepdims=True)
            mixed = exponentials @ value[..., value_block(block), :]
            output = output * shrink_output(maximum, new) + mixed
            maximum = new
        return end(output, total, maximum)

    return answer


def _constant_scale(scale: Callable[..., float]) -> Answer:
    return lambda query, key, value, block_size: attention(
        query, key, value, scale=scale(query, key, value, block_size)
    )[0]


def _block_by_block(join: Callable[[list[NDArray]], NDArray]) -> Answer:
    """Make an answer that gives every block a softmax of its own, and joins the outputs."""

    def answer(query: NDArray, key: NDArray, value: NDArray, block_size: int) -> NDArray:
        return join(
            [
                attention(query, key[..., block, :], value[..., block, :])[0]
                for block in _blocks(key.shape[-2], block_size)
            ]
        )

    return answer


def _normalized_early(
    query: NDArray, key: NDArray, value: NDArray, block_size: int, causal: bool = False
) -> NDArray:
    """Divide by the total after every block, and forget that it was done."""
    maximum, total, output = -np.inf, 0.0, 0.0
    for block in _blocks(key.shape[-2], block_size):
        scores = query @ key[..., block, :].mT / math.sqrt(query.shape[-1])
        if causal:
            scores = np.where(causal_mask(key.shape[-2])[:, block], scores, -np.inf)
        new = np.maximum(maximum, _row_maximum(scores))
        exponentials = np.exp(scores - new)
        total = total * np.exp(maximum - new) + exponentials.sum(-1, keepdims=True)
        output = (output * np.exp(maximum - new) + exponentials @ value[..., block, :]) / total
        maximum = new
    return output


def _textbook(query: NDArray, key: NDArray, value: NDArray, block_size: int) -> NDArray:
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    exponentials = np.exp(scores - _row_maximum(scores))
    output = exponentials / exponentials.sum(-1, keepdims=True) @ value
    return output.astype(np.result_type(query, np.float32), copy=False)


def _scores_in_a_list(query: NDArray, key: NDArray, value: NDArray, block_size: int) -> NDArray:
    blocks = _blocks(key.shape[-2], block_size)
    scores = [query @ key[..., block, :].mT / math.sqrt(query.shape[-1]) for block in blocks]
    return (stable_softmax(np.concatenate(scores, axis=-1)) @ value).astype(
        np.result_type(query, np.float32)
    )


def _query_by_query(query: NDArray, key: NDArray, value: NDArray, block_size: int) -> NDArray:
    rows = [attention(query[..., i : i + 1, :], key, value)[0] for i in range(query.shape[-2])]
    return np.concatenate(rows, axis=-2)


def _blocks_of_queries(query: NDArray, key: NDArray, value: NDArray, block_size: int) -> NDArray:
    tiles = [
        attention(query[..., tile, :], key, value)[0]
        for tile in _blocks(query.shape[-2], block_size)
    ]
    return np.concatenate(tiles, axis=-2)


def _always(size: int) -> Callable[[int, int], list[slice]]:
    return lambda keys, block_size: _blocks(keys, size)


def _so_many(keys: int, count: int) -> list[slice]:
    return _blocks(keys, -(-keys // count))


def _whole_blocks_only(keys: int, block_size: int) -> list[slice]:
    whole = _blocks(keys, block_size)[: keys // block_size]
    return whole or [slice(0, keys)]  # something must be left to compute


def _as_many_blocks_as_queries_need(
    query: NDArray, key: NDArray, value: NDArray, block_size: int
) -> NDArray:
    starts = range(0, query.shape[-2], block_size)
    return _tiled(
        blocks=lambda keys, size: [slice(j, max(j, min(j + size, keys))) for j in starts]
    )(query, key, value, block_size)


def _cut_to_integers(query: NDArray, key: NDArray, value: NDArray, block_size: int) -> NDArray:
    output = np.zeros((*query.shape[:-1], value.shape[-1]), value.dtype)
    output[...] = tiled_attention(query, key, value, block_size)
    return output


def _first_item_only(answer: Answer) -> Answer:
    return lambda query, key, value, block_size: answer(
        *(array[(0,) * (array.ndim - 2)] for array in (query, key, value)), block_size
    )


WRONG_SCALES = (
    ("The scores are not scaled: divide them by √d_k.", lambda q, k, v, b: 1.0),
    (
        "The scores are divided by d_k itself: divide them by √d_k.",
        lambda q, k, v, b: 1 / q.shape[-1],
    ),
    (
        "The scores are divided by √d_v: divide them by √d_k, the width of queries and keys.",
        lambda q, k, v, b: 1 / math.sqrt(v.shape[-1]),
    ),
    (
        "The scores are divided by √S, the number of keys: divide them by √d_k.",
        lambda q, k, v, b: 1 / math.sqrt(k.shape[-2]),
    ),
    (
        "The scores are divided by √block_size: divide them by √d_k.",
        lambda q, k, v, b: 1 / math.sqrt(b),
    ),
    (
        "The scores are multiplied by √d_k: divide them by it.",
        lambda q, k, v, b: math.sqrt(q.shape[-1]),
    ),
)


def _wrong_steps(tiled: Callable[..., Answer]) -> tuple[Mistake, ...]:
    """Return the mistakes of the step from block to block, made by causal answers too."""
    return (
        Mistake(
            "Nothing is corrected when the maximum grows: multiply the total and the output so far "
            "by exp(old maximum − new maximum).",
            tiled(shrink_total=_unchanged, shrink_output=_unchanged),
        ),
        Mistake(
            "The output so far is not corrected when the maximum grows: multiply it by exp(old "
            "maximum − new maximum), like the total.",
            tiled(shrink_output=_unchanged),
        ),
        Mistake(
            "The total so far is not corrected when the maximum grows: multiply it by exp(old "
            "maximum − new maximum), like the output.",
            tiled(shrink_total=_unchanged),
        ),
        Mistake(
            "The correction is reversed: multiply by exp(old maximum − new maximum), which is "
            "never above 1.",
            tiled(
                shrink_total=lambda old, new: np.where(np.isinf(old), 0, np.exp(new - old)),
                shrink_output=lambda old, new: np.where(np.isinf(old), 0, np.exp(new - old)),
            ),
            tiled(
                shrink_total=lambda old, new: np.exp(new - old),
                shrink_output=lambda old, new: np.exp(new - old),
            ),
        ),
        Mistake(
            "The maximum is that of the present block alone: keep the larger one of the old and "
            "the new.",
            tiled(raise_to=lambda old, new: new),
            tiled(raise_to=lambda old, new: new, shrink_total=_unchanged, shrink_output=_unchanged),
        ),
        Mistake(
            "The maximum starts at a number: where all scores lie far below it, every exponential "
            "is 0. Start at -inf.",
            *(tiled(first=first) for first in (0.0, -1e3, -1e4, -1e6, -1e9, -1e20, -1e30)),
        ),
        Mistake(
            "No maximum is subtracted, so the exponentials of large scores overflow.",
            tiled(first=0.0, raise_to=lambda old, new: old),
        ),
        Mistake(
            "There is one maximum for all queries: each query has its own, along the last axis.",
            tiled(peak=lambda scores: np.full((*scores.shape[:-1], 1), scores.max())),
            tiled(
                peak=lambda scores: np.broadcast_to(
                    scores.max(axis=(-2, -1), keepdims=True), (*scores.shape[:-1], 1)
                )
            ),
        ),
        Mistake(
            "The output is not divided: at the very end, divide it by the total.",
            tiled(end=lambda output, total, maximum: output),
        ),
        Mistake(
            "A small constant is added to the total: it is at least 1, never 0. Leave it out.",
            *(
                tiled(end=lambda output, total, maximum, small=small: output / (total + small))
                for small in (1e-3, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-12)
            ),
        ),
        Mistake(
            "The output is returned together with something else: return the output alone.",
            tiled(end=lambda output, total, maximum: (output / total, maximum + np.log(total))),
            tiled(end=lambda output, total, maximum: (output / total, maximum, total)),
            tiled(end=lambda output, total, maximum: (output / total, total)),
        ),
        Mistake(
            "Keys are lost at the end: the last block is short where block_size does not divide "
            "their number.",
            tiled(blocks=_whole_blocks_only),
            tiled(blocks=lambda keys, size: _blocks(keys, size)[: keys // size]),
            tiled(blocks=lambda keys, size: _blocks(keys, size)[:-1] or [slice(0, keys)]),
        ),
        Mistake(
            "Every block of keys meets the first values: slice value as you slice key.",
            tiled(value_block=lambda block: slice(0, block.stop - block.start)),
        ),
    )


TILED_ATTENTION = Exercise(
    name="tiled_attention",
    points=5,
    minutes=20,
    reference=tiled_attention,
    shown=(Tile.add_block, Tile.raise_maximum),
    signature="tiled_attention(query, key, value, block_size)",
    cases=_tiled_cases,
    magnitude=_output_size,
    probes=(
        _holds_the_matrix,
        _ignores_block_size("tiled_attention", 30, 100),
        _counts_blocks("tiled_attention", 3, 60),
    ),
    hints=(
        "Three things live through the loop, one row for each query: the maximum, (..., L, 1), and "
        "the total, (..., L, 1), as in online_softmax_stats, and the output so far, (..., L, d_v).",
        "for start in range(0, S, block_size): key[..., start : start + block_size, :] is a block, "
        "and NumPy lets the last one be short by itself.",
        "In each step: the new maximum; correction = np.exp(old - new); the exponentials of scores "
        "- new. Total and output are both multiplied by the correction before the block's part "
        "is added.",
        "Start with np.full((..., L, 1), -np.inf) and zeros, in the inputs' own floating dtype "
        "(np.result_type(query, np.float32) is float64 for integers), and divide once, at the end.",
    ),
    mistakes=(
        Mistake(
            NO_MATRIX,
            _textbook,
            lambda query, key, value, block_size: attention(query, key, value)[0],
            _scores_in_a_list,
            measured=True,
        ),
        Mistake(NO_QUERY_BLOCKS, _blocks_of_queries, measured=True),
        Mistake(
            NO_FIXED_BLOCKS,
            _query_by_query,
            _tiled(blocks=_always(1)),
            _tiled(blocks=_always(32)),
            measured=True,
        ),
        Mistake(NO_COUNT, _tiled(blocks=_so_many), measured=True),
        *_wrong_steps(_tiled),
        Mistake(
            "The first block of keys is left out: its place is 0.",
            _tiled(blocks=lambda keys, size: _blocks(keys, size)[1:]),
        ),
        Mistake(
            "The blocks are counted by L, the number of queries: it is the S keys that are cut.",
            _as_many_blocks_as_queries_need,
        ),
        *(Mistake(sentence, _constant_scale(scale)) for sentence, scale in WRONG_SCALES),
        Mistake(
            "The scores are divided by √L, the number of queries: divide them by √d_k.",
            _constant_scale(lambda q, k, v, b: 1 / math.sqrt(q.shape[-2])),
        ),
        Mistake(
            "Each block has a softmax of its own here, and their outputs are joined: the blocks "
            "share one maximum and one total.",
            _block_by_block(sum),
            _block_by_block(lambda outputs: np.mean(outputs, axis=0)),
        ),
        Mistake(
            "Only one block of keys is used: the output is that of a single block.",
            _block_by_block(lambda outputs: outputs[0]),
            _block_by_block(lambda outputs: outputs[-1]),
        ),
        Mistake(
            "The output is divided by the total in every step: the next step must then undo it. "
            "Divide once, after the last block.",
            _normalized_early,
        ),
        Mistake(
            "Keys after the query are hidden: this attention is not causal.",
            lambda query, key, value, block_size: attention(
                query, key, value, np.tri(query.shape[-2], key.shape[-2], dtype=bool)
            )[0],
        ),
        Mistake(
            "The values are averaged without their weights: multiply each by its exponential.",
            lambda query, key, value, block_size: np.broadcast_to(
                value.mean(axis=-2, keepdims=True), (*query.shape[:-1], value.shape[-1])
            ),
        ),
        Mistake(
            "Only the first batch item is computed: leading dimensions must be kept.",
            _first_item_only(tiled_attention),
        ),
        Mistake(
            "For integers the output is cut to whole numbers: make a floating array for it.",
            _cut_to_integers,
        ),
    ),
)

# tiled_causal_attention


def _causal_cases(rng: Generator) -> Iterator[Case]:
    def draw(*shape: int) -> NDArray:
        return rng.normal(size=shape)

    query, key = np.zeros((3, 2)), np.array([[1.0, 1.0], [0.0, 2.0], [2.0, 0.0]])
    value = np.array([[0.0], [2.0], [7.0]])
    yield Case(query, key, value, 2)
    yield Case(draw(3, 5), draw(3, 5), draw(3, 2), 1)
    yield Case(draw(6, 5), draw(6, 5), draw(6, 7), 3)
    yield Case(draw(7, 5), draw(7, 5), draw(7, 2), 3)
    # All sizes equal: here a lost transpose or axis gives numbers, not an error.
    yield Case(draw(3, 3, 3), draw(3, 3, 3), draw(3, 3, 3), 2)
    yield Case(draw(5, 6), draw(5, 6), draw(5, 2), 5)
    yield Case(draw(5, 6), draw(5, 6), draw(5, 2), 9)  # one block, larger than the sequence
    yield Case(draw(2, 7, 5), draw(2, 7, 5), draw(2, 7, 6), 2)
    yield Case(draw(3, 2, 11, 2), draw(3, 2, 11, 2), draw(3, 2, 11, 7), block_size=3)
    yield Case(draw(13, 2), draw(13, 2), draw(13, 3), 5)
    yield Case(draw(1, 3), draw(1, 3), draw(1, 2), 1)
    yield Case(
        rng.integers(-1, 3, (5, 3)), rng.integers(-1, 3, (5, 3)), rng.integers(-3, 9, (5, 2)), 2
    )
    yield Case(*(draw(*shape).astype(np.float32) for shape in ((7, 3), (7, 3), (7, 2))), 3)
    yield Case(*(draw(*shape).astype(np.float32) for shape in ((2, 5, 6), (2, 5, 6), (2, 5, 7))), 2)
    for case in _large_scores(rng):
        query, key, value, block_size = case.args
        square = np.resize(query, key.shape)
        yield Case(square, key, value, block_size)
        yield Case(-square, key, value, block_size)


def _causal_size(query: NDArray, key: NDArray, value: NDArray, block_size: int) -> NDArray:
    return _output_size(query, key, value, block_size, causal_mask(query.shape[-2]))


CAUSAL_LENGTH, CAUSAL_BLOCK = 256, 16
CAUSAL_ALLOWED = 11 * 8 * CAUSAL_LENGTH * CAUSAL_BLOCK
NO_CAUSAL_MATRIX = "Form the scores of one block of queries with one block of keys at a time."
NO_FUTURE = (
    "For the queries of one block, end the loop over the keys with the block on the diagonal: "
    "what comes after it needs no masking, it needs no computing."
)
BLOCKS, SIDE = 4, 3  # of the sequence in which computed blocks are counted
HOT = 1e200  # two such numbers multiplied overflow


def _holds_the_square(answer: Answer) -> str | None:
    arguments = _long(CAUSAL_LENGTH, CAUSAL_LENGTH)
    held = peak_bytes(answer, *arguments, CAUSAL_BLOCK)
    if held <= CAUSAL_ALLOWED:
        return None
    return (
        f"tiled_causal_attention returns the right values but holds the whole L × L matrix: for "
        f"L = {CAUSAL_LENGTH} and block_size = {CAUSAL_BLOCK} it held {held:,} bytes "
        f"({held / MIB:.1f} MiB) at once, and {CAUSAL_ALLOWED:,} ({CAUSAL_ALLOWED / MIB:.1f} MiB) "
        f"are allowed. {NO_CAUSAL_MATRIX}"
    )


def _computes_the_future(answer: Answer) -> str | None:
    """Count the blocks of the future that leave a trace.

    For every block of queries and every later block of keys in turn, the values of these keys
    are NaN, and the scores of these queries with these keys, and no others, overflow. An answer
    that leaves the block alone shows neither; one that mixes the values in, however small their
    weights, returns NaN; one that only forms the scores overflows. Queries and keys as large
    whose products stay small are the proof that nothing else does.
    """
    pairs = list(itertools.combinations(range(BLOCKS), 2))
    calm = not any(overflows(answer, *_marked(i, j, apart=True), SIDE) for i, j in pairs)
    touched = 0
    for i, j in pairs:
        arguments = *_marked(i, j), SIDE
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mixed = np.isnan(np.asarray(answer(*arguments))[_side(i)]).any()
        touched += bool(mixed or (calm and overflows(answer, *arguments)))
    if touched == 0:
        return None
    return (
        "tiled_causal_attention returns the right values but computes blocks that lie wholly in "
        f"the future: {touched} of the {len(pairs)} such blocks among {BLOCKS} × {BLOCKS}, and "
        f"none is needed. {NO_FUTURE}"
    )


def _side(block: int) -> slice:
    return slice(block * SIDE, (block + 1) * SIDE)


def _marked(i: int, j: int, apart: bool = False) -> tuple[NDArray, NDArray, NDArray]:
    """Return a sequence whose queries of block i and keys of block j are marked."""
    rng = np.random.default_rng(BLOCKS * i + j)
    length = BLOCKS * SIDE - 1  # the last block is short
    query, key, value = (rng.normal(size=(length, d)) for d in (5, 5, 2))
    query[:, :2], key[:, :2] = 0, 0
    query[_side(i), 0] = HOT
    key[_side(j), 1 if apart else 0] = HOT
    if not apart:
        value[_side(j)] = np.nan
    return query, key, value


def _causal_tiled(**parts: Any) -> Answer:
    """Make tiled attention with the future hidden: right values from too much work."""
    return _tiled(**{"hidden": lambda row, column: column > row, **parts})


def _by_query_blocks(
    last: Callable[[int, int, int], int],
    hidden: Callable[..., Any] | None = None,
    skip: bool = False,
    fill: float = -np.inf,
    late: bool = False,
) -> Answer:
    """Make causal attention tile by tile; `last(start, stop, L)` is where its keys end.

    With `late`, what is hidden is so after the exponentials only.
    """

    def answer(query: NDArray, key: NDArray, value: NDArray, block_size: int) -> NDArray:
        length, dtype = query.shape[-2], np.result_type(query, np.float32)
        output = np.zeros((*query.shape[:-1], value.shape[-1]), dtype)
        for tile in _blocks(length, block_size):
            seen = last(tile.start, tile.stop, length)
            rows = np.arange(tile.start, tile.stop)[:, None]
            part = (*query.shape[:-2], tile.stop - tile.start, 1)
            maximum, total = np.full(part, -np.inf, dtype), np.zeros(part, dtype)
            mixed = np.zeros((*part[:-1], value.shape[-1]), dtype)
            for block in _blocks(seen, block_size):
                scores = query[..., tile, :] @ key[..., block, :].mT
                scores = (scores / math.sqrt(query.shape[-1])).astype(dtype)
                columns = np.arange(block.start, block.stop)
                future = (hidden or (lambda row, column: column > row))(rows, columns)
                if skip and np.all(future):
                    continue
                if not late:
                    scores = np.where(future, dtype.type(fill), scores)
                new = np.maximum(maximum, _row_maximum(scores))
                exponentials, correction = np.exp(scores - new), np.exp(maximum - new)
                exponentials = np.where(future & late, 0, exponentials)
                total = total * correction + exponentials.sum(-1, keepdims=True)
                mixed = mixed * correction + exponentials @ value[..., block, :]
                maximum = new
            output[..., tile, :] = mixed / total
        return output

    return answer


def _to_the_end(start: int, stop: int, length: int) -> int:
    return length


def _to_the_diagonal(start: int, stop: int, length: int) -> int:
    return stop


def _without_the_short_block(
    query: NDArray, key: NDArray, value: NDArray, block_size: int
) -> NDArray:
    output = _by_query_blocks(_to_the_diagonal)(query, key, value, block_size)
    output[..., query.shape[-2] // block_size * block_size :, :] = 0
    return output


def _masked(mask: Callable[[int], NDArray]) -> Answer:
    return lambda query, key, value, block_size: attention(
        query, key, value, mask(query.shape[-2])
    )[0]


def _prefix_by_prefix(query: NDArray, key: NDArray, value: NDArray, block_size: int) -> NDArray:
    rows = [
        attention(query[..., i : i + 1, :], key[..., : i + 1, :], value[..., : i + 1, :])[0]
        for i in range(query.shape[-2])
    ]
    return np.concatenate(rows, axis=-2)


def _block_softmax(query: NDArray, key: NDArray, value: NDArray, block_size: int) -> NDArray:
    """Let each block of queries see its own block of keys alone."""
    output = np.zeros((*query.shape[:-1], value.shape[-1]))
    for tile in _blocks(query.shape[-2], block_size):
        parts = (array[..., tile, :] for array in (query, key, value))
        output[..., tile, :] = attention(*parts, causal_mask(tile.stop - tile.start))[0]
    return output


TILED_CAUSAL_ATTENTION = Exercise(
    name="tiled_causal_attention",
    points=3,
    minutes=14,
    reference=tiled_causal_attention,
    shown=(Tile.add_block, Tile.raise_maximum),
    signature="tiled_causal_attention(query, key, value, block_size)",
    cases=_causal_cases,
    magnitude=_causal_size,
    probes=(
        _holds_the_square,
        _ignores_block_size("tiled_causal_attention", 100, 100),
        _counts_blocks("tiled_causal_attention", 24, 24),
        _computes_the_future,
    ),
    hints=(
        "An outer loop over blocks of queries, an inner one over blocks of keys. What the inner "
        "loop does is your tiled_attention.",
        "Queries start to stop see the keys 0 to stop − 1 at most: range(0, stop, block_size) is "
        "where the inner loop runs.",
        "Only the block on the diagonal holds keys after a query. There a mask is needed, "
        "np.where(columns <= rows, scores, -np.inf), with rows and columns as positions in the "
        "whole sequence.",
    ),
    mistakes=(
        Mistake(
            NO_CAUSAL_MATRIX,
            _masked(causal_mask),
            lambda query, key, value, block_size: (
                stable_softmax(
                    np.where(
                        causal_mask(query.shape[-2]),
                        query @ key.mT / math.sqrt(query.shape[-1]),
                        -np.inf,
                    ).astype(np.result_type(query, np.float32))
                )
                @ value
            ),
            measured=True,
        ),
        Mistake(
            NO_FUTURE,
            _causal_tiled(),
            _by_query_blocks(_to_the_end),
            _by_query_blocks(_to_the_end, skip=True),
            measured=True,
        ),
        Mistake(NO_FIXED_BLOCKS, _prefix_by_prefix, measured=True),
        Mistake(
            NO_COUNT,
            lambda query, key, value, block_size: _by_query_blocks(_to_the_diagonal)(
                query, key, value, -(-query.shape[-2] // block_size)
            ),
            measured=True,
        ),
        *_wrong_steps(_causal_tiled),
        *(Mistake(sentence, _causal_tiled(scale=scale)) for sentence, scale in WRONG_SCALES),
        Mistake(
            "Nothing is hidden: query i sees the keys 0 to i.",
            lambda query, key, value, block_size: attention(query, key, value)[0],
        ),
        Mistake(
            "The block on the diagonal is not masked: in it too, query i sees no key after i.",
            _by_query_blocks(_to_the_diagonal, lambda row, column: (column > row) & False),
        ),
        Mistake(
            "The diagonal is hidden: query i sees key i itself.",
            _masked(lambda length: np.tri(length, k=-1, dtype=bool)),
            _causal_tiled(hidden=lambda row, column: column >= row),
        ),
        Mistake(
            "One key of the future is seen: the last key that query i sees is key i.",
            _masked(lambda length: np.tri(length, k=1, dtype=bool)),
            _by_query_blocks(_to_the_diagonal, lambda row, column: column > row + 1),
        ),
        Mistake(
            "The mask is reversed: query i sees the keys before it, not those after it.",
            _masked(lambda length: np.tri(length, dtype=bool).T),
            _by_query_blocks(_to_the_diagonal, lambda row, column: column < row),
            _by_query_blocks(_to_the_diagonal, lambda row, column: column <= row),
        ),
        Mistake(
            "Hidden scores are set to 0, which is a score like any other: put -inf there.",
            _by_query_blocks(_to_the_diagonal, fill=0.0),
        ),
        Mistake(
            "Keys are hidden after the exponentials, and a large hidden score still sets the "
            "maximum: put -inf into the scores before it is taken.",
            _by_query_blocks(_to_the_diagonal, late=True),
        ),
        Mistake(
            "The last queries have no output: the last block is short where block_size does not "
            "divide their number.",
            _without_the_short_block,
        ),
        Mistake(
            "A large negative number is not -inf: where the scores lie far below it, hidden keys "
            "take their weight. Use -inf.",
            *(_by_query_blocks(_to_the_diagonal, fill=f) for f in (-1e4, -1e6, -1e9, -1e20, -1e30)),
        ),
        Mistake(
            "The block on the diagonal is left out: its queries see the keys in it up to their own.",
            _by_query_blocks(lambda start, stop, length: start),
        ),
        Mistake(
            "Each block of queries sees its own block of keys alone: the blocks before it count "
            "too.",
            _block_softmax,
        ),
        Mistake(
            "The positions in the mask are counted from the start of each block, so blocks of the "
            "past are masked as well: compare positions in the whole sequence.",
            _by_query_blocks(
                _to_the_diagonal, lambda row, column: column - column[0] > row - row[0]
            ),
            _by_query_blocks(_to_the_diagonal, lambda row, column: column - column[0] > row),
            _by_query_blocks(_to_the_diagonal, lambda row, column: column > row - row[0]),
        ),
        Mistake(
            "The output is divided by the total in every step: the next step must then undo it. "
            "Divide once, after the last block.",
            lambda query, key, value, block_size: _normalized_early(
                query, key, value, block_size, causal=True
            ),
        ),
        Mistake(
            "Only the first batch item is computed: leading dimensions must be kept.",
            _first_item_only(tiled_causal_attention),
        ),
    ),
)

# attention_bytes


def _bytes_cases(rng: Generator) -> Iterator[Case]:
    yield Case(3, 2, 4)
    yield Case(5, 7, 8)
    yield Case(1, 3, 2)
    yield Case(8192, 64, 4)
    yield Case(length=1000, head_dim=80, itemsize=2)
    yield Case(65_536, 128, 2)  # more bytes than 32 bits count
    yield Case(int(rng.integers(10, 5000)), int(rng.integers(5, 300)), 8)


def _counted(naive: tuple[int, int], tiled: tuple[int, int]) -> Answer:
    """Make an answer from how many n × d and n × n arrays are moved."""

    def answer(length: int, head_dim: int, itemsize: int) -> tuple[int, int]:
        return tuple(
            (vectors * length * head_dim + squares * length**2) * itemsize
            for vectors, squares in (naive, tiled)
        )

    return answer


ATTENTION_BYTES = Exercise(
    name="attention_bytes",
    points=1,
    minutes=6,
    reference=attention_bytes,
    cases=_bytes_cases,
    hints=(
        "Count arrays first. How many of shape (length, head_dim) are read or written, and how "
        "many of shape (length, length)?",
        "Naive: Q, K, V and the output are four arrays of length × head_dim numbers. The scores "
        "are written and read, and so are the weights. Tiled has no scores in main memory.",
        "Each number is itemsize bytes.",
    ),
    mistakes=(
        Mistake(
            "The bytes of a number are missing: multiply by itemsize.",
            lambda length, head_dim, itemsize: attention_bytes(length, head_dim, 1),
        ),
        Mistake(
            "These are bits: multiply by itemsize, which is in bytes already.",
            lambda length, head_dim, itemsize: attention_bytes(length, head_dim, 8 * itemsize),
        ),
        Mistake(
            "The bytes of a number are counted twice: multiply by itemsize once.",
            lambda length, head_dim, itemsize: attention_bytes(length, head_dim, itemsize**2),
        ),
        Mistake(
            "Naive moves four arrays of length × length numbers: the scores are written and read, "
            "and the weights are written and read.",
            _counted((4, 1), (4, 0)),
            _counted((4, 2), (4, 0)),
            _counted((4, 3), (4, 0)),
            _counted((4, 5), (4, 0)),
            _counted((4, 6), (4, 0)),
        ),
        Mistake(
            "Naive also moves the scores and the weights, arrays of length × length numbers.",
            _counted((4, 0), (4, 0)),
        ),
        Mistake(
            "Naive moves Q, K, V and the output besides the scores and weights: four arrays of "
            "length × head_dim numbers.",
            _counted((0, 4), (4, 0)),
            _counted((2, 4), (4, 0)),
            _counted((3, 4), (4, 0)),
            _counted((3, 4), (3, 0)),
        ),
        Mistake(
            "Tiled writes the output too: four arrays of length × head_dim numbers.",
            _counted((4, 4), (3, 0)),
        ),
        Mistake(
            "The scores of a tile never go to main memory: tiled moves no array of length × length "
            "numbers.",
            _counted((4, 4), (4, 1)),
            _counted((4, 4), (4, 2)),
            _counted((4, 4), (4, 4)),
        ),
        Mistake(
            "The pair is reversed: return (naive, tiled).",
            lambda length, head_dim, itemsize: attention_bytes(length, head_dim, itemsize)[::-1],
        ),
        Mistake(
            "Only one of the two is returned: return the pair (naive, tiled).",
            lambda length, head_dim, itemsize: attention_bytes(length, head_dim, itemsize)[0],
            lambda length, head_dim, itemsize: attention_bytes(length, head_dim, itemsize)[1],
        ),
        Mistake(
            "These are numbers of operations: count the bytes that are read and written.",
            lambda length, head_dim, itemsize: (4 * length**2 * head_dim,) * 2,
        ),
    ),
)

EXERCISES = (
    ONLINE_SOFTMAX_STATS,
    TILED_ATTENTION,
    TILED_CAUSAL_ATTENTION,
    ATTENTION_BYTES,
)
