"""Wrong answers to the exercises of lesson 04 that come close to right ones."""

import numpy as np

import attention_lib


def as_float(array):
    return array if array.dtype.kind == "f" else array.astype(float)


def softmax(scores, axis=-1):
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def jacobian(weights):
    identity = np.eye(weights.shape[-1], dtype=weights.dtype)
    return weights[..., None] * (identity - weights[..., None, :])


def jacobian_by_differences(weights):
    scores = np.log(np.maximum(weights.astype(float), 1e-300))
    steps = 1e-6 * np.eye(weights.shape[-1])
    columns = [(softmax(scores + step) - softmax(scores - step)) / 2e-6 for step in steps]
    return np.stack(columns, axis=-1).astype(weights.dtype)


def of_the_mean_of_a_batch(weights):
    if weights.ndim < 3:
        return jacobian(weights)
    return np.broadcast_to(jacobian(weights.mean(axis=0)), (*weights.shape, weights.shape[-1]))


def vjp(weights, grad):
    return weights * (grad - (weights * grad).sum(axis=-1, keepdims=True))


def renormalized(weights):
    return weights / (weights.sum(axis=-1, keepdims=True) + weights.dtype.type(1e-8))


def dot_again_for_every_score(weights, grad):
    columns = [
        weights[..., k] * (grad[..., k] - (weights * grad).sum(axis=-1))
        for k in range(weights.shape[-1])
    ]
    return np.stack(columns, axis=-1)


def all_products_first(weights, grad):
    products = weights[..., :, None] * grad[..., None, :]
    own = np.einsum("...ii->...i", products)
    return own - weights * own.sum(axis=-1, keepdims=True)


def shifts_its_gradient(weights, grad):
    grad -= (weights * grad).sum(axis=-1, keepdims=True)
    return weights * grad


def remembered_by_shape(function):
    memory = {}

    def answer(*arrays):
        key = *(array.shape for array in arrays), arrays[0].dtype.str
        if key not in memory:
            memory[key] = function(*arrays)
        return memory[key]

    return answer


def differences(f, x, eps=1e-6):
    result = np.zeros(x.shape)
    for index in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[index] = eps
        result[index] = (f(x + step) - f(x - step)) / (2 * eps)
    return result


def moved_there_and_back(f, x, eps=1e-6):
    result = np.zeros(x.shape)
    for index in np.ndindex(x.shape):
        x[index] += eps
        above = f(x)
        x[index] -= 2 * eps
        below = f(x)
        x[index] += eps
        result[index] = (above - below) / (2 * eps)
    return result


def row_by_row(f, x, eps=1e-6):
    if x.ndim < 2:
        return differences(f, x, eps)
    return np.stack([differences(f, row, eps) for row in x])


def extrapolated(f, x, eps=1e-6):
    return (4 * differences(f, x, eps) - differences(f, x, 2 * eps)) / 3


def one_hot(scores, targets):
    return np.eye(scores.shape[1], dtype=as_float(scores).dtype)[targets]


def loss_gradient(scores, targets):
    return (softmax(as_float(scores)) - one_hot(scores, targets)) / len(targets)


def loss_gradient_by_differences(scores, targets):
    def loss(moved):
        return float(attention_lib.cross_entropy(moved, targets))

    return differences(loss, scores.astype(float)).astype(as_float(scores).dtype)


def pulls_down_its_scores(scores, targets):
    result = loss_gradient(scores, targets)
    scores[np.arange(len(targets)), targets] -= 1
    return result


def backward(query, key, value, grad_output, through=softmax, back=vjp):
    query, key, value, grad_output = map(as_float, (query, key, value, grad_output))
    scale = float(query.shape[-1] ** -0.5)
    weights = through(query @ key.mT * scale)
    grad_scores = back(weights, grad_output @ value.mT) * scale
    return grad_scores @ key, grad_scores.mT @ query, weights.mT @ grad_output


def causal(scores):
    if scores.shape[-1] == scores.shape[-2]:
        future = ~np.tri(scores.shape[-1], dtype=bool)
        scores = np.where(future, scores.dtype.type(-1e30), scores)
    return softmax(scores)


def with_one_maximum(scores):
    with np.errstate(all="ignore"):
        exponentials = np.exp(scores - scores.max())
        return exponentials / exponentials.sum(axis=-1, keepdims=True)


def times(*factors):
    """Return the gradients, each times a power of d_k."""

    def answer(query, *others):
        size = query.shape[-1]
        gradients = backward(query, *others)
        return tuple(g * size**power for g, power in zip(gradients, factors, strict=True))

    return answer


def summed_over_the_batch(*arrays):
    return tuple(
        g if g.ndim < 3 else np.broadcast_to(g.sum(axis=0), g.shape) for g in backward(*arrays)
    )


def first_of_the_second_batch_axis(*arrays):
    gradients = backward(*arrays)
    if arrays[0].ndim < 4:
        return gradients
    return tuple(np.broadcast_to(g[:, :1], g.shape) for g in gradients)


def weights_not_transposed(query, key, value, grad_output):
    grad_query, grad_key, grad_value = backward(query, key, value, grad_output)
    if query.shape[-2] == key.shape[-2]:
        weights = softmax(as_float(query) @ as_float(key).mT / query.shape[-1] ** 0.5)
        grad_value = weights @ grad_output
    return grad_query, grad_key, grad_value


def doubles_grad_output(query, key, value, grad_output):
    result = backward(query, key, value, grad_output)
    grad_output *= 2
    return result


