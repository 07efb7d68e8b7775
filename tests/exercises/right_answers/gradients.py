"""Right answers to the exercises of lesson 04, written in unlike ways."""

import itertools
import math

import numpy as np

from attention_lib.lessons.scaling import scaled_scores
from attention_lib.lessons.softmax import softmax, weighted_sum
from attention_lib.lessons.stability import log_softmax, logsumexp


def jacobian_by_broadcasting(weights):
    n = weights.shape[-1]
    return weights[..., :, None] * (np.eye(n, dtype=weights.dtype) - weights[..., None, :])


def jacobian_of_the_transpose(weights):
    """Use p_k (δ_ik − p_i): the matrix is symmetric."""
    n = weights.shape[-1]
    return weights[..., None, :] * (np.eye(n, dtype=weights.dtype) - weights[..., :, None])


def jacobian_by_einsum(weights):
    result = -np.einsum("...i,...k->...ik", weights, weights)
    diagonal = np.einsum("...ii->...i", result)
    diagonal += weights
    return result


def jacobian_by_loops(weights):
    n = weights.shape[-1]
    result = np.zeros((*weights.shape, n), weights.dtype)
    for index in np.ndindex(weights.shape[:-1]):
        for i in range(n):
            for k in range(n):
                p_i, p_k = float(weights[index][i]), float(weights[index][k])
                result[index][i, k] = p_i * (1 - p_i) if i == k else -p_i * p_k
    return result


def jacobian_row_by_row(weights):
    rows = weights.reshape(-1, weights.shape[-1])
    matrices = [np.diag(row) - np.outer(row, row) for row in rows]
    return np.array(matrices).reshape(*weights.shape, -1)


def jacobian_along_axis(weights):
    return np.apply_along_axis(lambda row: np.diag(row) - np.outer(row, row), -1, weights)


def jacobian_from_the_others(weights):
    """Make the diagonal from what the others lose: each column sums to 0."""
    result = -(weights[..., :, None] @ weights[..., None, :])
    places = np.arange(weights.shape[-1])
    result[..., places, places] = 0
    result[..., places, places] = -result.sum(axis=-1)
    return result


def vjp_textbook(weights, grad_weights):
    return weights * (grad_weights - (weights * grad_weights).sum(axis=-1, keepdims=True))


def vjp_in_two_products(weights, grad_weights):
    products = weights * grad_weights
    return products - weights * np.sum(products, -1)[..., np.newaxis]


def vjp_by_einsum(weights, grad_weights):
    mean = np.einsum("...i,...i->...", weights, grad_weights)
    return np.multiply(weights, grad_weights - mean[..., None])


def vjp_by_matmul(weights, grad_weights):
    mean = (weights[..., None, :] @ grad_weights[..., :, None])[..., 0]
    return weights * (grad_weights - mean)


def vjp_by_loops(weights, grad_weights):
    result = np.zeros_like(weights)
    for index in np.ndindex(weights.shape[:-1]):
        p, g = weights[index], grad_weights[index]
        mean = 0.0
        for i in range(len(p)):
            mean += float(p[i]) * float(g[i])
        for k in range(len(p)):
            result[index][k] = p[k] * (g[k] - mean)
    return result


def vjp_in_lists(weights, grad_weights):
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


def vjp_with_many_copies(weights, grad_weights):
    p, g = weights.astype(np.float64).copy(), np.array(grad_weights, dtype=np.float64)
    products = np.array(p * g)
    mean = np.broadcast_to(products.sum(-1, keepdims=True), p.shape).copy()
    centered = np.subtract(g, mean).copy()
    return np.concatenate([p * centered], axis=-1).astype(weights.dtype)


def vjp_along_axis(weights, grad_weights):
    n = weights.shape[-1]
    both = np.concatenate([weights, grad_weights], axis=-1)

    def one_row(row):
        p, g = row[:n], row[n:]
        return p * (g - p @ g)

    return np.apply_along_axis(one_row, -1, both)


