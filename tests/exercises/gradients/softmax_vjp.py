"""Right and wrong answers to `softmax_vjp`."""

import numpy as np

from attention_lib.lessons.softmax import weighted_sum
from tests.exercises.gradients.softmax_jacobian import renormalized, right_jacobian_by_broadcasting
from tests.exercises.parts import remembered_by_shape


def right_vjp_textbook(weights, grad_weights):
    return weights * (grad_weights - (weights * grad_weights).sum(axis=-1, keepdims=True))


def right_vjp_in_two_products(weights, grad_weights):
    products = weights * grad_weights
    return products - weights * np.sum(products, -1)[..., np.newaxis]


def right_by_einsum(weights, grad_weights):
    mean = np.einsum("...i,...i->...", weights, grad_weights)
    return np.multiply(weights, grad_weights - mean[..., None])


def right_by_matmul(weights, grad_weights):
    mean = (weights[..., None, :] @ grad_weights[..., :, None])[..., 0]
    return weights * (grad_weights - mean)


def right_by_loops(weights, grad_weights):
    result = np.zeros_like(weights)
    for index in np.ndindex(weights.shape[:-1]):
        p, g = weights[index], grad_weights[index]
        mean = 0.0
        for i in range(len(p)):
            mean += float(p[i]) * float(g[i])
        for k in range(len(p)):
            result[index][k] = p[k] * (g[k] - mean)
    return result


def right_in_lists(weights, grad_weights):
    rows = []
    for p, g in zip(
        weights.reshape(-1, weights.shape[-1]).tolist(),
        grad_weights.reshape(-1, weights.shape[-1]).tolist(),
        strict=True,
    ):
        products = [a * b for a, b in zip(p, g, strict=True)]
        mean = sum(products)
        distances = [b - mean for b in g]
        rows.append([a * distance for a, distance in zip(p, distances, strict=True)])
    return np.array(rows, dtype=weights.dtype).reshape(weights.shape)


def right_with_many_copies(weights, grad_weights):
    p, g = weights.astype(np.float64).copy(), np.array(grad_weights, dtype=np.float64)
    products = np.array(p * g)
    mean = np.broadcast_to(products.sum(-1, keepdims=True), p.shape).copy()
    centered = np.subtract(g, mean).copy()
    return np.concatenate([p * centered], axis=-1).astype(weights.dtype)


def right_along_axis(weights, grad_weights):
    n = weights.shape[-1]
    both = np.concatenate([weights, grad_weights], axis=-1)

    def one_row(row):
        p, g = row[:n], row[n:]
        return p * (g - p @ g)

    return np.apply_along_axis(one_row, -1, both)


def right_by_weighted_sum(weights, grad_weights):
    mean = weighted_sum(weights[..., None, :], grad_weights[..., :, None])[..., 0]
    return weights * (grad_weights - mean)


def right_after_a_shift(weights, grad_weights):
    """Measure the gradients from the first one: a constant in them drops out."""
    centered = grad_weights - grad_weights[..., :1]
    return weights * (centered - np.sum(weights * centered, axis=-1, keepdims=True))


def wrong_dot_again_for_every_score(weights, grad):
    columns = [
        weights[..., k] * (grad[..., k] - (weights * grad).sum(axis=-1))
        for k in range(weights.shape[-1])
    ]
    return np.stack(columns, axis=-1)


def wrong_all_products_first(weights, grad):
    products = weights[..., :, None] * grad[..., None, :]
    own = np.einsum("...ii->...i", products)
    return own - weights * own.sum(axis=-1, keepdims=True)


def wrong_shifts_its_gradient(weights, grad):
    grad -= (weights * grad).sum(axis=-1, keepdims=True)
    return weights * grad


RIGHT = [np.vectorize(lambda p, g: p * (g - p @ g), signature="(n),(n)->(n)")]

WRONG = {
    "gradients clipped": lambda w, g: right_vjp_textbook(w, np.clip(g, -5, 5)),
    "small weights dropped": lambda w, g: right_vjp_textbook(
        np.where(w < 1e-6, w.dtype.type(0), w), g
    ),
    "divided by a sum and a constant": lambda w, g: right_vjp_textbook(renormalized(w), g),
    "mean over the batch": lambda w, g: right_vjp_textbook(w, g) / w.shape[0],
    "always axis 1": lambda w, g: w * (g - (w * g).sum(axis=min(1, w.ndim - 1), keepdims=True)),
    "constant added": lambda w, g: right_vjp_textbook(w, g) + w.dtype.type(1e-10),
    "through float32": lambda w, g: right_vjp_textbook(
        w.astype(np.float32), g.astype(np.float32)
    ).astype(w.dtype),
    "rounded": lambda w, g: right_vjp_textbook(w, g).round(10),
    "Jacobian": lambda w, g: np.einsum("...ik,...i->...k", right_jacobian_by_broadcasting(w), g),
    "remembered": remembered_by_shape(right_vjp_textbook),
}
