"""Right and wrong answers to `attention_bytes`."""

import math

import numpy as np


def bytes_by_formula(length, head_dim, itemsize):
    tiled = 4 * length * head_dim * itemsize
    return tiled + 4 * length**2 * itemsize, tiled


def bytes_step_by_step(length, head_dim, itemsize):
    vectors, scores = length * head_dim * itemsize, length * length * itemsize
    naive = (vectors + vectors + scores) + (scores + scores) + (scores + vectors + vectors)
    return [naive, 3 * vectors + vectors]


def bytes_of_arrays(length, head_dim, itemsize):
    one = np.int64(length) * head_dim * itemsize
    return np.int64(4 * one + 4 * np.int64(length) ** 2 * itemsize), float(4 * one)


RIGHT = [bytes_by_formula, bytes_step_by_step, bytes_of_arrays]


def counted(naive, tiled):
    """Make an answer from how many (L × d, L × L) arrays are moved by each way."""

    def answer(length, head_dim, itemsize):
        sizes = np.array([length * head_dim, length * length]) * itemsize
        return int(sizes @ naive), int(sizes @ tiled)

    return answer


def in_32_bits(length, head_dim, itemsize):
    with np.errstate(over="ignore"):
        return counted((4, 4), (4, 0))(np.int32(length), head_dim, itemsize)


WRONG = {
    "always two bytes a number": lambda length, head_dim, itemsize: counted((4, 4), (4, 0))(
        length, head_dim, 2
    ),
    "the scores read by both": counted((4, 4), (4, 2)),
    "queries read twice": counted((5, 4), (4, 0)),
    "no output": counted((3, 4), (4, 0)),
    "five square arrays": counted((4, 5), (4, 0)),
    "the difference": counted((0, 4), (4, 0)),
    "in 32 bits": in_32_bits,
    "in KiB": lambda *sizes: tuple(n / 1024 for n in counted((4, 4), (4, 0))(*sizes)),
    "a ratio": lambda *sizes: math.prod(sizes[:1]) / sizes[1] + 1,
}
