"""Right and wrong answers to `entropy`."""

import math

import numpy as np


def right_by_where(weights, axis=-1):
    safe = np.where(weights > 0, weights, 1)
    return -(weights * np.log(safe)).sum(axis=axis)


def right_by_nansum(weights, axis=-1):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nansum(-weights * np.log(weights), axis=axis)


def right_by_loops(weights, axis=-1):
    rows = np.moveaxis(weights, axis, -1)
    out = np.zeros(rows.shape[:-1], weights.dtype)
    for index in np.ndindex(rows.shape[:-1]):
        out[index] = -math.fsum(float(p) * math.log(p) for p in rows[index] if p > 0)
    return out if out.ndim else out.item()


def right_where_positive(weights, axis=-1):
    logs = np.zeros_like(weights)
    np.log(weights, out=logs, where=weights > 0)
    return -np.sum(weights * logs, axis=axis)


def right_along_axis(weights, axis=-1):
    def one_row(row):
        kept = row[row != 0]
        return np.sum(kept * np.log(1 / kept))

    return np.apply_along_axis(one_row, axis, weights)


def right_with_the_smallest_number(weights, axis=-1):
    return -(weights * np.log(np.maximum(weights, np.finfo(weights.dtype).tiny))).sum(axis)


def right_in_float64(weights, axis=-1):
    wide = weights.astype(np.float64)
    wide[wide == 0] = 1
    return (wide * -np.log(wide)).sum(axis=axis).astype(weights.dtype)


def right_as_a_product(weights, axis=-1):
    weights_64 = weights.astype(float)
    return -np.log((weights_64**weights_64).prod(axis=axis)).astype(weights.dtype)


def right_below_the_uniform(weights, axis=-1):
    n = weights.shape[axis]
    ratios = np.where(weights > 0, n * weights, 1).astype(weights.dtype)
    return math.log(n) * weights.sum(axis=axis) - (weights * np.log(ratios)).sum(axis=axis)


def right_masked(weights, axis=-1):
    logs = np.ma.log(np.ma.masked_equal(weights, 0))
    return np.asarray(-np.ma.sum(weights * logs, axis=axis)).astype(weights.dtype)


def entropy(weights, axis=-1):
    return -(weights * np.log(np.where(weights > 0, weights, 1).astype(weights.dtype))).sum(
        axis=axis
    )


def below_is_nothing(smallest):
    def answer(weights, axis=-1):
        logs = np.log(np.where(weights > smallest, weights, 1).astype(weights.dtype))
        return -(weights * logs).sum(axis=axis)

    return answer


def wrong_ones_for_its_zeros(weights, axis=-1):
    result = entropy(weights, axis)
    weights[weights == 0] = 1
    return result


WRONG = {
    "below 1e-5 is nothing": below_is_nothing(1e-5),
    "below 1e-12 is nothing": below_is_nothing(1e-12),
    "constant in the logarithm": lambda w, axis=-1: -(w * np.log(w + 1e-12)).sum(axis=axis),
    "never below 1e-6": lambda w, axis=-1: np.maximum(entropy(w, axis), 1e-6),
    "of squares": lambda w, axis=-1: -np.log((w**2).sum(axis=axis)),
    "through float32": lambda w, axis=-1: np.float64(entropy(w.astype(np.float32), axis)),
    "rounded": lambda w, axis=-1: entropy(w, axis).round(8),
    "kept axis": lambda w, axis=-1: entropy(w, axis)[..., None],
    "warns": lambda w, axis=-1: -np.nansum(w * np.log(w), axis=axis),
}
