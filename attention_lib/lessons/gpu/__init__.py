"""Lesson 10: attention in PyTorch on whatever accelerator there is, counted and timed."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable

from attention_lib.arguments import OneLine, as_integer


class NoTorch(OneLine, ImportError):
    """Raised where PyTorch is missing; the text says how to get it."""


try:
    import torch
    from torch import Tensor
except ModuleNotFoundError:
    raise NoTorch(
        "Lesson 10 needs PyTorch.\nStop JupyterLab and type `make lab TORCH=1`.\n"
        "On Linux without an NVIDIA card, type these instead (200 MB, not several gigabytes):\n"
        "    .venv/bin/uv pip install --torch-backend cpu torch==2.13.0\n    make lab"
    ) from None

from attention_lib.lessons.gpu.launch import require_tensors  # noqa: E402

__all__ = ["attention_flops", "decode_part", "pick_device", "time_milliseconds", "torch_attention"]


def pick_device() -> torch.device:
    """Return the device to compute on: CUDA where there is one, then Apple's MPS, then the CPU.

    Returns
    -------
    torch.device

    Examples
    --------
    >>> from attention_lib import pick_device
    >>> pick_device().type in ("cuda", "mps", "cpu")
    True
    """
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def torch_attention(query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False) -> Tensor:
    """Compute attention from tensor primitives, with the whole (L, S) matrix in memory.

    Parameters
    ----------
    query : Tensor, shape (..., L, d_k)
        Of any floating dtype, on any device.
    key : Tensor, shape (..., S, d_k)
    value : Tensor, shape (..., S, d_v)
        Of the same dtype and device. Leading dimensions broadcast.
    is_causal : bool, default False
        Whether query i sees the keys 0 to i only.

    Returns
    -------
    Tensor, shape (..., L, d_v)
        The output, in the inputs' dtype, on their device; gradients flow through it.

    Raises
    ------
    TypeError
        If the dtypes differ, or are not floating.
    ValueError
        If shapes or devices do not fit.

    Notes
    -----
    The softmax of 16-bit scores runs in float32: its sums have too many terms for 8 or 11 bits.

    Examples
    --------
    >>> import torch
    >>> from attention_lib import torch_attention
    >>> query, key = torch.zeros(1, 3), torch.ones(2, 3)
    >>> torch_attention(query, key, torch.tensor([[0.0, 2.0], [4.0, 4.0]]))
    tensor([[2., 3.]])
    """
    require_tensors(query, key, value)
    # Scaling the query and not the scores keeps float16 away from its largest number, 65504.
    scores = (query / math.sqrt(query.shape[-1])) @ key.transpose(-2, -1)
    if is_causal:
        past = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        scores = scores.masked_fill(~past, -math.inf)
    wide = torch.promote_types(scores.dtype, torch.float32)
    weights = torch.softmax(scores, dim=-1, dtype=wide)
    return weights.to(value.dtype) @ value


def decode_part(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Compute attention over a part of the keys, and what it takes to join the parts.

    Parameters
    ----------
    query : Tensor, shape (..., L, d)
        Of any floating dtype, on any device.
    key : Tensor, shape (..., S, d)
        The keys of this part; there may be none.
    value : Tensor, shape (..., S, d_v)
        Of the same dtype and device. Leading dimensions broadcast.

    Returns
    -------
    output : Tensor, shape (..., L, d_v)
        Attention over these keys alone, in the inputs' dtype; zeros where there are none.
    logsumexp : Tensor, shape (..., L)
        Of each query's scaled scores, in float32 or a wider dtype; -inf where there are none.

    Raises
    ------
    TypeError
        If the dtypes differ, or are not floating.
    ValueError
        If shapes or devices do not fit.

    Notes
    -----
    Dao et al., "Flash-Decoding for long-context inference" (2023): programs share a long cache,
    and `merge_attention` joins what they return.

    Examples
    --------
    >>> import torch
    >>> from attention_lib import decode_part
    >>> query, key = torch.zeros(1, 4), torch.ones(2, 4)
    >>> output, logsumexp = decode_part(query, key, torch.tensor([[0.0], [4.0]]))
    >>> output, logsumexp.exp()
    (tensor([[2.]]), tensor([2.]))
    """
    require_tensors(query, key, value)
    scores = (query / math.sqrt(query.shape[-1])) @ key.transpose(-2, -1)
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    logsumexp = torch.logsumexp(scores, dim=-1)
    weights = torch.exp(scores - logsumexp[..., None])
    return weights.to(value.dtype) @ value, logsumexp


def attention_flops(
    batch: int, heads: int, length: int, head_dim: int, is_causal: bool = False
) -> int:
    """Count the floating-point operations of attention's two matrix products, one forward pass.

    Parameters
    ----------
    batch, heads, length, head_dim : int
        The sizes, with as many keys as queries.
    is_causal : bool, default False
        Whether half of the pairs of a query and a key are left out.

    Returns
    -------
    int
        A multiplication and an addition are two operations.

    Raises
    ------
    TypeError
        If a size is not an integer.
    ValueError
        If a size is below 0.

    Examples
    --------
    >>> from attention_lib import attention_flops
    >>> attention_flops(1, 8, 4096, 64)
    34359738368
    """
    sizes = {"batch": batch, "heads": heads, "length": length, "head_dim": head_dim}
    batch, heads, length, head_dim = (as_integer(size, name, 0) for name, size in sizes.items())
    products = 2 * (2 * batch * heads * length * length * head_dim)  # QK^T and PV
    return products // 2 if is_causal else products


def time_milliseconds(
    fn: Callable[[], object], device: torch.device | str, repeats: int = 10
) -> float:
    """Time a function on a device: the median of several calls, after one that does not count.

    Parameters
    ----------
    fn : function of no arguments
        What to time.
    device : torch.device or str
        Where `fn` puts its work.
    repeats : int, default 10
        How many calls are timed.

    Returns
    -------
    float
        The median, in milliseconds.

    Raises
    ------
    ValueError
        If `repeats` is below 1.
    """
    return statistics.median(call_times(fn, device, repeats))


def call_times(
    fn: Callable[[], object],
    device: torch.device | str,
    repeats: int = 10,
    ahead: Callable[[], object] = lambda: None,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Return the milliseconds that each of `repeats` calls took, after an untimed one.

    Each call starts on an idle device and ends when the device is idle again. On CUDA the
    device's own clock is read, elsewhere `clock`. What `ahead` gives to a CUDA device comes
    first and is not timed; meanwhile Python hands over the call, so that this does not count.
    """
    if repeats < 1:
        raise ValueError(f"repeats must be at least 1; it is {repeats}.")
    device = torch.device(device)
    fn()  # compiles, allocates, fills caches
    synchronize(device)
    times = []
    for _ in range(repeats):
        ahead()
        is_cuda = device.type == "cuda"
        times.append(_one_by_events(fn, device) if is_cuda else _one_by_clock(fn, device, clock))
    return times


def _one_by_events(fn: Callable[[], object], device: torch.device) -> float:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    fn()
    end.record()
    synchronize(device)
    return start.elapsed_time(end)


def _one_by_clock(
    fn: Callable[[], object], device: torch.device, clock: Callable[[], float]
) -> float:
    start = clock()
    fn()
    synchronize(device)
    return 1e3 * (clock() - start)


def synchronize(device: torch.device | str) -> None:
    """Wait until the device has done all that it was given; a CPU has, always."""
    device = torch.device(device)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()
