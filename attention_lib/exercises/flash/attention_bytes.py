"""`attention_bytes(length, head_dim, itemsize, block_rows=None)` counts the bytes that attention moves.

→ `(naive, tiled)`: bytes to and from main memory for one head, L = S = `length`. Naive reads Q and K,
writes the scores, reads them, writes the weights, reads these and V, writes the output. Tiled reads Q once
and writes the output once, and reads K and V once (`block_rows=None`: they stay in the cache) or once for
each block of `block_rows` queries, the last of which may be short. Whole numbers, as int or float.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from numpy.random import Generator

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.lessons.flash import attention_bytes

HINTS = (
    "Count arrays first. How many of shape (length, head_dim) are read or written, and how "
    "many of shape (length, length)?",
    "Naive: Q, K, V and the output are four arrays of length × head_dim numbers. The scores "
    "are written and read, and so are the weights. Tiled has no scores in main memory.",
    "The blocks of queries are math.ceil(length / block_rows), and one where block_rows is None. Tiled "
    "moves Q and the output once, K and V once for each block.",
    "Each number is itemsize bytes.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield Case(3, 2, 4)
    yield Case(6, 2, 1, 3)
    yield Case(7, 2, 1, block_rows=3)  # the last tile is short
    yield Case(5, 7, 8)
    yield Case(1, 3, 2)
    yield Case(8192, 64, 4)
    yield Case(5, 3, 2, 8)  # one tile, larger than all queries
    yield Case(length=1000, head_dim=80, itemsize=2)
    yield Case(length=1000, head_dim=80, itemsize=2, block_rows=1)
    yield Case(4096, 64, 4, 128)
    yield Case(65_536, 128, 2)  # more bytes than 32 bits count
    yield Case(65_536, 128, 2, 64)
    yield Case(int(rng.integers(50_000, 70_000)), 128, 4)
    rows = int(rng.integers(3, 99))
    tiles = int(rng.integers(2, 50))
    yield Case(rows * tiles, 16, 4, rows)  # whole tiles
    yield Case(rows * tiles + 1, 24, 2, rows)  # and a short one
    yield Case(int(rng.integers(10, 5000)), int(rng.integers(5, 300)), 8)
    yield Case(int(rng.integers(10, 5000)), int(rng.integers(5, 300)), 8, int(rng.integers(2, 99)))


def plain(length, head_dim, itemsize, block_rows=None):
    tiles = 1 if block_rows is None else math.ceil(length / block_rows)
    vector = length * head_dim * itemsize
    table = length**2 * itemsize
    naive = 4 * vector + 4 * table
    tiled = 2 * vector + 2 * tiles * vector
    return naive, tiled


TILES = "math.ceil(length / block_rows)"

MISTAKES = known_mistakes(
    plain,
    "itemsize-missing: The bytes of a number are missing: multiply by itemsize.",
    "head_dim * itemsize => head_dim && length**2 * itemsize => length**2",
    "itemsize-missing-in-table: Scores and weights are counted in numbers: multiply them by itemsize too.",
    "length**2 * itemsize => length**2",
    "bits: These are bits: multiply by itemsize, which is in bytes already.",
    "head_dim * itemsize => head_dim * itemsize * 8 && length**2 * itemsize => length**2 * itemsize * 8",
    "itemsize-squared: The bytes of a number are counted twice: multiply by itemsize once.",
    "head_dim * itemsize => head_dim * itemsize**2 && length**2 * itemsize => length**2 * itemsize**2",
    "naive-scores-too-few: Naive moves four arrays of length × length numbers: the scores are "
    "written and read, and the weights are written and read.",
    "4 * table => {1|2|3|5|6} * table",
    "naive-scores-missing: Naive also moves scores and weights, of length × length numbers.",
    " + 4 * table => ",
    "naive-inputs-too-few: Naive moves Q, K, V and the output besides the scores and weights: "
    "four arrays of length × head_dim numbers.",
    "4 * vector => {0|2|3} * vector",
    "tiled-output-missing: Tiled writes the output too: Q is read and the output written once, "
    "two arrays of length × head_dim numbers, beside K and V.",
    "2 * vector => vector",
    "block-rows-ignored: block_rows is ignored: where it is given, K and V are read once for each "
    "block of block_rows queries.",
    f"1 if block_rows is None else {TILES} => 1",
    "short-tile-lost: A short last block reads K and V as well: round the number of blocks up.",
    f"{TILES} => length // block_rows",
    f"{TILES} => length / block_rows",
    f"{TILES} => length / block_rows && 2 * tiles * vector => int(2 * tiles * vector)",
    f"{TILES} => {{max(length // block_rows, 1)|max(length / block_rows, 1)}}",
    "one-tile-too-many: There is one block too many where block_rows divides length: round length "
    "/ block_rows up.",
    f"{TILES} => length // block_rows + 1",
    "queries-moved-again: Q and the output are moved once, whatever the blocks: each block has "
    "queries of its own. Only K and V are read again.",
    "2 * vector + 2 * tiles => {4 * tiles|vector + 3 * tiles}",
    "keys-or-values-once: Each block of queries reads both K and V: two arrays of length × head_dim numbers.",
    "2 * vector + 2 * tiles => 3 * vector + tiles",
    "rows-as-tiles: block_rows is how many queries a block has, not how many blocks there are.",
    f"{TILES} => block_rows",
    "tiled-moves-scores: The scores of a tile never go to main memory: tiled moves no array of "
    "length × length numbers.",
    "tiled = => tiled = {1|2|4} * table +",
    "pair-reversed: The pair is reversed: return (naive, tiled).",
    "return naive, tiled => return tiled, naive",
    "one-of-two: Only one of the two is returned: return the pair (naive, tiled).",
    "return naive, tiled => return {naive|tiled}",
    "operations-counted: These are numbers of operations: count the bytes read and written.",
    "return naive, tiled => return 4 * length**2 * head_dim, 4 * length**2 * head_dim",
)


EXERCISE = Exercise(
    name="attention_bytes",
    points=1,
    minutes=5,
    reference=attention_bytes,
    cases=cases,
    hints=HINTS,
    mistakes=MISTAKES,
)
