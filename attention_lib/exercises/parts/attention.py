"""What the exercises on attention share: patches of their plain answers, and magnitudes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from attention_lib.lessons.attention import attention

# Mistakes as patches of lines that the plain answers of several exercises share:
#
#     scores = query @ key.mT * scale
#     if mask is not None:
#         scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
#     weights = masked_softmax(scores, scores > -np.inf)
#     output = weights @ value
#
# Those beside projections also patch query = x @ w_q and scale = 1 / math.sqrt(query.shape[-1]).

BY_DTYPE = "np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask"
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
        f"{BY_DTYPE} => np.where(mask, -np.inf, scores)",
        f"{BY_DTYPE} => np.where(mask, -np.inf, scores) && {WEIGHTS} => softmax(scores)",
        "boolean-mask-added: A boolean mask is added to the scores as ones and zeros: where it is "
        "False the score becomes -inf.",
        f"{NOT_MASKED} + mask",
        "forbidden-scores-zero: Forbidden scores become 0, and exp(0) is 1: make them -inf.",
        "(mask, scores, -np.inf) => (mask, scores, 0.0)",
        "float-mask-as-boolean: A float mask is treated as a boolean one: its numbers are added to the "
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
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
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
