"""Lesson 10's launch: attention by a Triton kernel whose inner loop anybody may have written.

On CUDA the kernel is compiled and tuned. Elsewhere it runs in NumPy, one program after another: the
same numbers, for small inputs.
"""

from __future__ import annotations

import contextlib
import functools
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attention_lib.lessons.gpu.programs import Kernel, in_numpy
from attention_lib.lessons.gpu.triton import INTERPRETED, Config, autotune, jit, tl, triton

__all__ = ["flash_attention"]

LARGEST_HEAD = 128
DTYPES = (torch.float16, torch.bfloat16, torch.float32)
TOGETHER = tl.constexpr(32)  # heads
TUNED_ON = 8192  # rows, at most: what is fast there is fast for longer ones too


def uses_tensor_cores(query: Tensor) -> bool:
    """Tell whether products run on tensor cores: in 16 bits, and Triton wants Ampere."""
    modern = torch.cuda.get_device_capability(query.device) >= (8, 0)
    return modern and query.dtype != torch.float32


def time_or_lose(call: Callable[[], Any], quantiles: tuple[float, ...]) -> list[float]:
    """Time a configuration for Triton's tuning; one that fails, in any way, is the slowest.

    If all fail, the launch itself fails, and says why.
    """
    try:
        return triton.testing.do_bench(call, quantiles=quantiles)
    except Exception:
        return [math.inf] * len(quantiles)


def configurations(*listed: tuple[int, int, int, int, int | None]) -> list[Any]:
    """List what Triton compiles a kernel for: rows, keys, warps, stages, registers of a thread."""
    return [
        Config({"ROWS": rows, "BLOCK": keys}, warps, stages, maxnreg=registers)
        for rows, keys, warps, stages, registers in listed
    ]


# None of these spills on Hopper. Of a tile a warp takes 16 rows: with more warps than that, all is
# done twice. With 128 registers at most, two programs share a multiprocessor: one multiplies while
# the other exponentiates.
TUNED = configurations(
    (128, 128, 8, 3, None),
    (128, 64, 8, 3, 128),
    (128, 64, 4, 3, None),
    (64, 128, 4, 2, None),
    (64, 64, 4, 3, None),
    (64, 32, 4, 3, None),
)
WIDE = configurations((128, 128, 8, 3, None), (64, 64, 4, 3, None), (64, 32, 4, 3, None))
NUMBER_BY_NUMBER = configurations(  # without tensor cores large tiles compile for minutes
    (64, 32, 4, 2, None), (32, 32, 4, 2, None), (32, 32, 4, 1, None)
)
IN_NUMPY = configurations((16, 16, 4, 3, None))  # small, to reach every edge


def tuned_over(configs: list[Any], wide: list[Any], without_tensor_cores: list[Any]) -> Any:
    """Return Triton's tuning over some configurations; `wide` are those for heads of more than 64."""

    def worth_trying(_: Any, arguments: dict[str, Any], HEAD: int, **__: Any) -> list[Any]:
        fitting = wide if HEAD > 64 else configs
        if not uses_tensor_cores(arguments["query"]):
            fitting = without_tensor_cores
        is_short = arguments["length_class"] <= 8  # fewer than 256 rows and keys: any tile will do
        return fitting[-1:] if is_short else fitting

    return autotune(
        IN_NUMPY if INTERPRETED else configs,
        key=["HEAD", "IS_CAUSAL", "length_class"],
        prune_configs_by={} if INTERPRETED else {"early_config_prune": worth_trying},
        do_bench=time_or_lose,
    )


# No length is made a constant: one of 1 would be, and for such a kernel ptxas 12.8 crashes.
LENGTHS = ["query_length", "key_length", "length_class"]
fused = functools.partial(jit, do_not_specialize=LENGTHS)


@tuned_over(TUNED, WIDE, NUMBER_BY_NUMBER)
@fused
def forward(
    query,
    key,
    value,
    output,
    logsumexp,  # (batch, heads, row), without gaps; in powers of 2
    query_strides,  # of each array: batch, head, row, component
    key_strides,
    value_strides,
    output_strides,
    heads,
    query_length,
    key_length,
    scale,
    length_class,  # only what the tuning depends on, the length's binary digits
    INNER: tl.constexpr,
    HEAD: tl.constexpr,
    WIDTH: tl.constexpr,
    PACKED: tl.constexpr,  # whether keys, and values, follow each other without a gap
    IS_CAUSAL: tl.constexpr,
    KEEPS_LOGSUMEXP: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Compute ROWS rows of one head's output; INNER goes through the keys."""
    # Under a causal mask the last tiles take longest: those of TOGETHER heads go first, and short
    # ones fill the gaps at the end. Still more heads at a time would crowd the cache.
    tiles = tl.cdiv(query_length, ROWS)
    group = tl.program_id(0) // (tiles * TOGETHER) * TOGETHER
    members = tl.minimum(tl.num_programs(0) // tiles - group, TOGETHER)
    place = tl.program_id(0) % (tiles * TOGETHER)
    tile = tiles - 1 - place // members
    batch = ((group + place % members) // heads).to(tl.int64)
    head = ((group + place % members) % heads).to(tl.int64)
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
    # Rows times stride may pass 2^31. A stride that is a constant leaves more registers free.
    key_stride = tl.cast(HEAD if PACKED else key_strides[2], tl.int64)
    value_stride = tl.cast(HEAD if PACKED else value_strides[2], tl.int64)
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
    if unmasked < stop:  # ptxas may run the products of two bare loops one by one
        result, total, maximum = INNER(
            block, key_pointers, value_pointers, key_stride, value_stride, unmasked, stop, limit,
            scale, result, total, maximum, BLOCK, True,
        )  # fmt: skip
    if KEEPS_LOGSUMEXP:
        of_rows = (batch * heads + head) * query_length + rows
        tl.store(logsumexp + of_rows, maximum + tl.log2(total), mask=rows < query_length)
    result = result / total[:, None]
    tl.store(output_pointers, result.to(output.dtype.element_ty), mask=inside)


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
    """Launch `forward`; with a tile, without tuning, and with such options as num_warps.

    What Triton compiled is returned, or None where it runs in NumPy.
    """
    batch, heads, query_length, head = query.shape
    key_length = key.shape[-2]

    def grid(chosen: dict[str, Any]) -> tuple[int]:
        return (-(-query_length // chosen["ROWS"]) * heads * batch,)

    tuned = forward.fn if tile else forward
    launched = in_numpy(forward) if runs_in_numpy(kernel) else tuned
    sizes = dict(zip(("ROWS", "BLOCK"), tile or (), strict=False))
    arrays = (query, key, value, output)
    with on_device_of(query):
        return launched[grid](
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
