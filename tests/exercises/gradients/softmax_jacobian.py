"""Right and wrong answers to `softmax_jacobian`."""

import numpy as np

from attention_lib.lessons.softmax import softmax


def right_jacobian_by_broadcasting(weights):
    n = weights.shape[-1]
    return weights[..., :, None] * (np.eye(n, dtype=weights.dtype) - weights[..., None, :])


def right_of_the_transpose(weights):
    """Use p_k (δ_ik − p_i): the matrix is symmetric."""
    n = weights.shape[-1]
    return weights[..., None, :] * (np.eye(n, dtype=weights.dtype) - weights[..., :, None])


def right_by_einsum(weights):
    result = -np.einsum("...i,...k->...ik", weights, weights)
    diagonal = np.einsum("...ii->...i", result)
    diagonal += weights
    return result


def right_by_loops(weights):
    n = weights.shape[-1]
    result = np.zeros((*weights.shape, n), weights.dtype)
    for index in np.ndindex(weights.shape[:-1]):
        for i in range(n):
            for k in range(n):
                p_i, p_k = float(weights[index][i]), float(weights[index][k])
                result[index][i, k] = p_i * (1 - p_i) if i == k else -p_i * p_k
    return result


def right_row_by_row(weights):
    rows = weights.reshape(-1, weights.shape[-1])
    matrices = [np.diag(row) - np.outer(row, row) for row in rows]
    return np.array(matrices).reshape(*weights.shape, -1)


def right_along_axis(weights):
    return np.apply_along_axis(lambda row: np.diag(row) - np.outer(row, row), -1, weights)


def right_from_the_others(weights):
    """Make the diagonal from what the others lose: each column sums to 0."""
    result = -(weights[..., :, None] @ weights[..., None, :])
    places = np.arange(weights.shape[-1])
    result[..., places, places] = 0
    result[..., places, places] = -result.sum(axis=-1)
    return result


def right_between_roots(weights):
    """Use √p_i (δ_ik − √p_i √p_k) √p_k."""
    roots = np.sqrt(weights)
    identity = np.eye(weights.shape[-1], dtype=weights.dtype)
    inner = identity - roots[..., :, None] * roots[..., None, :]
    return roots[..., :, None] * inner * roots[..., None, :]


def wrong_jacobian_by_differences(weights):
    scores = np.log(np.maximum(weights.astype(float), 1e-300))
    steps = 1e-6 * np.eye(weights.shape[-1])
    columns = [(softmax(scores + step) - softmax(scores - step)) / 2e-6 for step in steps]
    return np.stack(columns, axis=-1).astype(weights.dtype)


def wrong_of_the_mean_of_a_batch(weights):
    if weights.ndim < 3:
        return right_jacobian_by_broadcasting(weights)
    return np.broadcast_to(
        right_jacobian_by_broadcasting(weights.mean(axis=0)), (*weights.shape, weights.shape[-1])
    )


def renormalized(weights):
    return weights / (weights.sum(axis=-1, keepdims=True) + weights.dtype.type(1e-8))


def right_by_the_hints(weights):
    n = weights.shape[-1]
    diagonal = weights[..., :, None] * np.eye(n, dtype=weights.dtype)
    return diagonal - weights[..., :, None] * weights[..., None, :]


WRONG = {
    "constant on the diagonal": lambda w: (
        right_jacobian_by_broadcasting(w) + w.dtype.type(1e-9) * np.eye(w.shape[-1], dtype=w.dtype)
    ),
    "divided by a sum and a constant": lambda w: right_jacobian_by_broadcasting(renormalized(w)),
    "first row of a batch": lambda w: right_jacobian_by_broadcasting(w)[(0,) * (w.ndim - 1)],
    "p (1 - p) everywhere": lambda w: w[..., None] * (1 - w[..., None, :]),
    "through float32": lambda w: right_jacobian_by_broadcasting(w.astype(np.float32)).astype(
        w.dtype
    ),
    "rounded": lambda w: right_jacobian_by_broadcasting(w).round(8),
}
