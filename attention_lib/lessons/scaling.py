"""Lesson 03: scores from dot products, their size, and the sharpness of the weights they give."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attention_lib.arguments import (
    as_floating,
    as_positive,
    require_entries,
    require_scores_shapes,
    round_to,
    widened,
    working_dtype,
)
from attention_lib.lessons.softmax import softmax

__all__ = [
    "dot_product_scores",
    "entropy",
    "scaled_scores",
    "score_std",
    "softcap",
    "softmax_with_temperature",
    "temperature_for_entropy",
]


def dot_product_scores(query: ArrayLike, key: ArrayLike) -> NDArray[np.floating]:
    """Score every key against every query: entry i, j is the dot product of query i and key j.

    Parameters
    ----------
    query : array_like, shape (..., L, d_k)
        One vector for each of L queries.
    key : array_like, shape (..., S, d_k)
        One vector for each of S keys. Leading dimensions broadcast.

    Returns
    -------
    ndarray, shape (..., L, S)
        The scores, in the common dtype of the two arguments (float64 for integers).

    Raises
    ------
    TypeError
        If an argument does not hold real numbers.
    ValueError
        If the shapes do not fit.

    Notes
    -----
    float32 and float16 are summed in float64 and rounded once; a score beyond the range of
    its dtype is infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import dot_product_scores
    >>> query = np.array([[1.0, 0.0], [1.0, 2.0]])
    >>> key = np.array([[3.0, 1.0], [0.0, 4.0], [1.0, 1.0]])
    >>> dot_product_scores(query, key)
    array([[3., 0., 1.],
           [5., 8., 3.]])
    """
    (query, key), dtype = widened(query=query, key=key)
    require_scores_shapes(query, key)
    with np.errstate(over="ignore", invalid="ignore"):  # beyond float64 a score is infinite
        return round_to(query @ key.mT, dtype)


def scaled_scores(
    query: ArrayLike, key: ArrayLike, scale: float | None = None
) -> NDArray[np.floating]:
    r"""Score every key against every query by their dot product times a scale.

    Parameters
    ----------
    query : array_like, shape (..., L, d_k)
        One vector for each of L queries.
    key : array_like, shape (..., S, d_k)
        One vector for each of S keys. Leading dimensions broadcast.
    scale : float, optional
        What the dot products are multiplied by; :math:`1/\sqrt{d_k}` when None.

    Returns
    -------
    ndarray, shape (..., L, S)
        The scores, in the common dtype of `query` and `key` (float64 for integers).

    Raises
    ------
    TypeError
        If an argument does not hold real numbers.
    ValueError
        If the shapes do not fit.

    Notes
    -----
    The default scale gives scores of variance 1 when the components are independent with
    mean 0 and variance 1: Vaswani et al., "Attention Is All You Need", section 3.2.1 (2017).

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import scaled_scores
    >>> scaled_scores(np.array([[1.0, 1.0, 1.0, 1.0]]), np.array([[2.0, 2.0, 2.0, 2.0]]))
    array([[4.]])
    """
    (query, key), dtype = widened(query=query, key=key)
    scores = dot_product_scores(query, key)
    if scale is None:
        scale = 1 / math.sqrt(max(query.shape[-1], 1))  # an empty dot product is 0 at any scale
    with np.errstate(over="ignore", invalid="ignore"):
        return round_to(scores * scale, dtype)


def score_std(d_k: int, component_std: float = 1.0) -> float:
    r"""Predict the standard deviation of the dot product of two random vectors.

    Parameters
    ----------
    d_k : int
        The number of components of each vector. An array gives one prediction an entry.
    component_std : float, default 1.0
        The standard deviation of every component.

    Returns
    -------
    float
        :math:`\sqrt{d_k}\,\sigma^2`.

    Raises
    ------
    ValueError
        If `d_k` or `component_std` is negative.

    Notes
    -----
    The components are independent with mean 0, so each product of two has variance
    :math:`\sigma^4`, and the variances of the d_k products add.

    Examples
    --------
    >>> from attention_lib import score_std
    >>> print(score_std(64))
    8.0
    """
    if np.any(np.less(d_k, 0)) or np.any(np.less(component_std, 0)):
        raise ValueError(
            f"d_k and component_std must not be negative; they are {d_k} and {component_std}."
        )
    return np.sqrt(d_k) * np.square(component_std)


def entropy(weights: ArrayLike, axis: int = -1) -> NDArray[np.floating]:
    r"""Measure in nats how evenly weights are spread: 0 for one certain entry, log n for all equal.

    Parameters
    ----------
    weights : array_like, any shape
        Weights that are not negative and sum to 1 along `axis`.
    axis : int, default -1
        The axis of one distribution.

    Returns
    -------
    ndarray or scalar
        One number a distribution, in the dtype of `weights` (float64 for integers).

    Raises
    ------
    TypeError
        If `weights` does not hold real numbers.
    ValueError
        If a weight is negative.

    Notes
    -----
    .. math:: H(p) = -\sum_i p_i \log p_i

    A weight of 0 adds 0, the limit of :math:`p \log p`. See Shannon, "A Mathematical Theory
    of Communication", Bell System Technical Journal 27 (1948).

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import entropy
    >>> entropy(np.array([[0.25, 0.25, 0.25, 0.25], [1.0, 0.0, 0.0, 0.0]])).round(4)
    array([1.3863, 0.    ])
    """
    weights = as_floating(weights, "weights")
    if np.any(weights < 0):
        raise ValueError(f"weights must not be negative; the smallest is {np.nanmin(weights)}.")
    wide = weights.astype(working_dtype(weights.dtype), copy=False)
    terms = wide * np.log(np.where(wide == 0, 1.0, wide))
    return round_to(0.0 - terms.sum(axis=axis), weights.dtype)[()]  # 0 - 0 is 0, not -0


def softmax_with_temperature(
    scores: ArrayLike, temperature: float, axis: int = -1
) -> NDArray[np.floating]:
    r"""Turn scores into weights, sharper below a temperature of 1 and flatter above it.

    Parameters
    ----------
    scores : array_like, any shape
        Real scores of any size. A score of ``-inf`` gets weight 0.
    temperature : float
        What the scores are divided by, a positive number.
    axis : int, default -1
        The axis along which the weights sum to 1.

    Returns
    -------
    ndarray, same shape as `scores`
        Softmax of ``scores / temperature``, in the dtype of `scores` (float64 for integers).

    Raises
    ------
    TypeError
        If `scores` does not hold real numbers or `temperature` is not a number.
    ValueError
        If `temperature` is not positive and finite, or there is no entry along `axis`.

    Notes
    -----
    The largest score is subtracted before the division. What is then divided is never
    positive, so a small temperature can only send it to ``-inf``, whose weight is 0: the
    result is right even where ``scores / temperature`` itself overflows.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import softmax_with_temperature
    >>> scores = np.array([1.0, 0.0, 1.0])
    >>> softmax_with_temperature(scores, 0.1).round(3)
    array([0.5, 0. , 0.5])
    >>> softmax_with_temperature(scores, 10.0).round(3)
    array([0.344, 0.311, 0.344])
    """
    scores = as_floating(scores, "scores")
    temperature = as_positive(temperature, "temperature")
    require_entries(scores, axis, "scores")
    maximum = scores.max(axis=axis, keepdims=True)
    with np.errstate(over="ignore", invalid="ignore"):  # inf - inf, where the answer is NaN
        shifted = np.subtract(scores, maximum, dtype=working_dtype(scores.dtype))
        shifted /= temperature
    return round_to(softmax(shifted, axis), scores.dtype)


def temperature_for_entropy(scores: ArrayLike, target: float) -> float:
    """Find the temperature at which softmax of the scores has the entropy `target`.

    Parameters
    ----------
    scores : array_like, shape (n,)
        Finite scores, all different.
    target : float
        The entropy wanted, in nats, between 0 and log n.

    Returns
    -------
    float
        A temperature whose weights have this entropy within 1e-6 nats.

    Raises
    ------
    TypeError
        If `scores` does not hold real numbers or `target` is not a number.
    ValueError
        If `scores` is not one row of finite scores, or no temperature gives `target`.

    Notes
    -----
    The entropy of softmax never falls as the temperature rises: its derivative with respect
    to log T is the variance of the scores divided by T. So the answer is unique, and halving
    a bracket finds it. The bracket is halved in log T, in units of the scores' own spread: the
    same few steps serve scores of every size. When m scores share the first place the
    entropy stays above log m at every temperature; then `target` must too.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import entropy, softmax_with_temperature, temperature_for_entropy
    >>> scores = np.array([3.0, 1.0, 0.0])
    >>> temperature = temperature_for_entropy(scores, 0.5)
    >>> print(entropy(softmax_with_temperature(scores, temperature)).round(6))
    0.5
    """
    scores = as_floating(scores, "scores")
    target = as_positive(target, "target")
    if scores.ndim != 1 or scores.size == 0 or not np.isfinite(scores).all():
        raise ValueError(
            f"scores must be one row (n,) of finite numbers; it has shape {scores.shape}."
        )
    gaps = scores.astype(working_dtype(scores.dtype)) - scores.max()
    lowest, highest = math.log(np.count_nonzero(gaps == 0)), math.log(gaps.size)
    if not lowest < target < highest:
        raise ValueError(
            f"target must lie between {lowest:.6g} and {highest:.6g}, the entropies of these "
            f"scores at the lowest and the highest temperature; it is {target}."
        )
    spread = float(-gaps.min())
    gaps /= spread
    # At 1e-4 of the smallest gap the entropy is 0, at 1e9 times the spread it is log n.
    low = math.log(max(-gaps[gaps < 0].max() * 1e-4, np.finfo(np.float64).tiny))
    high = math.log(1e9)
    for _ in range(100):  # far more than it takes to reach neighboring floats
        middle = (low + high) / 2
        reached = entropy(softmax_with_temperature(gaps, math.exp(middle)))
        if abs(reached - target) <= 1e-12 * target:
            break
        low, high = (middle, high) if reached < target else (low, middle)
    return math.exp(middle) * spread


def softcap(scores: ArrayLike, cap: float) -> NDArray[np.floating]:
    r"""Hold scores smoothly between -cap and cap.

    Parameters
    ----------
    scores : array_like, any shape
        Real scores of any size.
    cap : float
        The bound, a positive number.

    Returns
    -------
    ndarray, same shape as `scores`
        ``cap * tanh(scores / cap)``, in the dtype of `scores` (float64 for integers).

    Raises
    ------
    TypeError
        If `scores` does not hold real numbers or `cap` is not a number.
    ValueError
        If `cap` is not positive and finite.

    Notes
    -----
    Scores far below the cap pass almost unchanged, larger ones are bent toward it. Their order
    is kept until rounding makes both equal to the cap, beyond about 19 caps in float64. Used by
    Bello et al., arXiv:1611.09940 (2016), and on attention scores in Gemma Team, "Gemma 2",
    arXiv:2408.00118 (2024).

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import softcap
    >>> softcap(np.array([1.0, 50.0, 1000.0]), 50.0).round(3)
    array([ 1.  , 38.08, 50.  ])
    """
    scores = as_floating(scores, "scores")
    cap = as_positive(cap, "cap")
    with np.errstate(over="ignore"):  # tanh(inf) is 1
        capped = np.divide(scores, cap, dtype=working_dtype(scores.dtype))
    return round_to(cap * np.tanh(capped), scores.dtype)
