"""Magnitudes that several exercises share: the size of the numbers a right answer must form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attention_lib.lessons.softmax import softmax


def largest_finite(scores: NDArray, axis: int = -1) -> NDArray:
    """Return the largest finite score of each row in absolute value, axes kept."""
    return np.abs(np.where(np.isfinite(scores), scores, 0.0)).max(axis=axis, keepdims=True)


def weights_magnitude(scores: NDArray, axis: int = -1) -> NDArray:
    """Size softmax weights: each is as uncertain as its score, in proportion."""
    return softmax(scores, axis) * (1.0 + largest_finite(scores, axis))


def logarithms_magnitude(scores: NDArray, axis: int = -1) -> NDArray:
    """Size the logarithms of softmax weights, and that of their sum, axes kept."""
    return 2.0 + np.log(scores.shape[axis]) + 2.0 * largest_finite(scores, axis)


def products_magnitude(query: NDArray, key: NDArray) -> NDArray:
    """Size dot products of queries and keys."""
    return 2.0 * np.abs(query) @ np.abs(key).mT


def vjp_magnitude(weights: NDArray, grad_weights: NDArray) -> NDArray:
    """Size the gradient carried back through softmax, p (g − Σ p g)."""
    size = np.abs(grad_weights)
    return weights * (size + np.sum(weights * size, axis=-1, keepdims=True))


def rotation_magnitude(x: NDArray, positions: NDArray, base: float = 10000.0) -> NDArray:
    """Return the length of each pair that a rotation turns, times what the angle's own rounding is worth."""
    lengths = np.hypot(x[..., 0::2], x[..., 1::2])
    powers = np.arange(0, x.shape[-1], 2) / x.shape[-1]
    angles = np.abs(positions)[:, None] * base**-powers
    return np.repeat(lengths * (1 + 2 * angles), 2, axis=-1)
