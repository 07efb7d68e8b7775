"""Values kept as hashes: whether numbers are near them can be told, what they are cannot be read.

Whoever tries all numbers finds them: a hash makes that slow, not impossible.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["HashedValue", "hashed"]

ROUNDS = 20_000


@dataclass(frozen=True)
class HashedValue:
    """Numbers of which the cell of a grid is hashed, one hash each.

    The grid is laid such that a number lies in the cell exactly if it is within `distance`.
    """

    salt: str
    distance: float
    offsets: tuple[float, ...]
    digests: tuple[str, ...]
    sums_to_one: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.digests),)

    def off(self, got: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Mark the numbers that are further away."""
        return np.array(
            [
                _digest(f"{self.salt}:{place}", _cell(float(number), offset, self.distance))
                != digest
                for place, (number, offset, digest) in enumerate(
                    zip(got, self.offsets, self.digests, strict=True)
                )
            ]
        )


def hashed(numbers: NDArray[np.float64], distance: float, salt: str) -> HashedValue:
    """Hash each number so that others within `distance` of it are recognized."""
    offsets = tuple(float(number % (2 * distance)) for number in numbers)
    digests = tuple(
        _digest(f"{salt}:{place}", _cell(float(number), offset, distance))
        for place, (number, offset) in enumerate(zip(numbers, offsets, strict=True))
    )
    return HashedValue(salt, distance, offsets, digests, bool(abs(numbers.sum() - 1) <= 1e-9))


def _cell(number: float, offset: float, distance: float) -> float:
    return round((number - offset) / (2 * distance), 0) if np.isfinite(number) else number


def _digest(salt: str, cell: float) -> str:
    digest = f"{salt}:{cell:.0f}".encode()
    for _ in range(ROUNDS):
        digest = hashlib.sha256(digest).digest()
    return digest.hex()[:32]
