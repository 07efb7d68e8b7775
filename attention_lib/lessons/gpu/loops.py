"""Lesson 09's kernels for trying others: two inner loops, and a program that gives no limit."""

from __future__ import annotations

from attention_lib.lessons.gpu.triton import jit, tl

__all__ = ["count_keys", "one_tile_without_limit", "sum_without_maximum"]


@jit
def _require_blocks(query, limit, output, total, maximum):
    """Stop where a number stands for a block, which the interpreter would take and a compiler not."""
    tl.static_assert(
        len(query.shape) == 2, "the queries handed to INNER must be a (ROWS, HEAD) block"
    )
    tl.static_assert(len(limit.shape) == 1, "limit must be a block of ROWS numbers")
    tl.static_assert(len(output.shape) == 2, "output must begin as a (ROWS, HEAD) block")
    tl.static_assert(len(total.shape) == 1, "total must begin as a block of ROWS numbers")
    tl.static_assert(len(maximum.shape) == 1, "maximum must begin as a block of ROWS numbers")


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

    2^maximum is added to each weight, which is nothing where maximum begins with -inf.
    """
    _require_blocks(query, limit, output, total, maximum)
    for first in range(start, stop, BLOCK):
        columns = first + tl.arange(0, BLOCK)
        there = columns[:, None] < stop
        key = tl.load(key_pointers + first * key_stride, mask=there, other=0.0)
        value = tl.load(value_pointers + first * value_stride, mask=there, other=0.0)
        weights = tl.exp2(tl.dot(query, tl.trans(key)) * scale) + tl.exp2(maximum)[:, None]
        if MASKED:
            weights = tl.where(columns[None, :] < limit[:, None], weights, 0.0)
        total += tl.sum(weights, axis=1)
        output += tl.dot(weights.to(value.dtype), value)
    return output, total, maximum


@jit
def count_keys(
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
    """Count, in place of attending, the keys without a mask in component 0, the others in 1."""
    _require_blocks(query, limit, output, total, maximum)
    components = tl.arange(0, output.shape[1])
    component = 1 if MASKED else 0
    keys = tl.maximum(stop - start, 0).to(tl.float32)
    output += tl.where(components[None, :] == component, keys, 0.0)
    return output, total * 0.0 + 1.0, maximum


@jit
def one_tile_without_limit(
    query,
    key,
    value,
    output,
    query_length,
    key_length,
    scale,
    INNER: tl.constexpr,
    HEAD: tl.constexpr,
    IS_CAUSAL: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Attend with one tile of one head to whole blocks; limit is 0, and MASKED False."""
    rows, keys = tl.arange(0, ROWS), tl.arange(0, BLOCK)
    components = tl.arange(0, HEAD)
    places = rows[:, None] * HEAD + components[None, :]
    key_places = keys[:, None] * HEAD + components[None, :]
    result = tl.zeros([ROWS, HEAD], tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    maximum = tl.full([ROWS], float("-inf"), tl.float32)
    limit = tl.zeros([ROWS], tl.int32)
    block = tl.load(query + places)
    result, total, maximum = INNER(
        block, key + key_places, value + key_places, HEAD, HEAD, 0, key_length, limit, scale,
        result, total, maximum, BLOCK, False,
    )  # fmt: skip
    tl.store(output + places, result / total[:, None])
