"""Lesson 10's measurements: the ways to compute attention on a device, compared, timed and kept."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import functools
import inspect
import itertools
import json
import os
import platform
import statistics
import subprocess
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
import torch._functorch.config
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from attention_lib.lessons.attention import attention
from attention_lib.lessons.flash import attention_bytes
from attention_lib.lessons.gpu import attention_flops, call_times, synchronize, torch_attention

RESULTS = Path(__file__).parents[3] / "benchmarks" / "results"
KERNEL = "our Triton kernel"
NAIVE = "naive torch"
COMPILED = "naive, torch.compile"
FORWARD, GRAD_QUERY, GRAD_KEY_VALUE = "forward", "grad of queries", "grad of keys, values"
PRODUCTS = {FORWARD: 2, GRAD_QUERY: 3, GRAD_KEY_VALUE: 4}  # of matrices, in each of our kernels

Call = Callable[[], Tensor]
Prepare = Callable[[Tensor, Tensor, Tensor, bool], Call]


@dataclass(frozen=True)
class Variant:
    """One way to compute attention, or the reason why it is not there.

    `prepare(query, key, value, is_causal)` does what need not be timed and returns the call;
    `problem` is empty where it can be used, and `untimed` where its time means something.
    """

    name: str
    prepare: Prepare
    problem: str = ""
    untimed: str = ""
    holds_scores: bool = False  # the whole L × S matrix, several times over


@dataclass(frozen=True)
class Row:
    """What one variant took for one size, or the problem that kept it from being measured.

    With a tile it is one of our kernels alone, as Triton's tuning timed it.
    """

    variant: str
    batch: int
    heads: int
    length: int
    head_dim: int
    is_causal: bool
    dtype: str
    milliseconds: list[float] = field(default_factory=list)
    peak_bytes: int | None = None  # beyond the inputs
    problem: str = ""
    is_backward: bool = False  # the gradients alone, without the forward pass before them
    tile: dict[str, int | None] = field(default_factory=dict)  # rows, keys, warps, stages, maxnreg

    @property
    def median(self) -> float:
        return statistics.median(self.milliseconds)

    @property
    def operations(self) -> int:
        """Count those of the products: two forwards, five backwards, or those of one kernel."""
        sizes = (self.batch, self.heads, self.length, self.head_dim, self.is_causal)
        products = PRODUCTS.get(self.variant, 5 if self.is_backward else 2)
        return attention_flops(*sizes) * products // 2

    @property
    def tflops(self) -> float:
        """Return 10^12 operations a second."""
        return self.operations / self.median / 1e9


def variants(device: torch.device, dtype: torch.dtype, head_dim: int = 64) -> list[Variant]:
    """List every way to compute attention, each tried on a few numbers of that kind."""
    backends = {
        "SDPA math": SDPBackend.MATH,
        "SDPA memory-efficient": SDPBackend.EFFICIENT_ATTENTION,
        "SDPA Flash": SDPBackend.FLASH_ATTENTION,
        "SDPA cuDNN": SDPBackend.CUDNN_ATTENTION,
    }
    there = [Variant(NAIVE, _naive, holds_scores=True)]
    there += [
        Variant(name, _forced(backend), holds_scores=backend is SDPBackend.MATH)
        for name, backend in backends.items()
    ]
    by_compiling = "" if device.type == "cuda" else "not tried: compiling it here takes a minute"
    there.insert(1, Variant(COMPILED, _naive_compiled, by_compiling, holds_scores=True))
    there.append(Variant("FlexAttention", _flex, problem=by_compiling))
    interpreted = "" if device.type == "cuda" else "interpreted: its time would say nothing"
    there.append(Variant(KERNEL, _kernel, untimed=interpreted))
    return [_tried(variant, device, dtype, head_dim) for variant in there]


def measure(
    variant: Variant,
    tensors: tuple[Tensor, Tensor, Tensor],
    is_causal: bool = False,
    repeats: int = 10,
    is_backward: bool = False,
) -> Row:
    """Time a variant on query, key and value (batch, heads, length, d), and find its peak memory.

    With `is_backward` the gradients of all three are timed, and the forward pass is not. Running
    out of memory is a result like any other: a row that says so.
    """
    batch, heads, length, head_dim = tensors[0].shape
    dtype = str(tensors[0].dtype).removeprefix("torch.")
    row = Row(
        variant.name, batch, heads, length, head_dim, is_causal, dtype, is_backward=is_backward
    )
    problem = variant.problem or variant.untimed or _shortage(variant, tensors[0])
    if problem:
        return dataclasses.replace(row, problem=problem)
    device = tensors[0].device
    try:
        prepare = _backward_of(variant) if is_backward else variant.prepare
        call = prepare(*tensors, is_causal)
        # On a CPU without the time that other programs take.
        clock = time.process_time if device.type == "cpu" else time.perf_counter
        times = call_times(call, device, repeats, keep_busy(device), clock)
        return dataclasses.replace(row, milliseconds=times, peak_bytes=peak_bytes(call, device))
    except NotImplementedError as error:  # such as a way that has no gradients
        return dataclasses.replace(row, problem=_short_reason(error, device))
    except (RuntimeError, MemoryError) as error:
        if not _out_of_memory(error):
            raise
    if device.type == "cuda":
        torch.cuda.empty_cache()
    return dataclasses.replace(row, problem="out of memory")


def _backward_of(variant: Variant) -> Callable[..., Callable[[], Any]]:
    def prepare(
        query: Tensor, key: Tensor, value: Tensor, is_causal: bool
    ) -> Callable[[], tuple[Tensor, ...]]:
        inputs = [tensor.detach().requires_grad_() for tensor in (query, key, value)]
        output = variant.prepare(*inputs, is_causal)()
        toward = torch.randn_like(output)
        return lambda: torch.autograd.grad(output, inputs, toward, retain_graph=True)

    return prepare


def keep_busy(device: torch.device) -> Callable[[], None]:
    """Return what keeps a CUDA device busy for longer than Python takes to hand over a call.

    The device is awake then: its clocks, low while it was idle, have had time to rise.
    """
    if device.type != "cuda":
        return lambda: None
    room = torch.empty(2**28, dtype=torch.uint8, device=device)

    def write() -> None:
        for _ in range(8):  # half a millisecond where memory is fastest; clears the caches, too
            room.zero_()

    wake(write, device)
    return write


def wake(work: Callable[[], Any], device: torch.device, seconds: float = 0.3) -> int:
    """Give a device work for so many seconds; return how often the work was done."""
    until = time.perf_counter() + seconds
    for done in itertools.count(1):
        work()
        synchronize(device)
        if time.perf_counter() >= until:
            return done
    raise AssertionError


def peak_bytes(call: Callable[[], Any], device: torch.device) -> int | None:
    """Return the most memory a call held beyond what was held before; None if nothing tells."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        call()
        torch.cuda.synchronize(device)
        return torch.cuda.max_memory_allocated(device) - before
    if device.type == "cpu":
        with contextlib.suppress(OSError):  # Linux keeps the largest size of a process
            _return_freed_memory()
            Path("/proc/self/clear_refs").write_text("5")
            before = _size_of_process("VmRSS")
            call()
            return max(0, _size_of_process("VmHWM") - before)
    return None


