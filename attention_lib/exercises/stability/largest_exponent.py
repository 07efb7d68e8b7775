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

from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.exercise import Exercise, composable, known_mistakes
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


@composable
def exponent(
    of: Answer = lambda dtype: np.finfo(dtype).max, log: Answer = np.log, cut: Answer = float
) -> Answer:
    """Take the logarithm of the dtype's largest number, with a step replaced by a wrong one."""
    return lambda dtype: cut(log(float(of(dtype))))


def always(dtype: type) -> Answer:
    return exponent(of=lambda _: np.finfo(dtype).max)


MISTAKES = known_mistakes(
    "whole-number: A whole number is not near enough: take the logarithm of np.finfo(dtype).max.",
    exponent(cut=math.floor),
    "one-decimal: One decimal is not near enough: take the logarithm of np.finfo(dtype).max.",
    exponent(cut=lambda x: math.floor(10 * x) / 10),
    "largest-number: This is the largest number itself: the x you look for has exp(x) equal to it.",
    exponent(log=float),
    "powers-of-2: This counts powers of 2, and exp those of e: take the natural logarithm of the "
    "dtype's largest number, np.finfo(dtype).max.",
    exponent(log=np.log2),
    lambda dtype: np.finfo(dtype).maxexp,
    "powers-of-10: These are powers of 10: exp uses e, so take the natural logarithm.",
    exponent(log=np.log10),
    "one-dtype: The answer is the same for every dtype: each has its own largest number.",
    *map(always, (np.float64, np.float32, np.float16)),
    "classes-alone: A dtype given as a text, or made by np.dtype, is not recognized: np.dtype(dtype) makes "
    "one of each, and np.finfo takes all.",
    lambda dtype: largest_exponent(dtype if isinstance(dtype, type) else np.float64),
    "smallest-exponent: This is where exp becomes too small: say where it becomes too large.",
    exponent(of=lambda dtype: np.finfo(dtype).tiny),
    exponent(of=lambda dtype: 1 / float(np.finfo(dtype).tiny)),
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
