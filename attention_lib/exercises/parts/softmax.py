"""Softmax with a wrong step, as the known mistakes of several exercises make it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer

EPSILONS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-12)


def plain_softmax(scores: NDArray, axis: int | None = -1) -> NDArray:
    """Compute softmax without subtracting a maximum: large scores overflow."""
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


def softmax_with_one_maximum(scores: NDArray, axis: int | None = -1) -> NDArray:
    """Subtract the maximum of the whole array: a row far below it underflows to 0/0."""
    return plain_softmax(scores - scores.max(), axis)


def filled(scores: NDArray, mask: NDArray, fill: float) -> NDArray:
    """Put `fill` in place of every forbidden score, in floating point."""
    return np.where(mask, scores, np.array(fill, np.result_type(scores, np.float32)))


def cut_to_integers(answer: Answer) -> Answer:
    """Store the result in the dtype of the first argument, as ``np.zeros_like`` of it would."""

    def answer_in_the_same_dtype(array: NDArray, *args: Any, **kwargs: Any) -> NDArray:
        return answer(array, *args, **kwargs).astype(array.dtype)

    return answer_in_the_same_dtype
