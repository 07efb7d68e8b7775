"""Right and wrong answers to `softmax`."""

import math

import numpy as np

import attention_lib
from tests.exercises.parts import divided, softmax


def right_textbook(scores, axis=-1):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def right_changing_and_restoring(scores, axis=-1):
    if scores.dtype.kind == "i":
        return right_textbook(scores, axis)
    before = scores.copy()
    np.exp(scores, out=scores)
    result = scores / scores.sum(axis=axis, keepdims=True)
    scores[...] = before
    return result


class SoftmaxOfFunction:
    """An answer may be any object that can be called."""

    def __init__(self, function):
        self.function = function

    def __call__(self, scores, axis=-1):
        powers = self.function(scores)
        return powers / powers.sum(axis=axis, keepdims=True)


def right_from_any_arguments(*args, **kwargs):
    scores, axis = [*args, kwargs.get("axis", -1)][:2]
    return right_textbook(scores, axis)


def right_recursively(scores, axis=-1, *, level=0):
    axis %= scores.ndim
    if scores.ndim == 1:
        powers = list(map(math.exp, scores.tolist()))
        dtype = scores.dtype if scores.dtype.kind == "f" else float
        return np.fromiter((power / math.fsum(powers) for power in powers), dtype)
    if axis == 0:
        scores = np.moveaxis(scores, 0, -1)
        return np.moveaxis(right_recursively(scores, level=level + 1), -1, 0)
    return np.stack([right_recursively(part, axis - 1, level=level + 1) for part in scores])


def wrong_absolute_value_of_a_negative_axis(scores, axis=-1):
    return softmax(scores, abs(axis) if abs(axis) < scores.ndim else -1)


def wrong_middle_axis_by_transposing(scores, axis=-1):
    if axis in (-1, scores.ndim - 1):
        return softmax(scores)
    return softmax(scores.T).T


def wrong_leading_axes_merged(scores, axis=-1):
    moved = np.moveaxis(scores, axis, -1)
    return softmax(moved.reshape(-1, moved.shape[-1])).reshape(scores.shape)


def wrong_remembered_by_shape(scores, axis=-1, memory={}):  # noqa: B006
    key = scores.shape, axis, scores.dtype.str
    if key not in memory:
        memory[key] = softmax(scores, axis)
    return memory[key]


class RightThreeTimes:
    calls = 0

    def __call__(self, scores, axis=-1):
        self.calls += 1
        return softmax(scores, axis) * (1.0 if self.calls <= 3 else 1.0001)


def wrong_changes_its_input_for_axis_0(scores, axis=-1):
    result = softmax(scores, axis)
    if axis == 0:
        scores *= 2
    return result


def wrong_nothing_for_one_row(scores, axis=-1):
    if scores.ndim > 1:
        return softmax(scores, axis)


RIGHT = {"an object": SoftmaxOfFunction(np.exp)}

WRONG = {
    "weights floored": lambda s, axis=-1: np.maximum(softmax(s, axis), 1e-12),
    "weights cut at a larger floor": lambda s, axis=-1: np.clip(softmax(s, axis), 1e-7, 1),
    "scores clipped at 45": lambda s, axis=-1: softmax(np.clip(s, -45, 45), axis),
    "negative scores clipped": lambda s, axis=-1: softmax(np.maximum(s, -30), axis),
    "rounded to 12 digits": lambda s, axis=-1: softmax(s, axis).round(12),
    "through float32": lambda s, axis=-1: softmax(s.astype(np.float32), axis).astype(float),
    "e to nine digits": lambda s, axis=-1: divided(2.718281828**s, axis),
    "axis 2 is the last": lambda s, axis=-1: softmax(s, -1 if axis == 2 else axis),
    "axis -3 is the last": lambda s, axis=-1: softmax(s, -1 if axis == -3 else axis),
    "right three times": RightThreeTimes(),
    "axis 0 by default": lambda s, axis=0: softmax(s, axis),
    "one more axis": lambda s, axis=-1: softmax(np.atleast_2d(s), axis),
    "0 for a row of one": lambda s, axis=-1: softmax(s, axis) * (s.shape[axis] > 1),
    "a later lesson's": lambda s, axis=-1: getattr(attention_lib, "stable_softmax")(s, axis),  # noqa: B009
}