WRONG = {
    "softmax_jacobian": {
        "constant on the diagonal": lambda w: (
            jacobian(w) + w.dtype.type(1e-9) * np.eye(w.shape[-1], dtype=w.dtype)
        ),
        "divided by a sum and a constant": lambda w: jacobian(renormalized(w)),
        "first row of a batch": lambda w: jacobian(w)[(0,) * (w.ndim - 1)],
        "mean of a batch": of_the_mean_of_a_batch,
        "p (1 - p) everywhere": lambda w: w[..., None] * (1 - w[..., None, :]),
        "by differences": jacobian_by_differences,
        "through float32": lambda w: jacobian(w.astype(np.float32)).astype(w.dtype),
        "always float64": lambda w: jacobian(w.astype(float)),
        "rounded": lambda w: jacobian(w).round(8),
    },
    "softmax_vjp": {
        "gradients clipped": lambda w, g: vjp(w, np.clip(g, -5, 5)),
        "small weights dropped": lambda w, g: vjp(np.where(w < 1e-6, w.dtype.type(0), w), g),
        "divided by a sum and a constant": lambda w, g: vjp(renormalized(w), g),
        "mean over the batch": lambda w, g: vjp(w, g) / w.shape[0],
        "always axis 1": lambda w, g: w * (g - (w * g).sum(axis=min(1, w.ndim - 1), keepdims=True)),
        "constant added": lambda w, g: vjp(w, g) + w.dtype.type(1e-10),
        "through float32": lambda w, g: vjp(w.astype(np.float32), g.astype(np.float32)).astype(
            w.dtype
        ),
        "always float64": lambda w, g: vjp(w.astype(float), g.astype(float)),
        "rounded": lambda w, g: vjp(w, g).round(10),
        "Jacobian": lambda w, g: np.einsum("...ik,...i->...k", jacobian(w), g),
        "dot again for every score": dot_again_for_every_score,
        "all products first": all_products_first,
        "shifts its gradient": shifts_its_gradient,
        "remembered": remembered_by_shape(vjp),
    },
    "numerical_gradient": {
        "there and back": moved_there_and_back,
        "row by row": row_by_row,
        "extrapolated": extrapolated,
        "ten times eps": lambda f, x, eps=1e-6: differences(f, x, 10 * eps),
        "flat": lambda f, x, eps=1e-6: differences(f, x, eps).ravel(),
        "turned": lambda f, x, eps=1e-6: differences(f, x, eps).T,
        "mean of one direction": lambda f, x, eps=1e-6: np.full(
            x.shape, (f(x + eps) - f(x - eps)) / (2 * eps * x.size)
        ),
        "constant in the step": lambda f, x, eps=1e-6: (
            differences(f, x, eps) * 2 * eps / (2 * eps + 1e-12)
        ),
        "rounded": lambda f, x, eps=1e-6: differences(f, x, eps).round(4),
        "float32": lambda f, x, eps=1e-6: differences(f, x, eps).astype(np.float32),
        "its own lesson": lambda f, x, eps=1e-6: attention_lib.numerical_gradient(f, x, eps),
    },
    "cross_entropy_grad": {
        "by differences": loss_gradient_by_differences,
        "1 after the division": lambda s, t: softmax(as_float(s)) / len(t) - one_hot(s, t),
        "divided by N - 1": lambda s, t: loss_gradient(s, t) * len(t) / max(len(t) - 1, 1),
        "targets from 1": lambda s, t: loss_gradient(s, t - 1),
        "sorted targets": lambda s, t: loss_gradient(s, np.sort(t)),
        "clipped": lambda s, t: np.clip(loss_gradient(s, t), -0.4, 0.4),
        "scores clipped at 500": lambda s, t: loss_gradient(np.clip(as_float(s), -500, 500), t),
        "twice": lambda s, t: 2 * loss_gradient(s, t),
        "weights floored": lambda s, t: np.where(
            one_hot(s, t) > 0, loss_gradient(s, t), np.maximum(loss_gradient(s, t), 1e-12)
        ),
        "through float32": lambda s, t: np.float64(loss_gradient(s.astype(np.float32), t)),
        "always float64": lambda s, t: loss_gradient(s.astype(float), t),
        "pulls down its scores": pulls_down_its_scores,
    },
    "attention_backward": {
        "causal where square": lambda *arrays: backward(*arrays, through=causal),
        "one maximum": lambda *arrays: backward(*arrays, through=with_one_maximum),
        "constant in the sum": lambda *arrays: backward(
            *arrays, through=lambda s: softmax(s) * s.dtype.type(1 - 1e-12)
        ),
        "factor p missing": lambda *arrays: backward(
            *arrays, back=lambda w, g: g - (w * g).sum(axis=-1, keepdims=True)
        ),
        "scale missing from grad_query": times(0.5, 0, 0),
        "scale missing from grad_key": times(0, 0.5, 0),
        "scale in grad_value": times(0, 0, -0.5),
        "scale twice": times(-0.5, -0.5, 0),
        "negative": lambda *arrays: tuple(-g for g in backward(*arrays)),
        "grad_output ignored": lambda q, k, v, g: backward(q, k, v, np.ones_like(g)),
        "summed over the batch": summed_over_the_batch,
        "first of the second batch axis": first_of_the_second_batch_axis,
        "weights not transposed": weights_not_transposed,
        "query and key changed places": lambda *arrays: tuple(
            backward(*arrays)[i] for i in (1, 0, 2)
        ),
        "a generator": lambda *arrays: (g for g in backward(*arrays)),
        "rounded": lambda *arrays: tuple(g.round(10) for g in backward(*arrays)),
        "doubles grad_output": doubles_grad_output,
        "remembered": remembered_by_shape(backward),
    },
}