HEADER = f"{'':22}{'tokens':>9}  {'mask':13}{'ms':>9}  {'from – to':>17}{'TFLOP/s':>10}{'MiB':>8}"


def text_table(rows: Iterable[Row], header: str = HEADER) -> str:
    """Write rows as a table: median and spread, speed and memory, or what went wrong."""
    lines = [header] if header else []
    for row in rows:
        mask = "causal" if row.is_causal else "none"
        mask += ", back" if row.is_backward else ""
        head = f"{row.variant:22}{row.length:9,}  {mask:13}"
        tile = "".join(f"  {what} {n}" for what, n in row.tile.items() if n)
        if row.problem:
            lines.append(f"{head}  {row.problem}{tile}")
            continue
        spread = f"{_digits(min(row.milliseconds))} – {_digits(max(row.milliseconds))}"
        room = "" if row.peak_bytes is None else f"{row.peak_bytes / 2**20:.0f}"
        lines.append(
            f"{head}{_digits(row.median):>9}  {spread:>17}{_digits(row.tflops):>10}{room:>8}{tile}"
        )
    return "\n".join(lines)


def _digits(number: float) -> str:
    """Write three digits, and every digit of a whole number from 1,000 on."""
    return f"{number:,.0f}" if number >= 999.5 else f"{number:.3g}"


