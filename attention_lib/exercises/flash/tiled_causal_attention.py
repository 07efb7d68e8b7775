"""`tiled_causal_attention(query, key, value, block_size)` returns causal attention's output, in blocks.

As `tiled_attention`, but causal, with L = S: query `(..., L, d_k)`, key `(..., L, d_k)`, value
`(..., L, d_v)` → `(..., L, d_v)`, in which query i sees the keys 0 to i. It works in blocks of
`block_size` queries by `block_size` keys, and holds no strip of scores that grows with L: the check
measures the memory for a short and a long sequence. Blocks wholly in the future are never computed, their
scores included: the check counts them. Computing a block of the past twice is allowed.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.calls.measuring import overflows
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.checks.patch import patches
from attention_lib.exercises.parts.blocks import (
    DIVIDED_IN_EVERY_STEP,
    FIRST_ITEM_ONLY,
    FIXED_BLOCKS,
    HUGE,
    NUMBER_OF_BLOCKS,
    OUTPUT_NOT_ALONE,
    WRONG_BLOCKS,
    WRONG_SCALES,
    WRONG_STEPS,
    growth_in_bytes,
    ignores_block_size,
    large_scores,
    output_magnitude,
    takes_block_size_for_a_count,
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


def plain(query, key, value, block_size):
    dtype = np.result_type(query, np.float32)
    scale = 1 / math.sqrt(query.shape[-1])
    tiles = []
    for first in range(0, query.shape[-2], block_size):
        tile = query[..., first : first + block_size, :]
        rows = np.arange(first, first + tile.shape[-2])[:, None]
        maximum = np.full((*tile.shape[:-1], 1), -np.inf, dtype)
        total = np.zeros((*tile.shape[:-1], 1), dtype)
        output = np.zeros((*tile.shape[:-1], value.shape[-1]), dtype)
        keys = min(first + block_size, query.shape[-2])
        for start in range(0, keys, block_size):
            stop = min(start + block_size, keys)
            scores = tile @ key[..., start:stop, :].mT * scale
            columns = np.arange(start, stop)
            hidden = columns > rows
            scores = np.where(hidden, -np.inf, scores)
            largest = scores.max(axis=-1, keepdims=True)
            old, maximum = maximum, np.maximum(maximum, largest)
            exponentials = np.exp(scores - maximum)
            shrink = np.exp(old - maximum)
            total = total * shrink
            total = total + exponentials.sum(axis=-1, keepdims=True)
            output = output * shrink
            output = output + exponentials @ value[..., start:stop, :]
        tiles.append(output / total)
    return np.concatenate(tiles, axis=-2)


def whole_matrix(query, key, value, block_size):
    mask = np.tri(query.shape[-2], dtype=bool)
    return attention(query, key, value, mask)[0]


FIRST_LINE = "value, block_size): => value, block_size):\n    "
HIDE = "np.where(hidden, -np.inf, scores)"
ALL_KEYS = "min(first + block_size, query.shape[-2]) => query.shape[-2]"
JOINED = "np.concatenate(tiles, axis=-2)"

MISTAKES = known_mistakes(
    plain,
    f"strips: {STRIPS}",
    whole_matrix,
    "range(0, keys, block_size) => [0] && min(start + block_size, keys) => keys",
    f"in range(0, query.shape[-2], block_size) => in [0] && first : first + block_size => : && {ALL_KEYS}",
    f"future-computed: {FUTURE_COMPUTED}",
    ALL_KEYS,
    f"{ALL_KEYS} && largest = => if np.all(hidden):\n                continue\n            largest =",
    f"fixed-blocks: {FIXED_BLOCKS}",
    f"{FIRST_LINE}block_size = 1",
    f"number-of-blocks: {NUMBER_OF_BLOCKS}",
    f"{FIRST_LINE}block_size = -(-query.shape[-2] // block_size)",
    *WRONG_STEPS,
    OUTPUT_NOT_ALONE,
    "(output / total) => ((output / total, {maximum + np.log(total)|maximum, total|total}))"
    f" && {JOINED} => tuple(np.concatenate(each, axis=-2) for each in zip(*tiles))",
    *WRONG_BLOCKS,
    *WRONG_SCALES,
    "nothing-hidden: Nothing is hidden: query i sees the keys 0 to i.",
    f"{HIDE} => scores && {ALL_KEYS}",
    "diagonal-block-unmasked: The block on the diagonal is not masked: in it too, query i sees no "
    "key after i.",
    f"{HIDE} => scores",
    "diagonal-hidden: The diagonal is hidden: query i sees key i itself.",
    *patches(whole_matrix, "dtype=bool => k=-1, dtype=bool"),
    "columns > rows => columns >= rows",
    "one-key-ahead: One key of the future is seen: the last key that query i sees is key i.",
    *patches(whole_matrix, "dtype=bool => k=1, dtype=bool"),
    "columns > rows => columns > rows + 1",
    "mask-reversed: The mask is reversed: query i sees the keys before it, not those after it.",
    *patches(whole_matrix, "dtype=bool) => dtype=bool).T"),
    "columns > rows => columns {<|<=} rows",
    "hidden-scores-zero: Hidden scores are set to 0, a score like any other: put -inf there.",
    "-np.inf, scores => 0.0, scores",
    "hidden-after-exp: Keys are hidden after the exponentials, and a large hidden score still "
    "sets the maximum: put -inf into the scores before it is taken.",
    f"{HIDE} => scores"
    " && shrink = => exponentials = np.where(hidden, 0.0, exponentials)\n            shrink =",
    "last-queries-lost: The last queries have no output: the last block is short where block_size "
    "does not divide their number.",
    f"return {JOINED} => output = {JOINED}\n"
    "    output[..., query.shape[-2] // block_size * block_size :, :] = 0\n    return output",
    "large-number-for-inf: A large negative number is not -inf: where the scores lie far below "
    "it, hidden keys take their weight. Use -inf.",
    "-np.inf, scores => {-1e4|-1e6|-1e9|-1e20|-1e30}, scores",
    "diagonal-block-left-out: The block on the diagonal is left out: its queries see the keys in "
    "it up to their own.",
    "min(first + block_size, query.shape[-2]) => first",
    "own-block-only: A block of queries sees only its own block of keys: earlier ones count too.",
    "range(0, keys, => range(first, keys,",
    "positions-from-block: Positions in the mask, of the rows, the columns or both, are counted from "
    "the start of a block: compare positions in the whole sequence.",
    "columns > rows => {columns - start > rows - first|columns - start > rows|columns > rows - first}",
    *DIVIDED_IN_EVERY_STEP,
    *FIRST_ITEM_ONLY,
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
