"""Right and wrong answers to `normalize_vjp`."""

import numpy as np

from tests.exercises.parts import as_float, divided, remembered_by_shape


def right_textbook(scores, grad_shares):
    total = scores.sum(axis=-1, keepdims=True)
    return (grad_shares - (scores / total * grad_shares).sum(axis=-1, keepdims=True)) / total


def right_by_jacobian(scores, grad_shares):
    n = scores.shape[-1]
    shares, total = divided(as_float(scores)), scores.sum(axis=-1)[..., None, None]
    jacobian = (np.eye(n) - shares[..., :, None]) / total  # [i, k]: share i by score k
    result = (grad_shares[..., None, :] @ jacobian)[..., 0, :]
    return result.astype(shares.dtype)


def right_by_loops(scores, grad_shares):
    result = np.zeros(scores.shape, as_float(scores).dtype)
    for index in np.ndindex(scores.shape[:-1]):
        s, g = scores[index], grad_shares[index]
        total = 0.0
        for score in s:
            total += float(score)
        mean = 0.0
        for score, slope in zip(s, g, strict=True):
            mean += float(score) / total * float(slope)
        for k in range(len(s)):
            result[(*index, k)] = (g[k] - mean) / total
    return result


@np.vectorize(signature="(n),(n)->(n)")
def right_row_by_row(s, g):
    return (g - s @ g / s.sum()) / s.sum()


def wrong_measured_from_one_side(scores, grad_shares):
    s = scores.astype(float)
    result = np.empty(s.shape)
    for k in range(s.shape[-1]):
        moved = s.copy()
        moved[..., k] += 1e-6
        result[..., k] = ((divided(moved) - divided(s)) * grad_shares).sum(axis=-1) / 1e-6
    return result.astype(as_float(scores).dtype)


WRONG = {
    "constant in the sum": lambda s, g: right_textbook(s + 1e-9, g),
    "through float32": lambda s, g: right_textbook(
        s.astype(np.float32), g.astype(np.float32)
    ).astype(as_float(s).dtype),
    "rounded": lambda s, g: right_textbook(s, g).round(9),
    "size of the sum": lambda s, g: right_textbook(s, g) * np.sign(s.sum(axis=-1, keepdims=True)),
    "negative scores cut off": lambda s, g: right_textbook(np.maximum(s, 1e-9), g),
    "always axis 1": lambda s, g: (
        (g - (divided(s, min(1, s.ndim - 1)) * g).sum(axis=min(1, s.ndim - 1), keepdims=True))
        / s.sum(axis=min(1, s.ndim - 1), keepdims=True)
    ),
    "mean over the batch": lambda s, g: right_textbook(s, g) / len(s),
    "remembered": remembered_by_shape(right_textbook),
}
