"""Right answers to the exercises of lesson 01, written in unlike ways."""

import math
import operator

import numpy as np


def divide_in_place(scores):
    result = scores.astype(np.float64 if scores.dtype.kind == "i" else scores.dtype)
    result /= result.sum(-1)[..., None]
    return result


def divide_by_loops(scores):
    rows = scores.reshape(-1, scores.shape[-1])
    out = np.empty(rows.shape, np.result_type(scores.dtype, np.float32))
    for i, row in enumerate(rows):
        total = 0.0
        for entry in row:
            total += float(entry)
        for j, entry in enumerate(row):
            out[i, j] = float(entry) / total
    return out.reshape(scores.shape)


def divide_as_einsum(scores):
    return np.einsum("...n,...->...n", scores, 1 / np.einsum("...n->...", scores))


def softmax_textbook(scores, axis=-1):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def softmax_shifted_by_the_whole_maximum(scores, axis=-1):
    exponentials = np.exp(scores - np.max(scores) / 2)
    return exponentials / np.sum(exponentials, axis, keepdims=True)


def softmax_by_loops(scores, axis=-1):
    moved = np.moveaxis(scores, axis, -1)
    out = np.empty(moved.shape, scores.dtype if scores.dtype.kind == "f" else float)
    for index in np.ndindex(moved.shape[:-1]):
        powers = [math.exp(entry) for entry in moved[index]]
        out[index] = [power / math.fsum(powers) for power in powers]
    return np.moveaxis(out, -1, axis)


def softmax_along_axis(scores, axis=-1):
    def one_row(row):
        return np.exp(row) / np.exp(row).sum()

    return np.apply_along_axis(one_row, axis, scores)


def softmax_by_ratios(scores, axis=-1):
    """Each weight as 1 / sum over j of e^(s_j - s_i): no exponential of a score alone."""
    rows = np.moveaxis(scores, axis, -1)
    ratios = np.exp(rows[..., None, :] - rows[..., :, None])
    return np.moveaxis(1 / ratios.sum(axis=-1), -1, axis)


def softmax_through_logarithms(scores, axis=-1):
    return np.exp(scores - np.log(np.exp(scores).sum(axis=axis, keepdims=True)))


def softmax_by_swapping(scores, axis=-1):
    swapped = np.exp(np.swapaxes(scores, axis, 0))
    return np.swapaxes(swapped / sum(swapped), axis, 0)


def softmax_changing_and_restoring(scores, axis=-1):
    if scores.dtype.kind == "i":
        return softmax_textbook(scores, axis)
    before = scores.copy()
    np.exp(scores, out=scores)
    result = scores / scores.sum(axis=axis, keepdims=True)
    scores[...] = before
    return result


def mix_by_matmul(weights, values):
    return np.matmul(weights, values)


def mix_by_broadcasting(weights, values):
    return (weights[..., None] * values[..., None, :, :]).sum(axis=-2)


def mix_by_einsum(weights, values):
    return np.einsum("...ls,...sv->...lv", weights, values)


def mix_by_loops(weights, values):
    out = np.zeros((*weights.shape[:-1], values.shape[-1]), np.result_type(weights, values))
    for key in range(values.shape[-2]):
        out += weights[..., :, key, None] * values[..., None, key, :]
    return out


@np.vectorize(signature="(n)->(n)")
def divide_row_by_row(row):
    return row / row.sum()


def divide_read_only(scores):
    result = np.true_divide(scores, np.add.reduce(scores, axis=-1)[..., np.newaxis])
    result.flags.writeable = False
    return result


class SoftmaxOfFunction:
    """An answer may be any object that can be called."""

    def __init__(self, function):
        self.function = function

    def __call__(self, scores, axis=-1):
        powers = self.function(scores)
        return powers / powers.sum(axis=axis, keepdims=True)


def softmax_from_any_arguments(*args, **kwargs):
    scores, axis = [*args, kwargs.get("axis", -1)][:2]
    return softmax_textbook(scores, axis)


def softmax_recursively(scores, axis=-1, *, level=0):
    axis %= scores.ndim
    if scores.ndim == 1:
        powers = list(map(math.exp, scores.tolist()))
        dtype = scores.dtype if scores.dtype.kind == "f" else float
        return np.fromiter((power / math.fsum(powers) for power in powers), dtype)
    if axis == 0:
        scores = np.moveaxis(scores, 0, -1)
        return np.moveaxis(softmax_recursively(scores, level=level + 1), -1, 0)
    return np.stack([softmax_recursively(part, axis - 1, level=level + 1) for part in scores])


def softmax_in_one_pass(scores, axis=-1):
    moved = np.moveaxis(scores, axis, 0).astype(float)
    maximum, total = np.full(moved.shape[1:], -np.inf), np.zeros(moved.shape[1:])
    for entries in moved:
        larger = np.maximum(maximum, entries)
        total = total * np.exp(maximum - larger) + np.exp(entries - larger)
        maximum = larger
    weights = np.moveaxis(np.exp(moved - maximum) / total, 0, axis)
    return weights.astype(np.float32) if scores.dtype == np.float32 else weights


def softmax_in_columns(scores, axis=-1):
    powers = np.exp(np.asfortranarray(scores) - np.amax(scores, axis, keepdims=True) - 1)
    return np.divide(powers, np.sum(powers, axis, keepdims=True), order="F")


def softmax_from_masked_arrays(scores, axis=-1):
    powers = np.ma.exp(np.ma.masked_array(scores))
    return np.asarray(powers / powers.sum(axis=axis, keepdims=True))


def softmax_every_other_entry(scores, axis=-1):
    powers = np.exp(scores)
    spread = np.zeros((*powers.shape, 2), powers.dtype)
    spread[..., 0] = powers / powers.sum(axis=axis, keepdims=True)
    return spread[..., 0]


def mix_in_extended_precision(weights, values):
    dtype = np.result_type(weights, values)
    products = weights.astype(np.longdouble)[..., None] * values[..., None, :, :]
    return products.sum(axis=-2).astype(dtype)


RIGHT = {
    "normalize_by_sum": [
        divide_in_place,
        divide_by_loops,
        divide_as_einsum,
        divide_row_by_row,
        divide_read_only,
    ],
    "softmax": [
        softmax_textbook,
        softmax_shifted_by_the_whole_maximum,
        softmax_by_loops,
        softmax_along_axis,
        softmax_by_ratios,
        softmax_through_logarithms,
        softmax_by_swapping,
        softmax_changing_and_restoring,
        SoftmaxOfFunction(np.exp),
        softmax_from_any_arguments,
        softmax_recursively,
        softmax_in_one_pass,
        softmax_in_columns,
        softmax_from_masked_arrays,
        softmax_every_other_entry,
    ],
    "study_weights": [
        [0.063, 0.468, 0.468],
        (0.06338, 0.46831, 0.46831),
        np.array([0.0634, 0.4683, 0.4683], np.float32),
    ],
    "weighted_sum": [
        mix_by_matmul,
        mix_by_broadcasting,
        mix_by_einsum,
        mix_by_loops,
        operator.matmul,
        mix_in_extended_precision,
    ],
}
