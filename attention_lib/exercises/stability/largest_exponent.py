"""`largest_exponent(dtype)` returns the largest x whose `exp(x)` is finite in that dtype.

The dtype is float16, float32 or float64, given as anything `np.dtype` takes. The result is one number, right
to 0.1 %.
"""

from __future__ import annotations

import functools
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


def plain(dtype):
    largest = float(np.finfo(dtype).max)
    exponent = np.log(largest)
    return float(exponent)


MISTAKES = known_mistakes(
    plain,
    "whole-number: A whole number is not near enough: take the logarithm of np.finfo(dtype).max.",
    "float(exponent) => math.floor(exponent)",
    "one-decimal: One decimal is not near enough: take the logarithm of np.finfo(dtype).max.",
    "float(exponent) => math.floor(10 * exponent) / 10",
    "largest-number: This is the largest number itself: the x you look for has exp(x) equal to it.",
    "np.log(largest) => largest",
    "powers-of-2: This counts powers of 2, and exp those of e: take the natural logarithm of the "
    "dtype's largest number, np.finfo(dtype).max.",
    "np.log => np.log2",
    "np.log(largest) => np.finfo(dtype).maxexp",
    "powers-of-10: These are powers of 10: exp uses e, so take the natural logarithm.",
    "np.log => np.log10",
    "one-dtype: The answer is the same for every dtype: each has its own largest number.",
    "finfo(dtype) => finfo(np.float{64|32|16})",
    "classes-alone: A dtype given as a text, or made by np.dtype, is not recognized: np.dtype(dtype) makes "
    "one of each, and np.finfo takes all.",
    "finfo(dtype) => finfo(dtype if isinstance(dtype, type) else np.float64)",
    "smallest-exponent: This is where exp becomes too small: say where it becomes too large.",
    "max => tiny",
    "float(np.finfo(dtype).max) => 1 / float(np.finfo(dtype).tiny)",
    "tried-in-float64: np.exp was tried on Python floats or float64: exp must be taken in dtype.",
    "float(exponent) => {709|710.0}",
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
