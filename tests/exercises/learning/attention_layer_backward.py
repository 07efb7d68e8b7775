"""Right and wrong answers to `attention_layer_backward`."""

import math

import numpy as np

from attention_lib.lessons.attention import attention, causal_mask
from attention_lib.lessons.gradients import attention_backward, softmax_vjp
from tests.exercises.parts import as_float, remembered_by_shape, softmax


def summed(left, right):
    return left.reshape(-1, left.shape[-1]).T @ right.reshape(-1, right.shape[-1])


def right_textbook(x, w_q, w_k, w_v, w_o, grad_output):
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    mixture, weights = attention(query, key, value, causal_mask(x.shape[-2]))
    grad_mixture = grad_output @ w_o.T
    grad_scores = softmax_vjp(weights, grad_mixture @ value.mT) / math.sqrt(w_q.shape[-1])
    grad_query, grad_key = grad_scores @ key, grad_scores.mT @ query
    grad_value = weights.mT @ grad_mixture
    grad_x = grad_output + grad_query @ w_q.T + grad_key @ w_k.T + grad_value @ w_v.T
    return (
        grad_x,
        summed(x, grad_query),
        summed(x, grad_key),
        summed(x, grad_value),
        summed(mixture, grad_output),
    )


def over_all(left, right):
    leading = tuple(range(left.ndim - 1))
    return np.tensordot(left, right, (leading, leading))


def right_by_einsum(x, w_q, w_k, w_v, w_o, grad_output):
    arrays = map(as_float, (x, w_q, w_k, w_v, w_o, grad_output))
    x, w_q, w_k, w_v, w_o, grad_output = arrays
    root = w_q.shape[1] ** 0.5
    query, key, value = (np.einsum("...ld,dk->...lk", x, w) for w in (w_q, w_k, w_v))
    scores = np.einsum("...ik,...jk->...ij", query, key) / root
    scores = np.where(np.tri(x.shape[-2]), scores, -np.inf).astype(x.dtype)
    weights = softmax(scores)
    grad_mixture = np.einsum("...ld,vd->...lv", grad_output, w_o)
    grad_weights = np.einsum("...iv,...jv->...ij", grad_mixture, value)
    mean = np.einsum("...ij,...ij->...i", weights, grad_weights)[..., None]
    grad_scores = weights * (grad_weights - mean) / root
    grad_query = np.einsum("...ij,...jk->...ik", grad_scores, key)
    grad_key = np.einsum("...ij,...ik->...jk", grad_scores, query)
    grad_value = np.einsum("...ij,...iv->...jv", weights, grad_mixture)
    mixture = weights @ value
    return [
        grad_output + grad_query @ w_q.T + grad_key @ w_k.T + grad_value @ w_v.T,
        over_all(x, grad_query),
        over_all(x, grad_key),
        over_all(x, grad_value),
        over_all(mixture, grad_output),
    ]


def right_word_by_word(x, w_q, w_k, w_v, w_o, grad_output):
    """Let each place attend to those up to it, by lesson 04's backward pass without a mask."""
    arrays = map(as_float, (x, w_q, w_k, w_v, w_o, grad_output))
    x, w_q, w_k, w_v, w_o, grad_output = arrays
    query, key, value = x @ w_q, x @ w_k, x @ w_v
    grads = [np.zeros_like(array) for array in (query, key, value)]
    mixture = np.zeros_like(value)
    for t in range(x.shape[-2]):
        now, seen = slice(t, t + 1), slice(0, t + 1)
        mixture[..., now, :] = attention(
            query[..., now, :], key[..., seen, :], value[..., seen, :]
        )[0]
        parts = attention_backward(
            query[..., now, :],
            key[..., seen, :],
            value[..., seen, :],
            grad_output[..., now, :] @ w_o.T,
        )
        for grad, part, places in zip(grads, parts, (now, seen, seen), strict=True):
            grad[..., places, :] += part
    grad_x = grad_output.copy()
    for grad, matrix in zip(grads, (w_q, w_k, w_v), strict=True):
        grad_x += grad @ matrix.T
    return grad_x, *(summed(x, grad) for grad in grads), summed(mixture, grad_output)


def right_one_sequence_at_a_time(x, w_q, w_k, w_v, w_o, grad_output):
    arrays = map(as_float, (x, w_q, w_k, w_v, w_o, grad_output))
    x, w_q, w_k, w_v, w_o, grad_output = arrays
    grad_x = np.empty_like(x)
    totals = [np.zeros_like(w) for w in (w_q, w_k, w_v, w_o)]
    for batch in np.ndindex(x.shape[:-2]):
        grad_x[batch], *grads = right_textbook(x[batch], w_q, w_k, w_v, w_o, grad_output[batch])
        for total, grad in zip(totals, grads, strict=True):
            total += grad
    return grad_x, *totals


def changed(**changes):
    """Return the right gradients with some of them changed."""
    names = ("x", "w_q", "w_k", "w_v", "w_o")

    def answer(*arrays):
        gradients = right_by_einsum(*arrays)
        return tuple(
            changes.get(name, lambda gradient, *_: gradient)(gradient, *arrays)
            for name, gradient in zip(names, gradients, strict=True)
        )

    return answer


def wrong_by_differences_in_float32(x, w_q, w_k, w_v, w_o, grad_output):
    """Take one-sided differences with a coarse step: near the gradients, and not right."""
    arrays = [as_float(a).astype(np.float64) for a in (x, w_q, w_k, w_v, w_o)]

    def loss(*arguments):
        a, q, k, v, o = arguments
        out = a + attention(a @ q, a @ k, a @ v, causal_mask(a.shape[-2]))[0] @ o
        return np.sum(out * grad_output)

    base, results = loss(*arrays), []
    for number, array in enumerate(arrays):
        gradient = np.zeros_like(array)
        for index in np.ndindex(array.shape):
            moved = [other.copy() for other in arrays]
            moved[number][index] += 1e-6
            gradient[index] = (loss(*moved) - base) / 1e-6
        results.append(gradient.astype(np.result_type(x.dtype, np.float32)))
    return tuple(results)


def scaled(factor):
    return lambda gradient, *arrays: gradient * gradient.dtype.type(factor)


def without(gradient, *arrays):
    return gradient - as_float(arrays[-1])


def last_place_dropped(gradient, *arrays):
    gradient = gradient.copy()
    gradient[..., -1, :] = as_float(arrays[-1])[..., -1, :]
    return gradient


WRONG = {
    "last place has its residual only": changed(x=last_place_dropped),
    "mean over the batch": changed(
        w_v=lambda g, x, *_: g / g.dtype.type(math.prod(x.shape[:-2])),
    ),
    "scale missing from w_q": changed(
        w_q=lambda g, x, w_q, *_: g * g.dtype.type(w_q.shape[1] ** 0.5)
    ),
    "scale missing from w_k": changed(
        w_k=lambda g, x, w_q, *_: g * g.dtype.type(w_q.shape[1] ** 0.5)
    ),
    "grad_w_o a little off": changed(w_o=scaled(1 + 1e-6)),
    "grad_w_k zero": changed(w_k=scaled(0.0)),
    "grad_w_v negative": changed(w_v=scaled(-1.0)),
    "rounded": changed(x=lambda g, *_: g.round(9)),
    "a generator": lambda *arrays: (g for g in right_by_einsum(*arrays)),
    "remembered": remembered_by_shape(right_by_einsum),
}
