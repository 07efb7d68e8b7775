"""What the exercises on attention share: parts to exchange, patches of plain answers, magnitudes."""

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
    is_given: Callable[[float | None], bool] = lambda scale: scale is not None,
    choose_scale: Callable[[float, float | None], float] = lambda default, scale: (
        default if scale is None else scale
    ),
    dot: Callable[[NDArray, NDArray], NDArray] = dot_products,
    masked: Masked = masked_scores,
    scaled_last: Callable[[NDArray, float], NDArray] | None = None,
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
        by = choose_scale(default_scale(query, key, value), scale if is_given(scale) else None)
        scores = dot(query, key)
        last = scaled_last and scaled_last(masked(scores, mask), by)
        scores = masked(scores * by, mask) if last is None else last
        weights = after_softmax(weigh(scores), mask)
        return result(mix(weights, value), weights, scores)

    return answer


# Masks


def is_boolean(mask: NDArray | None) -> bool:
    return mask is not None and mask.dtype == bool


def only_floats(scores: NDArray, mask: NDArray | None) -> NDArray:
    """Ignore boolean masks."""
    return scores if is_boolean(mask) else masked_scores(scores, mask)


def zeroed(numbers: NDArray, mask: NDArray | None) -> NDArray:
    """Put 0 in place of the numbers that a boolean mask forbids."""
    return np.where(mask, numbers, 0.0) if is_boolean(mask) else numbers


def filled_by(fill: float) -> Masked:
    """Put a large negative number in place of -inf where a boolean mask is False."""
    return lambda scores, mask: (
        filled(scores, mask, fill) if is_boolean(mask) else masked_scores(scores, mask)
    )


@composable
def cross_attention_with(
    take: Callable[..., tuple[NDArray, ...]] = lambda x, context: (x, context, context),
    project: Callable[[NDArray, NDArray], NDArray] = np.matmul,
    scale: Callable[[NDArray, NDArray], float | None] = lambda x, w_v: None,
    **parts: Callable[..., Any],
) -> Answer:
    """Make cross-attention of an attention made from parts.

    `take` says which sequences make queries, keys and values, and `scale` takes the place of None.
    """
    attend = attention_with(**parts)
    return lambda x, context, w_q, w_k, w_v, mask=None: attend(
        *map(project, take(x, context), (w_q, w_k, w_v)), mask, scale(x, w_v)
    )[0]


def within_one_sequence(cross_attention: Answer) -> Answer:
    """Make self-attention of a cross-attention."""
    return lambda x, w_q, w_k, w_v, mask=None: cross_attention(x, x, w_q, w_k, w_v, mask)


# Mistakes as patches of lines that the plain answers of several exercises share:
#
#     scores = query @ key.mT * scale
#     if mask is not None:
#         scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
#     weights = masked_softmax(scores, scores > -np.inf)
#     output = weights @ value
#
# Those beside projections also patch query = x @ w_q and scale = 1 / math.sqrt(query.shape[-1]).

NOT_MASKED = "np.where(mask, scores, -np.inf) => scores"
WEIGHTS = "masked_softmax(scores, scores > -np.inf)"
OVERFLOW = (
    f"weights = {WEIGHTS} => powers = np.exp(scores)\n"
    "    total = np.sum(powers, axis=-1, keepdims=True)\n"
    "    weights = powers / {total|np.where(total == 0, 1.0, total)}"
)


def masking_mistakes(remedy: str = "it belongs to the scores, before softmax.") -> tuple[str, ...]:
    """List the mistakes with a mask, as patches."""
    return (
        f"mask-ignored: The mask is ignored: {remedy}",
        "if mask is not None => if False",
        "mask-inverted: The mask is inverted: True means that attention is allowed.",
        f"np.where(mask => np.where(~mask && {WEIGHTS} => softmax(scores)",
        "np.where(mask => np.where(~mask",
        "boolean-mask-added: A boolean mask is added to the scores as ones and zeros: where it is "
        "False the score becomes -inf.",
        f"{NOT_MASKED} + mask",
        "forbidden-scores-zero: Forbidden scores become 0, and exp(0) is 1: make them -inf.",
        "(mask, scores, -np.inf) => (mask, scores, 0.0)",
        "float-mask-as-boolean: A mask of numbers is taken for booleans: numbers are added to the "
        "scaled scores.",
        "scores + mask => np.where(mask, scores, -np.inf)",
        "masked-after-softmax: The mask is applied after softmax: then the rows no longer sum to "
        "1. Mask the scores.",
        f"{NOT_MASKED} && output = => if mask is not None and mask.dtype == bool:\n"
        "        weights = weights * mask\n    output =",
        "large-number-for-inf: A large negative number is not -inf: where no score of a row lies above "
        "it, forbidden keys take weight. Use -inf, and give zeros to a row of nothing else.",
        "(mask, scores, -np.inf) => (mask, scores, {-1e4|-1e5|-1e6|-1e8|-1e9|-1e10|-1e12})",
    )


MISTAKES_BESIDE_PROJECTIONS = (
    "root-of-d: The scores are divided by √d, the width of x: divide by √d_k, that of the queries.",
    "query.shape[-1] => x.shape[-1]",
    "root-of-d-v: The scores are divided by √d_v: divide by √d_k, the width of the queries.",
    "query.shape[-1] => value.shape[-1]",
    "never-scaled: The scores are not scaled: divide them by √d_k, the width of the queries.",
    "1 / math.sqrt(query.shape[-1]) => 1.0",
    "matrices-transposed: The matrices are transposed: multiply by them as they are, x @ w_q.",
    "@ w_q => @ w_q.T && @ w_k => @ w_k.T && @ w_v => @ w_v.T",
    "empty-row-nan: A row with nothing allowed gives NaN: its output is zeros. Your attention, or "
    "lib.masked_softmax, can see to that.",
    f"{WEIGHTS} => softmax(scores)",
    "exp-overflows: exp overflows: subtract each row's maximum first, or use your attention.",
    OVERFLOW,
    "softmax-over-queries: The weights sum to 1 over queries: softmax runs over the keys, axis=-1.",
    f"{WEIGHTS} => {{softmax(scores, -2)|masked_softmax(scores, scores > -np.inf, -2)}}",
    *masking_mistakes("pass it on to attention."),
)


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