def ceilings(device: torch.device, dtype: torch.dtype, size: int) -> tuple[float, float]:
    """Measure what the device can do: operations a second in a matrix product, bytes a second.

    The product is of two (size, size) matrices; the copy is of as many bytes as 16 of them have.
    """
    left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    ahead = keep_busy(device)
    milliseconds = statistics.median(call_times(lambda: left @ right, device, 5, ahead))
    peak = 2 * size**3 / milliseconds * 1e3
    source = torch.zeros(16 * size * size, device=device, dtype=dtype)
    target = torch.empty_like(source)
    milliseconds = statistics.median(call_times(lambda: target.copy_(source), device, 5, ahead))
    moved = 2 * source.numel() * source.element_size()  # read, and written
    return peak, moved / milliseconds * 1e3


def describe(device: torch.device) -> dict[str, str]:
    """Say what the numbers were measured on, with which versions, and when."""
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
    else:
        kind = "Apple GPU" if device.type == "mps" else "CPU"
        threads = torch.get_num_threads()
        name = f"{kind} ({platform.machine()}, {threads} thread{'s'[: threads > 1]})"
    from attention_lib.lessons.gpu.triton import triton

    return {
        "device": name,
        "torch": torch.__version__,
        "triton": triton.__version__ if triton else "none",
        "cuda": torch.version.cuda or "none",
        "limits": _limits(device),
        "date": date.today().isoformat(),
    }


def fast_dtype(device: torch.device) -> torch.dtype:
    """Return the dtype that a device multiplies fastest among those that attention is timed in."""
    if device.type == "cuda":
        # Older cards, such as the T4, have no bfloat16 in hardware.
        modern = torch.cuda.get_device_capability(device) >= (8, 0)
        return torch.bfloat16 if modern else torch.float16
    return torch.float16 if device.type == "mps" else torch.float32


def _limits(device: torch.device) -> str:
    """Ask NVIDIA's tool for the power limit and the clocks, on which a speed depends."""
    command = (
        "nvidia-smi --query-gpu=power.limit,clocks.max.sm,clocks.max.mem --format=csv,noheader"
    )
    if device.type == "cuda":
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            shown = subprocess.run(
                command.split(), capture_output=True, text=True, timeout=20, check=True
            )
            index = torch.cuda.current_device()
            lines = shown.stdout.strip().splitlines()
            power, core, memory = lines[min(index, len(lines) - 1)].split(", ")
            return f"{power} at most, cores up to {core}, memory {memory}"
    return "not known"


def largest_errors(
    device: torch.device, dtype: torch.dtype, rng: np.random.Generator
) -> tuple[dict[str, float], dict[str, str]]:
    """Return each way's largest error on the same inputs, and why the other ways are missing.

    The inputs are 3 heads of 37 queries and 53 keys, which no tile divides, or with a causal mask 37. An
    error is divided by what rounding can do: by (2 + the largest score of the row) times the largest value.
    """
    inputs = [torch.from_numpy(rng.normal(size=(1, 3, n, 64))).to(dtype) for n in (37, 53, 53)]
    fewer = [tensor[..., :37, :] for tensor in inputs]
    found, missing = {}, {}
    for way in variants(device, dtype, 64):
        if way.problem:
            missing[way.name] = way.problem
            continue
        found[way.name] = 0.0
        for causal, tensors in ((False, inputs), (True, fewer)):
            query, key, value = (tensor.double() for tensor in tensors)
            mask = np.tri(37, dtype=bool) if causal else None
            right = attention(*(tensor.numpy() for tensor in (query, key, value)), mask=mask)[0]
            got = way.prepare(*(tensor.to(device) for tensor in tensors), causal)().cpu().double()
            scores = query.abs() @ key.abs().mT / query.shape[-1] ** 0.5
            size = (2 + scores.amax(-1, keepdim=True)) * value.abs().amax((-2, -1), keepdim=True)
            error = float(((got - torch.from_numpy(right)).abs() / size).max())
            found[way.name] = max(found[way.name], error)
    return found, missing


