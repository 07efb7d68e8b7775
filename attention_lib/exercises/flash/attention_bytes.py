"""`attention_bytes(length, head_dim, itemsize, block_rows=None)` counts the bytes that attention moves.

→ `(naive, tiled)`: bytes to and from main memory for one head, L = S = `length`. Naive reads Q and K,
writes the scores, reads them, writes the weights, reads these and V, writes the output. Tiled reads Q once
and writes the output once, and reads K and V once (`block_rows=None`: they stay in the cache) or once for
each tile of `block_rows` queries, the last of which may be short. Whole numbers, as int or float.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from numpy.random import Generator

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
from attention_lib.lessons.flash import attention_bytes

HINTS = (
    "Count arrays first. How many of shape (length, head_dim) are read or written, and how "
    "many of shape (length, length)?",
    "Naive: Q, K, V and the output are four arrays of length × head_dim numbers. The scores "
    "are written and read, and so are the weights. Tiled has no scores in main memory.",
    "The tiles are math.ceil(length / block_rows), and one where block_rows is None. Tiled moves Q "
    "and the output once, K and V once for each tile.",
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


def tiles_of(length: int, block_rows: int | None) -> int:
    return 1 if block_rows is None else -(-length // block_rows)


@composable
def counted(
    naive: tuple[int, int] = (4, 4),
    tiled: tuple[int, int] = (4, 0),
    passes: int = 2,
    tiles: Callable[[int, int | None], float] = tiles_of,
    number: Callable[[int], int] = lambda itemsize: itemsize,
    of_table: Callable[[int], int] | None = None,  # of a score or weight, if not as elsewhere
    end: Callable[[float], float] = lambda moved: moved,
) -> Answer:
    """Make an answer from how many n × d and n × n arrays are moved.

    Tiled moves `passes` arrays of n × d numbers once for each of the `tiles` beside the first.
    """

    def answer(
        length: int, head_dim: int, itemsize: int, block_rows: int | None = None
    ) -> tuple[int, int]:
        vectors = length * head_dim * number(itemsize)
        squares = length**2 * (of_table or number)(itemsize)
        again = passes * (tiles(length, block_rows) - 1)
        return (
            naive[0] * vectors + naive[1] * squares,
            end((tiled[0] + again) * vectors + tiled[1] * squares),
        )

    return answer


MISTAKES = known_mistakes(
    "itemsize-missing: The bytes of a number are missing: multiply by itemsize.",
    counted(number=lambda itemsize: 1),
    "itemsize-missing-in-table: Scores and weights are counted in numbers: multiply them by itemsize too.",
    counted(of_table=lambda itemsize: 1),
    "bits: These are bits: multiply by itemsize, which is in bytes already.",
    counted(number=lambda itemsize: 8 * itemsize),
    "itemsize-squared: The bytes of a number are counted twice: multiply by itemsize once.",
    counted(number=lambda itemsize: itemsize**2),
    "naive-scores-too-few: Naive moves four arrays of length × length numbers: the scores are "
    "written and read, and the weights are written and read.",
    *(counted((4, squares)) for squares in (1, 2, 3, 5, 6)),
    "naive-scores-missing: Naive also moves scores and weights, of length × length numbers.",
    counted((4, 0)),
    "naive-inputs-too-few: Naive moves Q, K, V and the output besides the scores and weights: "
    "four arrays of length × head_dim numbers.",
    counted((0, 4)),
    counted((2, 4)),
    counted((3, 4)),
    "tiled-output-missing: Tiled writes the output too: Q is read and the output written once, "
    "two arrays of length × head_dim numbers, beside K and V.",
    counted(tiled=(3, 0)),
    "block-rows-ignored: block_rows is ignored: where it is given, K and V are read once for each "
    "tile of block_rows queries.",
    counted(passes=0),
    "short-tile-lost: A short last tile reads K and V as well: round the number of tiles up.",
    counted(tiles=lambda n, rows: n // rows if rows else 1),
    *(counted(tiles=lambda n, rows: n / rows if rows else 1, end=end) for end in (float, int)),
    counted(tiles=lambda n, rows: max(n // rows, 1) if rows else 1),
    counted(tiles=lambda n, rows: max(n / rows, 1) if rows else 1),
    "one-tile-too-many: There is one tile too many where block_rows divides length: round length "
    "/ block_rows up.",
    counted(tiles=lambda n, rows: n // rows + 1 if rows else 1),
    "queries-moved-again: Q and the output are moved once, whatever the tiles: each tile has "
    "queries of its own. K and V alone are read again.",
    counted(passes=4),
    counted(passes=3),
    "keys-or-values-once: Each tile reads both K and V: two arrays of length × head_dim numbers.",
    counted(passes=1),
    "rows-as-tiles: block_rows is how many queries a tile has, not how many tiles there are.",
    counted(tiles=lambda n, rows: rows or 1),
    "tiled-moves-scores: The scores of a tile never go to main memory: tiled moves no array of "
    "length × length numbers.",
    *(counted(tiled=(4, squares)) for squares in (1, 2, 4)),
    "pair-reversed: The pair is reversed: return (naive, tiled).",
    lambda *sizes, **named: attention_bytes(*sizes, **named)[::-1],
    "one-of-two: Only one of the two is returned: return the pair (naive, tiled).",
    lambda *sizes, **named: attention_bytes(*sizes, **named)[0],
    lambda *sizes, **named: attention_bytes(*sizes, **named)[1],
    "operations-counted: These are numbers of operations: count the bytes read and written.",
    lambda length, head_dim, itemsize, block_rows=None: (4 * length**2 * head_dim,) * 2,
)

EXERCISE = Exercise(
    name="attention_bytes",
    points=1,
    minutes=6,
    reference=attention_bytes,
    cases=cases,
    hints=HINTS,
    mistakes=MISTAKES,
)