def vjp_by_weighted_sum(weights, grad_weights):
    mean = weighted_sum(weights[..., None, :], grad_weights[..., :, None])[..., 0]
    return weights * (grad_weights - mean)


def vjp_after_a_shift(weights, grad_weights):
    """Measure the gradients from the first one: a constant in them drops out."""
    centered = grad_weights - grad_weights[..., :1]
    return weights * (centered - np.sum(weights * centered, axis=-1, keepdims=True))


def differences_on_copies(f, x, eps=1e-6):
    result = np.empty(x.shape)
    for index in np.ndindex(*x.shape):
        above, below = x.copy(), x.copy()
        above[index] += eps
        below[index] -= eps
        result[index] = (f(above) - f(below)) / (2 * eps)
    return result


def differences_in_place(f, x, eps=1e-6):
    result = np.zeros_like(x)
    for index in itertools.product(*map(range, x.shape)):
        here = x[index]
        x[index] = here + eps
        above = f(x)
        x[index] = here - eps
        below = f(x)
        x[index] = here
        result[index] = (above - below) / (2.0 * eps)
    return result


def differences_in_place_by_two_steps(f, x, eps=1e-6):
    before = x.copy()
    result = np.zeros(x.shape)
    for index in np.ndindex(x.shape):
        x[index] += eps
        above = f(x)
        x[index] -= 2 * eps
        result[index] = (above - f(x)) / (2 * eps)
        x[...] = before
    return result


def differences_by_directions(f, x, eps=1e-6):
    directions = np.eye(x.size).reshape(x.size, *x.shape)
    quotients = [(f(x + eps * d) - f(x - eps * d)) / (2 * eps) for d in directions]
    return np.array(quotients).reshape(x.shape)


def differences_with_nditer(f, x, eps=1e-6):
    result = np.zeros(x.shape)
    entries = np.nditer(x, flags=["multi_index"])
    for _ in entries:
        step = np.zeros(x.shape)
        step[entries.multi_index] = eps
        result[entries.multi_index] = f(x + step) / (2 * eps) - f(x - step) / (2 * eps)
    return result


def differences_flat(f, x, eps=1e-6):
    flat = x.ravel().copy()
    result = []
    for i in range(flat.size):
        here = flat[i]
        flat[i] = here + eps
        above = float(f(flat.reshape(x.shape)))
        flat[i] = here - eps
        below = float(f(flat.reshape(x.shape)))
        flat[i] = here
        result.append(0.5 * (above - below) / eps)
    return np.array(result).reshape(x.shape)


def loss_gradient_textbook(scores, targets):
    gradient = softmax(scores)
    gradient[np.arange(len(targets)), targets] -= 1
    return gradient / len(targets)


def loss_gradient_by_one_hot(scores, targets):
    weights = softmax(scores)
    return (weights - np.eye(scores.shape[1], dtype=weights.dtype)[targets]) / scores.shape[0]


def loss_gradient_by_loops(scores, targets):
    n, classes = scores.shape
    result = np.zeros(scores.shape, scores.dtype if scores.dtype.kind == "f" else float)
    for i in range(n):
        row = [float(s) for s in scores[i]]
        powers = [math.exp(s - max(row)) for s in row]
        for k in range(classes):
            result[i, k] = (powers[k] / sum(powers) - (k == targets[i])) / n
    return result


def loss_gradient_from_logarithms(scores, targets):
    gradient = np.exp(log_softmax(scores))
    np.put_along_axis(
        gradient, targets[:, None], np.take_along_axis(gradient, targets[:, None], 1) - 1, 1
    )
    gradient /= len(targets)
    return gradient


def loss_gradient_through_the_weights(scores, targets):
    """Carry −1/(N p) of the right class back through softmax, where p is not too small."""
    weights = np.exp(scores - logsumexp(scores, keepdims=True))
    right = np.arange(scores.shape[1]) == targets[:, None]
    return np.where(right, weights - 1, weights) / len(targets)


