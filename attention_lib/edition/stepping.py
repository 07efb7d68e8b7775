"""Launch an inner loop of Triton by a plan of bounds and limits that is worked out beforehand.

The course's own launch has the answer to `flash_program` in it. Here a program loads from tables
what it hands to the loop.
"""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from attention_lib.edition import plans
from attention_lib.lessons.gpu.triton import INTERPRETED, jit, tl, triton

__all__ = ["OneTile", "attend"]


@jit
def _step(  # type: ignore[no-untyped-def]
    query,  # (programs, ROWS, WIDTH), without gaps
    key,
    value,
    output,  # as query
    starts,  # (programs, 2): where the keys and the values of a program begin
    bounds,  # (programs, 3)
    limits,  # (programs, ROWS)
    key_stride,
    value_stride,
    scale,
    INNER: tl.constexpr,
    HEAD: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Hand the tile of a program to INNER, once for each stretch between two bounds."""
    program, across = tl.program_id(0), tl.arange(0, WIDTH)[None, :]
    tile = program * (ROWS * WIDTH) + tl.arange(0, ROWS)[:, None] * WIDTH + across
    across = tl.where(across < HEAD, across, 0)  # the query is 0 there: any number will do
    down = tl.arange(0, BLOCK)[:, None]
    key_stride = tl.cast(key_stride, tl.int64)
    value_stride = tl.cast(value_stride, tl.int64)
    key += tl.load(starts + 2 * program) + down * key_stride + across
    value += tl.load(starts + 2 * program + 1) + down * value_stride + across
    limit = tl.load(limits + program * ROWS + tl.arange(0, ROWS))
    block = tl.load(query + tile)
    mixed = tl.zeros([ROWS, WIDTH], tl.float32)
    total, maximum = tl.sum(mixed, axis=1), tl.sum(mixed, axis=1) - float("inf")
    for place in tl.static_range(2):
        start = tl.load(bounds + 3 * program + place)
        stop = tl.load(bounds + 3 * program + place + 1)
        if place == 0 or start < stop:  # as the course's own launch does
            mixed, total, maximum = INNER(
                block, key, value, key_stride, value_stride, start, stop, limit, scale,
                mixed, total, maximum, BLOCK, place == 1,
            )  # fmt: skip
    tl.store(output + tile, (mixed / total[:, None]).to(output.dtype.element_ty))


def attend(
    query: Tensor, key: Tensor, value: Tensor, is_causal: bool, kernel: Any, tile: tuple[int, int]
) -> Tensor:
    """Compute attention by an inner loop, for sizes whose plan is known.

    Raises
    ------
    NotRecorded
        If no plan is recorded for these sizes.
    """
    rows, block = tile
    leading = np.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    plan = plans.plan_of(query.shape[-2], key.shape[-2], is_causal, rows, block)
    dtype = query.dtype
    if INTERPRETED and dtype == torch.bfloat16:  # the interpreter keeps it as bare bits
        query, key, value = query.float(), key.float(), value.float()
    queries, keys, values = (
        tensor.detach().expand(*leading, *tensor.shape[-2:]).reshape(-1, *tensor.shape[-2:])
        for tensor in (query, key, value)
    )
    output = _launched(queries, keys, values, plan, kernel, block)
    return output.reshape(*leading, *query.shape[-2:]).to(dtype)


def _launched(
    query: Tensor, key: Tensor, value: Tensor, plan: tuple[Any, Any], kernel: Any, block: int
) -> Tensor:
    heads, length, head = query.shape
    bounds, limits = plan
    tiles, rows = limits.shape
    width = max(16, triton.next_power_of_2(head))
    programs = pad(query, (0, width - head, 0, tiles * rows - length)).contiguous()
    output = torch.empty_like(programs)
    of_heads = np.arange(heads)[:, None] * [key.stride(0), value.stride(0)]
    tables = [
        torch.from_numpy(np.ascontiguousarray(table)).to(query.device)
        for table in (
            np.repeat(of_heads, tiles, axis=0),
            np.tile(bounds, (heads, 1)),
            np.tile(limits, (heads, 1)),
        )
    ]
    with torch.cuda.device(query.device) if query.is_cuda else contextlib.nullcontext():
        _step[(heads * tiles,)](
            programs,
            key,
            value,
            output,
            *tables,
            key.stride(1),
            value.stride(1),
            math.log2(math.e) / math.sqrt(head),
            INNER=kernel,
            HEAD=head,
            WIDTH=width,
            ROWS=rows,
            BLOCK=block,
            allowed_dot_input_precisions=("ieee",),  # no float32 is cut to 19 bits
        )
    return output[:, :length, :head]


class OneTile:
    """An outer kernel for one tile of one head: whole blocks, limit 0, and MASKED False."""

    def __getitem__(self, grid: tuple[int, int]) -> Any:
        return self._launch

    def _launch(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        output: Tensor,
        query_length: int,
        key_length: int,
        scale: float,
        *,
        INNER: Any,
        BLOCK: int,
        **_: Any,
    ) -> None:
        plan = np.array([[0, key_length, key_length]]), np.zeros((1, query_length), np.int32)
        output.copy_(_launched(query, key, value, plan, INNER, BLOCK))
