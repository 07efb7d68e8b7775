"""Attention on an accelerator: every way there is, timed, and what the course's kernels are held to.

`python -m benchmarks.gpu` prints the table, forward and backward, and then, on CUDA, one of tiles:
what each size, number of warps, of stages and of registers brings. With `--store` it also keeps
the rows in benchmarks/results/, where lesson 09 finds them. On CUDA it exits with 1 where a gate is
missed. The table of tiles stops after TILE_SECONDS; what was not reached is listed as not tried. Without
an accelerator the sizes are small, and the rows of what is not there say so.
"""

from __future__ import annotations

import functools
import math
import sys
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

import torch

from attention_lib import attention_flops, pick_device
from attention_lib.exercises.parts.kernels import Edited
from attention_lib.lessons.gpu import call_times, launch
from attention_lib.lessons.gpu.variants import (
    KERNEL,
    RESULTS,
    Row,
    Variant,
    describe,
    measure,
    store,
    text_table,
    variants,
)

HEAD_DIM = 64
HEADS = {"cuda": 16, "mps": 4, "cpu": 4}
LENGTHS = {
    "cuda": (512, 1024, 2048, 4096, 8192, 16_384),
    "mps": (256, 512, 1024, 2048, 4096),
    "cpu": (256, 512, 1024, 2048),
}
TOO_LONG = {"cuda": 262_144, "mps": 65_536, "cpu": 131_072}
DTYPES = {"cuda": torch.bfloat16, "mps": torch.float16, "cpu": torch.float32}
GATE_LENGTH, MILLION = 4096, 1_048_576
REPEATS = {"cuda": 30, "mps": 7, "cpu": 5}
TILE_SECONDS = 240  # for the table of tiles, compiling included

FORWARD_GATE, BACKWARD_GATE, CAUSAL_GATE = 0.9, 0.65, 1.6
LARGEST_EXTRA = 4  # times the size of the inputs that a call may hold beyond them; L x S is more

# Rows, keys, warps, stages, most registers of a thread (None: the compiler's choice). Triton's blocks
# are powers of 2, so 192 rows cannot be had. Each tile has a 4- and an 8-warp entry.
TILES = [
    (rows, block, warps, stages, registers)
    for rows, block in ((128, 64), (128, 128), (64, 64), (64, 128), (256, 64), (64, 32))
    for warps in (8, 4)
    for stages in (2, 3, 4)
    for registers in (None,)
] + [(128, 64, 8, 3, 168), (128, 64, 8, 3, 240), (128, 128, 8, 3, 240), (128, 64, 4, 3, 240)]
LOOP = "in range(start, stop, BLOCK)"
SPECIALIZED = "in tl.range(start, stop, BLOCK, warp_specialize=True)"


def main() -> None:
    device = pick_device()
    machine = describe(device)
    print(
        f"Attention, {HEADS[device.type]} heads of {HEAD_DIM}, {DTYPES[device.type]}: "
        + ", ".join(f"{what} {found}" for what, found in machine.items())
    )
    rows = list(measured(device))
    print(text_table(rows))
    gates = list(targets(rows))
    print("\n".join(["", *(line for line, _ in gates)]))
    tiles = "\n".join(tile_table(device)) if device.type == "cuda" else ""
    print(f"\n{tiles}" if tiles else "\nTiles are not tried: that needs a CUDA device.")
    if "--store" in sys.argv[1:]:
        path = store(rows, machine)
        about = "\n".join(f"{what}: {found}" for what, found in machine.items())
        lines = [about, text_table(rows), *(line for line, _ in gates), tiles]
        path.with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"\nkept as {path.relative_to(RESULTS.parent.parent)}")
    if not all(passed for _, passed in gates):
        sys.exit(1)


def measured(device: torch.device) -> Iterator[Row]:
    """Measure every variant at every length, then what runs out of memory, then a million."""
    kind, dtype = device.type, DTYPES[device.type]
    torch.manual_seed(0)
    ways = variants(device, dtype, HEAD_DIM)

    def drawn(heads: int, length: int) -> tuple[torch.Tensor, ...]:
        shape = (1, heads, length, HEAD_DIM)
        return tuple(torch.randn(shape, device=device).to(dtype) for _ in range(3))

    for length in LENGTHS[kind]:
        tensors = drawn(HEADS[kind], length)
        for is_causal in (False, True):
            for way in ways:
                first = (length, is_causal) == (LENGTHS[kind][0], False)
                if first or not (way.problem or way.untimed):  # one row says it is not there
                    yield measure(way, tensors, is_causal, REPEATS[kind])
                if length <= GATE_LENGTH and not (way.problem or way.untimed):
                    yield measure(way, tensors, is_causal, REPEATS[kind], is_backward=True)
    tensors = drawn(HEADS[kind], TOO_LONG[kind])
    yield from (measure(way, tensors, False, 1) for way in ways if way.holds_scores)
    del tensors
    if kind == "cuda":
        yield measure(_our_kernel(ways), drawn(1, MILLION), True, 1)