def moved_bytes(name: str, length: int, head_dim: int = 64, itemsize: int = 2) -> int:
    """Count the bytes to and from memory of one head of a way, without a mask, L = S.

    Of the ways that write scores, naive torch makes float32 of scores in 16 bits and 16 bits of the
    weights, each in a pass of its own; `torch.compile` joins all passes between the products; and SDPA
    math computes in float32. What else is drawn on rooflines is taken to read everything once.
    """
    naive, tiled = attention_bytes(length, head_dim, itemsize)
    of_naive = 2 * itemsize + 8 + (2 * (itemsize + 4) if itemsize < 4 else 0)
    of_a_score = {NAIVE: of_naive, COMPILED: 4 * itemsize, "SDPA math": 16}
    if name == "standard attention":  # in published figures
        return naive
    return tiled + of_a_score.get(name, 0) * length**2


def on_roofline(speeds: Mapping[str, float], length: int) -> dict[str, tuple[float, float]]:
    """Return {way: (operations a byte, operations a second)} of TFLOP/s at d = 64 in 16 bits."""
    operations = attention_flops(1, 1, length, 64)
    return {
        name: (operations / moved_bytes(name, length), 1e12 * speed)
        for name, speed in speeds.items()
    }


def curves(
    rows: Iterable[Row], is_backward: bool = False
) -> dict[str, list[tuple[int, float, float, int | None]]]:
    """Return {way: [(length, milliseconds, TFLOP/s, bytes), ...]} without a mask, in one direction."""
    found: dict[str, list[tuple[int, float, float, int | None]]] = {}
    for row in rows:  # with a problem it has no time; with a tile it is a trial of one tile size
        if row.is_backward == is_backward and not (row.is_causal or row.problem or row.tile):
            point = (row.length, row.median, row.tflops, row.peak_bytes)
            found.setdefault(row.variant, []).append(point)
    return found


def speeds_at(rows: Iterable[Row], length: int) -> dict[str, float]:
    """Return the TFLOP/s of each way at one length, forward and without a mask."""
    return {
        name: speed
        for name, points in curves(rows).items()
        for tokens, _, speed, _ in points
        if tokens == length
    }


H100 = 989e12, 3.35e12  # operations and bytes a second, NVIDIA's H100 SXM data sheet


def known_speeds(
    device: torch.device,
    dtype: torch.dtype,
    rows: Iterable[Row],
    published: Mapping[str, tuple[float, float]],
) -> tuple[str, tuple[float, float], dict[str, float]]:
    """Return a device's name, its two ceilings, and the TFLOP/s of each way at 4,096 tokens.

    On CUDA it is `device`, with measured rows. Elsewhere it is that of the last stored table with
    ceilings, or the H100 of published figures, (no mask, causal). cuDNN's would hide another.
    """
    if device.type == "cuda":
        return (
            torch.cuda.get_device_name(device),
            ceilings(device, dtype, 8192),
            speeds_at(rows, 4096),
        )
    for machine, measured in reversed(stored()):
        if "peak" in machine:
            roof = float(machine["peak"]), float(machine["bandwidth"])
            name = f"{machine['device']}, measured {machine['date']}"
            return name, roof, speeds_at(measured, 4096)
    speeds = {name: full for name, (full, _) in published.items() if name != "cuDNN"}
    return "an H100, published", H100, speeds


def points_of_kernel(
    kernel: Any,
    device: torch.device,
    dtype: torch.dtype,
    roof: tuple[float, float],
    rows: Iterable[int],
    keys: Iterable[int],
) -> dict[tuple[int, int], dict[str, tuple[float, float]]]:
    """Place an inner loop on a roofline, with each tile: {(rows, keys): {label: point}}.

    Compiled, it is timed at 4,096 tokens, and left out where a tile does not fit. Elsewhere it is placed at
    the roof, which no tile with as many rows can pass while each reads keys and values from memory.
    """
    from attention_lib.lessons.gpu.triton import INTERPRETED

    points: dict[tuple[int, int], dict[str, tuple[float, float]]] = {}
    for tile in itertools.product(rows, keys):
        _, moved = attention_bytes(4096, 64, 2, block_rows=tile[0])
        intensity = attention_flops(1, 1, 4096, 64) / moved
        label = f"your kernel, {tile[0]} × {tile[1]}"
        if INTERPRETED:
            points[tile] = {f"{label}: at most": (intensity, min(roof[0], roof[1] * intensity))}
            continue
        try:
            points[tile] = {label: (intensity, _speed_of_kernel(kernel, device, dtype, tile))}
        except Exception as error:  # a tile too large for the card is a result, as in the tuning
            print(f"{label}: {_short_reason(error, device)}")
            points[tile] = {}
    return points


