"""Right and wrong answers to `rms_norm`."""

import math

import numpy as np

import attention_lib


def right_textbook(x, gain, epsilon=1e-5):
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + epsilon) * gain


def right_by_norm(x, gain, epsilon=1e-5):
    length = np.linalg.norm(x, axis=-1, keepdims=True)
    return gain * (x / np.sqrt(length**2 / x.shape[-1] + epsilon))


def right_by_einsum(x, gain, epsilon=1e-5):
    x = x.astype(np.result_type(x, np.float32))
    squares = np.einsum("...d,...d->...", x, x) / x.shape[-1]
    return (squares + epsilon)[..., None] ** -0.5 * x * gain


def right_row_by_row(x, gain, epsilon=1e-5):
    result = np.empty(x.shape, np.result_type(x, gain))
    for row in np.ndindex(x.shape[:-1]):
        mean = sum(float(one) ** 2 for one in x[row]) / len(x[row])
        result[row] = x[row] / math.sqrt(mean + epsilon) * gain
    return result


def wrong_gain_changed(x, gain, epsilon=1e-5):
    result = right_textbook(x, gain, epsilon)
    gain *= 2
    return result


WRONG = {
    "rounded": lambda x, gain, epsilon=1e-5: right_textbook(x, gain, epsilon).round(6),
    "the largest": lambda x, gain, epsilon=1e-5: x / np.abs(x).max(-1, keepdims=True) * gain,
    "one component less": lambda x, gain, epsilon=1e-5: (
        x / np.sqrt((x**2).sum(-1, keepdims=True) / max(x.shape[-1] - 1, 1) + epsilon) * gain
    ),
    "the library's": lambda *args, **named: attention_lib.rms_norm(*args, **named),
    "half precision": lambda x, gain, epsilon=1e-5: (
        right_textbook(x, gain, epsilon).astype(np.float16).astype(float)
    ),
    "epsilon squared": lambda x, gain, epsilon=1e-5: right_textbook(x, gain, epsilon**2),
}
