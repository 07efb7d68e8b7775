"""Lesson 09's kernel: the inner loop of a FlashAttention forward pass in Triton."""

from __future__ import annotations

from attention_lib.lessons.gpu.triton import jit, tl

__all__ = ["flash_kernel"]


# The known mistakes of this exercise replace lines of this function by their text. Who changes
# one changes it in attention_lib/exercises/gpu/flash_kernel.py, too.
@jit
def flash_kernel(
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
    """Take the keys from start to stop, BLOCK at a time, into output, total and maximum.

    query (ROWS, d); key_pointers and value_pointers (BLOCK, d) point at keys 0 to BLOCK - 1,
    and the strides lead from one key to the next. scale is log2(e) / sqrt(d), so that 2 to the
    power of a scaled score is e to the power of score / sqrt(d). If MASKED, row i may see the
    keys below limit[i] only. output (ROWS, d), total (ROWS,) and maximum (ROWS,) are what the
    keys before start have left; the three are returned, in this order.
    """
    key_pointers += start * key_stride  # and on by a block in every turn: in 64 bits,
    value_pointers += start * value_stride  # first times a stride takes longer than a sum
    for first in range(start, stop, BLOCK):
        columns = first + tl.arange(0, BLOCK)
        there = columns[:, None] < stop  # the last block may be short
        key = tl.load(key_pointers, mask=there, other=0.0)
        value = tl.load(value_pointers, mask=there, other=0.0)
        scores = tl.dot(query, tl.trans(key))  # (ROWS, BLOCK)
        if MASKED:
            scores = tl.where(columns[None, :] < limit[:, None], scores, float("-inf"))
        larger = tl.maximum(maximum, tl.max(scores, axis=1) * scale)
        weights = tl.exp2(scores * scale - larger[:, None])
        shrink = tl.exp2(maximum - larger)  # brings what is there to the new maximum
        total = total * shrink + tl.sum(weights, axis=1)
        output = output * shrink[:, None] + tl.dot(weights.to(value.dtype), value)
        maximum = larger
        key_pointers += BLOCK * key_stride
        value_pointers += BLOCK * value_stride
    return output, total, maximum
