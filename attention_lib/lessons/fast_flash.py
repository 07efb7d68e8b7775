"""What tiled attention computes with: tiles of queries that meet the keys block by block.

This is the part of lesson 07 that is tuned. The method is in `flash.py`; here every array is
allocated once, lies where vector instructions are quickest, and is written in place.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

LOADED_BLOCKS = 4  # blocks of keys and values that are copied at a time, see `Tile.load`
CACHE_LINE = 64  # bytes
# Matrix products are cut into pieces of this many multiplications. OpenBLAS multiplies such small
# matrices where they lie, without copying them into panels first, and leaves them to the thread
# that asks, so that several threads can multiply at once.
PIECE = 2**18
SHORTEST_PIECE = 8  # rows; below, one large product is quicker

Array = NDArray[np.floating]


class Tile:
    """Some queries with what they have summed so far, and room for their scores with one block.

    A tile's arrays are allocated once and used for one tile of queries after another.
    """

    def __init__(self, rows: int, block_size: int, d_k: int, d_v: int, dtype: np.dtype) -> None:
        self._queries = _aligned((rows, d_k), dtype)
        self._maxima = _aligned((rows, 1), dtype)
        self._sums = _aligned((rows, d_v + 1), dtype)
        self._block_sums = _aligned((rows, d_v + 1), dtype)
        self._scores = _aligned((rows * block_size,), dtype)
        self.block_size = block_size
        self.capacity = max(min(LOADED_BLOCKS, rows // block_size), 1)  # blocks loaded at a time
        self._keys = _aligned((self.capacity * block_size * d_k,), dtype)
        self._values = _aligned((self.capacity * block_size, d_v), dtype)
        self._ones = np.ones((block_size, 1), dtype)
        self._future = _future(block_size, dtype)
        piece = PIECE // (block_size * max(d_k, d_v, 1))
        self._piece = piece if piece >= SHORTEST_PIECE else rows

    def start(self, query: Array, with_maximum: bool) -> None:
        """Take new queries, to be summed with a running maximum or, as if it were 0, without."""
        rows, d_k = query.shape
        self.query, self.maximum = self._queries[:rows], self._maxima[:rows]
        factor = self.query.dtype.type(_EXP_UNIT / math.sqrt(max(d_k, 1)))
        np.multiply(query, factor, out=self.query)
        self.sums = self._sums[:rows]  # of exponentials times values and, last, of exponentials
        self.sums[...] = 0
        self.output, self.total = self.sums[:, :-1], self.sums[:, -1:]
        self.maximum[...] = -np.inf if with_maximum else 0
        self.with_maximum = with_maximum

    def load(self, key: Array, value: Array) -> None:
        """Copy some blocks of keys, transposed, and their values to where they are quick to use.

        Several blocks at once: threads have to wait for each other between NumPy's calls, so that
        a few long ones are better than many short ones. The last block may be short.
        """
        size, d_k = self.block_size, key.shape[1]
        blocks, rest = divmod(len(key), size)
        whole = len(key) - rest
        keys = self._keys[: whole * d_k].reshape(blocks, d_k, size)
        keys[...] = key[:whole].reshape(blocks, size, d_k).swapaxes(1, 2)
        self.keys = list(keys)
        if rest:
            self.keys.append(self._keys[whole * d_k : key.size].reshape(d_k, rest))
            self.keys[-1][...] = key[whole:].T
        self.values = self._values[: len(value)]
        self.values[...] = value

    def add_block(self, number: int, distance: int | None = None) -> None:
        """Add one of the loaded blocks of keys and values to the sums of the queries.

        `distance` is given in causal attention: the position of the tile's first query minus
        that of the block's first key. Queries before that key are left alone.
        """
        keys = self.keys[number]
        size = keys.shape[1]
        values = self.values[number * self.block_size :][:size]
        first = 0 if distance is None else max(-distance, 0)

        scores = self._scores[: (len(self.query) - first) * size].reshape(-1, size)
        _multiply(self.query[first:], keys, scores, self._piece)
        if distance is not None:
            future = self._future[max(distance, 0) :, :size][: len(scores)]
            scores[: len(future)] += future
        if self.with_maximum:
            self.raise_maximum(scores, first)
        exponentials = _EXP(scores, out=scores)
        if self.with_maximum and distance is not None:
            exponentials[: len(future)][future < 0] = 0
        block_sums = self._block_sums[: len(scores)]
        _multiply(exponentials, values, block_sums[:, :-1], self._piece)
        _multiply(exponentials, self._ones[:size], block_sums[:, -1:], self._piece)
        self.sums[first:] += block_sums

    def raise_maximum(self, scores: Array, first: int) -> None:
        """Subtract the running maximum from the scores and shrink the sums where it has grown."""
        old = self.maximum[first:]
        new = np.maximum(old, scores.max(axis=-1, keepdims=True))
        self.sums[first:] *= _EXP(old - new)  # 0 for the first block
        scores -= new
        # Products below 2^-126 make processors slow; e^-60 is nothing beside the maximum's 1.
        np.maximum(scores, -60 * _EXP_UNIT, out=scores)
        old[...] = new

    def has_safe_totals(self) -> bool:
        """Say whether every total lies far inside float32's range, 2^-126 to 2^128.

        As an exponential is part of a total, none has overflowed then, and none has vanished
        that counts.
        """
        return bool(self.total.min() > 2.0**-40 and self.total.max() < 2.0**40)

    def finish(self, output: Array, logsumexp: Array) -> None:
        """Write the queries' outputs and log-sum-exps to where they belong."""
        np.divide(self.output, self.total, out=output, casting="same_kind")
        logsumexp[...] = (self.maximum / _EXP_UNIT + np.log(self.total))[:, 0]


