"""Lesson 07: attention without the L × S matrix, one block of keys at a time, and its gradient."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attention_lib.arguments import (
    as_floating,
    require_attention_shapes,
    round_to,
    working_dtype,
)
from attention_lib.lessons.fast_flash import Tile, attend, run_all, thread_count
from attention_lib.lessons.stability import SoftmaxStats, merge_softmax_stats

BLOCK_SIZE = 128  # keys at a time: their scores with one tile of queries stay in the cache
TILE_SCORES = 2**18  # scores that one thread holds at a time, as far as the block size allows
SHORTEST_TILE = 32  # queries, however large the block
PARALLEL_SCORES = 2**21  # fewer scores than these are not worth starting threads for

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
    threads = min(thread_count(), len(jobs)) if scores >= PARALLEL_SCORES else 1
    idle_tiles: list[Tile] = []

    def run(job: tuple[int, tuple[int, ...]]) -> None:
        start, item = job
        here = slice(start, start + rows)
        q, k, v = (_of_item(array, item) for array in (query, key, value))
        tile = idle_tiles.pop() if idle_tiles else Tile(rows, block_size, d_k, d_v, inner)
        with np.errstate(all="ignore"):  # infinite or NaN inputs give NaN, and no warning
            attend(
                tile,
                (q[here], k, v),
                start if is_causal else None,
                (output[item][here], logsumexp[item][here]),
            )
        idle_tiles.append(tile)

    run_all(run, jobs, threads)
    return output, logsumexp


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


def _of_item(array: NDArray, item: tuple[int, ...]) -> NDArray:
    """Return a batch item's matrix; a dimension that is missing or 1 serves every item."""
    own = item[len(item) - (array.ndim - 2) :]
    return array[tuple(i if n > 1 else 0 for i, n in zip(own, array.shape, strict=False))]


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
