"""`tiled_causal_attention(query, key, value, block_size)` returns causal attention's output, in blocks.

As `tiled_attention`, but causal, with L = S: query `(..., L, d_k)`, key `(..., L, d_k)`, value
`(..., L, d_v)` → `(..., L, d_v)`, in which query i sees the keys 0 to i. It works in blocks of
`block_size` queries by `block_size` keys, and holds no strip of scores that grows with L: the check
measures the memory for a short and a long sequence. Blocks wholly in the future are never computed, their
scores included: the check counts them. Computing a block of the past twice is allowed.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.calls.measuring import overflows
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
from attention_lib.exercises.parts.blocks import (
    DIVIDED_IN_EVERY_STEP,
    FIXED_BLOCKS,
    HUGE,
    NUMBER_OF_BLOCKS,
    WRONG_SCALES,
    WRONG_STEPS,
    block_slices,
    first_item_only,
    growth_in_bytes,
    ignores_block_size,
    large_scores,
    mistakes_of,
    one_over_root_d_k,
    output_magnitude,
    takes_block_size_for_a_count,
    tiled,
)
from attention_lib.lessons.attention import attention, causal_mask
from attention_lib.lessons.flash import tiled_causal_attention

HINTS = (
    "An outer loop over blocks of queries, an inner one over blocks of keys. What the inner "
    "loop does is your tiled_attention.",
    "Queries start to stop see the keys 0 to stop − 1 at most: range(0, stop, block_size) is "
    "where the inner loop runs.",
    "Only the block on the diagonal holds keys after a query. There a mask is needed, "
    "np.where(columns <= rows, scores, -np.inf), with rows and columns as positions in the "
    "whole sequence.",
)


def cases(rng: Generator) -> Iterator[Case]:
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
    for case in large_scores(rng):
        query, key, value, block_size = case.args
        square = np.resize(query, key.shape)
        yield Case(square, key, value, block_size)
        yield Case(-square, key, value, block_size)


def magnitude(query: NDArray, key: NDArray, value: NDArray, block_size: int) -> NDArray:
    return output_magnitude(query, key, value, block_size, causal_mask(query.shape[-2]))


SHORT, LONG, BLOCK = 128, 256, 64
BYTES_ALLOWED_A_POSITION = 8 * 60  # several copies of a query, a key, a value and an output
STRIPS = "Form the scores of one block of queries with one block of keys at a time."


def holds_strips(answer: Answer, rng: Generator) -> str | None:
    """Compare the memory for short and long sequences: one strip takes 8 * BLOCK a position."""
    short, long = (tuple(rng.normal(size=(3, length, 1))) for length in (SHORT, LONG))
    growth = growth_in_bytes(answer, short, long, BLOCK)
    allowed = BYTES_ALLOWED_A_POSITION * (LONG - SHORT)
    if growth <= allowed:
        return None
    if growth >= 8 * (LONG**2 - SHORT**2):
        what = "the whole L × L matrix"
    else:
        what = "more than one block of scores, a strip that grows with L"
    return (
        f"tiled_causal_attention holds {what}: in blocks of {BLOCK} "
        f"it held {growth:,} bytes more for L = {LONG} than for L = {SHORT}, and {allowed:,} more "
        f"are allowed. {STRIPS}"
    )


FUTURE_COMPUTED = (
    "For the queries of one block, end the loop over the keys with the block on the diagonal: "
    "what comes after it needs no masking, it needs no computing."
)
BLOCKS, SIDE = 4, 3  # of the sequence in which computed blocks are counted


def computes_the_future(answer: Answer, rng: Generator) -> str | None:
    """Count the blocks of the future that leave a trace.

    For every block of queries and every later block of keys in turn, the values of these keys
    are NaN, and the scores of these queries with these keys, and no others, overflow. An answer
    that leaves the block alone shows neither; one that mixes the values in, however small their
    weights, returns NaN; one that only forms the scores overflows. Queries and keys as large
    whose products stay small are the proof that nothing else does.
    """
    pairs = list(itertools.combinations(range(BLOCKS), 2))
    scores_alone_overflow = not any(
        overflows(answer, *marked(rng, i, j, apart=True), SIDE) for i, j in pairs
    )
    computed = 0
    for i, j in pairs:
        query, key, value = marked(rng, i, j)
        hidden = value.copy()
        hidden[positions(j)] = np.nan
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mixed = np.isnan(np.asarray(answer(query, key, hidden, SIDE))[positions(i)]).any()
        formed = scores_alone_overflow and overflows(answer, query, key, value, SIDE)
        computed += bool(mixed or formed)
    if computed == 0:
        return None
    return (
        "tiled_causal_attention computes blocks that lie wholly in "
        f"the future: {computed} of the {len(pairs)} such blocks among {BLOCKS} × {BLOCKS}, and "
        f"none is needed. {FUTURE_COMPUTED}"
    )


def positions(block: int) -> slice:
    return slice(block * SIDE, (block + 1) * SIDE)


def marked(rng: Generator, i: int, j: int, apart: bool = False) -> tuple[NDArray, NDArray, NDArray]:
    """Return a sequence whose queries of block i and keys of block j are huge.

    With `apart`, in different components, so that their products stay small.
    """
    length = BLOCKS * SIDE - 1  # the last block is short
    query, key, value = (rng.normal(size=(length, d)) for d in (5, 5, 2))
    query[:, :2], key[:, :2] = 0, 0
    query[positions(i), 0] = HUGE
    key[positions(j), 1 if apart else 0] = HUGE
    return query, key, value


def in_the_future(row: NDArray, column: NDArray) -> NDArray:
    return column > row


@composable
def tiled_over_all_keys(**parts: Any) -> Answer:
    """Make tiled attention with the future hidden: right values from too much work."""
    return tiled(**{"hidden": in_the_future, **parts})


@composable
def tiled_over_queries(
    last: Callable[[int, int, int], int] = lambda start, stop, length: stop,
    hidden: Callable[[NDArray, NDArray], Any] = in_the_future,
    scale: Callable[..., float] = one_over_root_d_k,
    **parts: Any,
) -> Answer:
    """Make causal attention, a block of queries at a time.

    `last(start, stop, L)` is where the keys of the queries `start` to `stop` end.
    """

    def answer(query: NDArray, key: NDArray, value: NDArray, block_size: int) -> Any:
        length, tiles = query.shape[-2], []
        factor = scale(query, key, value, block_size)
        for tile in block_slices(length, block_size):
            seen = slice(0, last(tile.start, tile.stop, length))
            attend = tiled(
                scale=lambda *_: factor,
                hidden=lambda row, column, first=tile.start: hidden(first + row, column),
                **parts,
            )
            tiles.append(
                attend(query[..., tile, :], key[..., seen, :], value[..., seen, :], block_size)
            )
        if isinstance(tiles[0], tuple):  # the output with something else
            return tuple(np.concatenate(each, axis=-2) for each in zip(*tiles, strict=True))
        return np.concatenate(tiles, axis=-2)

    return answer


def to_the_end(start: int, stop: int, length: int) -> int:
    return length


def masked(mask: Callable[[int], NDArray]) -> Answer:
    """Make attention of the whole matrix with a mask made from the length."""
    return lambda query, key, value, block_size: attention(
        query, key, value, mask(query.shape[-2])
    )[0]


def prefix_by_prefix(query: NDArray, key: NDArray, value: NDArray, block_size: int) -> NDArray:
    rows = [
        attention(query[..., i : i + 1, :], key[..., : i + 1, :], value[..., : i + 1, :])[0]
        for i in range(query.shape[-2])
    ]
    return np.concatenate(rows, axis=-2)


def as_many_blocks(query: NDArray, key: NDArray, value: NDArray, block_size: int) -> NDArray:
    return tiled_over_queries()(query, key, value, -(-query.shape[-2] // block_size))


def without_the_short_block(
    query: NDArray, key: NDArray, value: NDArray, block_size: int
) -> NDArray:
    output = tiled_over_queries()(query, key, value, block_size)
    output[..., query.shape[-2] // block_size * block_size :, :] = 0
    return output


def strip_by_strip(query: NDArray, key: NDArray, value: NDArray, block_size: int) -> NDArray:
    """Take a block of queries with its whole past at once."""
    output = np.empty((*query.shape[:-1], value.shape[-1]), np.result_type(query, np.float32))
    for tile in block_slices(query.shape[-2], block_size):
        past = (array[..., : tile.stop, :] for array in (key, value))
        mask = np.arange(tile.stop) <= np.arange(tile.start, tile.stop)[:, None]
        output[..., tile, :] = attention(query[..., tile, :], *past, mask)[0]
    return output


def own_block_alone(query: NDArray, key: NDArray, value: NDArray, block_size: int) -> NDArray:
    """Let each block of queries see its own block of keys alone."""
    output = np.zeros((*query.shape[:-1], value.shape[-1]))
    for tile in block_slices(query.shape[-2], block_size):
        parts = (array[..., tile, :] for array in (query, key, value))
        output[..., tile, :] = attention(*parts, causal_mask(tile.stop - tile.start))[0]
    return output


MISTAKES = known_mistakes(
    f"strips: {STRIPS}",
    masked(causal_mask),
    strip_by_strip,
    tiled_over_all_keys(),
    f"future-computed: {FUTURE_COMPUTED}",
    tiled_over_queries(to_the_end),
    tiled_over_queries(to_the_end, skip_hidden=True),
    f"fixed-blocks: {FIXED_BLOCKS}",
    prefix_by_prefix,
    f"number-of-blocks: {NUMBER_OF_BLOCKS}",
    as_many_blocks,
    *mistakes_of(WRONG_STEPS, tiled_over_queries),
    *mistakes_of(WRONG_SCALES, tiled_over_queries),
    "nothing-hidden: Nothing is hidden: query i sees the keys 0 to i.",
    lambda query, key, value, block_size: attention(query, key, value)[0],
    "diagonal-block-unmasked: The block on the diagonal is not masked: in it too, query i sees no "
    "key after i.",
    tiled_over_queries(hidden=lambda row, column: False),
    "diagonal-hidden: The diagonal is hidden: query i sees key i itself.",
    masked(lambda length: np.tri(length, k=-1, dtype=bool)),
    tiled_over_all_keys(hidden=lambda row, column: column >= row),
    "one-key-ahead: One key of the future is seen: the last key that query i sees is key i.",
    masked(lambda length: np.tri(length, k=1, dtype=bool)),
    tiled_over_queries(hidden=lambda row, column: column > row + 1),
    "mask-reversed: The mask is reversed: query i sees the keys before it, not those after it.",
    masked(lambda length: np.tri(length, dtype=bool).T),
    tiled_over_queries(hidden=lambda row, column: column < row),
    tiled_over_queries(hidden=lambda row, column: column <= row),
    "hidden-scores-zero: Hidden scores are set to 0, a score like any other: put -inf there.",
    tiled_over_queries(fill=0.0),
    "hidden-after-exp: Keys are hidden after the exponentials, and a large hidden score still "
    "sets the maximum: put -inf into the scores before it is taken.",
    tiled_over_queries(hide_late=True),
    "last-queries-lost: The last queries have no output: the last block is short where block_size "
    "does not divide their number.",
    without_the_short_block,
    "large-number-for-inf: A large negative number is not -inf: where the scores lie far below "
    "it, hidden keys take their weight. Use -inf.",
    *(tiled_over_queries(fill=fill) for fill in (-1e4, -1e6, -1e9, -1e20, -1e30)),
    "diagonal-block-left-out: The block on the diagonal is left out: its queries see the keys in "
    "it up to their own.",
    tiled_over_queries(lambda start, stop, length: start),
    "own-block-only: A block of queries sees its own block of keys alone: earlier ones count too.",
    own_block_alone,
    "positions-from-block: Positions in the mask, of the rows, the columns or both, are counted from "
    "the start of a block: compare positions in the whole sequence.",
    tiled_over_queries(hidden=lambda row, column: column - column[0] > row - row[0]),
    tiled_over_queries(hidden=lambda row, column: column - column[0] > row),
    tiled_over_queries(hidden=lambda row, column: column > row - row[0]),
    *mistakes_of(DIVIDED_IN_EVERY_STEP, tiled_over_queries),
    *first_item_only(tiled_causal_attention),
    measured=(
        "strips",
        "future-computed",
        "fixed-blocks",
        "number-of-blocks",
    ),
)

EXERCISE = Exercise(
    name="tiled_causal_attention",
    points=3,
    minutes=10,
    reference=tiled_causal_attention,
    signature="tiled_causal_attention(query, key, value, block_size)",
    cases=cases,
    magnitude=magnitude,
    probes=(
        holds_strips,
        ignores_block_size("tiled_causal_attention", 100, 100),
        takes_block_size_for_a_count("tiled_causal_attention", 24, 24),
        computes_the_future,
    ),
    hints=HINTS,
    mistakes=MISTAKES,
    built_on=("online_softmax_stats", "tiled_attention"),
)
