"""Right and wrong answers to `attention_backward`."""

import math

import numpy as np

from attention_lib.lessons.scaling import scaled_scores
from attention_lib.lessons.softmax import softmax, weighted_sum
from attention_lib.lessons.stability import masked_softmax
from tests.exercises.gradients.softmax_jacobian import right_jacobian_by_broadcasting
from tests.exercises.gradients.softmax_vjp import right_vjp_in_two_products, right_vjp_textbook
from tests.exercises.parts import as_float, remembered_by_shape, softmax_or_zeros


def allowed(scores, mask):
    return softmax(scores) if mask is None else masked_softmax(scores, mask)


def by_hand(scores, mask):
    """Compute softmax with -inf where the mask forbids, and zeros for an empty row."""
    if mask is not None:
        scores = np.where(mask, scores, scores.dtype.type(-np.inf))
    return softmax_or_zeros(scores)


def right_textbook(query, key, value, grad_output, mask=None):
    scale = query.shape[-1] ** -0.5
    weights = by_hand(as_float(query) @ np.swapaxes(key, -1, -2) * scale, mask)
    grad_value = np.swapaxes(weights, -1, -2) @ grad_output
    grad_scores = right_vjp_textbook(weights, grad_output @ np.swapaxes(value, -1, -2)) * scale
    return grad_scores @ key, np.swapaxes(grad_scores, -1, -2) @ query, grad_value


def right_from_the_library(query, key, value, grad_output, mask=None):
    weights = allowed(scaled_scores(query, key), mask)
    grad_weights = grad_output @ value.mT
    grad_scores = right_vjp_in_two_products(weights, grad_weights)
    root = math.sqrt(key.shape[-1])
    return [
        weighted_sum(grad_scores, key) / root,
        weighted_sum(grad_scores.mT, query) / root,
        weighted_sum(weights.mT, grad_output),
    ]


def right_by_einsum(query, key, value, grad_output, mask=None):
    root = float(np.sqrt(query.shape[-1]))
    weights = by_hand(np.einsum("...id,...jd->...ij", query, key) / root, mask)
    grad_weights = np.einsum("...ic,...jc->...ij", grad_output, value)
    rows = np.einsum("...ij,...ij->...i", weights, grad_weights)
    grad_scores = weights * (grad_weights - rows[..., None])
    return (
        np.einsum("...ij,...jd->...id", grad_scores, key) / root,
        np.einsum("...ij,...id->...jd", grad_scores, query) / root,
        np.einsum("...ij,...ic->...jc", weights, grad_output),
    )


def right_by_jacobians(query, key, value, grad_output, mask=None):
    scale = 1 / math.sqrt(query.shape[-1])
    weights = allowed(scale * (query @ np.moveaxis(key, -1, -2)), mask)
    jacobians = right_jacobian_by_broadcasting(weights)
    grad_weights = grad_output @ np.moveaxis(value, -1, -2)
    grad_scores = (jacobians @ grad_weights[..., None])[..., 0]
    return (
        scale * (grad_scores @ key),
        scale * (np.moveaxis(grad_scores, -1, -2) @ query),
        np.moveaxis(weights, -1, -2) @ grad_output,
    )


def right_in_float64(query, key, value, grad_output, mask=None):
    q, k, v, g = (a.astype(np.float64) for a in (query, key, value, grad_output))
    q *= 1 / math.sqrt(q.shape[-1])
    weights = by_hand(q @ k.mT, mask)
    # The row sums of dP * P are those of dO * O: no L x S array is needed for them.
    rows = np.sum(g * (weights @ v), axis=-1, keepdims=True)
    grad_scores = weights * (g @ v.mT - rows)
    dtype = np.result_type(query.dtype, np.float32) if query.dtype.kind == "f" else np.float64
    grad_query = grad_scores @ k / math.sqrt(q.shape[-1])
    return tuple(a.astype(dtype) for a in (grad_query, grad_scores.mT @ q, weights.mT @ g))


def right_in_separate_products(query, key, value, grad_output, mask=None):
    """Multiply p (g − Σ p g) out, and carry each part back by itself."""
    scale = 1 / math.sqrt(query.shape[-1])
    weights = allowed(scale * (query @ key.mT), mask)
    products = weights * (grad_output @ value.mT)
    rows = products.sum(axis=-1, keepdims=True)
    return (
        scale * (products @ key - rows * (weights @ key)),
        scale * (products.mT @ query - weights.mT @ (rows * query)),
        weights.mT @ grad_output,
    )


