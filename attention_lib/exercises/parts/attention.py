"""Attention computed from parts, of which a known mistake replaces one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer
from attention_lib.checks.exercise import composable
from attention_lib.exercises.parts.by_name import by_name
from attention_lib.exercises.parts.softmax import filled
from attention_lib.lessons.attention import attention
from attention_lib.lessons.stability import masked_softmax

Scale = Callable[[NDArray, NDArray, NDArray], float]
Masked = Callable[[NDArray, NDArray | None], NDArray]


def inverse_root(query: NDArray, key: NDArray, value: NDArray) -> float:
    """Return the default scale, 1/√d_k."""
    return 1 / math.sqrt(query.shape[-1])


def dot_products(query: NDArray, key: NDArray) -> NDArray:
    """Multiply every query by every key."""
    return query @ key.mT


def masked_scores(scores: NDArray, mask: NDArray | None) -> NDArray:
    """Put -inf where a boolean mask is False, or add a float mask in the dtype of the scores."""
    if mask is None:
        return scores
    if mask.dtype == bool:
        return np.where(mask, scores, -np.inf)
    return scores + mask.astype(scores.dtype)


def softmax_or_zeros(scores: NDArray, axis: int = -1) -> NDArray:
    """Compute softmax, with zeros where all the scores along `axis` are -inf."""
    return masked_softmax(scores, scores > -np.inf, axis)


@composable
def attention_with(
    *,
    default_scale: Scale = inverse_root,
    choose_scale: Callable[[float, float | None], float] = lambda default, scale: (
        default if scale is None else scale
    ),
    dot: Callable[[NDArray, NDArray], NDArray] = dot_products,
    masked: Masked = masked_scores,
    weigh: Callable[[NDArray], NDArray] = softmax_or_zeros,
    after_softmax: Callable[[NDArray, NDArray | None], NDArray] = lambda weights, mask: weights,
    mix: Callable[[NDArray, NDArray], NDArray] = np.matmul,
    result: Callable[[NDArray, NDArray, NDArray], Any] = lambda output, weights, scores: (
        output,
        weights,
    ),
) -> Answer:
    """Make attention from parts; a mistake replaces one of them.

    `choose_scale` gets the default and the argument, `after_softmax` the weights and the mask,
    and `result` the output, the weights and the masked scores.
    """

    @by_name(attention)
    def answer(query, key, value, mask, scale):
        by = choose_scale(default_scale(query, key, value), scale)
        scores = masked(dot(query, key) * by, mask)
        weights = after_softmax(weigh(scores), mask)
        return result(mix(weights, value), weights, scores)

    return answer


def output_with(**parts: Callable[..., Any]) -> Answer:
    """Make attention from parts that returns its output alone."""
    return attention_with(**parts, result=lambda output, weights, scores: output)


attend = output_with()


@by_name(attention)
def attend_by_library(query, key, value, mask, scale):
    """Attend as `attend` does; where shapes do not fit, the error is in the library's words."""
    return attention(query, key, value, mask, scale)[0]


# Masks


def is_boolean(mask: NDArray | None) -> bool:
    return mask is not None and mask.dtype == bool


def inverted(mask: NDArray) -> NDArray:
    """Invert a boolean mask."""
    return ~mask if is_boolean(mask) else mask


def as_numbers(mask: NDArray) -> NDArray:
    """Turn a boolean mask into ones and zeros."""
    return mask.astype(float)


def as_booleans(mask: NDArray) -> NDArray:
    """Turn a float mask into booleans: True where it is not 0."""
    return mask.astype(bool)


def masked_by(change: Callable[[NDArray], NDArray]) -> Masked:
    """Mask the scores by a mask that is changed first."""
    return lambda scores, mask: scores if mask is None else masked_scores(scores, change(mask))


def only_floats(scores: NDArray, mask: NDArray | None) -> NDArray:
    """Ignore boolean masks."""
    return scores if is_boolean(mask) else masked_scores(scores, mask)


def zeroed(weights: NDArray, mask: NDArray | None) -> NDArray:
    """Put 0 in place of the weights that a boolean mask forbids."""
    return np.where(mask, weights, 0.0) if is_boolean(mask) else weights


def filled_by(fill: float) -> Masked:
    """Put a large negative number in place of -inf where a boolean mask is False."""
    return lambda scores, mask: (
        filled(scores, mask, fill) if is_boolean(mask) else masked_scores(scores, mask)
    )


# Projections


def projected(attend: Callable[..., tuple[NDArray, NDArray]]) -> Answer:
    """Make cross-attention of an attention that returns a pair."""
    return lambda x, context, w_q, w_k, w_v, mask=None: attend(
        x @ w_q, context @ w_k, context @ w_v, mask
    )[0]


def within_one_sequence(cross_attention: Answer) -> Answer:
    """Make self-attention of a cross-attention."""
    return lambda x, w_q, w_k, w_v, mask=None: cross_attention(x, x, w_q, w_k, w_v, mask)


def scaled_by_width(
    x: NDArray,
    context: NDArray,
    w_q: NDArray,
    w_k: NDArray,
    w_v: NDArray,
    mask: NDArray | None = None,
) -> NDArray:
    """Divide the scores by √d, the width of x."""
    scale = 1 / math.sqrt(x.shape[-1])
    return attention(x @ w_q, context @ w_k, context @ w_v, mask, scale)[0]


# Magnitudes


def attention_magnitude(
    query: NDArray,
    key: NDArray,
    value: NDArray,
    mask: NDArray | None = None,
    scale: float | None = None,
    sizes: tuple[NDArray, NDArray, NDArray] | None = None,
) -> tuple[NDArray, NDArray]:
    """Return the size of the numbers that output and weights are formed of.

    `sizes` are those of query, key and value, where these were computed. An error in any score
    of a row moves all weights of the row.
    """
    _, weights = attention(query, key, value, mask, scale)
    query_size, key_size, value_size = sizes or map(np.abs, (query, key, value))
    scale = inverse_root(query, key, value) if scale is None else scale
    score_size = abs(scale) * (query_size @ key_size.mT)
    if mask is not None and mask.dtype != bool:
        score_size = score_size + np.abs(np.where(np.isfinite(mask), mask, 0.0))
    reach = np.where(weights > 0, np.minimum(score_size, 1e30), 0.0).max(axis=-1, keepdims=True)
    weights_size = weights * (1.0 + 2.0 * reach)
    return weights_size @ value_size, weights_size


def cross_attention_magnitude(
    x: NDArray,
    context: NDArray,
    w_q: NDArray,
    w_k: NDArray,
    w_v: NDArray,
    mask: NDArray | None = None,
) -> NDArray:
    """Return the size of the numbers that the output of cross-attention is formed of."""
    arrays = x @ w_q, context @ w_k, context @ w_v
    x, context, w_q, w_k, w_v = map(np.abs, (x, context, w_q, w_k, w_v))
    return attention_magnitude(*arrays, mask, sizes=(x @ w_q, context @ w_k, context @ w_v))[0]
