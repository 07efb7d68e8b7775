"""Tiled attention tuned for speed: the method of lesson 07's `flash.py`, in threads.

Every array is allocated once, lies where vector instructions are quickest, and is written in
place.
"""

from __future__ import annotations

import functools
import itertools
import math
import os
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attention_lib.arguments import as_floating, as_integer, require_attention_shapes

__all__ = ["attend"]

BLOCK_SIZE = 128  # keys at a time: their scores with one tile of queries stay in the cache
TILE_SCORES = 2**18  # scores that one thread holds at a time, as far as the block size allows
PARALLEL_SCORES = 2**21  # fewer scores than these are not worth starting threads for
CACHE_LINE = 64  # bytes

Array = NDArray[np.floating]


def attend(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    block_size: int = BLOCK_SIZE,
    is_causal: bool = False,
) -> tuple[Array, Array]:
    """Compute attention's output and log-sum-exp in tiles, as fast as NumPy can.

    Parameters
    ----------
    query : array_like, shape (..., L, d_k)
        One vector for each of L queries.
    key : array_like, shape (..., S, d_k)
        One vector for each of S keys.
    value : array_like, shape (..., S, d_v)
        One vector for each of S keys. Leading dimensions broadcast.
    block_size : int, default 128
        How many keys are taken at a time; the last block may be shorter.
    is_causal : bool, default False
        Whether query i sees the keys 0 to i only.

    Returns
    -------
    output : ndarray, shape (..., L, d_v)
        The output of attention, in the common dtype of the arguments (float64 for integers).
    logsumexp : ndarray, shape (..., L)
        The logarithm of each query's sum of exponentials, in that dtype or float32.

    Raises
    ------
    TypeError
        If an argument does not hold real numbers or `block_size` is not an integer.
    ValueError
        If the shapes do not fit or `block_size` is below 1.

    Notes
    -----
    The method is that of `tiled_attention`. The queries are taken in tiles, so that one tile's
    scores stay in the cache. A tile is first tried as if its maximum were 0, which saves two
    passes over its scores, and done again with the running maximum when its sums show that an
    exponential may have overflowed or vanished. float32 is computed in float32: right to
    float32's rounding, not to the last place. Large problems are shared between as many threads
    as ``OMP_NUM_THREADS`` allows, or all processors.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib.lessons import fast_flash
    >>> query, key = np.zeros((3, 2)), np.ones((3, 2))
    >>> value = np.array([[0.0], [2.0], [7.0]])
    >>> output, logsumexp = fast_flash.attend(query, key, value, is_causal=True)
    >>> output
    array([[0.],
           [1.],
           [3.]])
    >>> logsumexp.round(3)
    array([0.   , 0.693, 1.099])
    """
    query, key = as_floating(query, "query"), as_floating(key, "key")
    value = as_floating(value, "value")
    leading = require_attention_shapes(query, key, value)
    (length, d_k), (key_length, d_v) = query.shape[-2:], value.shape[-2:]
    block_size = min(as_integer(block_size, "block_size", 1), max(key_length, 1))
    dtype = np.result_type(query, key, value)
    inner = np.promote_types(dtype, np.float32)
    output = np.empty((*leading, length, d_v), dtype)
    logsumexp = np.empty((*leading, length), inner)
    if key_length == 0:
        output[...], logsumexp[...] = 0, -np.inf
    if logsumexp.size == 0 or key_length == 0:
        return output, logsumexp

    rows = min(length, max(TILE_SCORES // block_size, 32))
    # The longest tiles of causal attention come first, so that no thread waits long at the end.
    jobs = list(itertools.product(reversed(range(0, length, rows)), np.ndindex(leading)))
    scores = math.prod(leading) * length * key_length
    threads = min(thread_count(), len(jobs)) if scores >= PARALLEL_SCORES else 1
    idle_tiles: list[Tile] = []

    def run(job: tuple[int, tuple[int, ...]]) -> None:
        start, item = job
        here = slice(start, start + rows)
        q, k, v = (_of_item(array, item) for array in (query, key, value))
        tile = idle_tiles.pop() if idle_tiles else Tile(rows, block_size, d_k, d_v, inner)
        with np.errstate(all="ignore"):  # infinite or NaN inputs give NaN, and no warning
            _attend(
                tile,
                (q[here], k, v),
                start if is_causal else None,
                (output[item][here], logsumexp[item][here]),
            )
        idle_tiles.append(tile)

    run_all(run, jobs, threads)
    return output, logsumexp


class Tile:
    """Some queries with what they have summed so far, and room for their scores with one block.

    A tile's arrays are allocated once and used for one tile of queries after another.
    """

    def __init__(self, rows: int, block_size: int, d_k: int, d_v: int, dtype: np.dtype) -> None:
        self._exp, self._exp_unit = _fastest_exponential()
        self._queries = _aligned((rows, d_k), dtype)
        self._maxima = _aligned((rows, 1), dtype)
        self._sums = _aligned((rows, d_v + 1), dtype)
        self._block_sums = _aligned((rows, d_v + 1), dtype)
        self._scores = _aligned((rows * block_size,), dtype)
        self.block_size = block_size
        self.capacity = max(min(4, rows // block_size), 1)  # blocks loaded at a time
        self._keys = _aligned((self.capacity * block_size * d_k,), dtype)
        self._values = _aligned((self.capacity * block_size, d_v), dtype)
        self._ones = np.ones((block_size, 1), dtype)
        self._future = _future(block_size, dtype)
        # Matrix products are cut into pieces of 2^18 multiplications. OpenBLAS multiplies such small
        # matrices where they lie, without copying them into panels first, and leaves them to the
        # thread that asks, so that several threads can multiply at once.
        piece = 2**18 // (block_size * max(d_k, d_v, 1))
        self._piece = piece if piece >= 8 else rows  # below, one large product is quicker

    def start(self, query: Array, with_maximum: bool) -> None:
        """Start on new queries, with a running maximum or with 0 in its place."""
        rows, d_k = query.shape
        self.query, self.maximum = self._queries[:rows], self._maxima[:rows]
        factor = self.query.dtype.type(self._exp_unit / math.sqrt(max(d_k, 1)))
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
        exponentials = self._exp(scores, out=scores)
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
        self.sums[first:] *= self._exp(old - new)  # 0 for the first block
        scores -= new
        # Products below 2^-126 make processors slow; e^-60 is nothing beside the maximum's 1.
        np.maximum(scores, -60 * self._exp_unit, out=scores)
        old[...] = new

    def has_safe_totals(self) -> bool:
        """Say whether every total lies far inside float32's range, 2^-126 to 2^128.

        A total contains every exponential: then none has overflowed, and none that matters has
        underflowed.
        """
        return bool(self.total.min() > 2.0**-40 and self.total.max() < 2.0**40)

    def finish(self, output: Array, logsumexp: Array) -> None:
        """Write the queries' outputs and log-sum-exps to where they belong."""
        np.divide(self.output, self.total, out=output, casting="same_kind")
        logsumexp[...] = (self.maximum / self._exp_unit + np.log(self.total))[:, 0]


def _attend(
    tile: Tile,
    inputs: tuple[Array, Array, Array],
    position: int | None,
    results: tuple[Array, Array],
) -> None:
    """Add every block that the queries may see; `position` is the first query's, if causal.

    Scores are seldom so large that their exponentials need a maximum, and finding it takes two
    more passes over them. So the sums are first made without it, and again with it if need be.
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
    """Say whether the products of exponentials and values stayed in range, judged by the output.

    None overflowed if the output is finite. None that matters underflowed if the largest value is
    not tiny, and that is at least the largest output.
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


def _of_item(array: NDArray, item: tuple[int, ...]) -> NDArray:
    """Return a batch item's matrix; a dimension that is missing or 1 serves every item."""
    own = item[len(item) - (array.ndim - 2) :]
    return array[tuple(i if n > 1 else 0 for i, n in zip(own, array.shape, strict=False))]


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
    """Return the number of threads that is set for BLAS, or else the number of processors."""
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        asked = os.environ.get(variable, "")
        if asked.isdecimal() and int(asked) > 0:
            return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def _fastest_exponential() -> tuple[np.ufunc, float]:
    """Return an exponential function, and the factor that turns a natural exponent into its own.

    On Linux and processors with AVX-512 NumPy has a vector exp2, twice as quick as its exp;
    elsewhere its exp2 is scalar and slow, or NumPy does not say what it has.
    """
    introspect = getattr(np.lib, "introspect", None)
    functions = introspect.opt_func_info("^exp2$", "float32") if introspect else {}
    targets = [target["current"] for target in functions.get("exp2", {}).values()]
    if sys.platform == "linux" and targets and "baseline" not in targets[0]:
        return np.exp2, 1 / math.log(2)
    return np.exp, 1.0
