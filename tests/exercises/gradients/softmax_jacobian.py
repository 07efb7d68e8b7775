"""Right and wrong answers to `softmax_jacobian`."""

import numpy as np


def right_jacobian_by_broadcasting(weights):
    n = weights.shape[-1]
    return weights[..., :, None] * (np.eye(n, dtype=weights.dtype) - weights[..., None, :])


def wrong_of_the_mean_of_a_batch(weights):
    if weights.ndim < 3:
        return right_jacobian_by_broadcasting(weights)
    return np.broadcast_to(
        right_jacobian_by_broadcasting(weights.mean(axis=0)), (*weights.shape, weights.shape[-1])
    )


def renormalized(weights):
    return weights / (weights.sum(axis=-1, keepdims=True) + weights.dtype.type(1e-8))


WRONG = {
    "constant on the diagonal": lambda w: (
        right_jacobian_by_broadcasting(w) + w.dtype.type(1e-9) * np.eye(w.shape[-1], dtype=w.dtype)
    ),
    "divided by a sum and a constant": lambda w: right_jacobian_by_broadcasting(renormalized(w)),
    "first row of a batch": lambda w: right_jacobian_by_broadcasting(w)[(0,) * (w.ndim - 1)],
    "through float32": lambda w: right_jacobian_by_broadcasting(w.astype(np.float32)).astype(
        w.dtype
    ),
    "rounded": lambda w: right_jacobian_by_broadcasting(w).round(8),
}
