"""Right and wrong answers to `rms_norm`."""

import numpy as np


def right_textbook(x, gain, epsilon=1e-5):
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + epsilon) * gain


def right_by_norm(x, gain, epsilon=1e-5):
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    return gain * (x / np.sqrt(length**2 / x.shape[-1] + epsilon))


def wrong_gain_changed(x, gain, epsilon=1e-5):
    result = right_textbook(x, gain, epsilon)
    gain *= 2
    return result


WRONG = {
    "rounded": lambda x, gain, epsilon=1e-5: right_textbook(x, gain, epsilon).round(6),
    "half precision": lambda x, gain, epsilon=1e-5: (
        right_textbook(x, gain, epsilon).astype(np.float16).astype(float)
    ),
    "epsilon squared": lambda x, gain, epsilon=1e-5: right_textbook(x, gain, epsilon**2),
}
