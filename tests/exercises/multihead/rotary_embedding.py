"""Right and wrong answers to `rotary_embedding`."""

import itertools
import math
import operator

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


def right_by_complex_numbers(x, positions, base=10000.0):
    size = x.shape[-1]
    hands = x[..., 0::2] + 1j * x[..., 1::2]
    angles = np.outer(positions, 1 / base ** (np.arange(size // 2) * 2 / size))
    hands = hands * np.exp(1j * angles)
    turned = np.stack([hands.real, hands.imag], axis=-1).reshape(x.shape)
    return turned.astype(x.dtype) if x.dtype.kind == "f" else turned


def right_by_matrices(x, positions, base=10000.0):
    length, size = x.shape[-2:]
    turns = np.zeros((length, size, size))
    for row in range(length):
        for i in range(size // 2):
            angle = positions[row] * base ** (-2 * i / size)
            c, s = math.cos(angle), math.sin(angle)
            turns[row, 2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[c, -s], [s, c]]
    turned = np.einsum("lij,...lj->...li", turns, x)
    return turned.astype(np.result_type(x.dtype, np.float32)) if x.dtype.kind == "f" else turned


def right_by_turned_copy(x, positions, base=10000.0):
    """x cos + (x with each pair (a, b) replaced by (−b, a)) sin."""
    size = x.shape[-1]
    speeds = np.exp(-math.log(base) * np.arange(0, size, 2) / size)
    angles = np.repeat(positions[:, None] * speeds, 2, axis=-1)
    pairs = x.reshape(*x.shape[:-1], size // 2, 2)
    across = np.stack([-pairs[..., 1], pairs[..., 0]], axis=-1).reshape(x.shape)
    turned = x * np.cos(angles) + across * np.sin(angles)
    return turned.astype(np.float32) if x.dtype == np.float32 else turned


def right_in_float32(x, positions, base=10000.0):
    dtype = np.float32 if x.dtype == np.float32 else np.float64
    size = x.shape[-1]
    speeds = np.power(dtype(base), (-np.arange(0, size, 2) / size).astype(dtype))
    angles = positions.astype(dtype)[:, np.newaxis] * speeds
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = x[..., 0::2], x[..., 1::2]
    return np.concatenate(
        [(a * cos - b * sin)[..., None], (a * sin + b * cos)[..., None]], axis=-1
    ).reshape(x.shape)


def right_by_loops(x, positions, base=10000.0):
    turned = x.astype(np.float64)
    size = x.shape[-1]
    for index in np.ndindex(x.shape[:-1]):
        for i in range(size // 2):
            angle = float(positions[index[-1]]) / base ** (2 * i / size)
            a, b = float(x[(*index, 2 * i)]), float(x[(*index, 2 * i + 1)])
            turned[(*index, 2 * i)] = a * math.cos(angle) - b * math.sin(angle)
            turned[(*index, 2 * i + 1)] = a * math.sin(angle) + b * math.cos(angle)
    return turned.astype(np.float32) if x.dtype == np.float32 else turned


def right_in_polar_form(x, positions, base=10000.0):
    size = x.shape[-1]
    radius = np.hypot(x[..., 0::2], x[..., 1::2])
    angle = np.arctan2(x[..., 1::2], x[..., 0::2])
    angle = angle + positions[:, None] * base ** -(np.arange(0, size, 2) / size)
    turned = np.zeros(x.shape)
    turned[..., ::2], turned[..., 1::2] = radius * np.cos(angle), radius * np.sin(angle)
    return turned.astype(np.float32) if x.dtype == np.float32 else turned


def right_by_reordered_halves(x, positions, base=10000.0):
    """Bring the pairs into the order of two halves, turn, and bring them back."""
    size = x.shape[-1]
    order = np.r_[0:size:2, 1:size:2]
    angles = np.outer(positions, base ** (-np.arange(0, size, 2) / size))
    cos, sin = np.tile(np.cos(angles), 2), np.tile(np.sin(angles), 2)
    halves = x[..., order]
    turned = np.concatenate([-halves[..., size // 2 :], halves[..., : size // 2]], axis=-1)
    result = halves * cos + turned * sin
    return result[..., np.argsort(order)].astype(np.result_type(x, np.float32))


def right_by_shears(x, positions, base=10000.0):
    """Turn by three shears, the angles first brought into reach of the tangent."""
    angles = np.outer(positions, np.exp(-np.log(base) * np.arange(0, x.shape[-1], 2) / x.shape[-1]))
    angles = np.angle(np.exp(1j * angles))
    first, second = x[..., 0::2].astype(float), x[..., 1::2].astype(float)
    first = first - np.tan(angles / 2) * second
    second = second + np.sin(angles) * first
    first = first - np.tan(angles / 2) * second
    pairs = np.stack([first, second], axis=-1)
    return pairs.reshape(x.shape).astype(np.result_type(x, np.float32))


def right_with_running_speeds(x, positions, base=10000.0):
    """Multiply the speeds up pair by pair, each a complex turn."""
    step = base ** (-2.0 / x.shape[-1])
    speeds = itertools.accumulate([1.0] + [step] * (x.shape[-1] // 2 - 1), operator.mul)
    pairs = x[..., 0::2] + 1j * x[..., 1::2]
    for pair, speed in enumerate(speeds):
        pairs[..., pair] *= np.exp(1j * positions * speed)
    pairs = np.stack([pairs.real, pairs.imag], axis=-1)
    return pairs.reshape(x.shape).astype(np.result_type(x, np.float32))


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