def loss_gradient_by_comparison(scores, targets):
    classes = np.arange(scores.shape[1])
    gradient = softmax(scores) - (targets[:, None] == classes)
    return gradient * (1 / len(targets))


def backward_textbook(query, key, value, grad_output):
    scale = query.shape[-1] ** -0.5
    weights = softmax(query @ np.swapaxes(key, -1, -2) * scale)
    grad_value = np.swapaxes(weights, -1, -2) @ grad_output
    grad_scores = vjp_textbook(weights, grad_output @ np.swapaxes(value, -1, -2)) * scale
    return grad_scores @ key, np.swapaxes(grad_scores, -1, -2) @ query, grad_value


def backward_from_the_library(query, key, value, grad_output):
    weights = softmax(scaled_scores(query, key))
    grad_weights = grad_output @ value.mT
    grad_scores = vjp_in_two_products(weights, grad_weights)
    root = math.sqrt(key.shape[-1])
    return [
        weighted_sum(grad_scores, key) / root,
        weighted_sum(grad_scores.mT, query) / root,
        weighted_sum(weights.mT, grad_output),
    ]


def backward_by_einsum(query, key, value, grad_output):
    root = float(np.sqrt(query.shape[-1]))
    weights = softmax(np.einsum("...id,...jd->...ij", query, key) / root)
    grad_weights = np.einsum("...ic,...jc->...ij", grad_output, value)
    rows = np.einsum("...ij,...ij->...i", weights, grad_weights)
    grad_scores = weights * (grad_weights - rows[..., None])
    return (
        np.einsum("...ij,...jd->...id", grad_scores, key) / root,
        np.einsum("...ij,...id->...jd", grad_scores, query) / root,
        np.einsum("...ij,...ic->...jc", weights, grad_output),
    )


def backward_by_jacobians(query, key, value, grad_output):
    scale = 1 / math.sqrt(query.shape[-1])
    weights = softmax(scale * (query @ np.moveaxis(key, -1, -2)))
    jacobians = jacobian_by_broadcasting(weights)
    grad_weights = grad_output @ np.moveaxis(value, -1, -2)
    grad_scores = (jacobians @ grad_weights[..., None])[..., 0]
    return (
        scale * (grad_scores @ key),
        scale * (np.moveaxis(grad_scores, -1, -2) @ query),
        np.moveaxis(weights, -1, -2) @ grad_output,
    )


def backward_one_query_at_a_time(query, key, value, grad_output):
    dtype = np.result_type(query.dtype, np.float32)
    grads = [np.zeros(a.shape, dtype) for a in (query, key, value)]
    scale = 1 / math.sqrt(query.shape[-1])
    for batch in np.ndindex(query.shape[:-2]):
        for i in range(query.shape[-2]):
            q, g = query[batch][i], grad_output[batch][i]
            scores = np.array([float(sum(q * k)) * scale for k in key[batch]])
            weights = softmax(scores)
            pulls = np.array([float(sum(g * v)) for v in value[batch]])
            pulls = weights * (pulls - sum(weights * pulls))
            for j in range(key.shape[-2]):
                grads[0][batch][i] += (scale * pulls[j] * key[batch][j]).astype(dtype)
                grads[1][batch][j] += (scale * pulls[j] * q).astype(dtype)
                grads[2][batch][j] += (weights[j] * g).astype(dtype)
    return tuple(grads)


def backward_in_float64(query, key, value, grad_output):
    q, k, v, g = (a.astype(np.float64) for a in (query, key, value, grad_output))
    q *= 1 / math.sqrt(q.shape[-1])
    weights = softmax(q @ k.mT)
    # The row sums of dP * P are those of dO * O: no L x S array is needed for them.
    rows = np.sum(g * (weights @ v), axis=-1, keepdims=True)
    grad_scores = weights * (g @ v.mT - rows)
    dtype = np.result_type(query.dtype, np.float32) if query.dtype.kind == "f" else np.float64
    grad_query = grad_scores @ k / math.sqrt(q.shape[-1])
    return tuple(a.astype(dtype) for a in (grad_query, grad_scores.mT @ q, weights.mT @ g))


