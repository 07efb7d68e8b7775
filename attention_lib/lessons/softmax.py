"""Lesson 01: from a row of scores to attention weights, and from weights to a mixture of values."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attention_lib.arguments import (
    as_floating,
    broadcast_leading,
    require_entries,
    working_dtype,
)

__all__ = ["normalize_by_sum", "softmax", "weighted_sum"]


def normalize_by_sum(scores: ArrayLike) -> NDArray[np.floating]:
    """Divide each row by its sum.

    The obvious way to make a row sum to 1, kept to show where it breaks: a zero stays zero,
    a negative score becomes a negative share, and a row that sums to zero has no answer.

    Parameters
    ----------
    scores : array_like, shape (..., n)
        Rows along the last axis, none of which sums to 0.

    Returns
    -------
    ndarray, shape (..., n)
        Rows that sum to 1, in the dtype of `scores` (float64 for integers).

    Raises
    ------
    TypeError
        If `scores` does not hold real numbers.

    Warns
    -----
    RuntimeWarning
        If a row sums to 0; its result is infinite or NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import normalize_by_sum
    >>> normalize_by_sum(np.array([1.0, 0.0, 3.0]))
    array([0.25, 0.  , 0.75])
    """
    scores = as_floating(scores, "scores")
    return scores / scores.sum(axis=-1, keepdims=True)


def softmax(scores: ArrayLike, axis: int = -1) -> NDArray[np.floating]:
    r"""Turn scores into positive weights that sum to 1.

    Parameters
    ----------
    scores : array_like, any shape
        Real scores of any size. A score of ``-inf`` gets weight 0.
    axis : int, default -1
        The axis along which the weights sum to 1.

    Returns
    -------
    ndarray, same shape as `scores`
        The weights, in the dtype of `scores` (float64 for integers). As in SciPy, a row that
        holds ``+inf`` or NaN, or nothing but ``-inf``, is NaN throughout.

    Raises
    ------
    TypeError
        If `scores` does not hold real numbers.
    ValueError
        If there is no entry along `axis`.
    numpy.exceptions.AxisError
        If `scores` has no such axis.

    Notes
    -----
    .. math:: p_i = e^{s_i} / \sum_j e^{s_j}

    Subtracting the largest score first changes no weight and keeps every exponential at or
    below 1 (lesson 02). float32 and float16 are computed in float64 and rounded once, so
    each weight is within 1 unit in the last place of the exact one. The method is analyzed in
    Blanchard, Higham and Higham, "Accurately computing the log-sum-exp and softmax functions",
    IMA Journal of Numerical Analysis 41 (2021).

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import softmax
    >>> softmax(np.array([1.0, 0.0, 1.0])).round(3)
    array([0.422, 0.155, 0.422])
    >>> softmax(np.array([[0.0, 2.0], [0.0, 2.0]]), axis=0)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    scores = as_floating(scores, "scores")
    require_entries(scores, axis, "scores")
    maximum = scores.max(axis=axis, keepdims=True)
    weights = np.empty(scores.shape, working_dtype(scores.dtype))
    with np.errstate(invalid="ignore"):  # inf - inf, where the answer is NaN
        np.subtract(scores, maximum, out=weights, dtype=weights.dtype)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=axis, keepdims=True)
    return weights.astype(scores.dtype, copy=False)[()]  # a scalar for a scalar


def weighted_sum(weights: ArrayLike, values: ArrayLike) -> NDArray:
    """Mix the values: output row i is the sum over j of ``weights[i, j] * values[j]``.

    Parameters
    ----------
    weights : array_like, shape (..., L, S)
        One row of weights for each of L queries.
    values : array_like, shape (..., S, d_v)
        One value vector for each of S keys. Leading dimensions broadcast.

    Returns
    -------
    ndarray, shape (..., L, d_v)
        The mixtures, in the common dtype of the two arguments.

    Raises
    ------
    ValueError
        If the shapes cannot be multiplied.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import weighted_sum
    >>> weights = np.array([[0.25, 0.75]])
    >>> values = np.array([[0.0, 4.0, 8.0], [4.0, 4.0, 0.0]])
    >>> weighted_sum(weights, values)
    array([[3., 4., 2.]])
    """
    weights, values = np.asarray(weights), np.asarray(values)
    if weights.ndim < 2 or values.ndim < 2 or weights.shape[-1] != values.shape[-2]:
        raise ValueError(
            f"weights of shape {weights.shape} cannot weigh values of shape {values.shape}: "
            "(..., L, S) needs (..., S, d_v)."
        )
    broadcast_leading(weights=weights, values=values)
    return weights @ values
