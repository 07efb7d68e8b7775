"""Lesson 10's launch: attention by a Triton kernel whose inner loop anybody may have written.

On CUDA the kernel is compiled and tuned. Elsewhere it runs in NumPy, one program after another: the
same numbers, for small inputs.
"""

from __future__ import annotations

import contextlib
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

import attention_lib.lessons.gpu.tile_language as tile_language  # its package is a stub in the sandbox
from attention_lib.lessons.gpu.programs import Kernel, block_of, in_numpy, one_program, pointer
from attention_lib.lessons.gpu.tile_language import as_block
from attention_lib.lessons.gpu.triton import INTERPRETED
from attention_lib.lessons.gpu.triton import jit as jit  # for kernels, as is tl
from attention_lib.lessons.gpu.triton import tl as tl

__all__ = ["flash_attention"]

LARGEST_HEAD = 128
DTYPES = (torch.float16, torch.bfloat16, torch.float32)
IN_NUMPY = (16, 16)  # rows and keys of a tile: small, to reach every edge
TUNED_ON = 8192  # rows, at most: what is fast there is fast for longer ones too


def flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    is_causal: bool = False,
    *,
    kernel: Callable[..., Any] | None = None,
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
    kernel : Triton function, optional
        The loop through the keys, `flash_kernel` by default.
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
    RuntimeError
        If the inputs want gradients.
    TypeError, ValueError
        If dtypes, devices or shapes do not fit.

    Notes
    -----
    The method is that of Dao, "FlashAttention-2: Faster attention with better parallelism and
    work partitioning", arXiv:2307.08691 (2023).
    """
    return _attend(query, key, value, bool(is_causal), kernel, tile)[0]


def attend_with_logsumexp(
    query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False
) -> tuple[Tensor, Tensor]:
    """Return `flash_attention`'s output and what a backward pass needs of each row.

    The second, (..., L) in float32, is log2 of the row's sum of 2^(score · log2 e / √d); it is -inf
    where there is no key.
    """
    output, logsumexp = _attend(query, key, value, bool(is_causal), None, None, True)
    assert logsumexp is not None
    return output, logsumexp


def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    is_causal: bool,
    kernel: Any,
    tile: tuple[int, int] | None,
    keeps_logsumexp: bool = False,
) -> tuple[Tensor, Tensor | None]:
    if kernel is None:
        from attention_lib.lessons.gpu.kernel import flash_kernel as kernel
    runs_here = runs_in_numpy(kernel)
    _require(query, key, value, runs_here)
    leading = np.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    shape = (*leading, *query.shape[-2:])
    logsumexp = None
    if keeps_logsumexp:
        logsumexp = query.new_full(shape[:-1], -math.inf, dtype=torch.float32)
    if math.prod(shape) == 0 or key.shape[-2] == 0:  # nothing to mix: zeros
        return query.new_zeros(shape), logsumexp
    output = query.new_empty(_in_four(query, leading).shape)
    arrays = [_in_four(tensor, leading) for tensor in (query, key, value)]
    if max(output.shape[-2], key.shape[-2]) > TUNED_ON and not (tile or runs_here):
        _tune(*arrays, is_causal, kernel, keeps_logsumexp)
    launch_forward(*arrays, output, is_causal, kernel, tile, logsumexp)
    return output.reshape(shape), logsumexp


def launch_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    is_causal: bool,
    kernel: Any,
    tile: tuple[int, int] | None = None,
    logsumexp: Tensor | None = None,
    **options: Any,
) -> Any:
    """Launch the outer kernel; with a tile, without tuning, and with such options as num_warps.

    What Triton compiled is returned, or None where the inner loop runs in NumPy.
    """
    if runs_in_numpy(kernel):
        return attend_in_numpy(query, key, value, output, is_causal, kernel, tile, logsumexp)
    # An answer to this lesson's flash_program, but for its strides: a submission does not have it.
    from attention_lib.lessons.gpu.forward import forward

    batch, heads, query_length, head = query.shape
    key_length = key.shape[-2]

    def grid(chosen: dict[str, Any]) -> tuple[int]:
        return (-(-query_length // chosen["ROWS"]) * heads * batch,)

    tuned = forward.fn if tile else forward
    sizes = dict(zip(("ROWS", "BLOCK"), tile or (), strict=False))
    arrays = (query, key, value, output)
    with on_device_of(query):
        return tuned[grid](
            *arrays,
            output if logsumexp is None else logsumexp,
            *(tensor.stride() for tensor in arrays),
            heads,
            query_length,
            key_length,
            scale_of(head),
            min(max(query_length, key_length), TUNED_ON).bit_length(),
            INNER=kernel,
            HEAD=head,
            WIDTH=width_of(head),
            PACKED=key.stride(2) == value.stride(2) == head,
            IS_CAUSAL=is_causal,
            KEEPS_LOGSUMEXP=logsumexp is not None,
            **sizes,
            **options,
            allowed_dot_input_precisions=("ieee",),  # no float32 is cut to 19 bits
        )


def attend_in_numpy(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    is_causal: bool,
    kernel: Any,
    tile: tuple[int, int] | None,
    logsumexp: Tensor | None,
) -> None:
    """Hand one tile after the other to an inner loop that runs in NumPy.

    What a tile's rows see together is read from the mask of all their keys, as no kernel could.
    """
    inner = in_numpy(kernel) if not isinstance(kernel, types.FunctionType) else kernel
    length, keys = output.shape[-2], np.arange(key.shape[-2])
    rows, block = tile or IN_NUMPY
    scale = as_block(scale_of(output.shape[-1]))
    for place in np.ndindex(*output.shape[:2]):
        arrays = [tensor[place] for tensor in (query, key, value, output)]
        for first in range(0, length, rows):
            last_seen = np.arange(first, first + rows) if is_causal else np.full(rows, len(keys))
            stats = (
                None
                if logsumexp is None
                else logsumexp.view(output.shape[:3])[place][first : first + rows]
            )
            with one_program():
                seen = keys <= last_seen[:, None]
                _attend_tile(*arrays, first, seen, scale, inner, block, stats)


def _attend_tile(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    first: int,
    seen: Any,
    scale: Any,
    inner: Any,
    block: int,
    stats: Tensor | None,
) -> None:
    """Compute the rows of one head from `first` on, of which `seen` says who sees which key."""
    rows, head = len(seen), query.shape[-1]
    width = width_of(head)
    components = np.arange(width)
    inside = block_of((np.arange(first, first + rows) < len(query))[:, None] & (components < head))
    components = np.where(components < head, components, 0)

    def pointers(name: str, tensor: Tensor, places: Any) -> Any:
        steps = places[:, None] * tensor.stride(0) + components * tensor.stride(1)
        return pointer(name, tensor) + block_of(steps)

    whole = int(seen.all(axis=0).sum()) // block * block
    stop = int(seen.any(axis=0).sum())
    limit = block_of(seen.sum(axis=1, dtype=np.int32))
    own, of_block = np.arange(first, first + rows), np.arange(block)
    queries = tile_language.load(pointers("query", query, own), mask=inside, other=0.0)
    keys, values = pointers("key", key, of_block), pointers("value", value, of_block)
    strides = [tile_language.cast(tensor.stride(0), tile_language.int64) for tensor in (key, value)]
    result = tile_language.zeros([rows, width], tile_language.float32)
    total = tile_language.zeros([rows], tile_language.float32)
    maximum = tile_language.full([rows], -math.inf, tile_language.float32)
    for masked, start, end in ((False, 0, whole), (True, whole, stop)):
        if not masked or start < end:
            result, total, maximum = inner(
                queries, keys, values, *strides, as_block(start), as_block(end), limit, scale,
                result, total, maximum, block, masked,
            )  # fmt: skip
    result = result / total[:, None]
    kind = pointer("output", output)
    tile_language.store(
        pointers("output", output, own), result.to(kind.dtype.element_ty), mask=inside
    )
    if stats is not None:
        stats.copy_(torch.from_numpy((maximum + tile_language.log2(total)).data[: len(stats)]))


def run_program(
    program: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    is_causal: bool = False,
    *,
    kernel: Any,
    tile: tuple[int, int],
) -> None:
    """Launch an outer kernel such as `flash_program` on a grid of (tiles, heads).

    query and output (heads, L, d), key and value (heads, S, d), without gaps in memory, d a power
    of 2 from 16 to 128, S at least 1. `kernel` is its inner loop, and `tile` says how many rows
    and how many keys are taken at a time. The program writes to `output`.
    """
    _require(query, key, value, runs_in_numpy(program))
    heads, query_length, head = query.shape
    arrays = {"query": query, "key": key, "value": value, "output": output}
    for name, tensor in arrays.items():
        if not tensor.is_contiguous() or tensor.ndim != 3 or len(tensor) != heads:
            raise ValueError(f"{name} must be (heads, length, d), of {heads} heads, without gaps.")
        if tensor.numel() >= 2**31:
            raise ValueError(f"{name} has 2^31 numbers or more: their places need 64 bits.")
    if head < 16 or head & (head - 1) or key.shape[-2] == 0:
        raise ValueError(
            f"The program needs a head size of 16, 32, 64 or 128, and at least one key; it got "
            f"{head}, and {key.shape[-2]} keys."
        )
    require_grid(heads)
    rows, block = tile
    with on_device_of(query):
        program[(-(-query_length // rows), heads)](
            *arrays.values(),
            query_length,
            key.shape[-2],
            scale_of(head),
            INNER=kernel,
            HEAD=head,
            IS_CAUSAL=is_causal,
            ROWS=rows,
            BLOCK=block,
            allowed_dot_input_precisions=("ieee",),
        )


def _tune(
    query: Tensor, key: Tensor, value: Tensor, is_causal: bool, kernel: Any, keeps_logsumexp: bool
) -> None:
    """Let the tuning look at the first rows only: it runs every configuration several times.

    Triton tunes anew for another dtype of any array, so a log-sum-exp is kept if the call keeps one.
    """
    first = [tensor[:, :, :TUNED_ON] for tensor in (query, key, value)]
    wanted = (query.dtype, query.shape[-1], is_causal, query.device, kernel, keeps_logsumexp)
    if wanted not in _tuned_for:
        shape = first[0].shape[:-1]
        logsumexp = query.new_empty(shape, dtype=torch.float32) if keeps_logsumexp else None
        output = torch.empty_like(first[0])
        launch_forward(*first, output, is_causal, kernel, logsumexp=logsumexp)
        _tuned_for.add(wanted)


_tuned_for: set[tuple[Any, ...]] = set()


def _in_four(tensor: Tensor, leading: torch.Size) -> Tensor:
    """View (..., length, d) as (batch, heads, length, d), repeating what broadcasts."""
    tensor = tensor.detach().expand(*leading, *tensor.shape[-2:])
    if len(leading) > 2:
        return tensor.reshape(1, -1, *tensor.shape[-2:])
    return tensor[(None,) * (2 - len(leading))]


def runs_in_numpy(kernel: Any) -> bool:
    """Tell whether a kernel is not compiled, as off CUDA, or because it is none of Triton's."""
    return INTERPRETED or isinstance(kernel, (Kernel, types.FunctionType))


