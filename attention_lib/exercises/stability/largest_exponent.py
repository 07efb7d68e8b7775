"""`largest_exponent(dtype)` returns the largest x whose `exp(x)` is finite in that dtype.

The dtype is float16, float32 or float64, given as anything `np.dtype` takes. The result is one number, right
to 0.1 %.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.random import Generator

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.lessons.stability import largest_exponent

HINTS = (
    "np.finfo(dtype).max is the largest finite number of a dtype.",
    "exp(x) reaches that number where x is its logarithm.",
)


def cases(rng: Generator) -> Iterator[Case]:
    for dtype in (np.float16, np.float32, np.float64):
        exact = largest_exponent(dtype)
        for spelled in (dtype, np.dtype(dtype), np.dtype(dtype).name):
            yield Case(spelled, verify=functools.partial(problem_with, exact=exact))


def problem_with(got: object, exact: float) -> str | None:
    exact_kind = isinstance(got, (Decimal, Fraction))  # numbers too, which NumPy does not know
    number = np.asarray(float(got) if exact_kind else got)
    if number.ndim or number.dtype.kind not in "fiu":
        return "largest_exponent should return one number."
    if abs(float(number) / exact - 1) <= 1e-3:
        return None
    return (
        f"largest_exponent gives {float(number):.5g} where exp overflows above {exact:.5g}: "
        "np.finfo(dtype).max is the largest finite number."
    )


MISTAKES = known_mistakes(
    "whole-number: A whole number is not near enough: take the logarithm of np.finfo(dtype).max.",
    lambda dtype: math.floor(largest_exponent(dtype)),
    "largest-number: This is the largest number itself: the x you look for has exp(x) equal to it.",
    lambda dtype: np.finfo(dtype).max,
    "powers-of-2: This counts powers of 2, and exp those of e: take the natural logarithm of the "
    "dtype's largest number, np.finfo(dtype).max.",
    lambda dtype: np.log2(float(np.finfo(dtype).max)),
    lambda dtype: np.finfo(dtype).maxexp,
    "powers-of-10: These are powers of 10: exp uses e, so take the natural logarithm.",
    lambda dtype: np.log10(float(np.finfo(dtype).max)),
    "one-dtype: The answer is the same for every dtype: each has its own largest number.",
    lambda dtype: 709.782712893384,
    lambda dtype: 88.722839111,
    lambda dtype: 11.089866,
    "smallest-exponent: This is where exp becomes too small: say where it becomes too large.",
    lambda dtype: float(np.log(np.finfo(dtype).tiny.astype(float))),
    lambda dtype: -float(np.log(np.finfo(dtype).tiny.astype(float))),
    "tried-in-float64: np.exp was tried on Python floats or float64: exp must be taken in dtype.",
    lambda dtype: 709,
    lambda dtype: 710.0,
)

EXERCISE = Exercise(
    name="largest_exponent",
    points=1,
    minutes=4,
    reference=largest_exponent,
    cases=cases,
    hints=HINTS,
    mistakes=MISTAKES,
)
