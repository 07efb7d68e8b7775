"""Attention on an accelerator: every way there is, timed, and what the course's kernels are held to.

`python -m benchmarks.gpu` prints the table, forward and backward, and then, on CUDA, that of
benchmarks.gpu_trials: what one change to tile, warps, stages, registers or loads brings. `--store`
keeps both in benchmarks/results/, where lesson 09 finds them. It ends after SECONDS at the latest, if
the first table does, and exits with 1 where a gate is missed on CUDA. Without an accelerator the
sizes are small, and the rows of what is not there say so. CONTRIBUTING.md lists what else to run on
a machine with a GPU.
"""

from __future__ import annotations

import dataclasses
import math
import sys
import time
from collections.abc import Iterator

import torch

from attention_lib import pick_device
from attention_lib.lessons.gpu.variants import (
    KERNEL,
    RESULTS,
    Row,
    Variant,
    ceilings,
    describe,
    fast_dtype,
    measure,
    store,
    text_table,
    variants,
)
from benchmarks import gpu_trials

HEAD_DIM = 64
HEADS = {"cuda": 16, "mps": 4, "cpu": 4}
LENGTHS = {
    "cuda": (512, 1024, 2048, 4096, 8192, 16_384),
    "mps": (256, 512, 1024, 2048, 4096),
    "cpu": (256, 512, 1024, 2048),
}
TOO_LONG = {"cuda": 262_144, "mps": 65_536, "cpu": 131_072}
GATE_LENGTH, MILLION = 4096, 1_048_576
REPEATS = {"cuda": 30, "mps": 7, "cpu": 5}
SECONDS = 570  # for everything; the trials have what the table leaves

FORWARD_GATE, BACKWARD_GATE, CAUSAL_GATE = 0.9, 0.65, 1.6
LARGEST_EXTRA = 4  # times the size of the inputs that a call may hold beyond them; L x S is more


def main() -> None:
    begun = time.monotonic()
    device = pick_device()
    machine = describe(device)
    print(
        f"Attention, {HEADS[device.type]} heads of {HEAD_DIM}, {fast_dtype(device)}: "
        + ", ".join(f"{what} {found}" for what, found in machine.items())
    )
    rows = list(measured(device))
    print(text_table(rows))
    gates = list(targets(rows))
    print("\n".join(["", *(line for line, _ in gates)]))
    stores = "--store" in sys.argv[1:]
    if stores:
        peak, bandwidth = ceilings(device, fast_dtype(device), 4096)
        machine |= {
            "peak": f"{peak:.4g}",
            "bandwidth": f"{bandwidth:.4g}",
        }  # of operations, of bytes
        path = store(rows, machine)
        about = "\n".join(f"{what}: {found}" for what, found in machine.items())
        lines = [about, text_table(rows), *(line for line, _ in gates)]
        path.with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"\nkept as {path.relative_to(RESULTS.parent.parent)}", flush=True)
    if device.type == "cuda":
        torch.cuda.empty_cache()  # the trials are processes of their own
        print(flush=True)
        gpu_trials.try_all(machine, begun + SECONDS, stores)
    else:
        print("\nTrials are left out: they need a CUDA device.")
    if not all(passed for _, passed in gates):
        sys.exit(1)


def measured(device: torch.device) -> Iterator[Row]:
    """Measure every variant at every length, then what runs out of memory, then a million."""
    kind, dtype = device.type, fast_dtype(device)
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
                    yield row_of(way, tensors, is_causal, REPEATS[kind])
                if length <= GATE_LENGTH and not (way.problem or way.untimed):
                    yield row_of(way, tensors, is_causal, REPEATS[kind], is_backward=True)
    tensors = drawn(HEADS[kind], TOO_LONG[kind])
    yield from (row_of(way, tensors, False, 1) for way in ways if way.holds_scores)
    del tensors
    if kind == "cuda":
        yield row_of(_our_kernel(ways), drawn(1, MILLION), True, 1)


def row_of(
    way: Variant,
    tensors: tuple[torch.Tensor, ...],
    is_causal: bool,
    repeats: int,
    is_backward: bool = False,
) -> Row:
    """Measure a variant; one that fails, in its compiler for example, costs no row but its own."""
    query, key, value = tensors
    try:
        return measure(way, (query, key, value), is_causal, repeats, is_backward)
    except Exception as error:
        reason = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]:.60}"
        failed = dataclasses.replace(way, problem=reason)
        return dataclasses.replace(
            measure(failed, (query, key, value), is_causal), is_backward=is_backward
        )


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


def _our_kernel(ways: list[Variant]) -> Variant:
    return next(way for way in ways if way.name == KERNEL)


if __name__ == "__main__":
    main()
