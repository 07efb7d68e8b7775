"""Right and wrong answers to `softmax_with_temperature`."""

import numpy as np

from tests.exercises.parts import as_float, softmax


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
