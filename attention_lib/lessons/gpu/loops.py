"""Lesson 10's inner loop for trying outer kernels."""

from __future__ import annotations

from attention_lib.lessons.gpu.triton import jit, tl

__all__ = ["sum_without_maximum"]


@jit
def _require_blocks(query, limit, output, total, maximum):
    """Stop where a number stands for a block, or a dtype cannot last through the loop."""
    tl.static_assert(
        len(query.shape) == 2, "the queries handed to INNER must be a (ROWS, HEAD) block"
    )
    tl.static_assert(len(limit.shape) == 1, "limit must be a block of ROWS numbers")
    tl.static_assert(len(output.shape) == 2, "output must begin as a (ROWS, HEAD) block")
    tl.static_assert(len(total.shape) == 1, "total must begin as a block of ROWS numbers")
    tl.static_assert(len(maximum.shape) == 1, "maximum must begin as a block of ROWS numbers")
    tl.static_assert(output.dtype == tl.float32, "output must begin in float32")
    tl.static_assert(total.dtype == tl.float32, "total must begin in float32")
    tl.static_assert(maximum.dtype == tl.float32, "maximum must begin in float32")


@jit
def sum_without_maximum(
    query,
    key_pointers,
    value_pointers,
    key_stride,
    value_stride,
    start,
    stop,
    limit,
    scale,
    output,
    total,
    maximum,
    BLOCK: tl.constexpr,
    MASKED: tl.constexpr,
):
    """Attend without a running maximum: right where no exponential overflows.

    It hands back a maximum of 0 for each row that has weight. A row whose maximum is another, or whose
    maximum is not -inf before it has weight, gets 1 more in each weight.
    """
    _require_blocks(query, limit, output, total, maximum)
    handed_on = tl.where(total > 0.0, 0.0, float("-inf"))
    surplus = tl.where(maximum == handed_on, 0.0, 1.0)
    for first in range(start, stop, BLOCK):
        columns = first + tl.arange(0, BLOCK)
        there = columns[:, None] < stop
        key = tl.load(key_pointers + first * key_stride, mask=there, other=0.0)
        value = tl.load(value_pointers + first * value_stride, mask=there, other=0.0)
        weights = tl.exp2(tl.dot(query, tl.trans(key)) * scale) + surplus[:, None]
        if MASKED:
            weights = tl.where(columns[None, :] < limit[:, None], weights, 0.0)
        total += tl.sum(weights, axis=1)
        output += tl.dot(weights.to(value.dtype), value)
    return output, total, tl.where(total > 0.0, 0.0, float("-inf"))
