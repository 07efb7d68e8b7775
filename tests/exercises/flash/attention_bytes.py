"""Right and wrong answers to `attention_bytes`."""

import math

import numpy as np


def right_by_formula(length, head_dim, itemsize, block_rows=None):
    tiles = math.ceil(length / block_rows) if block_rows else 1
    one = length * head_dim * itemsize
    return 4 * one + 4 * length**2 * itemsize, 2 * (1 + tiles) * one


def right_step_by_step(length, head_dim, itemsize, block_rows=None):
    vectors, scores = length * head_dim * itemsize, length * length * itemsize
    naive = (vectors + vectors + scores) + (scores + scores) + (scores + vectors + vectors)
    tiled = 0
    for first in range(0, length, length if block_rows is None else block_rows):
        rows = min(block_rows or length, length - first)
        tiled += 2 * rows * head_dim * itemsize + 2 * vectors
    return [naive, tiled]


def right_of_arrays(length, head_dim, itemsize, block_rows=None):
    one = np.int64(length) * head_dim * itemsize
    tiles = len(range(0, length, block_rows or length))
    return np.int64(4 * one + 4 * np.int64(length) ** 2 * itemsize), float((2 + 2 * tiles) * one)


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
    "the scores read by both": counted((4, 4), (4, 2)),
    "queries read twice": counted((5, 4), (4, 0)),
    "no output": counted((3, 4), (4, 0)),
    "five square arrays": counted((4, 5), (4, 0)),
    "the difference": counted((0, 4), (4, 0)),
    "in KiB": lambda *sizes, **rows: tuple(
        n / 1024 for n in counted((4, 4), (4, 0))(*sizes, **rows)
    ),
    "a ratio": lambda *sizes, **rows: math.prod(sizes[:1]) + 1,
    "tiles of keys": counted((4, 4), (4, 0), tiles=lambda length, rows: (rows or 1) / 2),
    "a short tile reads less": counted(
        (4, 4), (4, 0), tiles=lambda length, rows: max(1, round(length / rows)) if rows else 1
    ),
    "queries and outputs again": counted((4, 4), (4, 0), again=4),
}
