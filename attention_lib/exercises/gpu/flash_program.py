"""`flash_program` is the outer kernel of a Triton forward pass, around an inner loop such as `flash_kernel`.

`flash_program(query, key, value, output, query_length, key_length, scale, INNER: tl.constexpr, HEAD: tl.constexpr,
IS_CAUSAL: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr)`, launched on a grid of (tiles, heads). Query and
output `(heads, query_length, HEAD)`, key and value `(heads, key_length, HEAD)` arrive as the addresses of their
first numbers, without gaps. Program (tile, head) computes the rows `tile * ROWS` to `tile * ROWS + ROWS − 1`, those
that there are, and stores them, divided by total, in the dtype of output. Each whole block that every row of the
tile sees goes to `INNER` with MASKED False, the rest with MASKED True and `limit`. `IS_CAUSAL`: row i sees the keys
0 to i, and blocks wholly in a tile's future are handed to no loop. HEAD is a power of 2, 16 or more; key_length at
least 1. It is compiled on CUDA, and run in NumPy elsewhere; the check hands in a loop of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.random import Generator

from attention_lib.checks.calls import staging
from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, OfAnyNumbers, known_mistakes
from attention_lib.exercises.gpu.flash_kernel import (
    draw_heads,
    exact_attention,
    magnitude,
)
from attention_lib.exercises.parts.kernels import as_kernel, calls_the_library
from attention_lib.exercises.parts.tensors import LazyReference

HINTS = (
    "tile = tl.program_id(0) and head = tl.program_id(1). The tile's rows are tile * ROWS + "
    "tl.arange(0, ROWS). Number i of row r of this head lies at (head * query_length + r) * HEAD + i.",
    "places = (head * query_length + rows)[:, None] * HEAD + tl.arange(0, HEAD)[None, :] are the places "
    "of the tile, in query and in output. Load and store with mask=rows[:, None] < query_length. "
    "Keys 0 to BLOCK - 1 have places of the same kind, with key_length.",
    "Without a causal mask limit is key_length in each row: tl.zeros([ROWS], tl.int32) + key_length. "
    "With one it is tl.minimum(key_length, rows + 1), all rows see the keys below "
    "tl.minimum(key_length, tile * ROWS + 1), and the last row's keys end at tl.minimum(key_length, "
    "tile * ROWS + ROWS).",
    "unmasked = seen_by_all // BLOCK * BLOCK. Call INNER from 0 to unmasked with False as its last argument, then "
    "from unmasked to stop with True, and hand on output, total and maximum. They begin as tl.zeros([ROWS, "
    "HEAD], tl.float32), tl.zeros([ROWS], tl.float32) and tl.full([ROWS], float('-inf'), tl.float32).",
)


def launched(answer: Any) -> Answer:
    """Launch an outer kernel, or the edited text of the library's."""
    return staging.launched_program(as_kernel(answer))


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(*draw_heads(rng, 1, 16, 32, 16))  # one tile, one whole block
    yield Case(*draw_heads(rng, 1, 40, 64, 16), tile=(16, 32))  # three tiles, the last one short
    yield Case(*draw_heads(rng, 3, 16, 32, 32))  # three heads
    yield Case(*draw_heads(rng, 2, 18, 45, 32), tile=(32, 16))  # the last block is short, too
    # Off CUDA each tile takes milliseconds: as few as show what a case is for.
    yield Case(*draw_heads(rng, 2, 32, 32, 16), is_causal=True, tile=(16, 16))
    yield Case(*draw_heads(rng, 1, 40, 40, 16), is_causal=True, tile=(32, 16))
    yield Case(*draw_heads(rng, 2, 40, 21, 32), is_causal=True, tile=(32, 16))  # rows past the keys
    yield Case(*draw_heads(rng, 1, 18, 50, 16, "float16"), is_causal=True, tile=(16, 16))


ALL_MASKED = (
    "Blocks that every row of the tile sees go through the mask, which costs "
    "time for each score: hand the whole ones to INNER with False first, up to unmasked = "
    "seen_by_all // BLOCK * BLOCK."
)
FUTURE = (
    "Blocks wholly in a tile's future are handed to INNER and computed for "
    "nothing: with IS_CAUSAL stop at tl.minimum(key_length, tile * ROWS + ROWS)."
)
TWICE = (
    "INNER is handed more keys than there are: hand it the whole blocks once "
    "without a mask, and from there to stop once with one."
)


