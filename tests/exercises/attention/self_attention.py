"""Right and wrong answers to `self_attention`."""

import math

import numpy as np

from tests.exercises.attention import attention
from tests.exercises.parts import (
    as_float,
    with_mask,
    with_scale,
    with_weights,
)


def right_with_own_attention(x, w_q, w_k, w_v, mask=None):
    output, _ = attention.right_textbook(x @ w_q, x @ w_k, x @ w_v, mask)
    return output


def right_by_einsum(x, w_q, w_k, w_v, mask=None):
    query, key, value = (np.einsum("...ld,dk->...lk", x, w) for w in (w_q, w_k, w_v))
    return attention.right_as_a_list_by_einsum(query, key, value, mask)[0]


def right_with_one_bilinear_form(x, w_q, w_k, w_v, mask=None):
    form = w_q @ w_k.T / math.sqrt(w_q.shape[1])
    return attention.right_textbook(x @ form, x, x @ w_v, mask, scale=1.0)[0]


def right_mixing_before_projecting(x, w_q, w_k, w_v, mask=None):
    mixed, _ = attention.right_by_earlier_lessons(x @ w_q, x @ w_k, x, mask)
    return mixed @ w_v


def right_from_stacked_projections(x, w_q, w_k, w_v, mask=None):
    d_k = w_q.shape[1]
    together = x @ np.concatenate([w_q, w_k, w_v], axis=1)
    query, key, value = np.split(together, [d_k, 2 * d_k], axis=-1)
    return attention.right_with_errstate(query, key, value, mask)[0]


def projected(attend):
    """Make self-attention of a wrong attention."""

    def answer(x, w_q, w_k, w_v, mask=None):
        x = as_float(x)
        return attend(x @ w_q, x @ w_k, x @ w_v, mask)[0]

    return answer


WRONG = {
    "divided by √L": projected(with_scale(lambda q, k, v: q.shape[-2] ** -0.5)),
    "divided by d_k": projected(with_scale(lambda q, k, v: 1 / q.shape[-1])),
    "the first item's mask for all": projected(
        with_mask(lambda mask, query: mask[(0,) * (mask.ndim - 2)])
    ),
    "even weights": projected(with_weights(lambda s: np.full_like(s, 1 / s.shape[-1]))),
}
