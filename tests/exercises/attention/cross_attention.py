"""Right and wrong answers to `cross_attention`."""

import math

import numpy as np

import attention_lib
from tests.exercises.attention import attention
from tests.exercises.parts import (
    attend,
    softmax_or_zeros,
    with_scale,
    with_weights,
)


def right_with_own_attention(x, context, w_q, w_k, w_v, mask=None):
    return attention.right_textbook(x @ w_q, context @ w_k, context @ w_v, mask)[0]


def right_by_loops(x, context, w_q, w_k, w_v, mask=None):
    return attention.right_by_loops(
        np.dot(x, w_q), np.dot(context, w_k), np.dot(context, w_v), mask=mask
    )[0]


def right_by_earlier_lessons(x, context, w_q, w_k, w_v, mask=None):
    key, value = np.matmul(context, w_k), np.tensordot(context, w_v, axes=1)
    return attention.right_by_earlier_lessons(x @ w_q, key, value, mask, None)[0]


def right_projecting_the_mixture(x, context, w_q, w_k, w_v, mask=None):
    """Ask the context itself, with keys folded into the query, and project what it answers."""
    query = np.tensordot(x, w_q, axes=1) @ w_k.T
    scale = 1 / math.sqrt(w_q.shape[1])
    return attention.right_textbook(query, context, context, mask, scale)[0] @ w_v


def wrong_both_sequences(x, context, w_q, w_k, w_v, mask=None):
    everything = np.concatenate([x, context], axis=-2)
    if mask is not None:
        mask = np.concatenate([np.ones((*mask.shape[:-1], x.shape[-2]), bool), mask != 0], axis=-1)
    return attend(x @ w_q, everything @ w_k, everything @ w_v, mask)[0]


def crossed(attend):
    """Make cross-attention of a wrong attention."""

    def answer(x, context, w_q, w_k, w_v, mask=None):
        return attend(x @ w_q, context @ w_k, context @ w_v, mask)[0]

    return answer


WRONG = {
    "divided by √S": crossed(with_scale(lambda q, k, v: k.shape[-2] ** -0.5)),
    "equal weights in an empty row": crossed(
        with_weights(
            lambda s: np.where((s == -np.inf).all(-1)[..., None], 0.25, softmax_or_zeros(s))
        )
    ),
    "the library's attention": crossed(attention_lib.attention),
}
