"""Lesson 07: attention without the L × S matrix, one block of keys at a time, and its gradient."""

from __future__ import annotations

import itertools
import math
import operator
import os
import sys
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attention_lib.arguments import (
    as_floating,
    require_attention_shapes,
    round_to,
    working_dtype,
)
from attention_lib.stability import SoftmaxStats, merge_softmax_stats

BLOCK_SIZE = 128  # keys at a time: their scores with one tile of queries stay in the cache
TILE_SCORES = 2**18  # scores that one thread holds at a time, as far as the block size allows
SHORTEST_TILE = 32  # queries, however large the block
LOADED_BLOCKS = 4  # blocks of keys and values that are copied at a time, see `Tile.load`
PARALLEL_SCORES = 2**21  # fewer scores than these are not worth starting threads for
CACHE_LINE = 64  # bytes
# Matrix products are cut into pieces of this many multiplications. OpenBLAS multiplies such small
# matrices where they lie, without copying them into panels first, and leaves them to the thread
# that asks, so that several threads can multiply at once.
PIECE = 2**18
SHORTEST_PIECE = 8  # rows; below, one large product is quicker

Array = NDArray[np.floating]


def online_softmax_stats(blocks: Iterable[ArrayLike]) -> SoftmaxStats:
    r"""Read rows of scores once, block by block, and keep what their softmax needs.

    Parameters
    ----------
    blocks : iterable of array_like, each of shape (..., block)
        One or more pieces of the same rows, in any order; their last axes may differ in
        length. An iterator is read once, and no block is kept.

    Returns
    -------
    maximum : ndarray, shape (...)
        The largest score of each row.
    total : ndarray, shape (...)
        The sum of exp(score - maximum) over the row. Both are in the common dtype of the
        blocks (float64 for integers); an empty row, or one of ``-inf`` only, gives
        ``(-inf, 0)``.

    Raises
    ------
    TypeError
        If a block does not hold real numbers.
    ValueError
        If there is no block, or the blocks do not belong to the same rows.

    Notes
    -----
    When a block brings a larger maximum, the total so far is multiplied by
    :math:`e^{m_\text{old} - m_\text{new}}`. See Milakov and Gimelshein, "Online normalizer
    calculation for softmax", arXiv:1805.02867 (2018). Sums are taken in float64 and rounded
    once.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import online_softmax_stats
    >>> blocks = iter([np.array([[1.0, 2.0]]), np.array([[3.0]])])
    >>> maximum, total = online_softmax_stats(blocks)
    >>> maximum, total.round(4)
    (array([3.]), array([1.5032]))
    """
    stats, dtype = None, None
    for block, block_dtype in map(_block_stats, blocks):
        if stats is None:
            stats, dtype = block, block_dtype
            continue
        if block[0].shape != stats[0].shape:
            raise ValueError(
                "blocks must be pieces of the same rows; "
                f"they have rows of shapes {stats[0].shape} and {block[0].shape}."
            )
        stats, dtype = merge_softmax_stats(stats, block), np.result_type(dtype, block_dtype)
    if stats is None:
        raise ValueError("blocks must hold at least one block of scores.")
    return round_to(stats[0], dtype), round_to(stats[1], dtype)


