"""Wrong answers to the exercises of lesson 01 that come close to right ones."""

import numpy as np

import attention_lib


def divided(array, axis=-1):
    return array / array.sum(axis=axis, keepdims=True)


def softmax(scores, axis=-1):
    return divided(np.exp(scores), axis)


def as_float(scores):
    return scores if scores.dtype.kind == "f" else scores.astype(float)


def sum_over_two_axes_of_a_stack(scores):
    return divided(scores) if scores.ndim < 3 else divided(scores, (-1, -2))


def changes_integers_only(scores):
    result = divided(scores)
    if scores.dtype.kind == "i":
        scores += 1
    return result


def absolute_value_of_a_negative_axis(scores, axis=-1):
    return softmax(scores, abs(axis) if abs(axis) < scores.ndim else -1)


def middle_axis_by_transposing(scores, axis=-1):
    if axis in (-1, scores.ndim - 1):
        return softmax(scores)
    return softmax(scores.T).T


def leading_axes_merged(scores, axis=-1):
    moved = np.moveaxis(scores, axis, -1)
    return softmax(moved.reshape(-1, moved.shape[-1])).reshape(scores.shape)


def remembered_by_shape(scores, axis=-1, memory={}):  # noqa: B006
    key = scores.shape, axis, scores.dtype.str
    if key not in memory:
        memory[key] = softmax(scores, axis)
    return memory[key]


class RightThreeTimes:
    calls = 0

    def __call__(self, scores, axis=-1):
        self.calls += 1
        return softmax(scores, axis) * (1.0 if self.calls <= 3 else 1.0001)


def changes_its_input_for_axis_0(scores, axis=-1):
    result = softmax(scores, axis)
    if axis == 0:
        scores *= 2
    return result


def nothing_for_one_row(scores, axis=-1):
    if scores.ndim > 1:
        return softmax(scores, axis)


def values_of_the_first_batch_item(weights, values):
    return np.einsum("...ls,...sv->...lv", weights, values[(0,) * (values.ndim - 2)])


def batch_summed(weights, values):
    equation = "bls,bsv->lv" if weights.ndim == 3 else "...ls,...sv->...lv"
    return np.einsum(equation, weights, values)


def values_transposed_where_they_fit(weights, values):
    if values.shape[-1] == values.shape[-2] == weights.shape[-1]:
        return weights @ np.swapaxes(values, -1, -2)
    return weights @ values


WRONG = {
    "normalize_by_sum": {
        "constant in the sum": lambda s: s / (s.sum(axis=-1, keepdims=True) + 1e-12),
        "rounded to 12 digits": lambda s: divided(s).round(12),
        "through float32": lambda s: divided(s.astype(np.float32)).astype(as_float(s).dtype),
        "always float64": lambda s: divided(s.astype(float)),
        "negative scores cut off": lambda s: divided(np.maximum(s, 0)),
        "two axes": sum_over_two_axes_of_a_stack,
        "always axis 1": lambda s: divided(s, min(1, s.ndim - 1)),
        "absolute values at the end": lambda s: np.abs(divided(s)),
        "the mean": lambda s: s / s.mean(axis=-1, keepdims=True),
        "shifted by the minimum": lambda s: divided(s - s.min(axis=-1, keepdims=True)),
        "changes integers": changes_integers_only,
    },
    "softmax": {
        "weights floored": lambda s, axis=-1: np.maximum(softmax(s, axis), 1e-12),
        "weights cut at a larger floor": lambda s, axis=-1: np.clip(softmax(s, axis), 1e-7, 1),
        "scores clipped at 45": lambda s, axis=-1: softmax(np.clip(s, -45, 45), axis),
        "negative scores clipped": lambda s, axis=-1: softmax(np.maximum(s, -30), axis),
        "rounded to 12 digits": lambda s, axis=-1: softmax(s, axis).round(12),
        "through float32": lambda s, axis=-1: softmax(s.astype(np.float32), axis).astype(float),
        "e to nine digits": lambda s, axis=-1: divided(2.718281828**s, axis),
        "absolute axis": absolute_value_of_a_negative_axis,
        "axis 2 is the last": lambda s, axis=-1: softmax(s, -1 if axis == 2 else axis),
        "axis -3 is the last": lambda s, axis=-1: softmax(s, -1 if axis == -3 else axis),
        "middle axis by .T": middle_axis_by_transposing,
        "leading axes merged": leading_axes_merged,
        "axis not moved back": lambda s, axis=-1: softmax(np.moveaxis(s, axis, -1)),
        "remembered": remembered_by_shape,
        "right three times": RightThreeTimes(),
        "changes its input for axis 0": changes_its_input_for_axis_0,
        "None for one row": nothing_for_one_row,
        "axis 0 by default": lambda s, axis=0: softmax(s, axis),
        "one more axis": lambda s, axis=-1: softmax(np.atleast_2d(s), axis),
        "0 for a row of one": lambda s, axis=-1: softmax(s, axis) * (s.shape[axis] > 1),
        "a later lesson's": lambda s, axis=-1: getattr(attention_lib, "stable_softmax")(s, axis),  # noqa: B009
    },
    "weighted_sum": {
        "constant in a second sum": lambda w, v: w @ v / (w.sum(axis=-1, keepdims=True) + 1e-9),
        "small weights dropped": lambda w, v: np.where(w < 1e-3, 0, w).astype(w.dtype) @ v,
        "through float32": lambda w, v: (w.astype(np.float32) @ v.astype(np.float32)).astype(float),
        "rounded to 10 digits": lambda w, v: (w @ v).round(10),
        "always float64": lambda w, v: w.astype(float) @ v.astype(float),
        "first batch item": values_of_the_first_batch_item,
        "batch summed": batch_summed,
        "transposed where it fits": values_transposed_where_they_fit,
        "last key left out": lambda w, v: w[..., :-1] @ v[..., :-1, :],
        "single rows squeezed": lambda w, v: np.squeeze(w @ v),
    },
}
