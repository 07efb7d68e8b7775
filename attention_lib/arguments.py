"""Convert the library's arguments to arrays, or reject them with one sentence."""

from __future__ import annotations

import operator

import numpy as np
from numpy.typing import ArrayLike, NDArray


class OneLine(Exception):
    """An error whose one sentence tells a learner everything needed."""

    def _render_traceback_(self) -> list[str]:
        """Replace the traceback in Jupyter and IPython by the error's one line."""
        return [f"{type(self).__name__}: {self}"]


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
    """Return the dtype to compute in: float64, or the input's if it is wider.

    float32 and float16 results that are computed in float64 and rounded once are right within one
    unit in the last place, for any order of the sums.
    """
    return np.promote_types(dtype, np.float64)


def require_entries(array: NDArray, axis: int, name: str) -> None:
    """Reject an array without entries along `axis`: there is no maximum."""
    if array.size == 0 and np.empty(array.shape, bool).sum(axis=axis).size > 0:
        raise ValueError(
            f"{name} has shape {array.shape}: no entry along axis {axis} to normalize."
        )


def widened(**arrays: ArrayLike) -> tuple[list[NDArray[np.floating]], np.dtype]:
    """Return all arrays in the dtype to compute in, and their common dtype for the result.

    Raises
    ------
    TypeError
        If an array does not hold real numbers; the message has its name.
    """
    floating = [as_floating(array, name) for name, array in arrays.items()]
    dtype = np.result_type(*floating)
    return [array.astype(working_dtype(dtype), copy=False) for array in floating], dtype


def in_own_dtype(**arrays: ArrayLike) -> tuple[list[NDArray[np.floating]], np.dtype]:
    """Return all arrays in their common dtype, at least float32, and the dtype for the result.

    This is for the weights of a language model: copying them to float64 for each word would take
    longer than computing the word.

    Raises
    ------
    TypeError
        If an array does not hold real numbers; the message has its name.
    """
    floating = [as_floating(array, name) for name, array in arrays.items()]
    dtype = np.result_type(*floating)
    working = np.promote_types(dtype, np.float32)
    return [array.astype(working, copy=False) for array in floating], dtype


def as_integer(value: int, name: str, lowest: int) -> int:
    """Return `value` as a Python integer; refuse other types, and numbers below `lowest`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer; it is {value!r}.") from None
    if number < lowest:
        raise ValueError(f"{name} must be at least {lowest}; it is {number}.")
    return number


def as_positive(value: float, name: str) -> float:
    """Return `value` as a float; reject values other than one positive finite number."""
    if np.ndim(value) != 0 or np.asarray(value).dtype.kind not in "iuf":
        raise TypeError(f"{name} must be one number; it is {value!r}.")
    if not 0 < value < np.inf:
        raise ValueError(f"{name} must be positive and finite; it is {value}.")
    return float(value)


def require_matrices(**arrays: NDArray) -> None:
    """Refuse an array with fewer than two dimensions."""
    for name, array in arrays.items():
        if array.ndim < 2:
            raise ValueError(
                f"{name} needs at least two dimensions, its vectors as rows; "
                f"it has shape {array.shape}."
            )


def broadcast_as(array: NDArray, shape: tuple[int, ...], name: str, goal: str) -> NDArray:
    """Return a read-only view of `array` stretched to `shape`, which is the shape of `goal`."""
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(
            f"{name} of shape {array.shape} does not broadcast to {goal} of shape {shape}."
        ) from None


def broadcast_leading(**arrays: NDArray) -> tuple[int, ...]:
    """Return the common shape of the arrays' dimensions before the last two."""
    leading = [array.shape[:-2] for array in arrays.values()]
    if leading.count(leading[0]) == len(leading):  # the most frequent case, quickly
        return leading[0]
    try:
        return np.broadcast_shapes(*leading)
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(
            f"The dimensions before the last two must be equal, or 1, to broadcast; got {shapes}."
        ) from None


def require_scores_shapes(query: NDArray, key: NDArray) -> None:
    """Refuse queries and keys that have no dot products."""
    require_matrices(query=query, key=key)
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            f"query of shape {query.shape} and key of shape {key.shape} have no dot product: "
            "(..., L, d_k) needs (..., S, d_k), with one d_k."
        )
    broadcast_leading(query=query, key=key)


def require_attention_shapes(query: NDArray, key: NDArray, value: NDArray) -> tuple[int, ...]:
    """Refuse shapes that attention is not defined for; return the common leading dimensions."""
    require_scores_shapes(query, key)
    require_matrices(value=value)
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(
            f"key of shape {key.shape} and value of shape {value.shape} differ in their number "
            "of rows: (..., S, d_k) needs (..., S, d_v), one value for each key."
        )
    return broadcast_leading(query=query, key=key, value=value)


def require_labels(scores: NDArray, targets: NDArray) -> None:
    """Refuse targets that do not name one class for each row of scores."""
    if scores.ndim != 2 or targets.shape != scores.shape[:1] or targets.size == 0:
        raise ValueError(
            "scores must have shape (N, C) and targets (N,), with N of at least 1; "
            f"they have shapes {scores.shape} and {targets.shape}."
        )
    if targets.dtype.kind not in "iu":
        raise TypeError(
            f"targets must hold integer class indices; they have dtype {targets.dtype}."
        )
    if targets.min() < 0 or targets.max() >= scores.shape[1]:
        raise ValueError(f"targets must lie between 0 and {scores.shape[1] - 1}, the last class.")


def round_to(array: NDArray, dtype: np.dtype) -> NDArray:
    """Return `array` rounded once to `dtype`; numbers beyond its range become infinite."""
    array = np.asarray(array)
    if array.dtype == dtype:
        return array
    with np.errstate(over="ignore"):
        return array.astype(dtype)
