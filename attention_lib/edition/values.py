"""Values kept as hashes: whether numbers are near them can be told, what they are cannot be read.

Whoever tries all numbers finds them: a hash that takes long makes that dear, not impossible.
"""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["HashedValue", "hashed"]

# About 0.2 seconds and 64 MiB for each number that is tried.
COST = {"n": 1 << 16, "r": 8, "p": 1, "maxmem": 1 << 27, "dklen": 16}
AT_ONCE = 4


@dataclass(frozen=True)
class HashedValue:
    """Numbers of which the cell of a grid is hashed, one hash each or one for all.

    The grid is laid such that a number lies in the cell exactly if it is within `distance`.
    """

    salt: str
    distance: float
    offsets: tuple[float, ...]
    digests: tuple[str, ...]
    sums_to_one: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.offsets),)

    def off(self, got: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Mark the numbers that are further away; where there is one hash, all or none."""
        cells = [
            _cell(float(number), offset, self.distance)
            for number, offset in zip(got, self.offsets, strict=True)
        ]
        jointly = len(self.digests) < len(cells)
        digests = _digests(cells, self.salt, jointly)
        wrong = [one != other for one, other in zip(digests, self.digests, strict=True)]
        return np.array(wrong * len(cells) if jointly else wrong)


def hashed(
    numbers: NDArray[np.float64], distance: float, salt: str, *, jointly: bool = False
) -> HashedValue:
    """Hash each number so that others within `distance` of it are recognized.

    With `jointly` there is one hash for all: which of the numbers are near cannot be told.
    """
    offsets = tuple(float(number % (2 * distance)) for number in numbers)
    cells = [
        _cell(float(number), offset, distance)
        for number, offset in zip(numbers, offsets, strict=True)
    ]
    digests = _digests(cells, salt, jointly)
    return HashedValue(salt, distance, offsets, digests, bool(abs(numbers.sum() - 1) <= 1e-9))


def _cell(number: float, offset: float, distance: float) -> str:
    return str(round((number - offset) / (2 * distance)) if np.isfinite(number) else number)


def _digests(cells: list[str], salt: str, jointly: bool) -> tuple[str, ...]:
    texts = (
        [" ".join(cells)] if jointly else [f"{place}:{cell}" for place, cell in enumerate(cells)]
    )
    with ThreadPoolExecutor(AT_ONCE) as threads:  # hashing leaves Python free
        return tuple(threads.map(lambda text: _digest(text, salt), texts))


def _digest(text: str, salt: str) -> str:
    return hashlib.scrypt(text.encode(), salt=salt.encode(), **COST).hex()
