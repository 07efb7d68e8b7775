"""Right and wrong answers to `attention_layer`."""

import math

import numpy as np

from attention_lib.lessons.attention import attention
from tests.exercises.parts import as_float, remembered_by_shape, softmax


def right_textbook(x, w_q, w_k, w_v, w_o):
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    scores = query @ np.swapaxes(key, -1, -2) / math.sqrt(query.shape[-1])
    future = np.triu(np.ones(scores.shape[-2:], dtype=bool), k=1)
    weights = softmax(np.where(future, -np.inf, scores).astype(scores.dtype))
    return x + weights @ value @ w_o


def right_with_joined_matrices(x, w_q, w_k, w_v, w_o):
    """Multiply w_q by w_k and w_v by w_o first, as papers on circuits do."""
    x, w_q, w_k, w_v, w_o = map(as_float, (x, w_q, w_k, w_v, w_o))
    scores = x @ (w_q @ w_k.T) @ x.mT * w_q.shape[1] ** -0.5
    weights = softmax(scores + np.where(np.tri(x.shape[-2]), 0, -np.inf).astype(x.dtype))
    return x + weights @ (x @ (w_v @ w_o))


def right_word_by_word(x, w_q, w_k, w_v, w_o):
    x, w_q, w_k, w_v, w_o = map(as_float, (x, w_q, w_k, w_v, w_o))
    out = x.copy()
    for t in range(x.shape[-2]):
        seen = x[..., : t + 1, :]
        mixture, _ = attention(x[..., t : t + 1, :] @ w_q, seen @ w_k, seen @ w_v)
        out[..., t : t + 1, :] += mixture @ w_o
    return out


def layer(x, w_q, w_k, w_v, w_o, residual=1.0):
    x, w_q, w_k, w_v, w_o = map(as_float, (x, w_q, w_k, w_v, w_o))
    mask = np.tri(x.shape[-2], dtype=bool)
    mixture, _ = attention(x @ w_q, x @ w_k, x @ w_v, mask)
    return residual * x + mixture @ w_o


def wrong_normalized(x, *matrices):
    x = as_float(x)
    return x + layer(x / np.maximum(x.std(axis=-1, keepdims=True), 1e-5), *matrices) - x


def wrong_changes_x(x, w_q, w_k, w_v, w_o):
    out = layer(x, w_q, w_k, w_v, w_o)
    x *= 2
    return out


WRONG = {
    "residual halved": lambda *a: layer(*a, residual=0.5),
    "rounded": lambda *a: layer(*a).round(9),
    "remembered": remembered_by_shape(layer),
}
