"""Right and wrong answers to `softmax_with_temperature`."""

import math

import numpy as np

from attention_lib.lessons.stability import log_softmax, logsumexp, stable_softmax
from tests.exercises.parts import as_float, softmax


def right_through_lesson_02(scores, temperature, axis=-1):
    if temperature <= 0:
        raise ValueError(f"the temperature must be positive, not {temperature}")
    return stable_softmax(scores / temperature, axis)


def right_shift_first(scores, temperature, axis=-1):
    if not temperature > 0:
        raise ValueError("no")
    exponentials = np.exp((scores - scores.max(axis=axis, keepdims=True)) / temperature)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def right_by_the_inverse(scores, temperature, axis=-1):
    if temperature <= 0:
        raise ValueError
    return np.exp(log_softmax(scores * (1 / temperature), axis=axis))


def right_by_loops(scores, temperature, axis=-1):
    if temperature <= 0:
        raise ValueError("temperature")
    rows = np.moveaxis(scores, axis, -1)
    out = np.empty(rows.shape, np.result_type(scores, np.float32))
    for index in np.ndindex(rows.shape[:-1]):
        row = [float(entry) / temperature for entry in rows[index]]
        powers = [math.exp(entry - max(row)) for entry in row]
        out[index] = np.divide(powers, sum(powers))
    return np.moveaxis(out, -1, axis)


def right_in_one_dtype(scores, temperature, axis=-1):
    if temperature <= 0:
        raise ValueError("The temperature must be above 0.")
    dtype = scores.dtype if scores.dtype.kind == "f" else np.dtype(float)
    scaled = scores.astype(dtype)
    scaled /= dtype.type(temperature)
    scaled -= np.amax(scaled, axis, keepdims=True)
    np.exp(scaled, out=scaled)
    scaled /= np.add.reduce(scaled, axis, keepdims=True)
    return scaled


def right_by_logsumexp(scores, temperature, axis=-1):
    if temperature <= 0:
        raise ValueError("temperature")
    quotients = scores / temperature
    return np.exp(quotients - logsumexp(quotients, axis=axis, keepdims=True))


def refuse(temperature):
    if temperature <= 0:
        raise ValueError("The temperature must be above 0.")


def tempered(change):
    def answer(scores, temperature, axis=-1):
        refuse(temperature)
        return softmax(change(as_float(scores), temperature), axis)

    return answer


def wrong_asserted(scores, temperature, axis=-1):
    assert temperature > 0
    return softmax(as_float(scores) / temperature, axis)


def wrong_error_returned(scores, temperature, axis=-1):
    if temperature <= 0:
        return ValueError("The temperature must be above 0.")
    return softmax(as_float(scores) / temperature, axis)


def wrong_small_temperatures_refused(scores, temperature, axis=-1):
    refuse(temperature - 1e-3)
    return softmax(as_float(scores) / temperature, axis)


def wrong_refuses_negative_integers(scores, temperature, axis=-1):
    refuse(temperature)
    if scores.dtype.kind == "i" and scores.min() < 0:
        raise ValueError("Negative scores.")
    return softmax(as_float(scores) / temperature, axis)


WRONG = {
    "never below 1e-3": tempered(lambda s, t: s / max(t, 1e-3)),
    "never below 1e-6": tempered(lambda s, t: s / max(t, 1e-6)),
    "never above 1e6": tempered(lambda s, t: s / min(t, 1e6)),
    "constant in the temperature": tempered(lambda s, t: s / (t + 1e-9)),
    "quotients clipped": tempered(lambda s, t: np.clip(s / t, -1e4, 1e4)),
    "whole temperatures": tempered(lambda s, t: s / (int(t) or t)),
    "squared": tempered(lambda s, t: s / t**2),
    "through float32": tempered(lambda s, t: (s.astype(np.float32) / t).astype(s.dtype)),
    "floored quotients": tempered(lambda s, t: s // t),
}
