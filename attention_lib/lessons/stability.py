"""Lesson 02: the same numbers without overflow, in logarithms, under masks and in pieces."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from attention_lib.arguments import (
    as_floating,
    broadcast_as,
    require_entries,
    require_labels,
    working_dtype,
)

__all__ = [
    "cross_entropy",
    "largest_exponent",
    "log_softmax",
    "logsumexp",
    "masked_softmax",
    "merge_softmax_stats",
    "stable_softmax",
]

SoftmaxStats = tuple[NDArray[np.floating], NDArray[np.floating]]


def largest_exponent(dtype: DTypeLike) -> float:
    """Return the largest x whose exponential is still finite in `dtype`.

    Parameters
    ----------
    dtype : dtype_like
        A floating dtype, given as anything ``np.dtype`` takes.

    Returns
    -------
    float
        The natural logarithm of the largest finite number of `dtype`.

    Raises
    ------
    TypeError
        If `dtype` is not a floating dtype.

    Examples
    --------
    >>> from attention_lib import largest_exponent
    >>> round(largest_exponent("float32"), 2)
    88.72
    """
    dtype = np.dtype(dtype)
    if dtype.kind != "f":
        raise TypeError(f"largest_exponent needs a floating dtype; {dtype} has no exponentials.")
    return float(np.log(np.finfo(dtype).max.astype(np.float64)))


def stable_softmax(scores: ArrayLike, axis: int = -1) -> NDArray[np.floating]:
    """Compute softmax without overflow, by subtracting each row's own maximum.

    Parameters
    ----------
    scores : array_like, any shape
        Finite scores of any size; ``-inf`` marks an entry to leave out and gets weight 0.
    axis : int, default -1
        The axis along which the weights sum to 1.

    Returns
    -------
    ndarray, same shape as `scores`
        The weights, in the dtype of `scores` (float64 for integers).

    Raises
    ------
    TypeError
        If `scores` does not hold real numbers.
    ValueError
        If there is no entry along `axis`.

    Notes
    -----
    The largest shifted score is 0, so one exponential is exactly 1: the sum can neither
    overflow nor vanish.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import stable_softmax
    >>> stable_softmax(np.array([1000.0, 1000.0]))
    array([0.5, 0.5])
    """
    scores = as_floating(scores, "scores")
    require_entries(scores, axis, "scores")
    maximum = scores.max(axis=axis, keepdims=True)
    with np.errstate(invalid="ignore"):  # inf - inf, where the answer is NaN
        shifted = np.subtract(scores, maximum, dtype=working_dtype(scores.dtype))
    exponentials = np.exp(shifted)
    weights = exponentials / exponentials.sum(axis=axis, keepdims=True)
    return weights.astype(scores.dtype, copy=False)


def logsumexp(scores: ArrayLike, axis: int = -1, keepdims: bool = False) -> NDArray[np.floating]:
    r"""Compute the logarithm of the sum of exponentials, finite whenever its value is.

    Parameters
    ----------
    scores : array_like, any shape
        Real scores of any size.
    axis : int, default -1
        The axis to sum over.
    keepdims : bool, default False
        Keep the axis summed over, with length 1.

    Returns
    -------
    ndarray or scalar
        One number a row, in the dtype of `scores` (float64 for integers). A row with nothing
        in it, or nothing but ``-inf``, gives ``-inf``, the logarithm of an empty sum.

    Raises
    ------
    TypeError
        If `scores` does not hold real numbers.

    Notes
    -----
    .. math:: \log\sum_j e^{s_j} = m + \log\sum_j e^{s_j - m}, \quad m = \max_j s_j

    It moves with its argument: adding c to every score adds c to the result.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import logsumexp
    >>> print(logsumexp(np.array([1000.0, 1000.0])).round(4))
    1000.6931
    """
    scores = as_floating(scores, "scores")
    anchor, shifted = _shift(scores, axis)
    result = (anchor + _log_total(shifted, axis)).astype(scores.dtype, copy=False)
    return result if keepdims else np.squeeze(result, axis=axis)[()]


def log_softmax(scores: ArrayLike, axis: int = -1) -> NDArray[np.floating]:
    r"""Compute the logarithm of softmax, accurate where softmax itself underflows to 0.

    Parameters
    ----------
    scores : array_like, any shape
        Real scores of any size.
    axis : int, default -1
        The axis along which the weights sum to 1.

    Returns
    -------
    ndarray, same shape as `scores`
        Logarithms of the weights, in the dtype of `scores` (float64 for integers).

    Raises
    ------
    TypeError
        If `scores` does not hold real numbers.
    ValueError
        If there is no entry along `axis`.

    Notes
    -----
    .. math:: \log p_i = (s_i - m) - \log\sum_j e^{s_j - m}

    No weight is formed, so none can underflow before its logarithm is taken.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import log_softmax
    >>> log_softmax(np.array([0.0, -1000.0]))
    array([    0., -1000.])
    """
    scores = as_floating(scores, "scores")
    require_entries(scores, axis, "scores")
    _, shifted = _shift(scores, axis)
    log_total = _log_total(shifted, axis)
    result = np.empty(scores.shape, scores.dtype)
    with np.errstate(invalid="ignore"):  # inf - inf, where the answer is NaN
        np.subtract(shifted, log_total, out=result, casting="same_kind")
    return result[()]  # a scalar for a scalar


def cross_entropy(scores: ArrayLike, targets: ArrayLike) -> np.floating:
    """Average the negative log-likelihood of the right classes.

    Parameters
    ----------
    scores : array_like, shape (N, C)
        One row of finite scores for each of N examples.
    targets : array_like of int, shape (N,)
        The index of the right class of each example, from 0 to C - 1.

    Returns
    -------
    scalar
        The mean, in nats, of ``-log_softmax(scores)[i, targets[i]]``.

    Raises
    ------
    TypeError
        If `scores` does not hold real numbers or `targets` does not hold integers.
    ValueError
        If the shapes do not fit, there is no example, or a target is not a class.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import cross_entropy
    >>> print(cross_entropy(np.array([[0.0, 1000.0], [0.0, 0.0]]), np.array([0, 1])).round(3))
    500.347
    """
    scores, targets = as_floating(scores, "scores"), np.asarray(targets)
    require_labels(scores, targets)
    wide = scores.astype(working_dtype(scores.dtype), copy=False)
    of_targets = np.take_along_axis(log_softmax(wide), targets[:, None], axis=1)
    # Dividing before the sum keeps a mean of very large losses from overflowing on the way.
    return np.sum(of_targets / -len(targets)).astype(scores.dtype)


def masked_softmax(scores: ArrayLike, mask: ArrayLike, axis: int = -1) -> NDArray[np.floating]:
    """Compute softmax over the allowed entries only.

    Parameters
    ----------
    scores : array_like, any shape
        Scores of any size.
    mask : array_like of bool, broadcastable to `scores`
        True where an entry may receive weight.
    axis : int, default -1
        The axis along which the weights sum to 1.

    Returns
    -------
    ndarray, same shape as `scores`
        The weights, in the dtype of `scores` (float64 for integers); 0 where the mask is
        False, and all zeros in a row with nothing allowed.

    Raises
    ------
    TypeError
        If `scores` does not hold real numbers or `mask` does not hold booleans.
    ValueError
        If `mask` does not broadcast to the shape of `scores`, or there is no entry along `axis`.

    Notes
    -----
    A row with nothing allowed has no softmax: 0/0. Zeros say "no information came from here"
    and keep NaN out of everything downstream; PyTorch's fused attention and ONNX (since
    opset 23) do the same.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import masked_softmax
    >>> scores = np.array([[1.0, 9.0, 1.0], [1.0, 2.0, 3.0]])
    >>> masked_softmax(scores, np.array([[True, False, True], [False, False, False]]))
    array([[0.5, 0. , 0.5],
           [0. , 0. , 0. ]])
    """
    scores, mask = as_floating(scores, "scores"), np.asarray(mask)
    require_entries(scores, axis, "scores")
    if mask.dtype != bool:
        raise TypeError(f"mask must hold booleans, True where allowed; it has dtype {mask.dtype}.")
    mask = broadcast_as(mask, scores.shape, "mask", "scores")
    weights = np.full(scores.shape, -np.inf, working_dtype(scores.dtype))
    np.copyto(weights, scores, where=mask)
    maximum = weights.max(axis=axis, keepdims=True)
    with np.errstate(invalid="ignore"):  # inf - inf, where the answer is NaN
        weights -= np.where(maximum == -np.inf, 0.0, maximum)  # nothing allowed: no maximum
    np.exp(weights, out=weights)
    total = weights.sum(axis=axis, keepdims=True)
    weights /= np.where(total == 0, 1.0, total)
    return weights.astype(scores.dtype, copy=False)


def merge_softmax_stats(left: SoftmaxStats, right: SoftmaxStats) -> SoftmaxStats:
    """Merge the softmax statistics of two parts of a row.

    Parameters
    ----------
    left, right : tuple of two array_like of equal shape
        ``(maximum, total)`` of each part, where total is the sum of
        ``exp(score - maximum)``. ``(-inf, 0)`` describes an empty part.

    Returns
    -------
    tuple of two ndarray
        ``(maximum, total)`` of the joined rows.

    Raises
    ------
    ValueError
        If the four arrays do not have one shape.

    Notes
    -----
    Each total is rescaled to the larger maximum by ``exp(old - new)``. The rule is
    associative and commutative with ``(-inf, 0)`` as its identity, so parts may be joined in
    any order: see Milakov and Gimelshein, "Online normalizer calculation for softmax",
    arXiv:1805.02867 (2018).

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import merge_softmax_stats
    >>> left, right = (np.array([1.0]), np.array([2.0])), (np.array([3.0]), np.array([1.0]))
    >>> maximum, total = merge_softmax_stats(left, right)
    >>> maximum, total.round(4)
    (array([3.]), array([1.2707]))
    """
    parts = [as_floating(part, "a softmax statistic") for part in (*left, *right)]
    if len(parts) != 4 or len({part.shape for part in parts}) > 1:
        raise ValueError(
            "merge_softmax_stats needs two pairs (maximum, total) of arrays of one shape; "
            f"it got shapes {', '.join(str(part.shape) for part in parts)}."
        )
    left_maximum, left_total, right_maximum, right_total = parts
    maximum = np.maximum(left_maximum, right_maximum)
    anchor = np.where(maximum == -np.inf, maximum.dtype.type(0), maximum)  # both parts empty
    total = left_total * np.exp(left_maximum - anchor) + right_total * np.exp(
        right_maximum - anchor
    )
    return maximum, total


def _shift(scores: NDArray[np.floating], axis: int) -> tuple[NDArray, NDArray]:
    """Return each row's maximum m, its axis kept, and s - m, in the working dtype.

    Where the maximum is infinite or NaN, m is 0 instead.
    """
    maximum = scores.max(axis=axis, keepdims=True, initial=-np.inf)
    anchor = np.where(np.isfinite(maximum), maximum, 0.0).astype(working_dtype(scores.dtype))
    return anchor, np.asarray(scores - anchor)  # an array even where there is one number


def _log_total(shifted: NDArray[np.floating], axis: int) -> NDArray[np.floating]:
    """Return log(sum(exp(s - m))) of shifted rows, their axis kept.

    The entries equal to m are counted, not exponentiated: log(k + rest) is written
    log(k) + log1p(rest / k), which stays accurate when the rest is far below one ulp of k.
    """
    at_maximum = shifted == 0.0
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # rows with inf or NaN
        exponentials = np.asarray(np.exp(shifted))
        np.copyto(exponentials, 0.0, where=at_maximum)
        rest = exponentials.sum(axis=axis, keepdims=True)
        count = np.count_nonzero(at_maximum, axis=axis, keepdims=True)
        return np.where(
            count > 0, np.log(count) + np.log1p(rest / np.maximum(count, 1)), np.log(rest)
        )