def _speed_of_kernel(
    kernel: Any, device: torch.device, dtype: torch.dtype, tile: tuple[int, int]
) -> float:
    from attention_lib.lessons.gpu.launch import flash_attention

    tensors = [torch.randn(1, 16, 4096, 64, device=device, dtype=dtype) for _ in range(3)]
    attend = functools.partial(flash_attention, *tensors, kernel=kernel, tile=tile)
    milliseconds = statistics.median(call_times(attend, device, 10, keep_busy(device)))
    return 1e3 * attention_flops(1, 16, 4096, 64) / milliseconds


def counted_bytes(
    kernel: Any, length: int, head_dim: int, tile: tuple[int, int], is_causal: bool = False
) -> int:
    """Run an inner loop in NumPy on one head of float16, and count the bytes of its loads and stores."""
    from attention_lib.lessons.gpu import tile_language
    from attention_lib.lessons.gpu.launch import flash_attention, in_numpy

    moved = 0

    def counting(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)

        def call(*args: Any, **others: Any) -> Any:
            nonlocal moved
            given = signature.bind(*args, **others).arguments
            pointer, mask = given["pointer"], given.get("mask")
            wanted = True if mask is None else mask.data
            count = np.broadcast_to(wanted, pointer.shape).sum()
            moved += int(count) * pointer.dtype.element_ty.bits // 8
            return function(*args, **others)

        return call

    tensors = torch.randn(3, 1, length, head_dim, generator=torch.Generator().manual_seed(0)).half()
    with (
        mock.patch.object(tile_language, "load", counting(tile_language.load)),
        mock.patch.object(tile_language, "store", counting(tile_language.store)),
    ):
        flash_attention(*tensors, is_causal, kernel=in_numpy(kernel), tile=tile)
    return moved


def store(rows: Iterable[Row], machine: dict[str, str], folder: Path = RESULTS) -> Path:
    """Keep measured rows as a file, named after the device and the day; `stored` finds it again."""
    folder.mkdir(parents=True, exist_ok=True)
    device = "".join(c if c.isalnum() else "-" for c in machine["device"].lower()).strip("-")
    path = folder / f"gpu-{device}-{machine['date']}.json"
    kept = {"machine": machine, "rows": [dataclasses.asdict(row) for row in rows]}
    part = path.with_suffix(".part")
    part.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    part.replace(path)  # whole at every moment: a run may be stopped at any
    return path


def stored(folder: Path = RESULTS) -> list[tuple[dict[str, str], list[Row]]]:
    """Return the machines and rows kept in a folder, in the order of their names."""
    kept = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("gpu-*.json"))]
    return [
        (one["machine"], sorted((Row(**row) for row in one["rows"]), key=lambda row: row.length))
        for one in kept
    ]


def speeds_of_tiles(rows: Iterable[Row]) -> dict[tuple[int, int], dict[int, float]]:
    """Return {(rows, keys): {warps: TFLOP/s}} of the forward kernel without a mask."""
    speeds: dict[tuple[int, int], dict[int, float]] = {}
    for row in rows:
        if row.tile and row.variant == FORWARD and not (row.is_causal or row.problem):
            of_tile = speeds.setdefault((row.tile["rows"], row.tile["keys"]), {})
            of_tile[row.tile["warps"]] = max(row.tflops, of_tile.get(row.tile["warps"], 0.0))
    return speeds


