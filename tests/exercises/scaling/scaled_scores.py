"""Right and wrong answers to `scaled_scores`."""

import math

import numpy as np

from tests.exercises.parts import as_float


def right_in_the_inputs_dtype(query, key, scale=None):
    dtype = np.result_type(query, key, np.float32)
    query, key = query.astype(dtype), key.astype(dtype)
    scale = dtype.type(1) / np.sqrt(dtype.type(query.shape[-1])) if scale is None else scale
    return scale_in_place(query @ key.mT, scale)


def scale_in_place(scores, scale):
    scores *= scale
    return scores


def scaled(query, key, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    return as_float(query) @ as_float(key).mT * float(scale)


def wrong_scales_its_queries(query, key, scale=None):
    if scale is not None or query.dtype != np.float64:
        return scaled(query, key, scale)
    query /= math.sqrt(query.shape[-1])
    return query @ key.mT


def wrong_scale_on_both_sides(query, key, scale=None):
    if scale is None:
        return scaled(query, key)
    return scale * as_float(query) @ (scale * as_float(key)).mT


WRONG = {
    "sign of the scale": lambda q, k, scale=None: scaled(
        q, k, None if scale is None else abs(scale)
    ),
    "constant under the root": lambda q, k, scale=None: scaled(
        q, k, 1 / math.sqrt(q.shape[-1] + 1e-9) if scale is None else scale
    ),
    "rounded default": lambda q, k, scale=None: scaled(
        q, k, round(q.shape[-1] ** -0.5, 4) if scale is None else scale
    ),
    "float32 default": lambda q, k, scale=None: scaled(
        q, k, np.float32(q.shape[-1] ** -0.5) if scale is None else scale
    ),
    "float32 scale": lambda q, k, scale=None: scaled(
        q, k, None if scale is None else np.float32(scale)
    ),
    "whole scales": lambda q, k, scale=None: scaled(q, k, None if scale is None else int(scale)),
    "only above 0": lambda q, k, scale=None: scaled(q, k, scale if scale and scale > 0 else None),
    "cut to integers": lambda q, k, scale=None: scaled(q, k, scale).astype(q.dtype),
}
