"""Lesson 08's kernel: a FlashAttention forward pass in Triton, compiled or interpreted.

On CUDA the kernel is compiled and tuned. Elsewhere Triton's interpreter runs it, one NumPy
operation at a time: the same numbers, for small inputs. Triton itself is there on Linux only;
where it is missing this module can be imported and read, and not run.
"""

from __future__ import annotations

import contextlib
import functools
import math
import types
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_lib.gpu import require_tensors

INTERPRETED = not torch.cuda.is_available()  # attention_lib.gpu has told Triton so

try:
    import triton
    import triton.language as tl
except ImportError:  # no build for this system
    triton = None
    tl = types.SimpleNamespace(constexpr=int)  # enough to define a kernel, and not to run one

LARGEST_HEAD = 128
DTYPES = (torch.float16, torch.bfloat16, torch.float32)
TUNED_ON = 8192  # rows, at most: what is fast there is fast for longer ones too

MISSING = (
    "Triton is not installed here: it has builds for Linux only. Everything else in this lesson "
    "works without it; for the kernel, open the lesson on Linux, in WSL or on Colab."
)
IMPORTED_TOO_EARLY = (
    "Triton was imported before this lesson could ask for its interpreter, and there is no CUDA "
    "device to compile for. Restart Python and import attention_lib.gpu first."
)

if triton:
    jit = triton.jit
    TUNED = [
        triton.Config({"ROWS": rows, "BLOCK": block}, num_warps=warps, num_stages=stages)
        for rows, block, warps, stages in (
            (128, 128, 8, 3),
            (128, 64, 8, 3),
            (128, 64, 4, 3),
            (64, 128, 4, 3),
            (64, 64, 4, 3),
            (64, 32, 4, 3),
            (64, 32, 4, 2),  # from here on for float32, whose tiles take twice the room
            (32, 32, 4, 2),
            (32, 32, 4, 1),
        )
    ]
    INTERPRETERS = [triton.Config({"ROWS": 16, "BLOCK": 16})]  # small, to reach every edge

    def _worth_trying(configs: list[Any], arguments: dict[str, Any], **_: Any) -> list[Any]:
        return configs[-3:] if arguments["query"].dtype == torch.float32 else configs[:-3]

    tuned = triton.autotune(
        INTERPRETERS if INTERPRETED else TUNED,
        key=["HEAD", "IS_CAUSAL", "length_class"],
        prune_configs_by={} if INTERPRETED else {"early_config_prune": _worth_trying},
    )
    fused = functools.partial(triton.jit, do_not_specialize=["length_class"])
else:
    jit = tuned = fused = lambda function: function


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
    for first in range(start, stop, BLOCK):
        columns = first + tl.arange(0, BLOCK)
        there = columns[:, None] < stop  # the last block may be short
        key = tl.load(key_pointers + first * key_stride, mask=there, other=0.0)
        value = tl.load(value_pointers + first * value_stride, mask=there, other=0.0)
        scores = tl.dot(query, tl.trans(key))  # (ROWS, BLOCK)
        if MASKED:
            scores = tl.where(columns[None, :] < limit[:, None], scores, float("-inf"))
        larger = tl.maximum(maximum, tl.max(scores, axis=1) * scale)
        weights = tl.exp2(scores * scale - larger[:, None])
        shrink = tl.exp2(maximum - larger)  # brings what is there to the new maximum
        total = total * shrink + tl.sum(weights, axis=1)
        output = output * shrink[:, None] + tl.dot(weights.to(value.dtype), value)
        maximum = larger
    return output, total, maximum


