"""Attention on an accelerator: every way there is, timed, and what the course's kernel is held to.

`python -m benchmarks.gpu` prints the table; with `--store` it also keeps it in
benchmarks/results/, where lesson 09 finds it. Without an accelerator the sizes are small, and
the rows of what is not there say so.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from statistics import median

import torch

from attention_lib import pick_device
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


def main() -> None:
    device = pick_device()
    machine = describe(device)
    print(
        f"Attention, {HEADS[device.type]} heads of {HEAD_DIM}, {DTYPES[device.type]}: "
        + ", ".join(f"{what} {found}" for what, found in machine.items())
    )
    rows = list(measured(device))
    print(text_table(rows))
    print("\n".join(["", *targets(rows)]))
    if "--store" in sys.argv[1:]:
        path = store(rows, machine)
        path.with_suffix(".txt").write_text(f"{machine}\n{text_table(rows)}\n", encoding="utf-8")
        print(f"\nkept as {path.relative_to(RESULTS.parent.parent)}")


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
    tensors = drawn(HEADS[kind], TOO_LONG[kind])
    yield from (measure(way, tensors, False, 1) for way in ways if way.holds_scores)
    del tensors
    if kind == "cuda":
        yield measure(_our_kernel(ways), drawn(1, MILLION), True, 1)


def targets(rows: list[Row]) -> Iterator[str]:
    """Say how the kernel compares with what it is held to, where it was compiled."""

    def times(name: str, is_causal: bool) -> list[float]:
        return next(
            (
                row.milliseconds
                for row in rows
                if (row.variant, row.is_causal, row.length) == (name, is_causal, GATE_LENGTH)
            ),
            [],
        )

    if not times(KERNEL, False):
        yield "The kernel's targets need a CUDA device: it was not timed here."
        return
    for is_causal in (False, True):
        others = {row.variant for row in rows if row.variant.startswith("SDPA")}
        found = {name: median(times(name, is_causal)) for name in others if times(name, is_causal)}
        best = min(found, key=found.__getitem__)
        share = found[best] / median(times(KERNEL, is_causal))
        mask = "causal" if is_causal else "no mask"
        yield f"{GATE_LENGTH} tokens, {mask}: {share:.2f} of {best}'s speed; at least 0.65, aim 0.9"
    gain = median(times(KERNEL, False)) / median(times(KERNEL, True))
    yield f"{GATE_LENGTH} tokens: causal {gain:.2f} times as fast as full; at least 1.6"
    million = next(row for row in rows if row.length == MILLION)
    yield f"{MILLION:,} tokens: {million.problem or f'{million.median:.0f} ms'}"


def _our_kernel(ways: list[Variant]) -> Variant:
    return next(way for way in ways if way.name == KERNEL)


if __name__ == "__main__":
    main()