def _naive(query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> Call:
    return lambda: torch_attention(query, key, value, is_causal)


def _naive_compiled(query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> Call:
    compiled = _compiled_naive()
    return lambda: compiled(query, key, value, is_causal)


@functools.cache
def _compiled_naive() -> Any:
    return _compiled(torch_attention, dynamic=True)  # once for all lengths


def _compiled(function: Callable[..., Any], dynamic: bool | None = None) -> Any:
    """Compile a function so that no call of it falls back on uncompiled code without a word.

    Each dtype, mask, and wish for gradients is compiled anew. After 8 times torch would give up
    and run the function as it is; with `fullgraph` that is an error. A backward pass that uses its
    buffers for results could not be timed twice: it would refuse `retain_graph`.
    """
    config = torch.compiler.config
    config.recompile_limit = max(config.recompile_limit, 64)
    torch._functorch.config.donated_buffer = False
    return torch.compile(function, fullgraph=True, dynamic=dynamic)


def _forced(backend: SDPBackend) -> Prepare:
    def prepare(query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> Call:
        def call() -> Tensor:
            with sdpa_kernel(backend):
                return scaled_dot_product_attention(query, key, value, is_causal=is_causal)

        return call

    return prepare


def _flex(query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> Call:
    from torch.nn.attention import flex_attention as flex

    compiled = _compiled_flex()
    wanted = (*query.shape, key.shape[-2], query.dtype, is_causal, query.requires_grad)
    if wanted not in _compiled_for:
        _compiled_for.add(wanted)
        mask_name = "a causal mask" if is_causal else "no mask"
        print(f"FlexAttention is compiled for {query.shape[-2]:,} tokens and {mask_name} ...")
    mask = None
    if is_causal:
        sizes = (query.shape[-2], key.shape[-2])
        mask = flex.create_block_mask(_past, None, None, *sizes, device=query.device)
    return lambda: compiled(query, key, value, block_mask=mask)


_compiled_for: set[tuple[Any, ...]] = set()


@functools.cache
def _compiled_flex() -> Any:
    from torch.nn.attention.flex_attention import flex_attention

    # For each length anew: with a length that varies, compiled after the second, it is slower.
    return _compiled(flex_attention, dynamic=False)


def _past(_batch: Tensor, _head: Tensor, row: Tensor, column: Tensor) -> Tensor:
    return column <= row


def _kernel(query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> Call:
    from attention_lib.lessons.gpu.backward import flash_attention_with_gradients
    from attention_lib.lessons.gpu.launch import flash_attention

    with_gradients = any(tensor.requires_grad for tensor in (query, key, value))
    attend = flash_attention_with_gradients if with_gradients else flash_attention
    return lambda: attend(query, key, value, is_causal)


def _tried(variant: Variant, device: torch.device, dtype: torch.dtype, head_dim: int) -> Variant:
    """Run a variant on a few numbers; if it fails, keep the first line of the reason."""
    if variant.problem:
        return variant
    try:
        few = [torch.ones(1, 2, 16, head_dim, device=device, dtype=dtype) for _ in range(3)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns of each reason, then fails
            variant.prepare(*few, False)()
            synchronize(device)
    except Exception as error:
        return dataclasses.replace(variant, problem=_short_reason(error, device))
    return variant


def _short_reason(error: Exception, device: torch.device) -> str:
    if "No viable backend" in str(error) or "No available kernel" in str(error):
        return f"not there on {device.type}"
    return f"{type(error).__name__}: {str(error).splitlines()[0]:.60}"


def _out_of_memory(error: BaseException) -> bool:
    words = str(error).lower()
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or any(
        phrase in words
        for phrase in ("out of memory", "can't allocate memory", "invalid buffer size")
    )


def _shortage(variant: Variant, query: Tensor) -> str:
    """Say what a variant lacks off CUDA, where a computer slows to a crawl before it gives up."""
    if query.device.type == "cuda" or not variant.holds_scores:
        return ""
    needed = 3 * query[..., 0].numel() * query.shape[-2] * max(4, query.element_size())
    room = _free_memory()
    if needed < 0.8 * room:
        return ""
    return f"not tried: it needs about {_gib(needed)}, and {_gib(room)} are free"


def _gib(size: float) -> str:
    return f"{size / 2**30:,.0f} GiB"


def _free_memory() -> float:
    for pages in ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES"):  # macOS has the second only
        with contextlib.suppress(AttributeError, ValueError, OSError):
            return float(os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE"))
    return 4.0 * 2**30


def _return_freed_memory() -> None:
    """Give back what earlier calls freed, or a call that reuses it would seem to hold nothing."""
    with contextlib.suppress(AttributeError, OSError, TypeError):  # glibc's own
        ctypes.CDLL(None).malloc_trim(0)


def _size_of_process(entry: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(entry)).split()[1])
