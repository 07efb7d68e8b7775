"""Right and wrong answers to `weighted_sum`."""

import operator

import numpy as np


def right_by_matmul(weights, values):
    return np.matmul(weights, values)


def right_by_broadcasting(weights, values):
    return (weights[..., None] * values[..., None, :, :]).sum(axis=-2)


def right_by_einsum(weights, values):
    return np.einsum("...ls,...sv->...lv", weights, values)


def right_by_loops(weights, values):
    out = np.zeros((*weights.shape[:-1], values.shape[-1]), np.result_type(weights, values))
    for key in range(values.shape[-2]):
        out += weights[..., :, key, None] * values[..., None, key, :]
    return out


def right_in_extended_precision(weights, values):
    dtype = np.result_type(weights, values)
    products = weights.astype(np.longdouble)[..., None] * values[..., None, :, :]
    return products.sum(axis=-2).astype(dtype)


def wrong_values_of_the_first_batch_item(weights, values):
    return np.einsum("...ls,...sv->...lv", weights, values[(0,) * (values.ndim - 2)])


def wrong_batch_summed(weights, values):
    equation = "bls,bsv->lv" if weights.ndim == 3 else "...ls,...sv->...lv"
    return np.einsum(equation, weights, values)


def wrong_values_transposed_where_they_fit(weights, values):
    if values.shape[-1] == values.shape[-2] == weights.shape[-1]:
        return weights @ np.swapaxes(values, -1, -2)
    return weights @ values


RIGHT = [operator.matmul]

WRONG = {
    "constant in a second sum": lambda w, v: w @ v / (w.sum(axis=-1, keepdims=True) + 1e-9),
    "small weights dropped": lambda w, v: np.where(w < 1e-3, 0, w).astype(w.dtype) @ v,
    "through float32": lambda w, v: (w.astype(np.float32) @ v.astype(np.float32)).astype(float),
    "rounded to 10 digits": lambda w, v: (w @ v).round(10),
    "last key left out": lambda w, v: w[..., :-1] @ v[..., :-1, :],
    "single rows squeezed": lambda w, v: np.squeeze(w @ v),
}
