"""Lesson 05: scaled dot-product attention, its masks, and attention within and between sequences."""

from __future__ import annotations

import operator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attention_lib.arguments import (
    as_floating,
    broadcast_as,
    require_attention_shapes,
    require_matrices,
    round_to,
    working_dtype,
)
from attention_lib.scaling import scaled_scores, softcap as cap_scores
from attention_lib.stability import masked_softmax


def causal_mask(length: int) -> NDArray[np.bool_]:
    """Allow each position to attend to itself and to the positions before it.

    Parameters
    ----------
    length : int
        The number of positions.

    Returns
    -------
    ndarray of bool, shape (length, length)
        True where the key's position, the column, is not after the query's, the row.

    Raises
    ------
    TypeError
        If `length` is not an integer.
    ValueError
        If `length` is negative.

    Examples
    --------
    >>> from attention_lib import causal_mask
    >>> causal_mask(3)
    array([[ True, False, False],
           [ True,  True, False],
           [ True,  True,  True]])
    """
    return np.tri(_as_count(length, "length"), dtype=bool)


def padding_mask(lengths: ArrayLike, max_length: int) -> NDArray[np.bool_]:
    """Mark the real tokens of sequences that were padded to one length.

    Parameters
    ----------
    lengths : array_like of int, shape (B,)
        How many tokens of each sequence are real, from 0 to `max_length`; they come first.
    max_length : int
        The length with padding.

    Returns
    -------
    ndarray of bool, shape (B, max_length)
        True on real tokens. As a mask over the keys of scores (B, L, S) it needs an axis for
        the queries: ``padding_mask(lengths, S)[:, None, :]``.

    Raises
    ------
    TypeError
        If `lengths` or `max_length` are not integers.
    ValueError
        If `lengths` is not one row, or a length lies outside 0 to `max_length`.

    Examples
    --------
    >>> from attention_lib import padding_mask
    >>> padding_mask([2, 3], 3)
    array([[ True,  True, False],
           [ True,  True,  True]])
    """
    lengths, max_length = np.asarray(lengths), _as_count(max_length, "max_length")
    if lengths.ndim != 1:
        raise ValueError(f"lengths must have shape (B,); it has shape {lengths.shape}.")
    if lengths.dtype.kind not in "iu" and lengths.size:
        raise TypeError(f"lengths must hold integers; it has dtype {lengths.dtype}.")
    if np.any(lengths < 0) or np.any(lengths > max_length):
        raise ValueError(
            f"lengths must lie between 0 and max_length, {max_length}; "
            f"they reach from {lengths.min()} to {lengths.max()}."
        )
    return np.arange(max_length) < lengths[:, None]


def attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    mask: ArrayLike | None = None,
    scale: float | None = None,
    *,
    is_causal: bool = False,
    softcap: float | None = None,
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    r"""Let each query mix the values, by weights from its scores against the keys.

    Parameters
    ----------
    query : array_like, shape (..., L, d_k)
        One vector for each of L queries.
    key : array_like, shape (..., S, d_k)
        One vector for each of S keys.
    value : array_like, shape (..., S, d_v)
        One vector for each of S keys. Leading dimensions broadcast. The last of them counts
        heads: when `key` and `value` have G heads and `query` H, a multiple of G, each
        H / G consecutive query heads share one head of keys and values.
    mask : array_like of bool or float, broadcastable to (..., L, S), optional
        Booleans are True where attention is allowed. Numbers are added to the scaled and
        capped scores; ``-inf`` forbids.
    scale : float, optional
        What the dot products are multiplied by; :math:`1/\sqrt{d_k}` when None. Given by
        position or by name.
    is_causal : bool, default False
        Forbid keys after the query, on top of `mask`: query i sees the keys 0 to i, also when
        L and S differ.
    softcap : float, optional
        Hold the scaled scores between -softcap and softcap before the mask is applied.

    Returns
    -------
    output : ndarray, shape (..., L, d_v)
        The mixtures, in the common dtype of `query`, `key` and `value` (float64 for integers).
    weights : ndarray, shape (..., L, S)
        The weights, in the same dtype, with the leading dimensions of `query` and `key`. In
        a row with nothing allowed, output and weights are zeros.

    Raises
    ------
    TypeError
        If an argument does not hold real numbers, or `mask` neither these nor booleans.
    ValueError
        If the shapes do not fit, or `softcap` is not positive.

    Notes
    -----
    .. math:: \mathrm{softmax}(\alpha Q K^\top + M)\, V

    See Vaswani et al., "Attention Is All You Need", section 3.2.1 (2017). Grouped heads are
    those of Ainslie et al., "GQA", arXiv:2305.13245 (2023). The causal mask starts at the top
    left as in PyTorch and ONNX. float32 and float16 are computed in float64 and rounded once.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import attention
    >>> query = np.array([[1.0, 0.0]])
    >>> key = np.array([[0.0, 1.0], [0.0, 2.0], [5.0, 0.0]])
    >>> value = np.array([[2.0, 0.0], [4.0, 8.0], [0.0, 1.0]])
    >>> output, weights = attention(query, key, value, mask=np.array([True, True, False]))
    >>> output
    array([[3., 4.]])
    >>> weights
    array([[0.5, 0.5, 0. ]])
    """
    query, key = as_floating(query, "query"), as_floating(key, "key")
    value = as_floating(value, "value")
    key, value = _share_heads(query, key, value)
    require_attention_shapes(query, key, value)
    dtype = np.result_type(query, key, value)
    wide = working_dtype(dtype)

    scores = scaled_scores(query.astype(wide, copy=False), key.astype(wide, copy=False), scale)
    if softcap is not None:
        scores = cap_scores(scores, softcap)
    scores, allowed = _apply_mask(scores, mask)
    if is_causal:
        allowed = allowed & np.tri(*scores.shape[-2:], dtype=bool)
    weights = masked_softmax(scores, allowed)
    output = weights @ value.astype(wide, copy=False)
    return round_to(output, dtype), round_to(weights, dtype)
