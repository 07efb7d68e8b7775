"""Lesson 04: what learning sees, from the derivative of one weight to the gradients of attention."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attention_lib.arguments import (
    as_floating,
    as_positive,
    require_attention_shapes,
    require_labels,
    round_to,
    widened,
)
from attention_lib.lessons.scaling import scaled_scores
from attention_lib.lessons.softmax import softmax
from attention_lib.lessons.stability import log_softmax, masked_softmax

__all__ = [
    "attention_backward",
    "cross_entropy_grad",
    "normalize_vjp",
    "numerical_gradient",
    "softmax_jacobian",
    "softmax_vjp",
]


def softmax_jacobian(weights: ArrayLike) -> NDArray[np.floating]:
    r"""Build the matrix of derivatives of every weight with respect to every score.

    Parameters
    ----------
    weights : array_like, shape (..., n)
        Rows of softmax weights.

    Returns
    -------
    ndarray, shape (..., n, n)
        Entry i, k is the derivative of weight i with respect to score k, in the dtype of
        `weights` (float64 for integers).

    Raises
    ------
    TypeError
        If `weights` does not hold real numbers.
    ValueError
        If `weights` is a single number.

    Notes
    -----
    .. math:: \partial p_i / \partial s_k = p_i (\delta_{ik} - p_k)

    The matrix is symmetric, and each row and column sums to 0: raising all scores together
    changes nothing. Training needs only its product with a vector, `softmax_vjp`.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import softmax_jacobian
    >>> softmax_jacobian(np.array([0.5, 0.25, 0.25]))
    array([[ 0.25  , -0.125 , -0.125 ],
           [-0.125 ,  0.1875, -0.0625],
           [-0.125 , -0.0625,  0.1875]])
    """
    (weights,), dtype = widened(weights=weights)
    if weights.ndim == 0:
        raise ValueError("weights must have at least one dimension, (..., n); it is one number.")
    identity = np.eye(weights.shape[-1])
    return round_to(weights[..., :, None] * (identity - weights[..., None, :]), dtype)


def softmax_vjp(weights: ArrayLike, grad_weights: ArrayLike) -> NDArray[np.floating]:
    r"""Carry a gradient from softmax weights back to the scores, without the Jacobian.

    Parameters
    ----------
    weights : array_like, shape (..., n)
        Rows of softmax weights.
    grad_weights : array_like, shape (..., n)
        The gradient of a loss with respect to `weights`.

    Returns
    -------
    ndarray, shape (..., n)
        The gradient of the loss with respect to the scores, in the common dtype of the two
        arguments (float64 for integers).

    Raises
    ------
    TypeError
        If an argument does not hold real numbers.
    ValueError
        If the shapes differ, or are those of a single number.

    Notes
    -----
    .. math:: \frac{\partial \ell}{\partial s_k} = p_k \Bigl(g_k - \sum_i p_i g_i\Bigr)

    This is the product of g with `softmax_jacobian`, written out: time and memory grow with n,
    not with n times n. A score's gradient is its weight times how far its g stands above the
    weighted mean of all g.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import softmax_vjp
    >>> softmax_vjp(np.array([0.5, 0.25, 0.25]), np.array([1.0, 0.0, 0.0]))
    array([ 0.25 , -0.125, -0.125])
    """
    (weights, grad_weights), dtype = widened(weights=weights, grad_weights=grad_weights)
    if weights.ndim == 0 or weights.shape != grad_weights.shape:
        raise ValueError(
            "weights and grad_weights must have one shape (..., n); "
            f"they have shapes {weights.shape} and {grad_weights.shape}."
        )
    mean = np.sum(weights * grad_weights, axis=-1, keepdims=True)
    return round_to(weights * (grad_weights - mean), dtype)


def normalize_vjp(scores: ArrayLike, grad_shares: ArrayLike) -> NDArray[np.floating]:
    r"""Carry a gradient from shares of a sum back to the scores.

    Parameters
    ----------
    scores : array_like, shape (..., n)
        Rows of scores, none of which sums to 0.
    grad_shares : array_like, shape (..., n)
        The gradient of a loss with respect to ``normalize_by_sum(scores)``.

    Returns
    -------
    ndarray, shape (..., n)
        The gradient of the loss with respect to the scores, in the common dtype of the two
        arguments (float64 for integers).

    Raises
    ------
    TypeError
        If an argument does not hold real numbers.
    ValueError
        If the shapes differ, or are those of a single number.

    Notes
    -----
    With the shares :math:`q_i = s_i / Z` and their sum :math:`Z`,

    .. math:: \frac{\partial \ell}{\partial s_k} = \frac{1}{Z} \Bigl(g_k - \sum_i q_i g_i\Bigr)

    Unlike that of softmax this gradient has no factor :math:`q_k`: a share of 0 can still learn.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import normalize_vjp
    >>> normalize_vjp(np.array([1.0, 1.0, 2.0]), np.array([1.0, 0.0, 3.0]))
    array([-0.1875, -0.4375,  0.3125])
    """
    (scores, grad_shares), dtype = widened(scores=scores, grad_shares=grad_shares)
    if scores.ndim == 0 or scores.shape != grad_shares.shape:
        raise ValueError(
            "scores and grad_shares must have one shape (..., n); "
            f"they have shapes {scores.shape} and {grad_shares.shape}."
        )
    total = np.sum(scores, axis=-1, keepdims=True)
    mean = np.sum(scores / total * grad_shares, axis=-1, keepdims=True)
    return round_to((grad_shares - mean) / total, dtype)


def numerical_gradient(
    f: Callable[[NDArray[np.float64]], float], x: ArrayLike, eps: float = 1e-6
) -> NDArray[np.float64]:
    r"""Estimate the gradient of a function by central differences.

    Parameters
    ----------
    f : callable
        Takes an array of the shape of `x` and returns one number.
    x : array_like, any shape
        Where to take the gradient. It is not changed; `f` gets a copy.
    eps : float, default 1e-6
        The step to either side.

    Returns
    -------
    ndarray of float64, same shape as `x`
        One difference quotient an entry.

    Raises
    ------
    TypeError
        If `x` does not hold real numbers, or `f` does not return one number.
    ValueError
        If `eps` is not positive and finite.

    Notes
    -----
    .. math:: \frac{f(x + \varepsilon e_i) - f(x - \varepsilon e_i)}{2 \varepsilon}

    The error of the formula shrinks like :math:`\varepsilon^2`, that of rounding grows like
    :math:`1 / \varepsilon`; in float64 they meet near 1e-5 times the size of the entries.
    See Nocedal and Wright, "Numerical Optimization", section 8.1 (2006).

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import numerical_gradient
    >>> numerical_gradient(lambda x: np.sum(x**2), np.array([1.0, -3.0])).round(6)
    array([ 2., -6.])
    """
    eps = as_positive(eps, "eps")
    point = as_floating(x, "x").astype(np.float64)  # always a copy
    gradient = np.zeros_like(point)
    for index in np.ndindex(point.shape):
        here = point[index]
        point[index] = here + eps
        above = _as_number(f(point))
        point[index] = here - eps
        below = _as_number(f(point))
        point[index] = here
        gradient[index] = (above - below) / (2 * eps)
    return gradient


def cross_entropy_grad(scores: ArrayLike, targets: ArrayLike) -> NDArray[np.floating]:
    r"""Take the gradient of `cross_entropy` with respect to the scores.

    Parameters
    ----------
    scores : array_like, shape (N, C)
        One row of finite scores for each of N examples.
    targets : array_like of int, shape (N,)
        The index of the right class of each example, from 0 to C - 1.

    Returns
    -------
    ndarray, shape (N, C)
        The gradient, in the dtype of `scores` (float64 for integers).

    Raises
    ------
    TypeError
        If `scores` does not hold real numbers or `targets` does not hold integers.
    ValueError
        If the shapes do not fit, there is no example, or a target is not a class.

    Notes
    -----
    .. math:: \partial \ell / \partial s_{ik} = (p_{ik} - \delta_{k t_i}) / N

    The right class gets ``expm1(log p)`` instead of ``p - 1``: the same number, with all its
    digits where p has come so close to 1 that the subtraction would leave none.

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import cross_entropy_grad
    >>> cross_entropy_grad(np.array([[0.0, 0.0], [0.0, 1000.0]]), np.array([0, 1]))
    array([[-0.25,  0.25],
           [ 0.  ,  0.  ]])
    """
    (scores,), dtype = widened(scores=scores)
    targets = np.asarray(targets)
    require_labels(scores, targets)
    right = np.arange(len(targets)), targets
    gradient = softmax(scores)
    gradient[right] = np.expm1(log_softmax(scores)[right])
    return round_to(gradient / len(targets), dtype)


def attention_backward(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    grad_output: ArrayLike,
    mask: ArrayLike | None = None,
    scale: float | None = None,
) -> tuple[NDArray[np.floating], NDArray[np.floating], NDArray[np.floating]]:
    r"""Carry a gradient from attention's output back to the queries, keys and values.

    Parameters
    ----------
    query : array_like, shape (..., L, d_k)
        One vector for each of L queries.
    key : array_like, shape (..., S, d_k)
        One vector for each of S keys.
    value : array_like, shape (..., S, d_v)
        One vector for each of S keys. Leading dimensions broadcast.
    grad_output : array_like, shape (..., L, d_v)
        The gradient of a loss with respect to the output, in the output's shape.
    mask : array_like of bool, broadcastable to (..., L, S), optional
        True where attention was allowed.
    scale : float, optional
        What the dot products were multiplied by; :math:`1/\sqrt{d_k}` when None.

    Returns
    -------
    tuple of three ndarray
        ``(grad_query, grad_key, grad_value)``, each in the shape and dtype of its argument
        (float64 for integers). Where an argument was broadcast, the gradients of its copies
        are summed. A row of the mask with nothing allowed adds zeros.

    Raises
    ------
    TypeError
        If an argument does not hold real numbers, or `mask` no booleans.
    ValueError
        If the shapes do not fit.

    Notes
    -----
    With :math:`P = \mathrm{softmax}(\alpha Q K^\top)`, :math:`\alpha` the scale,
    :math:`O = P V` and G the gradient of O:

    .. math::
        dV = P^\top G, \quad dP = G V^\top, \quad
        dS_{ij} = P_{ij} \Bigl(dP_{ij} - \sum_k P_{ik}\, dP_{ik}\Bigr), \quad
        dQ = \alpha\, dS\, K, \quad dK = \alpha\, dS^\top Q

    The mask needs no step of its own: where P is 0, so is dS. See Dao et al., "FlashAttention",
    appendix B.2, arXiv:2205.14135 (2022).

    Examples
    --------
    >>> import numpy as np
    >>> from attention_lib import attention_backward
    >>> query, key = np.array([[0.0]]), np.array([[1.0], [3.0]])
    >>> value, grad_output = np.array([[2.0], [6.0]]), np.array([[1.0]])
    >>> grad_query, grad_key, grad_value = attention_backward(query, key, value, grad_output)
    >>> grad_query
    array([[2.]])
    >>> grad_value
    array([[0.5],
           [0.5]])
    """
    query, key = as_floating(query, "query"), as_floating(key, "key")
    value = as_floating(value, "value")
    (q, k, v, grad), _ = widened(query=query, key=key, value=value, grad_output=grad_output)
    leading = require_attention_shapes(q, k, v)
    output_shape = (*leading, q.shape[-2], v.shape[-1])
    if grad.shape != output_shape:
        raise ValueError(
            f"grad_output must have the output's shape {output_shape}; it has shape {grad.shape}."
        )
    scale = 1 / math.sqrt(max(q.shape[-1], 1)) if scale is None else scale
    grad_weights = grad @ v.mT
    scores = np.broadcast_to(scaled_scores(q, k, scale), grad_weights.shape)
    weights = softmax(scores) if mask is None else masked_softmax(scores, np.asarray(mask))
    grad_scores = softmax_vjp(weights, grad_weights) * scale
    return (
        sum_over_copies(grad_scores @ k, query),
        sum_over_copies(grad_scores.mT @ q, key),
        sum_over_copies(weights.mT @ grad, value),
    )


def _as_number(returned: object) -> float:
    if np.size(returned) != 1:
        raise TypeError(f"f must return one number; it returned shape {np.shape(returned)}.")
    return float(np.asarray(returned).item())


def sum_over_copies(gradient: NDArray, argument: NDArray) -> NDArray:
    """Sum a gradient over the dimensions along which its argument was broadcast.

    The result has the shape and dtype of `argument`, the array before it was stretched.
    """
    added = gradient.ndim - argument.ndim
    stretched = tuple(
        axis
        for axis in range(gradient.ndim)
        if axis < added or argument.shape[axis - added] != gradient.shape[axis]
    )
    return round_to(gradient.sum(axis=stretched).reshape(argument.shape), argument.dtype)