def problem_with_work(answer: Any, rng: Generator) -> str | None:
    """Count the keys that each tile hands to the inner loop, without a mask and with one."""
    counted = staging.counted_program(as_kernel(answer))
    for length, keys, is_causal, (rows, block) in (
        (16, 70, False, (16, 16)),
        (48, 48, True, (16, 16)),
        (40, 40, True, (16, 16)),
        (40, 40, True, (32, 16)),
        (60, 40, True, (16, 32)),
    ):
        counts = counted(*draw_heads(rng, 1, length, keys, 16), is_causal, (rows, block))
        whole, rounded_up = right_counts(length, keys, is_causal, rows, block)
        unmasked, masked = counts[..., 0].numpy(), counts[..., 1].numpy()
        if (unmasked < whole).any():
            return ALL_MASKED
        if (unmasked + masked > rounded_up).any():
            in_future = is_causal and (unmasked + masked <= keys).all()
            return OfAnyNumbers(FUTURE) if in_future else TWICE
    return None


def right_counts(
    length: int, keys: int, is_causal: bool, rows: int, block: int
) -> tuple[np.ndarray, np.ndarray]:
    """Count for each row the keys of whole blocks that its tile sees, and of all it may be handed."""
    first_rows = np.arange(length) // rows * rows
    seen_by_all, stop = np.full(length, keys), np.full(length, keys)
    if is_causal:
        seen_by_all = np.minimum(keys, first_rows + 1)
        stop = np.minimum(keys, first_rows + rows)
    return seen_by_all // block * block, np.minimum(keys, -(-stop // block) * block)


# Text of flash_program in attention_lib/lessons/gpu/kernel.py that the mistakes replace.
STOP = "tl.minimum(key_length, tile * ROWS + ROWS)"
CALL = "    result, total, maximum = INNER(\n        block, key + key_places, value + key_places, HEAD, HEAD, "
FIRST_CALL = f"""{CALL}0, unmasked, limit, scale,
        result, total, maximum, BLOCK, False,
    )  # fmt: skip
"""
SECOND_CALL = f"""{CALL}unmasked, stop, limit, scale,
        result, total, maximum, BLOCK, True,
    )  # fmt: skip
"""
REFERENCE = LazyReference("flash_program", truth=exact_attention)

