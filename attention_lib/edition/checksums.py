"""Checksums of arrays, with a tolerance: whether numbers are near them can be told.

What a known mistake returns for changed arguments is compared with a learner's numbers, and never
shown. One number instead of an array is enough for that.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Checksum", "summed"]

FEWEST = 4  # numbers of an array that is worth a checksum

# Rounding errors of many numbers seldom add up in one direction: their weighted sum is of the size
# of the root of the sum of their squares, and hardly ever this many times as large.
DEVIATIONS = 3.0


@dataclass(frozen=True)
class Checksum:
    """The shape of an array of finite numbers, and their weighted sum."""

    shape: tuple[int, ...]
    total: float

    def differs(self, numbers: NDArray, allowed: Any) -> bool:
        """Tell whether numbers are further away than rounding by `allowed` in each explains."""
        if numbers.shape != self.shape or not np.isfinite(numbers).all():
            return True
        weights = _weights(numbers.size).reshape(numbers.shape)
        rooms = weights * np.where(np.isfinite(allowed), allowed, 0.0)
        room = DEVIATIONS * float(np.sqrt(np.square(rooms).sum()))
        return not abs(_total(numbers) - self.total) <= room


def summed(value: Any) -> Any:
    """Return a checksum in place of each array, as far as one can be made."""
    if isinstance(value, tuple):
        return tuple(map(summed, value))
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or value.size < FEWEST:
        return value
    with np.errstate(over="ignore", invalid="ignore"):
        total = _total(value)
    return Checksum(value.shape, total) if np.isfinite(total) else value


def _total(numbers: NDArray) -> float:
    return float((_weights(numbers.size) * numbers.astype(np.float64).ravel()).sum())


@functools.lru_cache(maxsize=256)
def _weights(count: int) -> NDArray[np.float64]:
    """Return weights from 1 to 2 of either sign, from an integer hash: the same on every machine."""
    bits = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for _ in range(2):
        bits = (bits ^ (bits >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (bits >> np.uint64(12)).astype(np.float64) / 2.0**51 - 1.0
    return numbers + np.sign(numbers)
