"""Lesson 07: attention without the L × S matrix, one block of keys at a time, and its gradient."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attention_lib.arguments import (
    as_floating,
    as_integer,
    require_attention_shapes,
    round_to,
    widened,
    working_dtype,
)
from attention_lib.lessons.gradients import sum_over_copies
from attention_lib.lessons.scaling import scaled_scores
from attention_lib.lessons.stability import SoftmaxStats, merge_softmax_stats

__all__ = [
    "attention_bytes",
    "merge_attention",
    "online_softmax_stats",
    "tiled_attention",
    "tiled_attention_backward",
    "tiled_causal_attention",
]

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


def tiled_attention(query: ArrayLike, key: ArrayLike, value: ArrayLike, block_size: int) -> Array:
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
        How many keys are taken at a time; the last block may be shorter.

    Returns
    -------
    ndarray, shape (..., L, d_v)
        The output of ``attention(query, key, value)``, in the common dtype of the arguments
        (float64 for integers).

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

    and o / t at the end. At most L × `block_size` scores of a batch item are formed at a time.

    See Rabe and Staats, "Self-attention does not need O(n²) memory", arXiv:2112.05682 (2021),
    and Dao et al., "FlashAttention", arXiv:2205.14135 (2022). float32 and float16 are computed
    in float64 and rounded once.

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
    (query, key, value), dtype = widened(query=query, key=key, value=value)
    leading, length = require_attention_shapes(query, key, value), query.shape[-2]
    block_size = as_integer(block_size, "block_size", 1)
    maximum, total = np.full((*leading, length, 1), -np.inf), np.zeros((*leading, length, 1))
    output = np.zeros((*leading, length, value.shape[-1]))
    with np.errstate(invalid="ignore"):  # inf - inf, where the answer is NaN
        for start in range(0, key.shape[-2], block_size):
            block = slice(start, start + block_size)
            scores = scaled_scores(query, key[..., block, :])
            new = np.maximum(maximum, scores.max(axis=-1, keepdims=True))
            correction, exponentials = np.exp(maximum - new), np.exp(scores - new)
            total = total * correction + exponentials.sum(axis=-1, keepdims=True)
            output = output * correction + exponentials @ value[..., block, :]
            maximum = new
    return round_to(output / np.where(total == 0, 1, total), dtype)  # without a key, 0


def tiled_causal_attention(
    query: ArrayLike, key: ArrayLike, value: ArrayLike, block_size: int
) -> Array:
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
        The side of the blocks, in queries and in keys; the last may be shorter.

    Returns
    -------
    ndarray, shape (..., L, d_v)
        The output of attention in which query i sees the keys 0 to i, in the common dtype of
        the arguments (float64 for integers).

    Raises
    ------
    TypeError
        If an argument does not hold real numbers or `block_size` is not an integer.
    ValueError
        If the shapes do not fit or `block_size` is below 1.

    Notes
    -----
    The method is that of `tiled_attention`, for one block of queries after another. A block of
    queries meets the keys up to its own last position: of n × n blocks, n (n + 1) / 2 are
    computed, and the n on the diagonal are masked.

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
    (query, key, value), dtype = widened(query=query, key=key, value=value)
    leading, length = require_attention_shapes(query, key, value), query.shape[-2]
    block_size = as_integer(block_size, "block_size", 1)
    outputs = np.empty((*leading, length, value.shape[-1]), dtype)
    for first in range(0, length, block_size):
        queries = query[..., first : first + block_size, :]
        rows = (*leading, queries.shape[-2])
        maximum, total = np.full((*rows, 1), -np.inf), np.zeros((*rows, 1))
        output = np.zeros((*rows, value.shape[-1]))
        with np.errstate(invalid="ignore"):  # inf - inf, where the answer is NaN
            for start in range(0, min(first + 1, key.shape[-2]), block_size):
                block = slice(start, start + block_size)
                scores = scaled_scores(queries, key[..., block, :])
                if start == first:  # the block on the diagonal
                    past = np.tri(*scores.shape[-2:], dtype=bool)
                    scores = np.where(past, scores, -np.inf)
                new = np.maximum(maximum, scores.max(axis=-1, keepdims=True))
                correction, exponentials = np.exp(maximum - new), np.exp(scores - new)
                total = total * correction + exponentials.sum(axis=-1, keepdims=True)
                output = output * correction + exponentials @ value[..., block, :]
                maximum = new
        outputs[..., first : first + block_size, :] = output / np.where(total == 0, 1, total)
    return outputs


def merge_attention(
    left: tuple[ArrayLike, ArrayLike], right: tuple[ArrayLike, ArrayLike]
) -> tuple[Array, Array]:
    r"""Join the attention of the same queries over two different sets of keys.

    Parameters
    ----------
    left, right : tuple of array_like, shapes (..., L, d_v) and (..., L)
        The output and log-sum-exp of the queries over one set of keys. Zeros and ``-inf`` stand
        for no keys.

    Returns
    -------
    output : ndarray, shape (..., L, d_v)
        The output over all keys of both.
    logsumexp : ndarray, shape (..., L)
        The log-sum-exp over all keys of both. Both are in the common dtype of the arguments
        (float64 for integers).

    Raises
    ------
    TypeError
        If an argument does not hold real numbers.
    ValueError
        If the shapes do not fit.

    Notes
    -----
    .. math::
        \ell = \log(e^{\ell_1} + e^{\ell_2}), \qquad
        o = e^{\ell_1 - \ell}\, o_1 + e^{\ell_2 - \ell}\, o_2

    The operation is associative, so parts may be joined in any grouping. This is how
    flash decoding joins the parts of a long cache, and ring attention those of several devices:
    Liu, Zaharia and Abbeel, "Ring Attention with Blockwise Transformers for Near-Infinite
    Context", arXiv:2310.01889 (2023).

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import merge_attention
    >>> left = np.array([[1.0, 0.0]]), np.log([1.0])
    >>> right = np.array([[5.0, 4.0]]), np.log([3.0])
    >>> output, logsumexp = merge_attention(left, right)
    >>> output
    array([[4., 3.]])
    >>> np.exp(logsumexp)
    array([4.])
    """
    if len(left) != 2 or len(right) != 2:
        raise ValueError("left and right must each be a pair (output, logsumexp).")
    names = ("the left output", "the left logsumexp", "the right output", "the right logsumexp")
    parts, dtype = widened(**dict(zip(names, (*left, *right), strict=True)))
    output, lse, other_output, other_lse = parts
    if not output.shape[:-1] == lse.shape == other_lse.shape or output.shape != other_output.shape:
        raise ValueError(
            "outputs must have one shape (..., L, d_v), and both logsumexp (..., L); they have "
            f"shapes {output.shape}, {other_output.shape}, {lse.shape} and {other_lse.shape}."
        )
    merged = np.logaddexp(lse, other_lse)
    anchor = np.where(merged == -np.inf, 0, merged)  # no keys on either side
    shares = np.exp(lse - anchor)[..., None], np.exp(other_lse - anchor)[..., None]
    joined = shares[0] * output + shares[1] * other_output
    return round_to(joined, dtype), round_to(merged, dtype)


def tiled_attention_backward(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    output: ArrayLike,
    logsumexp: ArrayLike,
    grad_output: ArrayLike,
    block_size: int,
) -> tuple[Array, Array, Array]:
    r"""Carry a gradient back through tiled attention, forming the weights again block by block.

    Parameters
    ----------
    query : array_like, shape (..., L, d_k)
        One vector for each of L queries.
    key : array_like, shape (..., S, d_k)
        One vector for each of S keys.
    value : array_like, shape (..., S, d_v)
        One vector for each of S keys. Leading dimensions broadcast.
    output : array_like, shape (..., L, d_v)
        What `tiled_attention` returned for these arguments.
    logsumexp : array_like, shape (..., L)
        The logarithm of each query's sum of exponentials of its scores.
    grad_output : array_like, shape (..., L, d_v)
        The gradient of a loss with respect to the output.
    block_size : int
        How many keys are taken at a time; the last block may be shorter.

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
    >>> from attention_lib import logsumexp, scaled_scores, tiled_attention
    >>> from attention_lib import tiled_attention_backward
    >>> query, key = np.array([[0.0]]), np.array([[1.0], [3.0]])
    >>> value, grad_output = np.array([[2.0], [6.0]]), np.array([[1.0]])
    >>> saved = tiled_attention(query, key, value, 1), logsumexp(scaled_scores(query, key))
    >>> grads = tiled_attention_backward(query, key, value, *saved, grad_output, block_size=1)
    >>> grads[0].round(12)
    array([[2.]])
    >>> grads[2].round(12)
    array([[0.5],
           [0.5]])
    """
    query, key = as_floating(query, "query"), as_floating(key, "key")
    value = as_floating(value, "value")
    saved = {"output": output, "logsumexp": logsumexp, "grad_output": grad_output}
    (q, k, v, output, logsumexp, grad), _ = widened(query=query, key=key, value=value, **saved)
    leading = require_attention_shapes(q, k, v)
    _require_saved((*leading, q.shape[-2], v.shape[-1]), output, logsumexp, grad)
    block_size = as_integer(block_size, "block_size", 1)
    scale = 1 / math.sqrt(max(q.shape[-1], 1))
    row_terms = np.sum(grad * output, axis=-1, keepdims=True)
    grad_q, grad_k, grad_v = (np.zeros((*leading, *a.shape[-2:]), a.dtype) for a in (q, k, v))
    for start in range(0, k.shape[-2], block_size):
        block = slice(start, start + block_size)
        weights = np.exp(scaled_scores(q, k[..., block, :]) - logsumexp[..., None])
        grad_scores = scale * weights * (grad @ v[..., block, :].mT - row_terms)
        grad_q += grad_scores @ k[..., block, :]
        grad_k[..., block, :] = grad_scores.mT @ q
        grad_v[..., block, :] = weights.mT @ grad
    return tuple(
        sum_over_copies(gradient, argument)
        for gradient, argument in zip((grad_q, grad_k, grad_v), (query, key, value), strict=True)
    )


def attention_bytes(
    length: int, head_dim: int, itemsize: int, block_rows: int | None = None
) -> tuple[int, int]:
    r"""Count the bytes that attention moves to and from main memory, naive and tiled.

    Parameters
    ----------
    length : int
        The number n of queries, and of keys.
    head_dim : int
        The size d of each query, key and value.
    itemsize : int
        Bytes per number: 4 for float32.
    block_rows : int, optional
        How many queries a tile has: K and V are read once for each tile, the last of which may
        be short. Without it they stay in the cache once they are read.

    Returns
    -------
    naive : int
        Q and K are read and the scores written; the scores read and the weights written; the
        weights and V read and the output written: 4 n d + 4 n² numbers.
    tiled : int
        Q is read once and the output written; K and V are read once, or once for each of the
        n / `block_rows` tiles.

    Raises
    ------
    TypeError
        If an argument is not an integer.
    ValueError
        If an argument is negative, or `block_rows` below 1.

    Notes
    -----
    Both count one head. A cache of M numbers has room for tiles of about M / d queries, so with
    the largest tiles that fit the count is in the order of n² d² / M: Dao et al.,
    "FlashAttention", theorem 2, arXiv:2205.14135 (2022).

    Examples
    --------
    >>> from attention_lib import attention_bytes
    >>> attention_bytes(length=1024, head_dim=64, itemsize=4)
    (17825792, 1048576)
    >>> attention_bytes(length=1024, head_dim=64, itemsize=4, block_rows=256)
    (17825792, 2621440)
    """
    n = as_integer(length, "length", 0)
    d = as_integer(head_dim, "head_dim", 0)
    itemsize = as_integer(itemsize, "itemsize", 0)
    tiles = 1 if block_rows is None else -(-n // as_integer(block_rows, "block_rows", 1))
    vectors, scores = n * d, n * n
    return (4 * vectors + 4 * scores) * itemsize, (2 + 2 * tiles) * vectors * itemsize


def _require_saved(shape: tuple[int, ...], output: Array, logsumexp: Array, grad: Array) -> None:
    """Refuse arrays of the forward pass that do not have the shapes it gives them."""
    for name, array, expected in (
        ("output", output, shape),
        ("logsumexp", logsumexp, shape[:-1]),
        ("grad_output", grad, shape),
    ):
        if array.shape != expected:
            raise ValueError(f"{name} must have shape {expected}; it has shape {array.shape}.")


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
