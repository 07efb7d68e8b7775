"""Lesson 06: several heads, heads in groups, positions as rotations, a cache, and all of it as one layer."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attention_lib.arguments import (
    as_floating,
    as_integer,
    as_positive,
    broadcast_as,
    in_own_dtype,
    require_matrices,
    round_to,
    widened,
)
from attention_lib.lessons.attention import attention

__all__ = [
    "decode_step",
    "decoder_attention",
    "grouped_query_attention",
    "merge_heads",
    "multi_head_attention",
    "rotary_embedding",
    "split_heads",
]

Cache = tuple[NDArray, NDArray]


def split_heads(x: ArrayLike, num_heads: int) -> NDArray:
    """Cut each vector into equal pieces, one for each head, and put the heads first.

    Parameters
    ----------
    x : array_like, shape (..., L, D)
        One vector for each of L positions.
    num_heads : int
        The number H of heads, a divisor of D.

    Returns
    -------
    ndarray, shape (..., H, L, D / H)
        Head h holds the entries h · D/H to (h + 1) · D/H of every vector, in the dtype of `x`.

    Raises
    ------
    TypeError
        If `num_heads` is not an integer.
    ValueError
        If D is not a multiple of `num_heads`, or `x` has fewer than two dimensions.

    Notes
    -----
    A reshape alone to (..., H, L, D/H) has the right shape and the wrong numbers: it would mix
    positions. The vectors are cut first, then the axes are swapped.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import split_heads
    >>> x = np.array([[1, 2, 3, 4], [5, 6, 7, 8]])
    >>> split_heads(x, num_heads=2)
    array([[[1, 2],
            [5, 6]],
    <BLANKLINE>
           [[3, 4],
            [7, 8]]])
    """
    x = np.asarray(x)
    require_matrices(x=x)
    num_heads = as_integer(num_heads, "num_heads", 1)
    *leading, length, size = x.shape
    if size % num_heads:
        raise ValueError(
            f"x of shape {x.shape} cannot be split into num_heads = {num_heads}: "
            f"its last axis, {size}, is not a multiple of {num_heads}."
        )
    pieces = x.reshape(*leading, length, num_heads, size // num_heads)
    return pieces.swapaxes(-2, -3).copy()  # never a view of the caller's array


def merge_heads(x: ArrayLike) -> NDArray:
    """Join the heads' pieces of each vector again: the inverse of `split_heads`.

    Parameters
    ----------
    x : array_like, shape (..., H, L, d)
        One vector for each of H heads and L positions.

    Returns
    -------
    ndarray, shape (..., L, H · d)
        The heads' vectors of each position side by side, in the dtype of `x`.

    Raises
    ------
    ValueError
        If `x` has fewer than three dimensions.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import merge_heads
    >>> merge_heads(np.array([[[1, 2], [5, 6]], [[3, 4], [7, 8]]]))
    array([[1, 2, 3, 4],
           [5, 6, 7, 8]])
    """
    x = np.asarray(x)
    if x.ndim < 3:
        raise ValueError(f"x must have shape (..., H, L, d); it has shape {x.shape}.")
    *leading, heads, length, size = x.shape
    return x.swapaxes(-2, -3).reshape(*leading, length, heads * size, copy=True)


def multi_head_attention(
    x: ArrayLike,
    w_q: ArrayLike,
    w_k: ArrayLike,
    w_v: ArrayLike,
    w_o: ArrayLike,
    num_heads: int,
    mask: ArrayLike | None = None,
) -> NDArray[np.floating]:
    r"""Let the positions attend to each other in several heads at once, then mix the heads.

    Parameters
    ----------
    x : array_like, shape (..., L, D)
        One vector for each of L positions.
    w_q, w_k, w_v, w_o : array_like, shape (D, D)
        The projections that make queries, keys and values of `x`, and the output of the
        merged heads; each multiplies from the right.
    num_heads : int
        The number H of heads, a divisor of D.
    mask : array_like of bool or float, broadcastable to (..., L, L), optional
        As in `attention`, the same for all heads.

    Returns
    -------
    ndarray, shape (..., L, D)
        In the common dtype of `x` and the projections (float64 for integers).

    Raises
    ------
    TypeError
        If an argument does not hold real numbers, `mask` neither these nor booleans, or
        `num_heads` is not an integer.
    ValueError
        If the shapes do not fit.

    Notes
    -----
    .. math::
        \mathrm{head}_h = \mathrm{attention}(X W^Q_h, X W^K_h, X W^V_h), \quad
        Y = [\mathrm{head}_1 \cdots \mathrm{head}_H]\, W^O

    Each head's weights are D/H columns of the three projections. See Vaswani et al.,
    "Attention Is All You Need", section 3.2.2 (2017). float32 and float16 are computed in
    float64 and rounded once.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import multi_head_attention
    >>> x, identity = np.array([[9.0, 0.0], [0.0, 9.0]]), np.eye(2)
    >>> multi_head_attention(x, identity, identity, identity, identity, num_heads=2)
    array([[9. , 4.5],
           [4.5, 9. ]])
    """
    (x, w_q, w_k, w_v, w_o), dtype = widened(x=x, w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o)
    _require_square(x, w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o)
    query, key, value = (split_heads(x @ weight, num_heads) for weight in (w_q, w_k, w_v))
    output, _ = attention(query, key, value, _for_every_head(mask, x))
    return round_to(merge_heads(output) @ w_o, dtype)


def grouped_query_attention(
    query: ArrayLike, key: ArrayLike, value: ArrayLike, mask: ArrayLike | None = None
) -> NDArray[np.floating]:
    """Compute attention in which several query heads share one head of keys and values.

    Parameters
    ----------
    query : array_like, shape (..., H, L, d)
        L queries in each of H heads.
    key : array_like, shape (..., G, S, d)
        S keys in each of G groups; G divides H.
    value : array_like, shape (..., G, S, d_v)
        S values in each of G groups. Dimensions before the heads broadcast.
    mask : array_like of bool or float, broadcastable to (..., H, L, S), optional
        As in `attention`.

    Returns
    -------
    ndarray, shape (..., H, L, d_v)
        The output, in the common dtype of `query`, `key` and `value` (float64 for integers).
        The query heads h · H/G to (h + 1) · H/G use the keys and values of group h.

    Raises
    ------
    TypeError
        If an argument does not hold real numbers, or `mask` neither these nor booleans.
    ValueError
        If the shapes do not fit, or G does not divide H.

    Notes
    -----
    See Ainslie et al., "GQA: Training Generalized Multi-Query Transformer Models from
    Multi-Head Checkpoints", arXiv:2305.13245 (2023). With G = H it is multi-head attention,
    with G = 1 multi-query attention. No key or value is copied: the query heads of a group
    get an axis of their own, along which its keys and values broadcast.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import grouped_query_attention
    >>> query, key = np.zeros((4, 1, 3)), np.zeros((2, 1, 3))
    >>> value = np.array([[[5.0]], [[7.0]]])
    >>> grouped_query_attention(query, key, value)[:, 0, 0]
    array([5., 5., 7., 7.])
    """
    query, key = as_floating(query, "query"), as_floating(key, "key")
    value = as_floating(value, "value")
    leading, heads, groups = _grouping(query, key, value)
    length, key_length = query.shape[-2], key.shape[-2]
    query = query.reshape(*query.shape[:-3], groups, heads // groups, *query.shape[-2:])
    key, value = key[..., :, None, :, :], value[..., :, None, :, :]
    if mask is not None:
        mask = np.asarray(mask)
        mask = broadcast_as(mask, (*leading, heads, length, key_length), "mask", "scores")
        mask = mask.reshape(*leading, groups, heads // groups, length, key_length)
    output, _ = attention(query, key, value, mask)
    return output.reshape(*leading, heads, length, value.shape[-1])


def rotary_embedding(
    x: ArrayLike, positions: ArrayLike, base: float = 10000.0
) -> NDArray[np.floating]:
    r"""Turn each pair of entries by an angle that grows with the position.

    Parameters
    ----------
    x : array_like, shape (..., L, d)
        One vector of even size d for each of L positions.
    positions : array_like, shape (L,)
        The positions, the same in every batch item.
    base : float, default 10000.0
        Pair i, the entries 2i and 2i + 1, turns by position · base^(−2i/d) radians: the first
        by one radian for each position, the last almost `base` times more slowly.

    Returns
    -------
    ndarray, shape (..., L, d)
        The turned vectors, as long as before, in the dtype of `x` (float64 for integers).

    Raises
    ------
    TypeError
        If `x` or `positions` does not hold real numbers, or `base` is not a number.
    ValueError
        If d is odd, `positions` does not name one position for each vector, or `base` is not
        positive.

    Notes
    -----
    .. math::
        (a, b) \to (a \cos\theta - b \sin\theta,\ a \sin\theta + b \cos\theta)

    A query at position m and a key at position n, both turned, have a dot product that depends
    on m and n only through m − n. See Su et al., "RoFormer: Enhanced Transformer with Rotary
    Position Embedding", arXiv:2104.09864 (2021). Angles and products are formed in float64 and
    rounded once.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import rotary_embedding
    >>> rotary_embedding(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0, 1])).round(3)
    array([[1.   , 0.   ],
           [0.54 , 0.841]])
    """
    (x,), dtype = widened(x=x)
    positions, base = as_floating(positions, "positions"), as_positive(base, "base")
    require_matrices(x=x)
    size = x.shape[-1]
    if size % 2:
        raise ValueError(f"x must have vectors of even size; it has shape {x.shape}.")
    if positions.shape != x.shape[-2:-1]:
        raise ValueError(
            f"positions must have shape (L,) with L = {x.shape[-2]}, one position for each vector "
            f"of x {x.shape}; it has shape {positions.shape}."
        )
    speeds = base ** (-np.arange(0, size, 2, dtype=x.dtype) / max(size, 1))
    angles = positions[:, None] * speeds
    return round_to(rotate_pairs(x, np.cos(angles), np.sin(angles)), dtype)


def rotate_pairs(x: NDArray, cos: NDArray, sin: NDArray) -> NDArray:
    """Turn each pair of neighboring entries of `x` (..., d) by an angle given as its cosine and sine.

    `cos` and `sin` broadcast to (..., d / 2). The result has the shape and dtype of `x`.
    """
    a, b = x[..., ::2], x[..., 1::2]
    turned = np.empty_like(x)
    turned[..., ::2] = a * cos - b * sin
    turned[..., 1::2] = a * sin + b * cos
    return turned


def decode_step(
    query: ArrayLike, key: ArrayLike, value: ArrayLike, cache: Cache | None = None
) -> tuple[NDArray[np.floating], Cache]:
    """Attend from one new token to all tokens so far, and remember its key and value.

    Parameters
    ----------
    query : array_like, shape (..., 1, d)
        The new token's query.
    key : array_like, shape (..., 1, d)
        The new token's key.
    value : array_like, shape (..., 1, d_v)
        The new token's value.
    cache : pair of array_like, shapes (..., t − 1, d) and (..., t − 1, d_v), optional
        The keys and values of the steps before, as the last step returned them. It is not
        changed.

    Returns
    -------
    output : ndarray, shape (..., 1, d_v)
        The mixture of all t values so far, in the common dtype of the arguments (float64 for
        integers).
    cache : pair of ndarray, shapes (..., t, d) and (..., t, d_v)
        The keys and values of all steps so far, this one included.

    Raises
    ------
    TypeError
        If an argument does not hold real numbers, or `cache` is not a pair.
    ValueError
        If an argument holds more than one token, or the shapes do not fit.

    Notes
    -----
    No mask is needed: the future is not in the cache. Step t costs t dot products, and n steps
    together as many as causal attention over n tokens; computing every output again at every
    step would cost about n/3 times more.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import decode_step
    >>> zero, cache = np.zeros((1, 2)), None
    >>> for word in (2.0, 4.0, 9.0):
    ...     output, cache = decode_step(zero, zero, np.array([[word]]), cache)
    ...     print(output)
    [[2.]]
    [[3.]]
    [[5.]]
    """
    new = {"query": query, "key": key, "value": value}
    new = {name: as_floating(array, name) for name, array in new.items()}
    for name, array in new.items():
        if array.ndim < 2 or array.shape[-2] != 1:
            raise ValueError(
                f"{name} must hold one token, shape (..., 1, d); it has shape {array.shape}."
            )
    if cache is None:
        keys, values = new["key"].copy(), new["value"].copy()
    else:
        old_keys, old_values = _as_cache(cache)
        keys = _append(old_keys, new["key"], "cached keys", "key")
        values = _append(old_values, new["value"], "cached values", "value")
    output, _ = attention(new["query"], keys, values)
    return output, (keys, values)


def decoder_attention(
    x: ArrayLike,
    w_q: ArrayLike,
    w_k: ArrayLike,
    w_v: ArrayLike,
    w_o: ArrayLike,
    num_heads: int,
    num_groups: int,
    positions: ArrayLike,
    cache: Cache | None = None,
    base: float = 10000.0,
) -> tuple[NDArray[np.floating], Cache]:
    """Compute the attention layer of a decoder: groups of heads, rotary positions and a cache.

    Parameters
    ----------
    x : array_like, shape (..., L, D)
        The vectors of the L newest words.
    w_q, w_o : array_like, shape (D, D)
        The projections that make queries of `x`, and the output of the merged heads.
    w_k, w_v : array_like, shape (D, G · d)
        The projections that make keys and values of `x`, with d = D / H.
    num_heads, num_groups : int
        The numbers H of query heads and G of heads of keys and values: H divides D, G divides
        H, and d is even.
    positions : array_like, shape (L,)
        The positions by which queries and keys are rotated. They decide nothing else.
    cache : pair of array_like, each of shape (..., G, t − L, d), optional
        The rotated keys, and the values, of all words before, as the last call returned them.
        It is not changed.
    base : float, default 10000
        The base of the rotation's speeds; a larger one turns most pairs more slowly.

    Returns
    -------
    output : ndarray, shape (..., L, D)
        In the common dtype of `x` and the projections (float64 for integers). Each word
        attends to all cached words, to the new ones before it, and to itself.
    cache : pair of ndarray, each of shape (..., G, t, d)
        The rotated keys, and the values, of all words so far.

    Raises
    ------
    TypeError
        If an argument does not hold real numbers, `num_heads` or `num_groups` is not an
        integer, or `cache` is not a pair.
    ValueError
        If the shapes do not fit.

    Notes
    -----
    A text in pieces of any lengths gives what it gives at once. Grouped heads are from Ainslie
    et al., arXiv:2305.13245 (2023), rotary positions from Su et al., arXiv:2104.09864 (2021);
    see `grouped_query_attention`, `rotary_embedding` and `decode_step`.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import decoder_attention
    >>> x, one = np.array([[2.0, 0.0], [4.0, 0.0], [9.0, 0.0]]), np.eye(2)
    >>> zero = np.zeros((2, 2))
    >>> output, cache = decoder_attention(x[:2], zero, one, one, one, 1, 1, np.array([0, 1]))
    >>> output
    array([[2., 0.],
           [3., 0.]])
    >>> output, cache = decoder_attention(x[2:], zero, one, one, one, 1, 1, np.array([2]), cache)
    >>> output, cache[0].shape
    (array([[5., 0.]]), (1, 3, 2))
    """
    (x, w_q, w_k, w_v, w_o), dtype = in_own_dtype(x=x, w_q=w_q, w_k=w_k, w_v=w_v, w_o=w_o)
    _require_square(x, w_q=w_q, w_o=w_o)
    query = split_heads(x @ w_q, num_heads)
    _require_groups(w_k, w_v, (x.shape[-1], num_groups * query.shape[-1]))
    key, value = split_heads(x @ w_k, num_groups), split_heads(x @ w_v, num_groups)
    query, key = (rotary_embedding(array, positions, base) for array in (query, key))
    keys, values = round_to(key, dtype), round_to(value, dtype)
    if cache is not None:
        old_keys, old_values = _as_cache(cache)
        keys = _append(old_keys, keys, "cached keys", "key")
        values = _append(old_values, values, "cached values", "value")
    length, total = x.shape[-2], keys.shape[-2]
    mask = np.tri(length, total, total - length, dtype=bool)  # the last row sees every word
    output = merge_heads(grouped_query_attention(query, keys, values, mask)) @ w_o
    return round_to(output, dtype), (keys, values)


def _require_square(x: NDArray, **weights: NDArray) -> None:
    require_matrices(x=x)
    for name, weight in weights.items():
        if weight.shape != (x.shape[-1], x.shape[-1]):
            raise ValueError(
                f"{name} of shape {weight.shape} does not fit x of shape {x.shape}: "
                "(..., L, D) needs (D, D)."
            )


def _require_groups(w_k: NDArray, w_v: NDArray, shape: tuple[int, int]) -> None:
    for name, weight in (("w_k", w_k), ("w_v", w_v)):
        if weight.shape != shape:
            raise ValueError(
                f"{name} must have shape {shape}, (D, G · d) with d = D/H; "
                f"it has shape {weight.shape}."
            )


def _for_every_head(mask: ArrayLike | None, x: NDArray) -> NDArray | None:
    """Insert an axis for the heads into the mask."""
    if mask is None:
        return None
    mask = np.asarray(mask)
    broadcast_as(mask, (*x.shape[:-1], x.shape[-2]), "mask", "(..., L, L)")
    return mask[..., None, :, :] if mask.ndim > 2 else mask


def _grouping(query: NDArray, key: NDArray, value: NDArray) -> tuple[tuple[int, ...], int, int]:
    """Return the dimensions before the heads and the numbers of heads and groups."""
    try:
        leading = np.broadcast_shapes(*(array.shape[:-3] for array in (query, key, value)))
        (heads, _, size), (groups, length, key_size) = query.shape[-3:], key.shape[-3:]
        if key_size == size and value.shape[-3:-1] == (groups, length) and heads % groups == 0:
            return leading, heads, groups
    except (ValueError, ZeroDivisionError):  # shapes that do not broadcast, too few axes, G = 0
        pass
    raise ValueError(
        f"query of shape {query.shape}, key of shape {key.shape} and value of shape {value.shape} "
        "do not fit: (..., H, L, d) needs (..., G, S, d) and (..., G, S, d_v), G a divisor of H."
    )


def _as_cache(cache: Cache) -> Cache:
    if not isinstance(cache, (tuple, list)) or len(cache) != 2:
        raise TypeError("cache must be None or a pair (keys, values), as decode_step returns it.")
    return as_floating(cache[0], "cached keys"), as_floating(cache[1], "cached values")


def _append(old: NDArray, new: NDArray, old_name: str, new_name: str) -> NDArray:
    """Return a new array of the cached rows followed by the new one."""
    if old.ndim < 2 or (*old.shape[:-2], old.shape[-1]) != (*new.shape[:-2], new.shape[-1]):
        raise ValueError(
            f"{new_name} of shape {new.shape} does not continue {old_name} of shape {old.shape}: "
            "all axes but the last but one must be equal."
        )
    return np.concatenate((old, new), axis=-2)
