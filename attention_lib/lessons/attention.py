"""Lesson 05: scaled dot-product attention, its masks, and attention within and between sequences."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attention_lib.arguments import (
    as_integer,
    broadcast_as,
    broadcast_leading,
    require_attention_shapes,
    require_matrices,
    round_to,
    widened,
)
from attention_lib.lessons.scaling import scaled_scores
from attention_lib.lessons.stability import masked_softmax

__all__ = [
    "attention",
    "causal_mask",
    "cross_attention",
    "document_mask",
    "padding_mask",
    "self_attention",
    "sliding_window_mask",
]


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
    return np.tri(as_integer(length, "length", 0), dtype=bool)


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
    lengths, max_length = np.asarray(lengths), as_integer(max_length, "max_length", 0)
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


def sliding_window_mask(length: int, window: int) -> NDArray[np.bool_]:
    """Allow each position to attend to the `window` newest positions, itself included.

    Parameters
    ----------
    length : int
        The number of positions.
    window : int
        How many positions each one sees, at least 1. From `length` on it is the causal mask.

    Returns
    -------
    ndarray of bool, shape (length, length)
        True where 0 ≤ query − key < `window`; queries are the rows.

    Raises
    ------
    TypeError
        If an argument is not an integer.
    ValueError
        If `length` is negative, or `window` below 1.

    Notes
    -----
    Beltagy, Peters and Cohan, "Longformer", arXiv:2004.05150 (2020), in its causal form.

    Examples
    --------
    >>> from attention_lib import sliding_window_mask
    >>> sliding_window_mask(3, 2)
    array([[ True, False, False],
           [ True,  True, False],
           [False,  True,  True]])
    """
    window = as_integer(window, "window", 1)
    positions = np.arange(as_integer(length, "length", 0))
    distance = positions[:, None] - positions
    return (distance >= 0) & (distance < window)


def document_mask(documents: ArrayLike) -> NDArray[np.bool_]:
    """Allow each position to attend to the positions of its own document.

    Parameters
    ----------
    documents : array_like of int, shape (L,)
        The number of the document that each position belongs to.

    Returns
    -------
    ndarray of bool, shape (L, L)
        True where query and key belong to one document, whichever comes first. With
        `causal_mask`, by ``&``, it keeps the texts of a packed sequence apart.

    Raises
    ------
    TypeError
        If `documents` does not hold integers.
    ValueError
        If `documents` is not one row.

    Examples
    --------
    >>> from attention_lib import document_mask
    >>> document_mask([7, 7, 2])
    array([[ True,  True, False],
           [ True,  True, False],
           [False, False,  True]])
    """
    documents = np.asarray(documents)
    if documents.ndim != 1:
        raise ValueError(f"documents must have shape (L,); it has shape {documents.shape}.")
    if documents.dtype.kind not in "iu" and documents.size:
        raise TypeError(f"documents must hold integers; it has dtype {documents.dtype}.")
    return documents[:, None] == documents


def attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    mask: ArrayLike | None = None,
    scale: float | None = None,
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    r"""Let each query mix the values, by weights from its scores against the keys.

    Parameters
    ----------
    query : array_like, shape (..., L, d_k)
        One vector for each of L queries.
    key : array_like, shape (..., S, d_k)
        One vector for each of S keys.
    value : array_like, shape (..., S, d_v)
        One vector for each of S keys. Leading dimensions broadcast.
    mask : array_like of bool or float, broadcastable to (..., L, S), optional
        Booleans are True where attention is allowed. Numbers are added to the scaled scores;
        ``-inf`` forbids.
    scale : float, optional
        What the dot products are multiplied by; :math:`1/\sqrt{d_k}` when None.

    Returns
    -------
    output : ndarray, shape (..., L, d_v)
        The mixtures, in the common dtype of `query`, `key` and `value` (float64 for integers).
    weights : ndarray, shape (..., L, S)
        The weights, in the same dtype. In a row with nothing allowed, output and weights are
        zeros.

    Raises
    ------
    TypeError
        If an argument does not hold real numbers, or `mask` neither these nor booleans.
    ValueError
        If the shapes do not fit.

    Notes
    -----
    .. math:: \mathrm{softmax}(\alpha Q K^\top + M)\, V

    See Vaswani et al., "Attention Is All You Need", section 3.2.1 (2017). float32 and float16
    are computed in float64 and rounded once.

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
    (query, key, value), dtype = widened(query=query, key=key, value=value)
    leading = require_attention_shapes(query, key, value)
    scores = scaled_scores(query, key, scale)
    scores = _apply_mask(np.broadcast_to(scores, (*leading, *scores.shape[-2:])), mask)
    weights = masked_softmax(scores, scores != -np.inf) if scores.size else scores
    return round_to(weights @ value, dtype), round_to(weights, dtype)


