"""Right and wrong answers to `softmax_vjp`."""

import numpy as np

from tests.exercises.gradients.softmax_jacobian import renormalized, right_jacobian_by_broadcasting
from tests.exercises.parts import remembered_by_shape


def right_vjp_textbook(weights, grad_weights):
    return weights * (grad_weights - (weights * grad_weights).sum(axis=-1, keepdims=True))


def right_vjp_in_two_products(weights, grad_weights):
    products = weights * grad_weights
    return products - weights * np.sum(products, -1)[..., np.newaxis]


RIGHT = {
    "vectorized": np.vectorize(lambda p, g: p * (g - p @ g), signature="(n),(n)->(n)"),
}

WRONG = {
    "gradients clipped": lambda w, g: right_vjp_textbook(w, np.clip(g, -5, 5)),
    "small weights dropped": lambda w, g: right_vjp_textbook(
        np.where(w < 1e-6, w.dtype.type(0), w), g
    ),
    "divided by a sum and a constant": lambda w, g: right_vjp_textbook(renormalized(w), g),
    "mean over the batch": lambda w, g: right_vjp_textbook(w, g) / w.shape[0],
    "constant added": lambda w, g: right_vjp_textbook(w, g) + w.dtype.type(1e-10),
    "through float32": lambda w, g: right_vjp_textbook(
        w.astype(np.float32), g.astype(np.float32)
    ).astype(w.dtype),
    "rounded": lambda w, g: right_vjp_textbook(w, g).round(10),
    "Jacobian": lambda w, g: np.einsum("...ik,...i->...k", right_jacobian_by_broadcasting(w), g),
    "remembered": remembered_by_shape(right_vjp_textbook),
}
