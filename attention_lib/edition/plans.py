"""What each tile of a launch hands to an inner loop of Triton; in an edition, as recorded."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["plan_of"]


def plan_of(
    query_length: int, key_length: int, is_causal: bool, rows: int, block: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the bounds of the loop in each tile, (tiles, 3), and what its rows see, (tiles, rows).

    The keys from the first bound to the second need no mask, those from the second to the third
    do. Row i of a tile sees the keys below the number that stands for it.
    """
    numbers = np.arange(-(-query_length // rows) * rows).reshape(-1, rows)
    limits = np.full_like(numbers, key_length)
    seen_by_all = stop = limits[:, 0]
    if is_causal:
        limits = np.minimum(key_length, numbers + 1)
        seen_by_all, stop = limits[:, 0], limits[:, -1]
    bounds = np.stack([0 * stop, seen_by_all // block * block, stop], axis=-1)
    return bounds.astype(np.int32), limits.astype(np.int32)
