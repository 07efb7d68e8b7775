"""What the library accepts: arguments turned into arrays, or refused in one sentence."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Axis = int | tuple[int, ...] | None


def as_floating(values: ArrayLike, name: str) -> NDArray[np.floating]:
    """Return `values` as a floating array: floats keep their dtype, integers become float64.

    Raises
    ------
    TypeError
        If the values are not real numbers.
    """
    array = np.asarray(values)
    if array.dtype.kind in "biu":
        return array.astype(np.float64)
    if array.dtype.kind != "f":
        raise TypeError(f"{name} must hold real numbers; it has dtype {array.dtype}.")
    return array


def working_dtype(dtype: np.dtype) -> np.dtype:
    """Return the dtype to compute in: float64, or a wider one that came in.

    float32 and float16 results that were computed in float64 and rounded once are right to
    the last place or next to it, whatever the order of the sums.
    """
    return np.promote_types(dtype, np.float64)


def require_entries(array: NDArray, axis: Axis, name: str) -> None:
    """Refuse an array with nothing along `axis`: there is no maximum to take there."""
    if array.size == 0 and np.empty(array.shape, bool).sum(axis=axis).size > 0:
        raise ValueError(
            f"{name} has shape {array.shape}: no entry along axis {axis} to normalize."
        )
