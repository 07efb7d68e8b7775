"""Functions of one positive number, kept as a table of their logarithms and interpolated.

A check may have to measure something at a number that only the learner's answer gives. The table
takes the place of the code that measures.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["STEPS", "sampled", "value_at"]

STEPS = 32  # for each factor e of the argument
FACTORS = 24  # on either side of the middle; further out the function hardly changes
SPARE = 4  # points on each side of an argument: a polynomial of degree 7 goes through them


def sampled(function: Callable[[float], float], middle: float) -> tuple[float, NDArray[np.float64]]:
    """Return the logarithm of the first argument, and those of the function from there on.

    The function is at least 0. It is sampled around `middle`, at equal factors.
    """
    places = np.arange(-FACTORS * STEPS, FACTORS * STEPS + 1)
    start = math.log(middle) - FACTORS
    with np.errstate(divide="ignore"):
        logarithms = np.log(
            [function(math.exp(start + (p + FACTORS * STEPS) / STEPS)) for p in places]
        )
    return start, logarithms


def value_at(table: tuple[float, Any], argument: float) -> float:
    """Interpolate; NaN for what is not above 0 and finite."""
    if not 0 < argument < math.inf:
        return math.nan
    start, logarithms = table
    place = (math.log(argument) - start) * STEPS
    first = int(np.clip(math.floor(place) - SPARE + 1, 0, len(logarithms) - 2 * SPARE))
    near = logarithms[first : first + 2 * SPARE]
    offset = float(np.clip(place - first, 0, 2 * SPARE - 1))
    if not np.isfinite(near).all():
        return math.exp(near[round(offset)])
    numbers = np.arange(2 * SPARE)
    weights = [
        math.prod((offset - other) / (one - other) for other in numbers if other != one)
        for one in numbers
    ]
    return math.exp(float(weights @ near))
