"""Attention on an accelerator: every way there is, timed, and what the course's kernels are held to.

`python -m benchmarks.gpu` prints a row for each way, mask, direction and length; first those that
the gates need, then the gates, then the others. Beside our kernels' rows stand those of each tile
that Triton's tuning timed. `--store` keeps each row at once in benchmarks/results/, or another
folder, where lesson 10 finds it; run again on the same day, it goes on with the rows that are missing.
No row begins after SECONDS. Where a gate is missed on CUDA it exits with 1. Without an accelerator the
sizes are small, and the rows of what is not there say so. CONTRIBUTING.md lists what else to run on
a machine with a GPU.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import itertools
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from attention_lib import pick_device
from attention_lib.lessons.gpu import backward, forward
from attention_lib.lessons.gpu.variants import (
    FORWARD,
    GRAD_KEY_VALUE,
    GRAD_QUERY,
    KERNEL,
    RESULTS,
    Row,
    Variant,
    ceilings,
    describe,
    fast_dtype,
    measure,
    store,
    stored,
    text_table,
    variants,
)

HEAD_DIM = 64
HEADS = {"cuda": 16, "mps": 4, "cpu": 4}
LENGTHS = {
    "cuda": (4096, 512, 1024, 2048, 8192, 16_384),
    "mps": (256, 512, 1024, 2048, 4096),
    "cpu": (256, 512, 1024, 2048),
}
TOO_LONG = {"cuda": 262_144, "mps": 65_536, "cpu": 131_072}
GATE_LENGTH, MILLION = OF_GATES = 4096, 1_048_576
REPEATS = {"cuda": 30, "mps": 7, "cpu": 5}
SECONDS = 480

FORWARD_GATE, BACKWARD_GATE, CAUSAL_GATE = 0.9, 0.65, 1.6
LARGEST_EXTRA = 4  # times the size of the inputs that a call may hold beyond them; L x S is more


@dataclass(frozen=True)
class Planned:
    """A row that is to be measured."""

    way: Variant
    heads: int
    length: int
    repeats: int
    is_causal: bool = False
    is_backward: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """Say which row of a table it is."""
        return self.way.name, self.heads, self.length, self.is_causal, self.is_backward


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", nargs="?", const=RESULTS, type=Path, metavar="FOLDER")
    folder = parser.parse_args().store
    device = pick_device()
    machine = describe(device)
    peak, bandwidth = ceilings(device, fast_dtype(device), 8192 if device.type == "cuda" else 1024)
    machine |= {
        "peak": f"{peak:.4g}",
        "bandwidth": f"{bandwidth:.4g}",
    }  # operations, bytes a second
    print(f"Attention, {HEADS[device.type]} heads of {HEAD_DIM}, {fast_dtype(device)}")
    print("\n".join(f"{what}: {found}" for what, found in machine.items()))
    measure_all(device, machine, folder, time.monotonic() + SECONDS)


def measure_all(
    device: torch.device, machine: dict[str, str], folder: Path | None, deadline: float
) -> None:
    """Measure, print and keep the rows that the folder's table of today lacks, until the deadline."""
    rows = kept_today(machine, folder) if folder else []
    done = {key_of(row) for row in rows}
    print(text_table(rows), flush=True)
    plan = [planned for planned in all_planned(device) if planned.key not in done]
    while plan and time.monotonic() < deadline:
        planned = plan.pop(0)
        new = list(rows_of(planned, device))
        print(text_table(new, header=""), flush=True)
        rows += new
        if folder:
            store(rows, machine, folder)
        if planned.length in OF_GATES and plan and plan[0].length not in OF_GATES:
            report(rows)
    if plan:
        print(f"\n{len(plan)} rows are left: run this again with --store.")
    sys.exit(not report(rows))


def kept_today(machine: dict[str, str], folder: Path) -> list[Row]:
    """Return the rows that a folder has of this device and this day."""
    same = ("device", "date", "torch", "triton")
    for other, rows in stored(folder):
        if all(other[what] == machine[what] for what in same):
            return rows
    return []


def key_of(row: Row) -> tuple[object, ...]:
    return row.variant, row.heads, row.length, row.is_causal, row.is_backward


def all_planned(device: torch.device) -> Iterator[Planned]:
    """List every way at every length, what the gates need first, then what runs out of memory."""
    kind = device.type
    ways = variants(device, fast_dtype(device), HEAD_DIM)
    usable = [way for way in ways if not (way.problem or way.untimed)]
    flags = (False, True)
    for length in LENGTHS[kind]:
        for way, is_backward, is_causal in itertools.product(usable, flags, flags):
            if length <= GATE_LENGTH or not is_backward:
                yield Planned(way, HEADS[kind], length, REPEATS[kind], is_causal, is_backward)
        if length == LENGTHS[kind][0]:
            for way in ways:
                if way not in usable:  # one row says it is not there
                    yield Planned(way, HEADS[kind], length, 1)
                elif kind == "cuda" and way.name == KERNEL:
                    yield Planned(way, 1, MILLION, 1, is_causal=True)
    for way in usable:
        if way.holds_scores:
            yield Planned(way, HEADS[kind], TOO_LONG[kind], 1)


def rows_of(planned: Planned, device: torch.device) -> Iterator[Row]:
    """Measure a way; one that fails, in its compiler for example, costs no row but its own."""
    query, key, value = drawn(device, planned.heads, planned.length)
    flags = {"is_causal": planned.is_causal, "is_backward": planned.is_backward}
    try:
        row = measure(planned.way, (query, key, value), repeats=planned.repeats, **flags)
    except Exception as error:
        reason = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]:.60}"
        failed = dataclasses.replace(planned.way, problem=reason)
        row = measure(failed, (query, key, value), **flags)
    yield row
    if row.variant == KERNEL and row.length == GATE_LENGTH:
        yield from rows_of_tuning(row)


@functools.lru_cache(1)
def drawn(device: torch.device, heads: int, length: int) -> list[torch.Tensor]:
    torch.manual_seed(0)
    shape = (1, heads, length, HEAD_DIM)
    return [torch.randn(shape, device=device).to(fast_dtype(device)) for _ in range(3)]


def rows_of_tuning(row: Row) -> Iterator[Row]:
    """Give a row to each tile that Triton's tuning has timed for a row of our kernels."""
    kernels = {FORWARD: forward.forward}
    if row.is_backward:
        kernels = {
            GRAD_QUERY: backward.grad_query_kernel,
            GRAD_KEY_VALUE: backward.grad_key_value_kernel,
        }
    for name, kernel in kernels.items():
        for config, times in getattr(kernel, "configs_timings", {}).items():
            failed = math.isinf(times[0])
            yield dataclasses.replace(
                row,
                variant=name,
                milliseconds=[] if failed else list(times),  # median, and two quantiles
                peak_bytes=None,
                problem="failed" if failed else "",
                tile={
                    "rows": config.kwargs["ROWS"],
                    "keys": config.kwargs["BLOCK"],
                    "warps": config.num_warps,
                    "stages": config.num_stages,
                    "maxnreg": config.maxnreg,
                },
            )


def report(rows: list[Row]) -> bool:
    """Print how each gate was met; tell whether all were."""
    gates = list(targets(rows))
    print("\n".join(["", *(line for line, _ in gates)]), flush=True)
    return all(passed for _, passed in gates)


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


if __name__ == "__main__":
    main()
