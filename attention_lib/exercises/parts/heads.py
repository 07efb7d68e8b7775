"""Heads split and merged, and the mistakes of any attention over several heads."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer
from attention_lib.checks.exercise import Table
from attention_lib.exercises.parts.attention import OVERFLOW, WEIGHTS, output_with, softmax_or_zeros
from attention_lib.exercises.parts.softmax import plain_softmax, plain_softmax_or_zeros
from attention_lib.lessons.stability import stable_softmax

SPLIT_WITHOUT_SWAP = (
    "One reshape straight to (..., H, L, D/H) deals whole positions out to the heads: "
    "reshape to (..., L, H, D/H), then swap the axes L and H."
)
HEADS_IN_TURNS = (
    "The heads take turns through the columns: head 0 gets the first D/H columns, the "
    "next head the next. Reshape to (..., L, H, D/H), H before D/H, then move H in front of L."
)
BEYOND_LARGE_NEGATIVES = 1e20  # a factor on queries: scores far from every number used for -inf


def split(x: NDArray, num_heads: int) -> NDArray:
    """Split as asked for: head h has the columns from h · D/H on."""
    if x.shape[-1] % num_heads:
        raise ValueError(f"{x.shape[-1]} is not a multiple of {num_heads}")
    return np.swapaxes(x.reshape(*x.shape[:-1], num_heads, -1), -2, -3)


def split_by_reshape(x: NDArray, num_heads: int) -> NDArray:
    *leading, length, width = x.shape
    if width % num_heads:
        raise ValueError
    return x.reshape(*leading, num_heads, length, width // num_heads)


def split_interleaved(x: NDArray, num_heads: int) -> NDArray:
    if x.shape[-1] % num_heads:
        raise ValueError
    return np.moveaxis(x.reshape(*x.shape[:-1], -1, num_heads), -1, -3)


def merge(x: NDArray) -> NDArray:
    """Merge as asked for."""
    side_by_side = np.swapaxes(x, -2, -3)
    return side_by_side.reshape(*side_by_side.shape[:-2], -1)


def merge_by_reshape(x: NDArray) -> NDArray:
    *leading, heads, length, size = x.shape
    return x.reshape(*leading, length, heads * size)


def merge_interleaved(x: NDArray) -> NDArray:
    columns = np.moveaxis(x, -3, -1)
    return columns.reshape(*columns.shape[:-2], -1)


def axis_mistakes(answer_with: Callable[..., Answer]) -> Table:
    """List the mistakes of softmax along a wrong axis that an answer makes through `attend`."""
    softmaxes = (stable_softmax, softmax_or_zeros)
    return tuple(
        entry
        for name, axis in (("queries", -2), ("heads", -3))
        for entry in (
            f"softmax-over-{name}: Softmax runs over the {name}: it must run over the keys, the "
            "last axis.",
            *(
                answer_with(attend=output_with(weigh=functools.partial(softmax, axis=axis)))
                for softmax in softmaxes
            ),
        )
    )


def overflow_mistake(answer_with: Callable[..., Answer]) -> Table:
    """Describe the mistake of a softmax that overflows, made through `attend`."""
    return (
        "exp-overflows: The exponentials overflow for large scores: use the stable softmax of "
        "lesson 02, or attention.",
        answer_with(attend=output_with(weigh=plain_softmax)),
        answer_with(attend=output_with(weigh=plain_softmax_or_zeros)),
    )


SOFTMAX_OVER_WRONG_AXIS = tuple(
    text
    for name, axis in (("queries", -2), ("heads", -3))
    for text in (
        f"softmax-over-{name}: Softmax runs over the {name}: it must run over the keys, the last axis.",
        f"{WEIGHTS} => {{softmax(scores, {axis})|masked_softmax(scores, scores > -np.inf, {axis})}}",
    )
)
EXP_OVERFLOWS = (
    "exp-overflows: The exponentials overflow for large scores: use the stable softmax of "
    "lesson 02, or attention.",
    OVERFLOW,
)
