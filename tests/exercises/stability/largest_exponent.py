"""Right and wrong answers to `largest_exponent`."""

import math
from decimal import Decimal

import numpy as np


def right_by_logarithm(dtype):
    return np.log(np.finfo(dtype).max)


def right_by_bisection(dtype):
    kind = np.dtype(dtype).type
    low, high = kind(1), kind(800)
    with np.errstate(over="ignore"):
        while low < (middle := (low + high) / kind(2)) < high:
            low, high = (middle, high) if np.isfinite(np.exp(middle)) else (low, middle)
    return low


def right_from_the_exponent(dtype):
    return math.log(2.0) * np.finfo(np.dtype(dtype)).maxexp


def right_as_a_decimal(dtype):
    return Decimal(float(np.finfo(dtype).max)).ln()


def right_from_a_table(dtype):
    return {"float16": 11.09, "float32": 88.72, "float64": 709.78}[np.dtype(dtype).name]


WRONG = {
    "a little too large": lambda dtype: math.log(float(np.finfo(dtype).max)) * 1.002,
    "rounded down": lambda dtype: math.floor(math.log(float(np.finfo(dtype).max))),
    "the first that overflows": lambda dtype: {2: 11.5, 4: 89, 8: 710.5}[np.dtype(dtype).itemsize],
    "float64 like float32": lambda dtype: {2: 11.09}.get(np.dtype(dtype).itemsize, 88.72),
    "types alone": lambda dtype: {np.float16: 11.09, np.float32: 88.72, np.float64: 709.8}[dtype],
    "names alone": lambda dtype: {"float16": 11.09, "float32": 88.72, "float64": 709.8}[dtype],
    "a string": lambda dtype: str(math.log(float(np.finfo(dtype).max))),
    "an array": lambda dtype: np.array([math.log(float(np.finfo(dtype).max))]),
}
