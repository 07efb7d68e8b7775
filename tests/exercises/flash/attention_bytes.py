"""Right and wrong answers to `attention_bytes`."""

import numpy as np


def counted(naive, tiled, again=2, tiles=lambda length, rows: -(-length // rows) if rows else 1):
    """Make an answer from how many (L × d, L × L) arrays are moved by each way.

    `again` arrays of L × d are moved once more for each of the `tiles` beside the first.
    """

    def answer(length, head_dim, itemsize, block_rows=None):
        sizes = np.array([length * head_dim, length * length]) * itemsize
        more = again * (tiles(length, block_rows) - 1) * sizes[0]
        return int(sizes @ naive), int(sizes @ tiled + more)

    return answer


def wrong_in_32_bits(length, head_dim, itemsize, block_rows=None):
    with np.errstate(over="ignore"):
        return counted((4, 4), (4, 0))(np.int32(length), head_dim, itemsize, block_rows)


WRONG = {
    "always two bytes a number": lambda length, head_dim, itemsize, block_rows=None: counted(
        (4, 4), (4, 0)
    )(length, head_dim, 2, block_rows),
    "queries read twice": counted((5, 4), (4, 0)),
    "in KiB": lambda *sizes, **rows: tuple(
        n / 1024 for n in counted((4, 4), (4, 0))(*sizes, **rows)
    ),
    "tiles of keys": counted((4, 4), (4, 0), tiles=lambda length, rows: (rows or 1) / 2),
    "a short tile reads less": counted(
        (4, 4), (4, 0), tiles=lambda length, rows: max(1, round(length / rows)) if rows else 1
    ),
}