def self_attention(
    x: ArrayLike, w_q: ArrayLike, w_k: ArrayLike, w_v: ArrayLike, mask: ArrayLike | None = None
) -> NDArray[np.floating]:
    """Let the positions of one sequence attend to each other.

    Parameters
    ----------
    x : array_like, shape (..., L, d)
        One vector for each of L positions.
    w_q, w_k : array_like, shape (d, d_k)
        The projections that make queries and keys of `x`.
    w_v : array_like, shape (d, d_v)
        The projection that makes values of `x`.
    mask : array_like of bool or float, broadcastable to (..., L, L), optional
        As in `attention`.

    Returns
    -------
    ndarray, shape (..., L, d_v)
        The output of attention, in the common dtype of `x` and the projections (float64 for
        integers).

    Raises
    ------
    TypeError
        If an argument does not hold real numbers, or `mask` neither these nor booleans.
    ValueError
        If the shapes do not fit.

    Notes
    -----
    Moving the positions moves the outputs in the same way and changes nothing else: without a
    mask, attention does not know the order of its input.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import self_attention
    >>> x, identity = np.array([[1.0, 0.0], [0.0, 1.0]]), np.eye(2)
    >>> self_attention(x, identity, identity, identity).round(3)
    array([[0.67, 0.33],
           [0.33, 0.67]])
    """
    (x, w_q, w_k, w_v), dtype = widened(x=x, w_q=w_q, w_k=w_k, w_v=w_v)
    _require_products("x", x, w_q=w_q, w_k=w_k, w_v=w_v)
    _require_one_size(w_q, w_k)
    output, _ = attention(x @ w_q, x @ w_k, x @ w_v, mask)
    return round_to(output, dtype)


def cross_attention(
    x: ArrayLike,
    context: ArrayLike,
    w_q: ArrayLike,
    w_k: ArrayLike,
    w_v: ArrayLike,
    mask: ArrayLike | None = None,
) -> NDArray[np.floating]:
    """Let the positions of one sequence attend to those of another.

    Parameters
    ----------
    x : array_like, shape (..., L, d)
        The sequence that asks: one vector for each of L positions.
    context : array_like, shape (..., S, d)
        The sequence that answers: one vector for each of S positions. Leading dimensions
        broadcast. Its d may differ from that of `x`, when `w_k` and `w_v` have it too.
    w_q, w_k : array_like, shape (d, d_k)
        The projections that make queries of `x` and keys of `context`.
    w_v : array_like, shape (d, d_v)
        The projection that makes values of `context`.
    mask : array_like of bool or float, broadcastable to (..., L, S), optional
        As in `attention`.

    Returns
    -------
    ndarray, shape (..., L, d_v)
        The output of attention, in the common dtype of the sequences and the projections
        (float64 for integers).

    Raises
    ------
    TypeError
        If an argument does not hold real numbers, or `mask` neither these nor booleans.
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import cross_attention
    >>> x, context, identity = np.array([[0.0, 0.0]]), np.array([[4.0, 0.0], [0.0, 2.0]]), np.eye(2)
    >>> cross_attention(x, context, identity, identity, identity)
    array([[2., 1.]])
    """
    (x, context, w_q, w_k, w_v), dtype = widened(x=x, context=context, w_q=w_q, w_k=w_k, w_v=w_v)
    _require_products("x", x, w_q=w_q)
    _require_products("context", context, w_k=w_k, w_v=w_v)
    _require_one_size(w_q, w_k)
    broadcast_leading(x=x, context=context)
    output, _ = attention(x @ w_q, context @ w_k, context @ w_v, mask)
    return round_to(output, dtype)


def _apply_mask(scores: NDArray, mask: ArrayLike | None) -> NDArray:
    """Return the scores with ``-inf`` where the mask forbids, or with a float mask added."""
    if mask is None:
        return scores
    mask = np.asarray(mask)
    if mask.dtype.kind not in "bf":
        raise TypeError(
            "mask must hold booleans, True where allowed, or floats to add to the scores; "
            f"it has dtype {mask.dtype}."
        )
    mask = broadcast_as(mask, scores.shape, "mask", "scores")
    if mask.dtype == bool:
        return np.where(mask, scores, -np.inf)
    with np.errstate(invalid="ignore"):  # inf - inf is NaN
        return np.where(mask == -np.inf, mask, scores + mask)


def _require_products(name: str, sequence: NDArray, **weights: NDArray) -> None:
    """Refuse projections that are no matrices, or that the sequence's vectors do not fit."""
    require_matrices(**{name: sequence})
    for weight_name, weight in weights.items():
        if weight.ndim != 2:
            raise ValueError(f"{weight_name} must be one matrix; it has shape {weight.shape}.")
        if sequence.shape[-1] != weight.shape[0]:
            raise ValueError(
                f"{name} of shape {sequence.shape} and {weight_name} of shape {weight.shape} "
                "cannot be multiplied: (..., L, d) needs (d, d_k) or (d, d_v), with one d."
            )


def _require_one_size(w_q: NDArray, w_k: NDArray) -> None:
    if w_q.shape[1] != w_k.shape[1]:
        raise ValueError(
            "w_q and w_k must give queries and keys of one size, (d, d_k); "
            f"they have shapes {w_q.shape} and {w_k.shape}."
        )