def on_device_of(tensor: Tensor) -> Any:
    """Return a context in which kernels are launched on a tensor's device."""
    return torch.cuda.device(tensor.device) if tensor.is_cuda else contextlib.nullcontext()


def scale_of(head: int) -> float:
    """Return log2(e) / √d, so that 2 to the power of a scaled score is a softmax's exponential."""
    return math.log2(math.e) / math.sqrt(head)


def width_of(head: int) -> int:
    """Return the power of 2 that a head is filled up to, 16 at least."""
    return max(16, 1 << (head - 1).bit_length())


def _require(query: Tensor, key: Tensor, value: Tensor, runs_here: bool) -> None:
    """Refuse what the kernel would get wrong."""
    require_tensors(query, key, value)
    if query.dtype not in DTYPES:
        raise TypeError(f"The kernel takes float16, bfloat16 or float32; it got {query.dtype}.")
    if query.device.type != ("cpu" if runs_here else "cuda"):
        home = "the CPU, where it runs without Triton" if runs_here else "a CUDA device"
        raise ValueError(f"The kernel needs tensors on {home}; these are on {query.device}.")
    head = query.shape[-1]
    if value.shape[-1] != head or not 1 <= head <= LARGEST_HEAD:
        raise ValueError(
            f"The kernel needs one head size for query, key and value, from 1 to {LARGEST_HEAD}; "
            f"query has {head} and value {value.shape[-1]}."
        )
    if torch.is_grad_enabled() and any(t.requires_grad for t in (query, key, value)):
        raise RuntimeError(
            "flash_attention has no backward pass: call it under torch.no_grad(), or train with "
            "flash_attention_with_gradients or torch_attention."
        )


