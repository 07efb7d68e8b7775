"""`tiled_attention(query, key, value, block_size)` returns attention's output, taking the keys in blocks.

Query `(..., L, d_k)`, key `(..., S, d_k)`, value `(..., S, d_v)` → the output of unmasked attention
scaled by 1/√d_k, `(..., L, d_v)`, alone. It takes the keys `block_size` at a time, in one pass: the score
of a query and a key is formed once. No more than `L × block_size` scores of a batch item are held, and
beside them no more than a few arrays of the output's size, however many keys there are: the check
measures the memory with S much larger than L, counts how often a score is formed, and compares the work
for small and large `block_size`, which is how many keys a block has. Queries may be taken in tiles too.
Any block size; the last block may be short.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.calls.measuring import peak_bytes
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.checks.patch import patches
from attention_lib.exercises.parts.blocks import (
    DIVIDED_IN_EVERY_STEP,
    FIRST_ITEM_ONLY,
    FIXED_BLOCKS,
    FORMED_TWICE,
    NUMBER_OF_BLOCKS,
    OUTPUT_NOT_ALONE,
    WRONG_BLOCKS,
    WRONG_SCALES,
    WRONG_STEPS,
    forms_scores_twice,
    held_and_allowed,
    ignores_block_size,
    keeps_every_block,
    large_scores,
    long_inputs,
    output_magnitude,
    takes_block_size_for_a_count,
)
from attention_lib.exercises.parts.cases import about
from attention_lib.lessons.attention import attention
from attention_lib.lessons.flash import tiled_attention

HINTS = (
    "Three things live through the loop, one row for each query: the maximum, (..., L, 1), and "
    "the total, (..., L, 1), as in online_softmax_stats, and the output so far, (..., L, d_v).",
    "for start in range(0, S, block_size): key[..., start : start + block_size, :] is a block, "
    "and NumPy lets the last one be short by itself.",
    "In each step: the new maximum; correction = np.exp(old - new); the exponentials of scores "
    "- new. Total and output are both multiplied by the correction before the block's part "
    "is added.",
    "Start with np.full((*query.shape[:-1], 1), -np.inf, dtype) and zeros of that dtype, "
    "np.result_type(query, np.float32), which is float64 for integers. Scale with math.sqrt, since "
    "np.sqrt makes float64 of float32. Divide once, at the end.",
)


def cases(rng: Generator) -> Iterator[Case]:
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
    yield from large_scores(rng)


LENGTH, KEYS, BLOCK = 96, 2560, 48
BYTES_ALLOWED = 26 * 8  # a score of a block: temporaries, copies of K and V
WHOLE_MATRIX = (
    "Form the scores of one block of keys, use them up, and only then go on to the next block."
)
BLOCKS_OF_QUERIES = (
    "You take the queries block_size at a time, each with all keys: it is the keys that come "
    "block_size at a time."
)


def holds_the_matrix(answer: Answer, rng: Generator) -> str | None:
    length, keys = about(rng, LENGTH), about(rng, KEYS)
    arguments = long_inputs(rng, length, keys)
    held, allowed = peak_bytes(answer, *arguments, BLOCK), BYTES_ALLOWED * length * BLOCK
    if held <= allowed:
        return None
    less_for_small_blocks = peak_bytes(answer, *arguments, BLOCK // 16) < held / 4
    less_for_few_keys = peak_bytes(answer, *long_inputs(rng, length, keys // 4), BLOCK) < held / 2
    if less_for_small_blocks and less_for_few_keys:
        what, remedy = f"every block of queries with all {keys:,} keys", BLOCKS_OF_QUERIES
    elif held < 8 * length * keys:
        what, remedy = "more than one block of scores", WHOLE_MATRIX
    else:
        what, remedy = "the whole L × S matrix", WHOLE_MATRIX
    return (
        f"tiled_attention holds {what}: for L = {length}, "
        f"S = {keys:,} and block_size = {BLOCK} {held_and_allowed(held, allowed)} {remedy}"
    )


LIST_OF_BLOCKS = (
    "Add each block to the output so far, corrected when the maximum grows, and let the block go."
)


def plain(query, key, value, block_size):
    dtype = np.result_type(query, np.float32)
    scale = 1 / math.sqrt(query.shape[-1])
    maximum = np.full((*query.shape[:-1], 1), -np.inf, dtype)
    total = np.zeros((*query.shape[:-1], 1), dtype)
    output = np.zeros((*query.shape[:-1], value.shape[-1]), dtype)
    keys = key.shape[-2]
    for start in range(0, keys, block_size):
        stop = min(start + block_size, keys)
        scores = query @ key[..., start:stop, :].mT * scale
        largest = scores.max(axis=-1, keepdims=True)
        old, maximum = maximum, np.maximum(maximum, largest)
        exponentials = np.exp(scores - maximum)
        shrink = np.exp(old - maximum)
        total = total * shrink
        total = total + exponentials.sum(axis=-1, keepdims=True)
        output = output * shrink
        output = output + exponentials @ value[..., start:stop, :]
    return output / total


def blocks_of_queries(query, key, value, block_size):
    starts = range(0, query.shape[-2], block_size)
    tiles = [attention(query[..., i : i + block_size, :], key, value)[0] for i in starts]
    return np.concatenate(tiles, axis=-2)


def block_by_block(query, key, value, block_size):
    """Give every block a softmax of its own, and add the outputs up."""
    outputs = []
    for start in range(0, key.shape[-2], block_size):
        keys, values = (a[..., start : start + block_size, :] for a in (key, value))
        outputs.append(attention(query, keys, values)[0])
    return sum(outputs)


FIRST_LINE = "value, block_size): => value, block_size):\n    "

MISTAKES = known_mistakes(
    plain,
    f"whole-matrix: {WHOLE_MATRIX}",
    f"{FIRST_LINE}block_size = key.shape[-2]",
    f"blocks-of-queries: {BLOCKS_OF_QUERIES}",
    blocks_of_queries,
    f"formed-twice: {FORMED_TWICE}",
    "keys = key.shape[-2] => keys = key.shape[-2]\n"
    "    for start in range(0, keys, block_size):\n"
    "        scores = query @ key[..., start : start + block_size, :].mT * scale\n"
    "        maximum = np.maximum(maximum, scores.max(axis=-1, keepdims=True))",
    f"list-of-blocks: {LIST_OF_BLOCKS}",
    "keys = key.shape[-2] => keys, parts = key.shape[-2], []"
    " && shrink = => parts.append((maximum, total, output))\n        shrink =",
    f"fixed-blocks: {FIXED_BLOCKS}",
    lambda query, key, value, block_size: blocks_of_queries(query, key, value, 1),
    f"{FIRST_LINE}block_size = {{1|32}}",
    f"number-of-blocks: {NUMBER_OF_BLOCKS}",
    f"{FIRST_LINE}block_size = -(-key.shape[-2] // block_size)",
    *WRONG_STEPS,
    OUTPUT_NOT_ALONE,
    "output / total => output / total, {maximum + np.log(total)|maximum, total|total}",
    *WRONG_BLOCKS,
    "first-block-lost: The first block of keys is left out: its place is 0.",
    "range(0, keys, => range(block_size, keys,",
    "blocks-counted-by-queries: The blocks are counted by L, the number of queries: it is the S "
    "keys that are cut.",
    "range(0, keys, => range(0, query.shape[-2],",
    *WRONG_SCALES,
    "root-of-queries: The scores are divided by √L, the number of queries: divide them by √d_k.",
    "(query.shape[-1]) => (query.shape[-2])",
    "softmax-per-block: Each block has a softmax of its own here, and their outputs are joined: "
    "the blocks share one maximum and one total.",
    block_by_block,
    *patches(block_by_block, "sum(outputs) => np.mean(outputs, axis=0)"),
    "one-block-alone: Only one block of keys is used: the output is that of a single block.",
    "range(0, keys, block_size) => range(0, keys, block_size){[:1]|[-1:]}",
    *DIVIDED_IN_EVERY_STEP,
    "always-causal: Keys after the query are hidden: this attention is not causal.",
    "largest = => rows, columns = np.arange(query.shape[-2])[:, None], np.arange(start, stop)\n"
    "        scores = np.where(columns > rows, -np.inf, scores)\n"
    "        largest =",
    "values-not-weighted: The values are averaged unweighted: multiply each by its exponential.",
    "output / total => np.broadcast_to(value.mean(axis=-2, keepdims=True), output.shape)",
    *FIRST_ITEM_ONLY,
    "cut-to-integers: For integers the output is cut to whole numbers: make a float array for it.",
    "output / total => (output / total).astype(query.dtype)",
    measured=(
        "whole-matrix",
        "blocks-of-queries",
        "formed-twice",
        "list-of-blocks",
        "fixed-blocks",
        "number-of-blocks",
    ),
)


EXERCISE = Exercise(
    name="tiled_attention",
    points=5,
    minutes=18,
    reference=tiled_attention,
    signature="tiled_attention(query, key, value, block_size)",
    cases=cases,
    magnitude=output_magnitude,
    probes=(
        holds_the_matrix,
        ignores_block_size("tiled_attention", 30, 100),
        takes_block_size_for_a_count("tiled_attention", 3, 60),
        # The bytes of several copies of a key and its value.
        keeps_every_block("tiled_attention", 8, 900, LIST_OF_BLOCKS),
        forms_scores_twice("tiled_attention"),
    ),
    hints=HINTS,
    mistakes=MISTAKES,
    built_on=("online_softmax_stats",),
)