def jacobian_between_roots(weights):
    """Use √p_i (δ_ik − √p_i √p_k) √p_k."""
    roots = np.sqrt(weights)
    identity = np.eye(weights.shape[-1], dtype=weights.dtype)
    inner = identity - roots[..., :, None] * roots[..., None, :]
    return roots[..., :, None] * inner * roots[..., None, :]


def differences_all_at_once(f, x, eps=1e-6):
    steps = eps * np.eye(x.size)
    above = [f(row.reshape(x.shape)) for row in x.ravel() + steps]
    below = [f(row.reshape(x.shape)) for row in x.ravel() - steps]
    return (np.array(above) - np.array(below)).reshape(x.shape) / (2 * eps)


def backward_in_separate_products(query, key, value, grad_output):
    """Multiply p (g − Σ p g) out, and carry each part back by itself."""
    scale = 1 / math.sqrt(query.shape[-1])
    weights = softmax(scale * (query @ key.mT))
    products = weights * (grad_output @ value.mT)
    rows = products.sum(axis=-1, keepdims=True)
    return (
        scale * (products @ key - rows * (weights @ key)),
        scale * (products.mT @ query - weights.mT @ (rows * query)),
        weights.mT @ grad_output,
    )


def backward_from_centered_keys_and_values(query, key, value, grad_output):
    """A constant in the keys or in the values changes no score and no weight's gradient."""
    scale = query.shape[-1] ** -0.5
    keys = key - key.mean(axis=-2, keepdims=True, dtype=np.result_type(key, np.float32))
    values = value - value.mean(axis=-2, keepdims=True, dtype=np.result_type(value, np.float32))
    scores = scale * (query @ keys.mT)
    weights = np.exp(scores - np.logaddexp.reduce(scores, axis=-1, keepdims=True))
    grad_scores = scale * vjp_textbook(weights, grad_output @ values.mT)
    return grad_scores @ keys, grad_scores.mT @ query, weights.mT @ grad_output


RIGHT = {
    "softmax_jacobian": [
        jacobian_by_broadcasting,
        jacobian_of_the_transpose,
        jacobian_by_einsum,
        jacobian_by_loops,
        jacobian_row_by_row,
        jacobian_along_axis,
        jacobian_from_the_others,
        jacobian_between_roots,
    ],
    "numerical_gradient": [
        differences_on_copies,
        differences_in_place,
        differences_in_place_by_two_steps,
        differences_by_directions,
        differences_with_nditer,
        differences_flat,
        differences_all_at_once,
    ],
    "softmax_vjp": [
        vjp_textbook,
        vjp_in_two_products,
        vjp_by_einsum,
        vjp_by_matmul,
        vjp_by_loops,
        vjp_in_lists,
        vjp_with_many_copies,
        vjp_along_axis,
        vjp_by_weighted_sum,
        vjp_after_a_shift,
        np.vectorize(lambda p, g: p * (g - p @ g), signature="(n),(n)->(n)"),
    ],
    "cross_entropy_grad": [
        loss_gradient_textbook,
        loss_gradient_by_one_hot,
        loss_gradient_by_loops,
        loss_gradient_from_logarithms,
        loss_gradient_through_the_weights,
        loss_gradient_by_comparison,
    ],
    "attention_backward": [
        backward_textbook,
        backward_from_the_library,
        backward_by_einsum,
        backward_by_jacobians,
        backward_one_query_at_a_time,
        backward_in_float64,
        backward_in_separate_products,
        backward_from_centered_keys_and_values,
    ],
}
