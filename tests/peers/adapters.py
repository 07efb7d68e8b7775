"""What peers' cases ask for beyond the library's contract, composed from its plain functions.

The library's functions take one axis, one mask and neighboring pairs. Peers' cases also have
several axes at once, causal masks by name, soft caps, shared heads, halves as pairs, and
gradients under a mask.
"""

import math

import numpy as np

from attention_lib import (
    attention,
    attention_backward,
    decode_step,
    masked_softmax,
    rotary_embedding,
    scaled_scores,
    softcap,
    softmax_vjp,
    weighted_sum,
)
from attention_lib.lessons.gradients import sum_over_copies
from attention_lib.lessons.multihead import rotate_pairs


def along_axes(function, scores, axis):
    """Apply softmax or log_softmax along an axis, several, or all (None)."""
    if isinstance(axis, int):
        return function(scores, axis=axis)
    rows, axes, shape = _joined(np.asarray(scores), axis)
    last = tuple(range(-len(axes), 0))
    return np.moveaxis(function(rows).reshape(shape), last, axes)[()]


def over_axes(logsumexp, scores, axis, keepdims=False):
    """Apply logsumexp over an axis, several, or all (None)."""
    if isinstance(axis, int):
        return logsumexp(scores, axis=axis, keepdims=keepdims)
    rows, axes, _ = _joined(np.asarray(scores), axis)
    result = logsumexp(rows)
    return np.expand_dims(result, axes) if keepdims else result


def _joined(array, axis):
    """Make the axes one, at the end; return also these axes, and the shape with them apart."""
    axes = tuple(range(array.ndim)) if axis is None else tuple(axis)
    moved = np.moveaxis(array, axes, tuple(range(-len(axes), 0)))
    others = moved.shape[: array.ndim - len(axes)]
    joined = math.prod(moved.shape[len(others) :])
    return moved.reshape(*others, joined), axes, moved.shape


def attend(query, key, value, mask=None, scale=None, is_causal=False, cap=None):
    """Compute attention with shared heads, a causal mask from the top left, and a soft cap."""
    key, value = share_heads(query, key, value)
    if is_causal:
        mask = causal_too(mask, query.shape[-2], key.shape[-2])
    if cap is None:
        return attention(query, key, value, mask, scale)
    dtype = np.result_type(query, key, value)
    query, key, value = (array.astype(np.float64) for array in (query, key, value))
    scores = softcap(scaled_scores(query, key, scale), cap)
    if mask is not None:
        scores = scores + (np.where(mask, 0.0, -np.inf) if mask.dtype == bool else mask)
    weights = masked_softmax(scores, scores > -np.inf)
    return weighted_sum(weights, value).astype(dtype), weights.astype(dtype)


def share_heads(query, key, value):
    """Repeat each head of keys and values for the consecutive query heads that share it."""
    if query.ndim < 3 or key.ndim < 3 or query.shape[-3] in (1, key.shape[-3]):
        return key, value
    share = query.shape[-3] // key.shape[-3]
    return np.repeat(key, share, axis=-3), np.repeat(value, share, axis=-3)


def grouped_step(query, key, value, cache=None):
    """Take a decoding step in which several query heads share one head of the cache."""
    share = query.shape[-3] // key.shape[-3]
    if cache is not None:
        cache = share_heads(query, *cache)
    output, cache = decode_step(query, *share_heads(query, key, value), cache)
    return output, tuple(array[..., ::share, :, :] for array in cache)


def causal_too(mask, length, key_length):
    """Return a mask that forbids also the keys after the query, counted from the top left."""
    past = np.tri(length, key_length, dtype=bool)
    if mask is None or mask.dtype == bool:
        return past if mask is None else past & mask
    return np.where(past, mask, -np.inf)


def attend_backward(query, key, value, grad_output, weights=None):
    """Compute the gradients of attention, under the mask that saved weights carry, if any."""
    if weights is None:
        return attention_backward(query, key, value, grad_output)
    scale = 1 / math.sqrt(query.shape[-1])
    q, k, v, grad = (a.astype(np.float64) for a in (query, key, value, grad_output))
    grad_scores = scale * softmax_vjp(weights, grad @ v.mT)
    return (
        sum_over_copies(grad_scores @ k, query),
        sum_over_copies(grad_scores.mT @ q, key),
        sum_over_copies(weights.mT @ grad, value),
    )


def rotate(x, cos, sin, interleaved=True):
    """Turn pairs of neighbors or, if not interleaved, of the entries i and i + d/2."""
    return _in_pairs(lambda pairs: rotate_pairs(pairs, cos, sin), x, interleaved)


def rotary(x, positions, base, interleaved=True):
    """Compute the rotary embedding of (batch, heads, length, d) at positions (batch, length)."""

    def turned(pairs):
        return np.stack(
            [rotary_embedding(*item, base) for item in zip(pairs, positions, strict=True)]
        )

    return _in_pairs(turned, x, interleaved)


def _in_pairs(turn, x, interleaved):
    if interleaved:
        return turn(x)
    order = np.arange(x.shape[-1]).reshape(2, -1).T.ravel()  # 0, d/2, 1, d/2 + 1, ...
    return turn(x[..., order])[..., np.argsort(order)]