MISTAKES = known_mistakes(
    REFERENCE,
    "tile-and-head-exchanged: tile and head are exchanged: the grid is (tiles, heads), so "
    "tl.program_id(0) is the tile and tl.program_id(1) the head.",
    "program_id(0) => program_id(1) && program_id(1) => program_id(0)",
    "first-rows-always: All tiles take the first rows: tile number t begins at row t * ROWS.",
    "rows = tile * ROWS + => rows =",
    "tiles-overlap: Tiles overlap: tile number t begins at row t * ROWS, and at t it would share "
    "all but one row with the next.",
    "rows = tile * ROWS => rows = tile",
    "head-missing: The head is left out: head h begins query_length rows further in query and "
    "output, and key_length rows further in key and value, for each head before it.",
    "tl.program_id(1) => 0",
    "keys-of-first-head: All heads take the keys and values of the first one: those of head h "
    "begin at row h * key_length.",
    "keys = head * key_length + => keys =",
    "queries-of-first-head: All programs take the queries of the first head, and store there: "
    "those of head h begin at row h * query_length.",
    "(head * query_length + rows) => rows",
    "output-of-first-head: All heads store where the first one does: rows of head h begin at row "
    "h * query_length in output, too.",
    "output + places => output + places - head * query_length * HEAD",
    "keys-at-query-length: Keys and values of head h are taken from row h * query_length: they "
    "begin at h * key_length.",
    "head * key_length => head * query_length",
    "queries-at-key-length: Queries and output of head h are taken from row h * key_length: "
    "they begin at h * query_length.",
    "head * query_length => head * key_length",
    "rows-one-number-long: Rows are taken to be one number long: row r begins at r * HEAD, so "
    "multiply the row's number by HEAD.",
    "rows)[:, None] * HEAD => rows)[:, None]",
    "keys[:, None] * HEAD => keys[:, None]",
    "rows)[:, None] * HEAD => rows)[:, None] && keys[:, None] * HEAD => keys[:, None]",
    "wrong-strides: The strides handed to INNER are not the distance from one key to the next: "
    "that is HEAD, for keys and for values.",
    "HEAD, HEAD, 0 => 1, 1, 0 && HEAD, HEAD, unmasked => 1, 1, unmasked",
    "causal-ignored: IS_CAUSAL changes nothing: with it row i sees keys below limit[i] = i + 1.",
    "if IS_CAUSAL => if False",
    "own-key-missed: Each row misses its own key: limit is the first key that a row does not see, "
    "so it is rows + 1.",
    "rows + 1 => rows",
    "one-key-ahead: Each row sees one key of the future: limit is the first key that a row does "
    "not see, rows + 1.",
    "rows + 1 => rows + 2",
    "limit-from-tile: limit counts the rows of a tile from 0: they are numbered from tile * ROWS.",
    "rows + 1 => tl.arange(0, ROWS) + 1",
    "limit-past-end: limit goes beyond the last key, whose successors are loaded as 0 and get a "
    "weight: it is at most key_length.",
    "tl.minimum(key_length, rows + 1) => rows + 1",
    "future-unmasked: Blocks that reach into the future of some rows go without a mask: every row "
    "of the tile sees the keys up to its first row's own, tile * ROWS, and no more.",
    "tile * ROWS + 1 => {tile * ROWS + ROWS|tl.minimum(query_length, tile * ROWS + ROWS)}",
    "whole-past-end: With more queries than keys the blocks without a mask go beyond the last key: the "
    "keys that every row of the tile sees are at most key_length.",
    "tl.minimum(key_length, tile * ROWS + 1) => tile * ROWS + 1",
    "stops-too-early: The keys stop too early: the last row of the tile sees the keys up to tile "
    "* ROWS + ROWS - 1.",
    f"{STOP} => tl.minimum(key_length, {{tile * ROWS|tile * ROWS + 1}})",
    "short-block-unmasked: The short block at the end is taken without a mask, and the places "
    "behind the last key get a weight: round down, seen_by_all // BLOCK * BLOCK.",
    "seen_by_all // BLOCK * BLOCK => seen_by_all",
    "seen_by_all // BLOCK => tl.cdiv(seen_by_all, BLOCK)",
    "blocks-counted: unmasked is a number of blocks here: INNER takes numbers of keys, seen_by_all // "
    "BLOCK * BLOCK.",
    "seen_by_all // BLOCK * BLOCK => seen_by_all // BLOCK",
    "only-unmasked-blocks: Only the blocks without a mask are taken: call INNER once more, from "
    "unmasked to stop, with True.",
    f"{SECOND_CALL} => ",
    "only-masked-blocks: Only the blocks with a mask count: call INNER before that from 0 to "
    "unmasked, with False, and hand what it returned to the second call.",
    f"{FIRST_CALL} => ",
    "result, total, maximum, BLOCK, True => 0.0 * result, 0.0 * total, maximum, BLOCK, True",
    "keys-taken-twice: Keys come twice: the second call begins where the first ended, at unmasked.",
    "unmasked, stop => 0, stop",
    "last-call-unmasked: The last call has MASKED False, so that limit is not looked at: its last "
    "argument is True.",
    "BLOCK, True => BLOCK, False",
    "maximum-from-zero: maximum begins at 0, as if a score of 0 had been seen: it begins at -inf, "
    "no score at all.",
    'float("-inf") => 0.0',
    "maximum-not-handed-on: The second call begins with a maximum of its own, as if no score had been "
    "seen: hand it the one that the first call returned.",
    "maximum, BLOCK, True => tl.full([ROWS], float('-inf'), tl.float32), BLOCK, True",
    "total-from-one: total begins at 1, as if a key had been seen: it begins at 0.",
    "tl.zeros([ROWS], tl.float32) => tl.full([ROWS], 1.0, tl.float32)",
    "not-divided: What is stored is not divided by total: store result / total[:, None].",
    "result / total[:, None] => result",
    "scale-left-out: scale is left out: hand it to INNER, which multiplies the scores by it.",
    "unmasked, limit, scale => unmasked, limit, 1.0 && stop, limit, scale => stop, limit, 1.0",
    "scale-twice: scale counts double: INNER multiplies by it, so leave the queries as they are.",
    "other=0.0)\n => other=0.0)\n    block = (block * scale).to(block.dtype)\n",
    "keys-values-exchanged: Keys and values are exchanged: INNER takes the keys' pointers first.",
    "key + key_places, value + key_places, HEAD, HEAD, 0 => value + key_places, key + key_places, HEAD, HEAD, 0"
    " && key + key_places, value + key_places, HEAD, HEAD, unmasked"
    " => value + key_places, key + key_places, HEAD, HEAD, unmasked",
    f"all-blocks-masked: {ALL_MASKED}",
    "seen_by_all // BLOCK * BLOCK => 0",
    f"future-computed: {FUTURE}",
    f"{STOP} => key_length",
    measured=("all-blocks-masked", "future-computed"),
)

EXERCISE = Exercise(
    name="flash_program",
    points=4,
    minutes=15,
    reference=REFERENCE,
    signature="flash_program(query, key, value, output, query_length, key_length, scale, INNER: tl.constexpr, "
    "HEAD: tl.constexpr, IS_CAUSAL: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr)",
    accelerated=True,
    run=launched,
    run_as="def flash_attention(query, key, value, is_causal=False, tile=(16, 32))",
    cases=cases,
    magnitude=magnitude,
    probes=(
        calls_the_library("flash_program", "write the program with Triton's operations."),
        problem_with_work,
    ),
    hints=HINTS,
    mistakes=MISTAKES,
)
