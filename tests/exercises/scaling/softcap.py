"""Right and wrong answers to `softcap`."""

import math

import numpy as np

from attention_lib.lessons.stability import stable_softmax


def capped(scores, cap):
    return cap * np.tanh(scores / cap)


def capped_by_loops(scores, cap):
    out = np.empty(scores.shape, np.result_type(scores.dtype, np.float32))
    for index, score in np.ndenumerate(scores):
        out[index] = cap * math.tanh(float(score) / cap)
    return out


def capped_by_a_decaying_exponential(scores, cap):
    decay = np.exp(-2 * np.abs(scores / cap))
    return np.sign(scores) * cap * (1 - decay) / (1 + decay)


def capped_by_sigmoid(scores, cap):
    pairs = np.stack([scores / cap, -scores / cap], axis=-1)
    weights = stable_softmax(pairs)
    return cap * (2 * weights[..., 0] - 1)


def capped_in_place(scores, cap):
    result = scores / cap
    np.tanh(result, out=result)
    result *= cap
    return result


RIGHT = [
    capped,
    capped_by_loops,
    capped_by_a_decaying_exponential,
    capped_by_sigmoid,
    capped_in_place,
]

WRONG = {
    "straight near 0": lambda s, cap: np.where(np.abs(s) < 1e-3 * cap, s, capped(s, cap)),
    "flat far away": lambda s, cap: np.where(np.abs(s) > 5 * cap, np.sign(s) * cap, capped(s, cap)),
    "through float32": lambda s, cap: np.float64(capped(s.astype(np.float32), cap)),
    "whole quotients": lambda s, cap: cap * np.tanh(s // cap if s.dtype.kind == "i" else s / cap),
    "cut to integers": lambda s, cap: capped(s, cap).astype(s.dtype),
    "the largest score for cap": lambda s, cap: s.max() * np.tanh(s / cap),
    "rounded": lambda s, cap: capped(s, cap).round(8),
}