@tuned
@fused
def forward(
    query,
    key,
    value,
    output,
    query_strides,  # of each array: batch, head, row, component
    key_strides,
    value_strides,
    output_strides,
    heads,
    query_length,
    key_length,
    scale,
    length_class,  # only what the tuning depends on
    INNER: tl.constexpr,
    HEAD: tl.constexpr,
    WIDTH: tl.constexpr,
    IS_CAUSAL: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Compute ROWS rows of one head's output; INNER goes through the keys."""
    tiles = tl.cdiv(query_length, ROWS)
    tile = tiles - 1 - tl.program_id(0) % tiles  # under a causal mask the last ones take longest
    batch = (tl.program_id(0) // tiles // heads).to(tl.int64)
    head = (tl.program_id(0) // tiles % heads).to(tl.int64)
    rows = tile * ROWS + tl.arange(0, ROWS)
    keys = tl.arange(0, BLOCK)
    components = tl.arange(0, WIDTH)
    inside = rows[:, None] < query_length
    if HEAD < WIDTH:  # the query is 0 there, so that any number will do for key and value
        inside = inside & (components[None, :] < HEAD)
        components = tl.where(components < HEAD, components, 0)

    query += batch * query_strides[0] + head * query_strides[1]
    key += batch * key_strides[0] + head * key_strides[1]
    value += batch * value_strides[0] + head * value_strides[1]
    output += batch * output_strides[0] + head * output_strides[1]
    key_stride = tl.cast(key_strides[2], tl.int64)  # rows times stride may pass 2^31
    value_stride = tl.cast(value_strides[2], tl.int64)
    far_rows = rows[:, None].to(tl.int64)
    query_pointers = query + far_rows * query_strides[2] + components[None, :] * query_strides[3]
    output_pointers = output + far_rows * output_strides[2]
    output_pointers += components[None, :] * output_strides[3]
    key_pointers = key + keys[:, None] * key_stride + components[None, :] * key_strides[3]
    value_pointers = value + keys[:, None] * value_stride + components[None, :] * value_strides[3]

    limit = tl.zeros([ROWS], tl.int32) + key_length  # row i may see the keys below limit[i]
    seen_by_all = key_length
    stop = key_length
    if IS_CAUSAL:
        limit = tl.minimum(limit, rows + 1)
        seen_by_all = tl.minimum(key_length, tile * ROWS + 1)
        stop = tl.minimum(key_length, tile * ROWS + ROWS)  # no block wholly in the future
    unmasked = seen_by_all // BLOCK * BLOCK

    block = tl.load(query_pointers, mask=inside, other=0.0)
    result = tl.zeros([ROWS, WIDTH], tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    maximum = tl.full([ROWS], float("-inf"), tl.float32)
    result, total, maximum = INNER(
        block, key_pointers, value_pointers, key_stride, value_stride, 0, unmasked, limit, scale,
        result, total, maximum, BLOCK, False,
    )  # fmt: skip
    result, total, maximum = INNER(
        block, key_pointers, value_pointers, key_stride, value_stride, unmasked, stop, limit, scale,
        result, total, maximum, BLOCK, True,
    )  # fmt: skip
    result = result / total[:, None]
    tl.store(output_pointers, result.to(output.dtype.element_ty), mask=inside)


def flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    is_causal: bool = False,
    *,
    kernel: Callable[..., Any] = flash_kernel,
    tile: tuple[int, int] | None = None,
) -> Tensor:
    """Compute attention with the course's own Triton kernel, forward only.

    Parameters
    ----------
    query : Tensor, shape (..., L, d)
        float16, bfloat16 or float32, with d from 1 to 128.
    key, value : Tensor, shape (..., S, d)
        Of the same dtype and device. Leading dimensions broadcast; strides may be any.
    is_causal : bool, default False
        Whether query i sees the keys 0 to i only.
    kernel : Triton function, default `flash_kernel`
        The loop through the keys.
    tile : tuple of two int, optional
        How many rows and how many keys are taken at a time, powers of 2 from 16 on. By
        default tuning finds what is fast on this device.

    Returns
    -------
    Tensor, shape (..., L, d)
        The output, in the inputs' dtype, on their device. Sums run in float32, and memory
        beyond the output does not grow with L or S.

    Raises
    ------
    ImportError
        If Triton is not installed.
    RuntimeError
        If the inputs want gradients, or Triton was imported too early to be interpreted.
    TypeError, ValueError
        If dtypes, devices or shapes do not fit.

    Notes
    -----
    The method is that of Dao, "FlashAttention-2: Faster attention with better parallelism and
    work partitioning", arXiv:2307.08691 (2023). Triton's interpreter keeps bfloat16 as bare
    bits and cannot multiply it, so there bfloat16 inputs are computed in float32 and rounded
    once at the end.
    """
    _require(query, key, value)
    leading = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    shape = (*leading, *query.shape[-2:])
    if math.prod(shape) == 0 or key.shape[-2] == 0:  # nothing to mix: zeros
        return query.new_zeros(shape)
    dtype = query.dtype
    if INTERPRETED and dtype == torch.bfloat16:
        query, key, value = query.float(), key.float(), value.float()
    output = query.new_empty(_in_four(query, leading).shape)
    arrays = [_in_four(tensor, leading) for tensor in (query, key, value)]
    if max(output.shape[-2], key.shape[-2]) > TUNED_ON and not (tile or INTERPRETED):
        _tune(*arrays, bool(is_causal), kernel)
    _launch(*arrays, output, bool(is_causal), kernel, tile)
    return output.reshape(shape).to(dtype)


def _launch(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    is_causal: bool,
    kernel: Any,
    tile: tuple[int, int] | None = None,
) -> None:
    batch, heads, query_length, head = query.shape
    key_length = key.shape[-2]

    def grid(chosen: dict[str, Any]) -> tuple[int]:
        return (triton.cdiv(query_length, chosen["ROWS"]) * heads * batch,)

    launched = forward.fn if tile else forward  # without the tuning
    sizes = dict(zip(("ROWS", "BLOCK"), tile or (), strict=False))
    on_device = torch.cuda.device(query.device) if query.is_cuda else contextlib.nullcontext()
    with on_device:
        launched[grid](
            query,
            key,
            value,
            output,
            query.stride(),
            key.stride(),
            value.stride(),
            output.stride(),
            heads,
            query_length,
            key_length,
            math.log2(math.e) / math.sqrt(head),
            10 if max(query_length, key_length) <= 2048 else 11,
            INNER=kernel,
            HEAD=head,
            WIDTH=max(16, triton.next_power_of_2(head)),
            IS_CAUSAL=is_causal,
            **sizes,
            allowed_dot_input_precisions=("ieee",),  # no float32 is cut to 19 bits
        )


def _tune(query: Tensor, key: Tensor, value: Tensor, is_causal: bool, kernel: Any) -> None:
    """Let the tuning look at the first rows only: it runs every configuration several times."""
    first = [tensor[:, :, :TUNED_ON] for tensor in (query, key, value)]
    wanted = (query.dtype, query.shape[-1], is_causal, query.device, kernel)
    if wanted not in _tuned_for:
        _launch(*first, torch.empty_like(first[0]), is_causal, kernel)
        _tuned_for.add(wanted)


_tuned_for: set[tuple[Any, ...]] = set()


def _in_four(tensor: Tensor, leading: torch.Size) -> Tensor:
    """View (..., length, d) as (batch, heads, length, d), repeating what broadcasts."""
    tensor = tensor.detach().expand(*leading, *tensor.shape[-2:])
    if len(leading) > 2:
        return tensor.reshape(1, -1, *tensor.shape[-2:])
    return tensor[(None,) * (2 - len(leading))]


def _require(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Refuse what the kernel would get wrong."""
    if triton is None:
        raise ImportError(MISSING)
    if INTERPRETED and isinstance(tl.sum, triton.runtime.JITFunction):
        raise RuntimeError(IMPORTED_TOO_EARLY)
    require_tensors(query, key, value)
    if query.dtype not in DTYPES:
        raise TypeError(f"The kernel takes float16, bfloat16 or float32; it got {query.dtype}.")
    if query.device.type not in (("cpu",) if INTERPRETED else ("cuda",)):
        home = "the CPU, where Triton's interpreter runs" if INTERPRETED else "a CUDA device"
        raise ValueError(f"The kernel needs tensors on {home}; these are on {query.device}.")
    head = query.shape[-1]
    if value.shape[-1] != head or not 1 <= head <= LARGEST_HEAD:
        raise ValueError(
            f"The kernel needs one head size for query, key and value, from 1 to {LARGEST_HEAD}; "
            f"query has {head} and value {value.shape[-1]}."
        )
    if torch.is_grad_enabled() and any(t.requires_grad for t in (query, key, value)):
        raise RuntimeError(
            "The kernel has no backward pass: call it under torch.no_grad(), or train with "
            "torch_attention."
        )