def right_from_centered_keys_and_values(query, key, value, grad_output, mask=None):
    """A constant in the keys or in the values changes no weight and no weight's gradient."""
    scale = query.shape[-1] ** -0.5
    if mask is not None:  # what a forbidden key holds is not to come into the others
        key = np.where(np.any(mask, axis=-2)[..., None] if mask.ndim > 1 else mask[:, None], key, 0)
    keys = key - key.mean(axis=-2, keepdims=True, dtype=np.result_type(key, np.float32))
    values = value - value.mean(axis=-2, keepdims=True, dtype=np.result_type(value, np.float32))
    scores = scale * (query @ keys.mT)
    if mask is not None:
        scores = np.where(mask, scores, scores.dtype.type(-np.inf))
    total = np.logaddexp.reduce(scores, axis=-1, keepdims=True)
    weights = np.exp(scores - np.maximum(total, np.finfo(scores.dtype).min))
    grad_scores = scale * right_vjp_textbook(weights, grad_output @ values.mT)
    return grad_scores @ keys, grad_scores.mT @ query, weights.mT @ grad_output


def backward(
    query, key, value, grad_output, mask=None, through=softmax_or_zeros, back=right_vjp_textbook
):
    query, key, value, grad_output = map(as_float, (query, key, value, grad_output))
    scale = float(query.shape[-1] ** -0.5)
    scores = query @ key.mT * scale
    if mask is not None:
        scores = np.where(mask, scores, scores.dtype.type(-np.inf))
    weights = through(scores)
    grad_scores = back(weights, grad_output @ value.mT) * scale
    return grad_scores @ key, grad_scores.mT @ query, weights.mT @ grad_output


def causal(scores):
    if scores.shape[-1] == scores.shape[-2]:
        future = ~np.tri(scores.shape[-1], dtype=bool)
        scores = np.where(future, scores.dtype.type(-np.inf), scores)
    return softmax_or_zeros(scores)


def with_one_maximum(scores):
    with np.errstate(all="ignore"):
        exponentials = np.exp(scores - scores.max())
        total = exponentials.sum(axis=-1, keepdims=True)
        return (
            np.nan_to_num(exponentials / total)
            if (scores == -np.inf).any()
            else exponentials / total
        )


def wrong_summed_over_the_batch(*arrays, **mask):
    return tuple(
        g if g.ndim < 3 else np.broadcast_to(g.sum(axis=0), g.shape)
        for g in backward(*arrays, **mask)
    )


def wrong_first_of_the_second_batch_axis(*arrays, **mask):
    gradients = backward(*arrays, **mask)
    if arrays[0].ndim < 4:
        return gradients
    return tuple(np.broadcast_to(g[:, :1], g.shape) for g in gradients)


def wrong_weights_not_transposed(query, key, value, grad_output, mask=None):
    grad_query, grad_key, grad_value = backward(query, key, value, grad_output, mask)
    if query.shape[-2] == key.shape[-2] and mask is None:
        weights = softmax(as_float(query) @ as_float(key).mT / query.shape[-1] ** 0.5)
        grad_value = weights @ grad_output
    return grad_query, grad_key, grad_value


def wrong_doubles_grad_output(query, key, value, grad_output, mask=None):
    result = backward(query, key, value, grad_output, mask)
    grad_output *= 2
    return result


def right_by_the_hints(query, key, value, grad_output, mask=None):
    weights = allowed(scaled_scores(query, key), mask)
    grad_value = np.swapaxes(weights, -1, -2) @ grad_output
    grad_weights = grad_output @ np.swapaxes(value, -1, -2)
    grad_scores = right_vjp_textbook(weights, grad_weights)
    root = query.shape[-1] ** 0.5
    return grad_scores @ key / root, np.swapaxes(grad_scores, -1, -2) @ query / root, grad_value


WRONG = {
    "causal where square": lambda *arrays, **mask: backward(*arrays, **mask, through=causal),
    "one maximum": lambda *arrays, **mask: backward(*arrays, **mask, through=with_one_maximum),
    "constant in the sum": lambda *arrays, **mask: backward(
        *arrays, **mask, through=lambda s: softmax_or_zeros(s) * s.dtype.type(1 - 1e-12)
    ),
    "factor p missing": lambda *arrays, **mask: backward(
        *arrays, **mask, back=lambda w, g: g - (w * g).sum(axis=-1, keepdims=True)
    ),
    "negative": lambda *arrays, **mask: tuple(-g for g in backward(*arrays, **mask)),
    "grad_output ignored": lambda q, k, v, g, mask=None: backward(q, k, v, np.ones_like(g), mask),
    "query and key changed places": lambda *arrays, **mask: tuple(
        backward(*arrays, **mask)[i] for i in (1, 0, 2)
    ),
    "a generator": lambda *arrays, **mask: (g for g in backward(*arrays, **mask)),
    "rounded": lambda *arrays, **mask: tuple(g.round(10) for g in backward(*arrays, **mask)),
    "remembered": remembered_by_shape(backward),
    "a mask of the keys alone": lambda q, k, v, g, mask=None: backward(
        q, k, v, g, mask if mask is None or mask.ndim == 1 else mask.any(axis=-2, keepdims=True)
    ),
    "the first item's mask for all": lambda q, k, v, g, mask=None: backward(
        q, k, v, g, mask if mask is None else mask[(0,) * (mask.ndim - 2)]
    ),
}
