"""Right and wrong answers to `rotary_embedding`."""

import numpy as np

from attention_lib.lessons.multihead import rotate_pairs
from tests.exercises.parts import as_float


def right_textbook(x, positions, base=10000.0):
    size = x.shape[-1]
    angles = positions[:, None] * base ** (-np.arange(0, size, 2) / size)
    cos, sin = np.cos(angles), np.sin(angles)
    turned = np.empty(x.shape, np.float32 if x.dtype == np.float32 else np.float64)
    turned[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    turned[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    return turned


def angles_of(x, positions, base):
    return np.outer(positions, float(base) ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1]))


def turned(angles=angles_of, dtype=None):
    def answer(x, positions, base=10000.0):
        angle = angles(x, np.asarray(positions), base)
        pairs = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angle)
        pairs = np.stack([pairs.real, pairs.imag], axis=-1).reshape(x.shape)
        return pairs.astype(dtype or np.result_type(x, np.float32))

    return answer


def wrong_components_exchanged(x, positions, base=10000.0):
    result = turned()(x, positions, base)
    return result.reshape(*x.shape[:-1], -1, 2)[..., ::-1].reshape(x.shape)


def wrong_written_into_x(x, positions, base=10000.0):
    result = turned()(x, positions, base)
    if x.dtype == result.dtype:
        x[...] = result
    return result


def wrong_by_the_librarys_helper(x, positions, base=10000.0):
    angles = angles_of(x, positions, base)
    result = rotate_pairs(as_float(x), np.cos(angles), np.sin(angles))
    return result.astype(np.result_type(x, np.float32))


WRONG = {
    "one position for all": turned(lambda x, p, b: angles_of(x, np.full(len(p), p[0]), b)),
    "positions in order": turned(lambda x, p, b: angles_of(x, np.sort(p), b)),
    "positions in reverse": turned(lambda x, p, b: angles_of(x, p[::-1], b)),
    "rows counted from 1": turned(lambda x, p, b: angles_of(x, 1 + np.arange(len(p)), b)),
    "positions up to 1000": turned(lambda x, p, b: angles_of(x, p % 1000, b)),
    "speeds in reverse": turned(lambda x, p, b: angles_of(x, p, b)[:, ::-1]),
    "another base": turned(lambda x, p, b: angles_of(x, p, b / 10)),
    "angles in float32": turned(lambda x, p, b: angles_of(x, p, b).astype(np.float32)),
}