def require_grid(heads: int) -> None:
    """Refuse more heads than the second dimension of a CUDA grid has room for."""
    if heads >= 2**16:
        raise ValueError(
            f"A grid of (tiles, heads) has room for 65,535 heads; there are {heads:,}."
        )


def require_tensors(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Refuse tensors that attention is not defined for, in one sentence."""
    named = {"query": query, "key": key, "value": value}
    for name, tensor in named.items():
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} must be a torch tensor; it is {type(tensor).__name__}.")
        if not tensor.dtype.is_floating_point:
            raise TypeError(f"{name} must hold floating-point numbers; it holds {tensor.dtype}.")
        if tensor.ndim < 2:
            raise ValueError(
                f"{name} needs at least two dimensions, its vectors as rows; "
                f"it has shape {tuple(tensor.shape)}."
            )
    for what in ("device", "dtype"):
        if len({getattr(tensor, what) for tensor in named.values()}) > 1:
            got = ", ".join(f"{name} {getattr(t, what)}" for name, t in named.items())
            raise (ValueError if what == "device" else TypeError)(
                f"query, key and value must have one {what}; got {got}."
            )
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        got = ", ".join(f"{name} {tuple(t.shape)}" for name, t in named.items())
        raise ValueError(f"Attention needs (..., L, d_k), (..., S, d_k), (..., S, d_v); got {got}.")
    try:
        # PyTorch's function of this name imports SymPy when it is first called, which takes a second.
        np.broadcast_shapes(*(tensor.shape[:-2] for tensor in named.values()))
    except ValueError:
        got = ", ".join(f"{name} {tuple(t.shape)}" for name, t in named.items())
        raise ValueError(
            f"The dimensions before the last two must be equal, or 1, to broadcast; got {got}."
        ) from None