def tiled_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    block_size: int = BLOCK_SIZE,
    *,
    return_logsumexp: bool = False,
) -> Array | tuple[Array, Array]:
    r"""Compute attention's output without ever holding the L × S matrix.

    Parameters
    ----------
    query : array_like, shape (..., L, d_k)
        One vector for each of L queries.
    key : array_like, shape (..., S, d_k)
        One vector for each of S keys.
    value : array_like, shape (..., S, d_v)
        One vector for each of S keys. Leading dimensions broadcast.
    block_size : int
        How many keys are taken at a time; the last block may be shorter. The default is
        tuned for speed.
    return_logsumexp : bool, default False
        Return also what `tiled_attention_backward` needs to form the weights again.

    Returns
    -------
    output : ndarray, shape (..., L, d_v)
        The output of ``attention(query, key, value)``, in the common dtype of the arguments
        (float64 for integers).
    logsumexp : ndarray, shape (..., L)
        Only when asked for: the logarithm of each query's sum of exponentials.

    Raises
    ------
    TypeError
        If an argument does not hold real numbers or `block_size` is not an integer.
    ValueError
        If the shapes do not fit or `block_size` is below 1.

    Notes
    -----
    For each block of keys and values, with the running maximum m, total t and output o of
    each query:

    .. math::
        m' = \max(m, \max_j s_j), \quad
        t' = t\, e^{m - m'} + \sum_j e^{s_j - m'}, \quad
        o' = o\, e^{m - m'} + \sum_j e^{s_j - m'} v_j

    and o / t at the end. The queries are taken in tiles, so that one tile's scores stay in the
    cache; at most L × `block_size` scores of a batch item exist at a time. A tile is first
    tried with m = 0, which saves two passes over its scores, and done again with the running
    maximum when its sums show that an exponential may have overflowed or vanished.

    See Rabe and Staats, "Self-attention does not need O(n²) memory", arXiv:2112.05682 (2021),
    and Dao et al., "FlashAttention", arXiv:2205.14135 (2022). Unlike `attention`, this function
    computes float32 in float32: it is right to float32's rounding, not to the last place.
    Large problems are shared between as many threads as ``OMP_NUM_THREADS`` allows, or all
    processors.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import tiled_attention
    >>> query = np.array([[1.0, 0.0]])
    >>> key = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]])
    >>> value = np.array([[3.0, 0.0], [3.0, 6.0], [0.0, 6.0]])
    >>> tiled_attention(query, key, value, block_size=2)
    array([[2., 4.]])
    """
    output, logsumexp = _forward(query, key, value, block_size, is_causal=False)
    return (output, logsumexp) if return_logsumexp else output


def tiled_causal_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    block_size: int = BLOCK_SIZE,
    *,
    return_logsumexp: bool = False,
) -> Array | tuple[Array, Array]:
    """Compute causal attention's output in blocks, and no block that lies in the future.

    Parameters
    ----------
    query : array_like, shape (..., L, d_k)
        One vector for each of L positions.
    key : array_like, shape (..., L, d_k)
        One vector for each of L positions.
    value : array_like, shape (..., L, d_v)
        One vector for each of L positions. Leading dimensions broadcast.
    block_size : int
        The side of the blocks, in queries and in keys. The default is tuned for speed.
    return_logsumexp : bool, default False
        Return also what `tiled_attention_backward` needs to form the weights again.

    Returns
    -------
    output : ndarray, shape (..., L, d_v)
        The output of attention in which query i sees the keys 0 to i, in the common dtype of
        the arguments (float64 for integers).
    logsumexp : ndarray, shape (..., L)
        Only when asked for: the logarithm of each query's sum of exponentials.

    Raises
    ------
    TypeError
        If an argument does not hold real numbers or `block_size` is not an integer.
    ValueError
        If the shapes do not fit or `block_size` is below 1.

    Notes
    -----
    The method is that of `tiled_attention`. A block of keys meets only the queries from its
    own first position on: of n × n blocks, n (n + 1) / 2 are computed, and the n on the diagonal
    are masked.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import tiled_causal_attention
    >>> query, key = np.zeros((3, 2)), np.ones((3, 2))
    >>> value = np.array([[0.0], [2.0], [7.0]])
    >>> tiled_causal_attention(query, key, value, block_size=2)
    array([[0.],
           [1.],
           [3.]])
    """
    output, logsumexp = _forward(query, key, value, block_size, is_causal=True)
    return (output, logsumexp) if return_logsumexp else output