def attend(
    tile: Tile,
    inputs: tuple[Array, Array, Array],
    position: int | None,
    results: tuple[Array, Array],
) -> None:
    """Show the queries every block they may see; `position` is that of the first, if causal.

    Scores are seldom so large that their exponentials need a maximum, and finding it takes two
    more passes over them: the sums are tried without, and made again when that was wrong.
    """
    query, key, value = inputs
    seen = len(key) if position is None else min(len(key), position + len(query))
    for with_maximum in (False, True):
        tile.start(query, with_maximum)
        for number, j in enumerate(range(0, seen, tile.block_size)):
            if number % tile.capacity == 0:
                loaded = slice(j, min(j + tile.capacity * tile.block_size, seen))
                tile.load(key[loaded], value[loaded])
            distance = None if position is None else position - j
            tile.add_block(number % tile.capacity, distance)
            if number == 0 and not with_maximum and not tile.has_safe_totals():
                break  # the sums cannot be saved: begin again
        tile.finish(*results)
        if tile.has_safe_totals() and _is_moderate(results[0]):
            break


def _is_moderate(output: Array) -> bool:
    """Say whether values that give this output stayed in range when exponentials weighed them.

    No product of theirs overflowed if the output is finite, and none that counts vanished if
    the largest value is not tiny; it is no smaller than the largest output.
    """
    return bool(2.0**-60 < max(output.max(initial=0), -output.min(initial=0)) < np.inf)


def _multiply(left: Array, right: Array, out: Array, rows: int) -> None:
    """Write ``left @ right`` to `out` as a stack of products of `rows` rows each."""
    pieces = len(left) // rows
    whole = pieces * rows
    np.matmul(
        left[:whole].reshape(pieces, rows, left.shape[1]),
        right,
        out=out[:whole].reshape(pieces, rows, out.shape[1]),
    )
    if whole < len(left):
        np.matmul(left[whole:], right, out=out[whole:])


def _aligned(shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Return an uninitialized array whose memory starts at a cache line.

    NumPy's own arrays start anywhere; vector instructions are quicker on whole cache lines.
    """
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + size].view(dtype).reshape(shape)


def _future(block_size: int, dtype: np.dtype) -> Array:
    """Return a matrix of 0 and, above the diagonal, ``-inf``: a view of one row's memory."""
    row = np.zeros(2 * block_size - 1, dtype)
    row[block_size:] = -np.inf
    return np.lib.stride_tricks.sliding_window_view(row, block_size)[::-1]


def run_all(run: Callable, jobs: list, threads: int) -> None:
    """Run all jobs, in this thread and as many helpers as make up `threads`."""
    waiting = iter(jobs)

    def work() -> None:
        for job in waiting:
            run(job)

    if threads == 1:
        return work()
    from concurrent.futures import ThreadPoolExecutor  # not worth its import time to others

    with ThreadPoolExecutor(threads - 1) as pool:
        helpers = [pool.submit(work) for _ in range(threads - 1)]
        work()
    for helper in helpers:
        helper.result()  # raises what was raised there


def thread_count() -> int:
    """Return how many threads NumPy's users expect: what they set for BLAS, or all processors."""
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        asked = os.environ.get(variable, "")
        if asked.isdecimal() and int(asked) > 0:
            return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _fastest_exponential() -> tuple[np.ufunc, float]:
    """Return an exponential and what to multiply a natural exponent by for it.

    On Linux and processors with AVX-512 NumPy has a vector exp2, twice as quick as its exp;
    elsewhere its exp2 is scalar and slow.
    """
    (target,) = np.lib.introspect.opt_func_info("^exp2$", "float32")["exp2"].values()
    if sys.platform == "linux" and "baseline" not in target["current"]:
        return np.exp2, 1 / math.log(2)
    return np.exp, 1.0


_EXP, _EXP_UNIT = _fastest_exponential()
