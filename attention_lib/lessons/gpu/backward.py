"""Lesson 10's backward pass: the gradients of FlashAttention by two Triton kernels.

The weights are formed again, tile by tile, from the queries, the keys and each row's log-sum-exp, as in
lesson 07. One kernel goes through the keys for a tile of queries, the other through the queries
for a block of keys, so that no two programs write to the same place.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from attention_lib.lessons.gpu.launch import (
    TUNED_ON,
    attend_with_logsumexp,
    on_device_of,
    require_grid,
    scale_of,
    width_of,
)
from attention_lib.lessons.gpu.triton import INTERPRETED, jit, tl
from attention_lib.lessons.gpu.tuning import NUMBER_BY_NUMBER, configurations, fused, tuned_over

__all__ = ["flash_attention_backward", "flash_attention_with_gradients"]

LN_2 = tl.constexpr(math.log(2.0))

PADDED = 128  # rows, the most of a tile: what is kept of each row is there up to a multiple of it

# Of a product's rows a warp takes 16: queries in one kernel, keys in the other.
OF_QUERIES = configurations(
    (128, 64, 8, 2, 128), (128, 64, 8, 3, 128), (128, 128, 8, 2, None), (64, 64, 4, 3, None)
)
OF_KEYS = configurations(
    (64, 128, 8, 2, None), (32, 128, 8, 2, 128), (32, 64, 4, 2, None), (64, 64, 4, 2, None)
)
WIDE_OF_QUERIES = configurations((128, 64, 8, 2, None), (64, 64, 4, 3, None))
WIDE_OF_KEYS = configurations((64, 128, 8, 2, None), (32, 64, 4, 2, None))


@tuned_over(OF_QUERIES, WIDE_OF_QUERIES, NUMBER_BY_NUMBER[-1:])
@fused
def grad_query_kernel(
    query, key, value, output, grad_output, logsumexp, delta, grad_query,
    query_length, key_length, padded_length, scale, length_class,
    HEAD: tl.constexpr, WIDTH: tl.constexpr, IS_CAUSAL: tl.constexpr, ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Compute the gradient of ROWS queries of one head, going through its keys.

    Σ_k P_ik ∂P_ik, a number for each row, is the output times its own gradient: it is left in
    delta, for the other kernel.
    """
    tile, head = tl.program_id(0), tl.program_id(1).to(tl.int64)
    rows = tile * ROWS + tl.arange(0, ROWS)
    offset = head * query_length * HEAD
    queries = _load_rows(query + offset, rows, query_length, HEAD, WIDTH, True)
    toward = _load_rows(grad_output + offset, rows, query_length, HEAD, WIDTH, True)
    mixed = _load_rows(output + offset, rows, query_length, HEAD, WIDTH, True)
    of_rows = head * padded_length + rows
    log_totals = tl.load(logsumexp + of_rows)
    deltas = tl.sum(mixed.to(tl.float32) * toward.to(tl.float32), axis=1)
    tl.store(delta + of_rows, deltas)
    seen_by_all = key_length
    stop = key_length
    if IS_CAUSAL:
        seen_by_all = tl.minimum(key_length, tile * ROWS + 1)
        stop = tl.minimum(key_length, tile * ROWS + ROWS)
    unmasked = seen_by_all // BLOCK * BLOCK
    key += head * key_length * HEAD
    value += head * key_length * HEAD
    gradient = tl.zeros([ROWS, WIDTH], tl.float32)
    gradient = _through_keys(
        gradient, queries, toward, log_totals, deltas, key, value, rows, 0, unmasked, key_length,
        scale, HEAD, WIDTH, IS_CAUSAL, BLOCK, False,
    )  # fmt: skip
    if unmasked < stop:
        gradient = _through_keys(
            gradient, queries, toward, log_totals, deltas, key, value, rows, unmasked, stop,
            key_length, scale, HEAD, WIDTH, IS_CAUSAL, BLOCK, True,
        )  # fmt: skip
    _store_rows(grad_query + offset, gradient * (scale * LN_2), rows, query_length, HEAD, WIDTH)


@jit
def _through_keys(
    gradient, queries, toward, log_totals, deltas, key, value, rows, start, stop, key_length, scale,
    HEAD: tl.constexpr, WIDTH: tl.constexpr, IS_CAUSAL: tl.constexpr, BLOCK: tl.constexpr,
    MASKED: tl.constexpr,
):  # fmt: skip
    """Add to the gradient of a tile of queries what the keys from start to stop give."""
    for first in range(start, stop, BLOCK):
        columns = first + tl.arange(0, BLOCK)
        keys = _load_rows(key, columns, key_length, HEAD, WIDTH, MASKED)
        values = _load_rows(value, columns, key_length, HEAD, WIDTH, MASKED)
        scores = tl.dot(queries, tl.trans(keys))
        if MASKED:
            visible = columns[None, :] < key_length
            if IS_CAUSAL:
                visible = visible & (columns[None, :] <= rows[:, None])
            scores = tl.where(visible, scores, float("-inf"))
        # The scale comes last: multiplied and subtracted from, a score takes one instruction.
        weights = tl.exp2(scores * scale - log_totals[:, None])
        grad_weights = tl.dot(toward, tl.trans(values))
        grad_scores = weights * (grad_weights - deltas[:, None])
        gradient += tl.dot(grad_scores.to(keys.dtype), keys)
    return gradient


