"""Right and wrong answers to `score_std`."""

import math

import numpy as np


def right_in_closed_form(d_k, component_std=1.0):
    return math.sqrt(d_k) * component_std**2


def right_from_the_variance(d_k, component_std=1.0):
    return np.sqrt(d_k * component_std**4)


def right_by_adding_variances(d_k, component_std=1.0):
    variance = 0.0
    for _ in range(d_k):
        variance += component_std**2 * component_std**2
    return variance**0.5


def right_by_hypotenuse(d_k, component_std=1.0):
    return math.hypot(*[component_std * component_std] * d_k)


def wrong_simulated(d_k, component_std=1.0):
    rng = np.random.default_rng(0)
    query, key = rng.normal(0, component_std, (2, 1000, d_k))
    return (query * key).sum(axis=1).std()


WRONG = {
    "d_k - 1": lambda d_k, component_std=1.0: math.sqrt(d_k - 1) * component_std**2,
    "cubed": lambda d_k, component_std=1.0: math.sqrt(d_k) * component_std**3,
    "whole root": lambda d_k, component_std=1.0: math.isqrt(d_k) * component_std**2,
    "rounded": lambda d_k, component_std=1.0: round(math.sqrt(d_k) * component_std**2, 6),
    "float32": lambda d_k, component_std=1.0: np.float32(math.sqrt(d_k) * component_std**2),
    "no default": lambda d_k, component_std: math.sqrt(d_k) * component_std**2,
    "a tuple": lambda d_k, component_std=1.0: (math.sqrt(d_k) * component_std**2,),
}
