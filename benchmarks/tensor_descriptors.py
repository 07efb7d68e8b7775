"""A FlashAttention forward kernel that loads by tensor descriptors: TMA instructions on Hopper.

The benchmark holds it beside the lesson's kernel, which loads by pointers. It takes whole tiles of
arrays without gaps, and is no part of what a learner reads.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from attention_lib.lessons.gpu.triton import jit, tl, triton

__all__ = ["forward_by_descriptors", "launch_by_descriptors"]


@jit
def forward_by_descriptors(
    query, key, value, output, heads, length, scale, HEAD: tl.constexpr, IS_CAUSAL: tl.constexpr,
    SPECIALIZED: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Compute ROWS rows of one head of (heads, length, HEAD) numbers.

    SPECIALIZED asks for warps of their own for the loads. The compiler deals out the rows of a tile
    to groups of warps only if the queries, too, are loaded by a descriptor that the kernel makes.
    """
    tile = tl.num_programs(0) // heads - 1 - tl.program_id(0) // heads
    offset = (tl.program_id(0) % heads).to(tl.int64) * length * HEAD
    shape = [length, HEAD]
    queries = tl.make_tensor_descriptor(query + offset, shape, [HEAD, 1], [ROWS, HEAD])
    keys = tl.make_tensor_descriptor(key + offset, shape, [HEAD, 1], [BLOCK, HEAD])
    values = tl.make_tensor_descriptor(value + offset, shape, [HEAD, 1], [BLOCK, HEAD])
    block = queries.load([tile * ROWS, 0])
    result = tl.zeros([ROWS, HEAD], tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    maximum = tl.full([ROWS], float("-inf"), tl.float32)
    rows = tile * ROWS + tl.arange(0, ROWS)
    unmasked = length
    if IS_CAUSAL:
        unmasked = tile * ROWS // BLOCK * BLOCK
    for first in tl.range(0, unmasked, BLOCK, warp_specialize=SPECIALIZED):
        scores = tl.dot(block, keys.load([first, 0]).T)
        result, total, maximum = _take(
            scores, values.load([first, 0]), scale, result, total, maximum
        )
    if IS_CAUSAL:
        for first in range(unmasked, tile * ROWS + ROWS, BLOCK):
            scores = tl.dot(block, keys.load([first, 0]).T)
            columns = first + tl.arange(0, BLOCK)
            scores = tl.where(columns[None, :] <= rows[:, None], scores, float("-inf"))
            result, total, maximum = _take(
                scores, values.load([first, 0]), scale, result, total, maximum
            )
    places = offset + rows[:, None] * HEAD + tl.arange(0, HEAD)[None, :]
    tl.store(output + places, (result / total[:, None]).to(output.dtype.element_ty))


@jit
def _take(scores, values, scale, result, total, maximum):
    """Take a block of scores and its values into result, total and maximum."""
    larger = tl.maximum(maximum, tl.max(scores, axis=1) * scale)
    weights = tl.exp2(scores * scale - larger[:, None])
    shrink = tl.exp2(maximum - larger)
    total = total * shrink + tl.sum(weights, axis=1)
    result = result * shrink[:, None] + tl.dot(weights.to(values.dtype), values)
    return result, total, larger


def launch_by_descriptors(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    is_causal: bool,
    tile: tuple[int, int],
    specialized: bool,
    **options: Any,
) -> Any:
    """Launch `forward_by_descriptors` on arrays (1, heads, length, d), and return what was compiled."""
    _, heads, length, head = query.shape
    rows, block = tile
    if length % rows or length % block or not all(t.is_contiguous() for t in (query, key, value)):
        raise ValueError(f"The descriptors take whole tiles of {tile} without gaps; got {length}.")
    # Where the kernel makes its descriptors, in memory that the launch provides.
    triton.set_allocator(
        lambda size, _alignment, _stream: torch.empty(size, device=query.device, dtype=torch.int8)
    )
    return forward_by_descriptors[(length // rows * heads,)](
        query,
        key,
        value,
        output,
        heads,
        length,
        math.log2(math.e) / math.sqrt(head),
        HEAD=head,
        IS_CAUSAL=is_causal,
        SPECIALIZED=specialized,
        ROWS=rows,
        BLOCK=block,
        **options,
    )