@tuned_over(OF_KEYS, WIDE_OF_KEYS, NUMBER_BY_NUMBER[-1:])
@fused
def grad_key_value_kernel(
    query, key, value, grad_output, logsumexp, delta, grad_key, grad_value,
    query_length, key_length, padded_length, scale, length_class,
    HEAD: tl.constexpr, WIDTH: tl.constexpr, IS_CAUSAL: tl.constexpr, ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Compute the gradients of BLOCK keys and values of one head, going through its queries."""
    block, head = tl.program_id(0), tl.program_id(1).to(tl.int64)
    columns = block * BLOCK + tl.arange(0, BLOCK)
    offset = head * key_length * HEAD
    keys = _load_rows(key + offset, columns, key_length, HEAD, WIDTH, True)
    values = _load_rows(value + offset, columns, key_length, HEAD, WIDTH, True)
    query += head * query_length * HEAD
    grad_output += head * query_length * HEAD
    begin = 0
    if IS_CAUSAL:  # earlier rows see none of these keys
        begin = block * BLOCK // ROWS * ROWS
    grad_keys = tl.zeros([BLOCK, WIDTH], tl.float32)
    grad_values = tl.zeros([BLOCK, WIDTH], tl.float32)
    for first in range(begin, query_length, ROWS):
        # Told that it is a multiple, the compiler loads what there is for each row 4 at a time.
        rows = tl.multiple_of(first, ROWS) + tl.arange(0, ROWS)
        queries = _load_rows(query, rows, query_length, HEAD, WIDTH, True)
        toward = _load_rows(grad_output, rows, query_length, HEAD, WIDTH, True)
        of_rows = head * padded_length + rows
        log_totals = tl.load(logsumexp + of_rows)
        deltas = tl.load(delta + of_rows)
        # All turned over, (BLOCK, ROWS), so that no block of weights has to be turned.
        scores = tl.dot(keys, tl.trans(queries))
        if IS_CAUSAL:
            scores = tl.where(columns[:, None] <= rows[None, :], scores, float("-inf"))
        weights = tl.exp2(scores * scale - log_totals[None, :])
        grad_values += tl.dot(weights.to(toward.dtype), toward)
        grad_weights = tl.dot(values, tl.trans(toward))
        grad_scores = weights * (grad_weights - deltas[None, :])
        grad_keys += tl.dot(grad_scores.to(queries.dtype), queries)
    grad_keys *= scale * LN_2
    _store_rows(grad_key + offset, grad_keys, columns, key_length, HEAD, WIDTH)
    _store_rows(grad_value + offset, grad_values, columns, key_length, HEAD, WIDTH)


@jit
def _load_rows(
    pointer, rows, length, HEAD: tl.constexpr, WIDTH: tl.constexpr, MASKED: tl.constexpr
):
    """Load rows of HEAD numbers as a (rows, WIDTH) block, 0 where there is none."""
    components = tl.arange(0, WIDTH)
    places = pointer + rows[:, None].to(tl.int64) * HEAD + components[None, :]
    if MASKED:
        inside = rows[:, None] < length
        if HEAD < WIDTH:
            inside = inside & (components[None, :] < HEAD)
        block = tl.load(places, mask=inside, other=0.0)
    elif HEAD < WIDTH:
        block = tl.load(places, mask=components[None, :] < HEAD, other=0.0)
    else:
        block = tl.load(places)
    return block


@jit
def _store_rows(pointer, block, rows, length, HEAD: tl.constexpr, WIDTH: tl.constexpr):
    """Store those rows of a block that are there, in the pointer's dtype."""
    components = tl.arange(0, WIDTH)
    places = rows[:, None].to(tl.int64) * HEAD + components[None, :]
    inside = (rows[:, None] < length) & (components[None, :] < HEAD)
    tl.store(pointer + places, block.to(pointer.dtype.element_ty), mask=inside)


def flash_attention_backward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    logsumexp: Tensor,
    grad_output: Tensor,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the gradients of attention with respect to queries, keys and values.

    `query`, `output` and `grad_output` are (..., L, d), `key` and `value` (..., S, d) with the same leading
    dimensions, and `logsumexp` (..., L) is what `attend_with_logsumexp` returns. The gradients are in the
    inputs' dtype. Sums run in float32; no L × S matrix is held.

    Raises
    ------
    ValueError
        If shapes or devices do not fit, or there are more than 65,535 heads in all.

    Notes
    -----
    Dao, "FlashAttention-2", arXiv:2307.08691 (2023), algorithm 2, but with two kernels in place of atomic
    additions to the gradient of the queries: the scores are formed twice, and the result is the same
    in every run.
    """
    leading = query.shape[:-2]
    for name, tensor, shape in (
        ("key", key, (*leading, key.shape[-2], query.shape[-1])),
        ("value", value, key.shape),
        ("output", output, query.shape),
        ("grad_output", grad_output, query.shape),
        ("logsumexp", logsumexp, query.shape[:-1]),
    ):
        if tuple(tensor.shape) != tuple(shape):
            raise ValueError(
                f"{name} must have shape {tuple(shape)}; it has {tuple(tensor.shape)}."
            )
        if tensor.device != query.device:
            raise ValueError(
                f"{name} must be on {query.device}, as query is; it is on {tensor.device}."
            )
    if query.numel() == 0 or key.numel() == 0:
        return torch.zeros_like(query), torch.zeros_like(key), torch.zeros_like(value)
    require_grid(math.prod(leading))
    wanted = (query.dtype, query.shape[-1], bool(is_causal), query.device)
    longest = max(query.shape[-2], key.shape[-2])
    if longest > TUNED_ON and not INTERPRETED and wanted not in _tuned_for:
        _tuned_for.add(wanted)  # the tuning runs every configuration: on the first rows only
        inputs = (query, key, value, output)
        first = [tensor[..., :TUNED_ON, :] for tensor in inputs]
        flash_attention_backward(
            *first, logsumexp[..., :TUNED_ON], grad_output[..., :TUNED_ON, :], is_causal
        )
    arrays = [_flat(tensor) for tensor in (query, key, value, output, grad_output)]
    gradients = [torch.empty_like(tensor) for tensor in arrays[:3]]
    heads, length, head = arrays[0].shape
    keys = key.shape[-2]
    padded = -(-length // PADDED) * PADDED
    length_class = min(max(length, keys), TUNED_ON).bit_length()
    numbers = (length, keys, padded, scale_of(head), length_class)
    constants = {
        "HEAD": head,
        "WIDTH": width_of(head),
        "IS_CAUSAL": bool(is_causal),
        "allowed_dot_input_precisions": ("ieee",),
    }
    # A weight is 0 where there is no row: its total is infinite.
    logsumexp = pad(logsumexp.reshape(heads, length), (0, padded - length), value=math.inf)
    of_rows = (logsumexp, torch.zeros_like(logsumexp))
    with on_device_of(query):
        grad_query_kernel[lambda chosen: (-(-length // chosen["ROWS"]), heads)](
            *arrays, *of_rows, gradients[0], *numbers, **constants
        )
        grad_key_value_kernel[lambda chosen: (-(-keys // chosen["BLOCK"]), heads)](
            *arrays[:3], arrays[4], *of_rows, *gradients[1:], *numbers, **constants
        )
    like = (query, key, value)
    grad_query, grad_key, grad_value = (
        gradient.view(tensor.shape) for gradient, tensor in zip(gradients, like, strict=True)
    )
    return grad_query, grad_key, grad_value


_tuned_for: set[tuple[Any, ...]] = set()


class _FlashAttention(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> Tensor:
        with torch.no_grad():
            output, logsumexp = attend_with_logsumexp(query, key, value, is_causal)
        context.save_for_backward(query, key, value, output, logsumexp)
        context.is_causal = is_causal
        return output

    @staticmethod
    def backward(context: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        saved = context.saved_tensors
        return *flash_attention_backward(*saved, grad_output, context.is_causal), None


def flash_attention_with_gradients(
    query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False
) -> Tensor:
    """Compute attention by the course's kernels; gradients flow back through it.

    query (..., L, d), key and value (..., S, d), with equal leading dimensions.
    """
    if not query.shape[:-2] == key.shape[:-2] == value.shape[:-2]:
        raise ValueError(
            "The backward pass needs equal leading dimensions; got query "
            f"{tuple(query.shape)}, key {tuple(key.shape)}, value {tuple(value.shape)}."
        )
    return _FlashAttention.apply(query, key, value, bool(is_causal))


def _flat(tensor: Tensor) -> Tensor:
    """View (..., length, d) as (heads, length, d) without gaps; copy where it has some."""
    return tensor.detach().reshape(-1, *tensor.shape[-2:]).contiguous()