def tiled_attention_backward(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    grad_output: ArrayLike,
    output: ArrayLike,
    logsumexp: ArrayLike,
    block_size: int = BLOCK_SIZE,
    *,
    is_causal: bool = False,
) -> tuple[Array, Array, Array]:
    r"""Carry a gradient back through tiled attention, forming the weights again tile by tile.

    Parameters
    ----------
    query : array_like, shape (..., L, d_k)
        One vector for each of L queries.
    key : array_like, shape (..., S, d_k)
        One vector for each of S keys.
    value : array_like, shape (..., S, d_v)
        One vector for each of S keys. Leading dimensions broadcast.
    grad_output : array_like, shape (..., L, d_v)
        The gradient of a loss with respect to the output.
    output : array_like, shape (..., L, d_v)
    logsumexp : array_like, shape (..., L)
        What `tiled_attention` or `tiled_causal_attention` returned for these arguments with
        ``return_logsumexp=True``.
    block_size : int
        How many keys are taken at a time; the last block may be shorter.
    is_causal : bool, default False
        Whether the output is that of `tiled_causal_attention`.

    Returns
    -------
    tuple of three ndarray
        ``(grad_query, grad_key, grad_value)``, each in the shape and dtype of its argument
        (float64 for integers). Where an argument was broadcast, the gradients of its copies
        are summed.

    Raises
    ------
    TypeError
        If an argument does not hold real numbers or `block_size` is not an integer.
    ValueError
        If the shapes do not fit or `block_size` is below 1.

    Notes
    -----
    A weight is :math:`P_{ij} = e^{s_{ij} - \ell_i}`, with the saved :math:`\ell` in place of a
    maximum and a sum. What softmax's gradient subtracts in row i needs the whole row,
    :math:`\sum_j P_{ij}\, dP_{ij}`, but equals :math:`\sum_c dO_{ic}\, O_{ic}`, a product of two
    saved vectors. The rest is that of `attention_backward`. See Dao et al., "FlashAttention",
    appendix B.2, arXiv:2205.14135 (2022).

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import tiled_attention, tiled_attention_backward
    >>> query, key = np.array([[0.0]]), np.array([[1.0], [3.0]])
    >>> value, grad_output = np.array([[2.0], [6.0]]), np.array([[1.0]])
    >>> saved = tiled_attention(query, key, value, return_logsumexp=True)
    >>> grads = tiled_attention_backward(query, key, value, grad_output, *saved, block_size=1)
    >>> grads[0].round(12)
    array([[2.]])
    >>> grads[2].round(12)
    array([[0.5],
           [0.5]])
    """
    query, key = as_floating(query, "query"), as_floating(key, "key")
    value, grad_output = as_floating(value, "value"), as_floating(grad_output, "grad_output")
    output, logsumexp = as_floating(output, "output"), as_floating(logsumexp, "logsumexp")
    leading = require_attention_shapes(query, key, value)
    block_size = _as_block_size(block_size)
    saved_shape = (*leading, query.shape[-2], value.shape[-1])
    for name, array, shape in (
        ("grad_output", grad_output, saved_shape),
        ("output", output, saved_shape),
        ("logsumexp", logsumexp, saved_shape[:-1]),
    ):
        if array.shape != shape:
            raise ValueError(f"{name} must have shape {shape}; it has shape {array.shape}.")

    dtype = np.result_type(query, key, value, grad_output, np.float32)
    row_terms = np.sum(grad_output.astype(dtype, copy=False) * output, axis=-1, keepdims=True)
    rows = max(TILE_SCORES // block_size, SHORTEST_TILE)
    grads = [np.zeros(array.shape, dtype) for array in (query, key, value)]
    for item in np.ndindex(leading):
        q, k, v = (_of_item(a, item).astype(dtype, copy=False) for a in (query, key, value))
        grad_q, grad_k, grad_v = (_of_item(grad, item) for grad in grads)
        for i, j in itertools.product(range(0, len(q), rows), range(0, len(k), block_size)):
            here, there = slice(i, i + rows), slice(j, j + block_size)
            if is_causal and j >= i + len(q[here]):
                continue
            saved = (array[item][here] for array in (grad_output, row_terms, logsumexp))
            parts = _block_gradients(
                q[here], k[there], v[there], *saved, i - j if is_causal else None
            )
            grad_q[here] += parts[0]
            grad_k[there] += parts[1]
            grad_v[there] += parts[2]
    return tuple(
        round_to(grad, array.dtype) for grad, array in zip(grads, (query, key, value), strict=True)
    )


def attention_bytes(length: int, head_dim: int, itemsize: int) -> tuple[int, int]:
    r"""Count the bytes that attention moves to and from main memory, naive and tiled.

    Parameters
    ----------
    length : int
        The number n of queries, and of keys.
    head_dim : int
        The size d of each query, key and value.
    itemsize : int
        Bytes per number: 4 for float32.

    Returns
    -------
    naive : int
        Q and K are read and the scores written; the scores read and the weights written; the
        weights and V read and the output written: 4 n d + 4 n² numbers.
    tiled : int
        Q, K and V are read once and the output is written: 4 n d numbers.

    Raises
    ------
    TypeError
        If an argument is not an integer.
    ValueError
        If an argument is negative.

    Notes
    -----
    Both count one head and a cache that holds whatever is used again at once. The n² terms are
    what a tiled kernel saves; the count is that of Dao et al., "FlashAttention", section 3.2,
    arXiv:2205.14135 (2022), with Q read once.

    Examples
    --------
    >>> from attention_lib import attention_bytes
    >>> attention_bytes(length=1024, head_dim=64, itemsize=4)
    (17825792, 1048576)
    """
    n = _as_integer(length, "length", 0)
    d = _as_integer(head_dim, "head_dim", 0)
    itemsize = _as_integer(itemsize, "itemsize", 0)
    vectors, scores = n * d, n * n
    return (4 * vectors + 4 * scores) * itemsize, 4 * vectors * itemsize


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


def _forward(
    query: ArrayLike, key: ArrayLike, value: ArrayLike, block_size: int, is_causal: bool
) -> tuple[Array, Array]:
    """Return the output and log-sum-exp of attention, tile by tile."""
    query, key = as_floating(query, "query"), as_floating(key, "key")
    value = as_floating(value, "value")
    leading = require_attention_shapes(query, key, value)
    (length, d_k), (key_length, d_v) = query.shape[-2:], value.shape[-2:]
    block_size = min(_as_block_size(block_size), max(key_length, 1))
    dtype = np.result_type(query, key, value)
    inner = np.promote_types(dtype, np.float32)
    output = np.empty((*leading, length, d_v), dtype)
    logsumexp = np.empty((*leading, length), inner)
    if key_length == 0:
        output[...], logsumexp[...] = 0, -np.inf
    if logsumexp.size == 0 or key_length == 0:
        return output, logsumexp

    rows = min(length, max(TILE_SCORES // block_size, SHORTEST_TILE))
    # The longest tiles of causal attention come first, so that no thread waits long at the end.
    jobs = list(itertools.product(reversed(range(0, length, rows)), np.ndindex(leading)))
    scores = math.prod(leading) * length * key_length
    threads = min(_thread_count(), len(jobs)) if scores >= PARALLEL_SCORES else 1
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

    _run_all(run, jobs, threads)
    return output, logsumexp


def _attend(
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


def _block_gradients(
    query: Array,
    key: Array,
    value: Array,
    grad_output: Array,
    row_terms: Array,
    logsumexp: Array,
    distance: int | None,
) -> tuple[Array, Array, Array]:
    """Return what one block of keys adds to the gradients of its queries, keys and values."""
    scale = 1 / math.sqrt(max(query.shape[-1], 1))
    scores = scale * query @ key.T
    if distance is not None:
        scores[~np.tri(*scores.shape, k=distance, dtype=bool)] = -np.inf
    weights = np.exp(scores - logsumexp[:, None])
    grad_scores = scale * weights * (grad_output @ value.T - row_terms)
    return grad_scores @ key, grad_scores.T @ query, weights.T @ grad_output


def _block_stats(scores: ArrayLike) -> tuple[SoftmaxStats, np.dtype]:
    """Return the maximum and total of one block's rows, in the working dtype, and its dtype."""
    scores = as_floating(scores, "blocks")
    if scores.ndim == 0:
        raise ValueError("blocks must hold arrays of shape (..., block); one of them is a number.")
    wide = scores.astype(working_dtype(scores.dtype), copy=False)
    maximum = wide.max(axis=-1, initial=-np.inf)
    anchor = np.where(maximum == -np.inf, 0, maximum)  # a row with nothing in it
    with np.errstate(invalid="ignore"):  # inf - inf, where the answer is NaN
        return (maximum, np.exp(wide - anchor[..., None]).sum(axis=-1)), scores.dtype


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


def _run_all(run: Callable, jobs: list, threads: int) -> None:
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


def _thread_count() -> int:
    """Return how many threads NumPy's users expect: what they set for BLAS, or all processors."""
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        asked = os.environ.get(variable, "")
        if asked.isdecimal() and int(asked) > 0:
            return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _as_block_size(block_size: int) -> int:
    return _as_integer(block_size, "block_size", 1)


def _as_integer(value: int, name: str, lowest: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer; it is {value!r}.") from None
    if number < lowest:
        raise ValueError(f"{name} must be at least {lowest}; it is {number}.")
    return number


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