def targets(rows: list[Row]) -> Iterator[tuple[str, bool]]:
    """Say how the kernels compare with each gate, and whether they pass it, where they were compiled."""

    def at(name: str, is_causal: bool, is_backward: bool = False) -> Row | None:
        wanted = (name, is_causal, is_backward, GATE_LENGTH)
        return next(
            (
                row
                for row in rows
                if (row.variant, row.is_causal, row.is_backward, row.length) == wanted
                and row.milliseconds
            ),
            None,
        )

    if not at(KERNEL, False):
        yield "The kernels' gates need a CUDA device: nothing was timed here.", True
        return
    backends = {row.variant for row in rows if row.variant.startswith("SDPA")}
    for is_backward, gate in ((False, FORWARD_GATE), (True, BACKWARD_GATE)):
        which = "backward" if is_backward else "forward"
        for is_causal in (False, True):
            found = {name: at(name, is_causal, is_backward) for name in backends}
            times = {name: row.median for name, row in found.items() if row}
            own = at(KERNEL, is_causal, is_backward)
            if not times or not own:
                yield f"{GATE_LENGTH} tokens, {which}: nothing to compare with was timed", False
                continue
            best = min(times, key=times.__getitem__)
            share = times[best] / own.median
            mask = "causal" if is_causal else "no mask"
            line = f"{GATE_LENGTH} tokens, {which}, {mask}: {share:.2f} of {best}'s speed"
            yield f"{line}; at least {gate}", share >= gate
    full, causal = at(KERNEL, False), at(KERNEL, True)
    assert full is not None
    gain = full.median / causal.median if causal else math.nan
    yield (
        f"{GATE_LENGTH} tokens: causal {gain:.2f} times as fast as full; at least 1.6",
        gain >= CAUSAL_GATE,
    )
    for row in rows:
        if row.variant == KERNEL and row.length == GATE_LENGTH and row.peak_bytes is not None:
            inputs = 3 * row.batch * row.heads * row.length * row.head_dim * 2
            extra = row.peak_bytes / inputs
            which = "backward" if row.is_backward else "forward"
            yield f"{which}: holds {extra:.2f} times its inputs beyond them", extra <= LARGEST_EXTRA
    million = next((row for row in rows if row.length == MILLION), None)
    if million is None:
        yield f"{MILLION:,} tokens: not tried", False
    else:
        said = million.problem or f"{million.median:.0f} ms"
        yield f"{MILLION:,} tokens: {said}", not million.problem


def tile_table(device: torch.device) -> Iterator[str]:
    """Time the forward kernel at the gates' length with every tile of TILES, as long as time lasts."""
    begun = time.monotonic()
    shape = (1, HEADS["cuda"], GATE_LENGTH, HEAD_DIM)
    tensors = [torch.randn(shape, device=device).to(DTYPES["cuda"]) for _ in range(3)]
    output = torch.empty_like(tensors[0])
    plain = Edited("flash_kernel").kernel
    loops = {"": plain, "specialized": Edited("flash_kernel", (LOOP, SPECIALIZED)).kernel}
    yield "rows  keys  warps  stages  registers  loop         TFLOP/s no mask, causal"
    for name, loop in loops.items():
        for rows, block, warps, stages, registers in TILES:
            if name and (warps, registers) != (4, None):
                continue  # specialized warps come on top of the program's own
            said = f"{rows:4}{block:6}{warps:7}{stages:8}{registers or '-':>11}  {name:12}"
            options: dict[str, Any] = {"num_warps": warps, "num_stages": stages}
            if registers:
                options["maxnreg"] = registers
            speeds = []
            for is_causal in (False, True):
                if time.monotonic() - begun > TILE_SECONDS:
                    speeds.append("not tried: no time left")
                    break

                call = functools.partial(
                    *(launch.launch_forward, *tensors, output, is_causal, loop, (rows, block)),
                    **options,
                )
                try:
                    taken = median(call_times(call, device, 10))
                except Exception as error:  # too little shared memory, or no such option: a result
                    speeds.append(f"{type(error).__name__}: {str(error).splitlines()[0]:.50}")
                    break
                work = attention_flops(1, HEADS["cuda"], GATE_LENGTH, HEAD_DIM, is_causal)
                speeds.append(f"{work / taken / 1e9:.0f}")
            yield f"{said} {', '.join(speeds)}"


def _our_kernel(ways: list[Variant]) -> Variant:
    return next(way for way in ways if way.name == KERNEL)


if __name__ == "__main__":
    main()
