"""Time and memory of `fast_flash.attend` beside textbook NumPy and PyTorch, naive and fused.

Each measurement runs in a process of its own, with its number of threads and OpenBLAS's core
type fixed in its environment. `python -m benchmarks.flash` prints the tables.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import scaled_dot_product_attention

from attention_lib.lessons import fast_flash
from benchmarks.measuring import median_ratio, print_table, timed_in_turn

HEADS, HEAD_DIM = 8, 64
THREADS = (1, 2)
REPEATS = {2048: 21, 8192: 7}
NAIVE_REPEATS = {2048: 5, 8192: 1}
LONG = 65_536  # of one head
MEBIBYTE = 2**20
ROOT = Path(__file__).parent.parent

Attention = Callable[[NDArray, NDArray, NDArray, bool], NDArray]


def textbook(query: NDArray, key: NDArray, value: NDArray, is_causal: bool) -> NDArray:
    scores = query @ key.mT / np.float32(math.sqrt(HEAD_DIM))
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, np.float32(-np.inf))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return weights @ value


def torch_naive(query: NDArray, key: NDArray, value: NDArray, is_causal: bool) -> NDArray:
    q, k, v = map(torch.from_numpy, (query, key, value))
    scores = q @ k.mT / math.sqrt(HEAD_DIM)
    if is_causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(future, -math.inf)
    return (torch.softmax(scores, -1) @ v).numpy()


def torch_fused(query: NDArray, key: NDArray, value: NDArray, is_causal: bool) -> NDArray:
    q, k, v = (torch.from_numpy(array)[None] for array in (query, key, value))
    return scaled_dot_product_attention(q, k, v, is_causal=is_causal)[0].numpy()


def ours(query: NDArray, key: NDArray, value: NDArray, is_causal: bool) -> NDArray:
    return fast_flash.attend(query, key, value, is_causal=is_causal)[0]


OURS = "fast_flash.attend"
NAIVE: dict[str, Attention] = {"textbook NumPy": textbook, "torch, naive": torch_naive}
FUSED: dict[str, Attention] = {"torch, fused": torch_fused, OURS: ours}
CONTENDERS = NAIVE | FUSED


def main() -> None:
    core = core_type()
    print(
        f"Attention of {HEADS} heads, d = {HEAD_DIM}, float32; OPENBLAS_CORETYPE={core}, "
        f"NumPy {np.__version__}, torch {torch.__version__}.\n"
        "Targets: fast_flash.attend within 1.1 of torch's fused attention, causal within 1.2; at\n"
        "most 64 MiB above its inputs, its output among them, at 8192 tokens.\n"
    )
    for threads in THREADS:
        rows = []
        for length, is_causal in ((n, c) for n in REPEATS for c in (False, True)):
            names = list(CONTENDERS if fits(length) else FUSED)
            times = in_process(threads, core, "times", names, length, is_causal)
            for name in names:
                measured = name in FUSED or threads == THREADS[0]
                room = (
                    in_process(threads, core, "room", name, length, is_causal) if measured else None
                )
                rows.append(row(name, length, is_causal, HEADS, times, room))
        print_table(f"{threads} thread{'s'[: threads > 1]}", HEADER, rows)

    rows = []
    for is_causal in (False, True):
        seconds, room = in_process(1, core, "once", OURS, 1, LONG, is_causal)
        rows.append(row(OURS, LONG, is_causal, 1, {OURS: [seconds]}, room))
    print_table("One head of a long sequence, 1 thread", HEADER, rows)


HEADER = ["", "tokens", "mask", "ms", "of fused", "GFLOP/s", "MiB"]


def row(
    name: str,
    length: int,
    is_causal: bool,
    heads: int,
    times: dict[str, list[float]],
    room: int | None,
) -> list[str]:
    seconds = median(times[name])
    operations = heads * 4 * HEAD_DIM * length**2 / (2 if is_causal else 1)
    fused = times.get("torch, fused")
    return [
        name,
        str(length),
        "causal" if is_causal else "none",
        f"{1e3 * seconds:.1f}",
        f"{median_ratio(times[name], fused):.2f}" if fused else "",
        f"{operations / seconds / 1e9:.0f}",
        "" if room is None else f"{room / MEBIBYTE:.0f}",
    ]


def drawn(heads: int, length: int) -> list[NDArray[np.float32]]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((heads, length, HEAD_DIM), np.float32) for _ in range(3)]


def measure_times(names: list[str], length: int, is_causal: bool) -> dict[str, list[float]]:
    """Time the contenders in turn, after seeing that they agree."""
    inputs = drawn(HEADS, length)
    expected = torch_fused(*inputs, is_causal)
    for name in names:
        np.testing.assert_allclose(CONTENDERS[name](*inputs, is_causal), expected, atol=1e-5)
    calls = {name: lambda f=CONTENDERS[name]: f(*inputs, is_causal) for name in names}
    repeats = {name: (NAIVE_REPEATS if name in NAIVE else REPEATS)[length] for name in names}
    return timed_in_turn(calls, repeats)


def measure_room(name: str, length: int, is_causal: bool) -> int | None:
    return measure_once(name, HEADS, length, is_causal)[1]


def measure_once(name: str, heads: int, length: int, is_causal: bool) -> tuple[float, int | None]:
    """Return the seconds of one call, and the bytes that the process grew by where Linux tells."""
    CONTENDERS[name](*drawn(heads, 256), is_causal)  # libraries make their own buffers
    inputs = drawn(heads, length)
    before = forget_peak()
    start = time.perf_counter()
    CONTENDERS[name](*inputs, is_causal)
    seconds = time.perf_counter() - start
    return seconds, None if before is None else resident("VmHWM") - before


def forget_peak() -> int | None:
    """Have Linux forget the most memory that the process held, and return what it holds now."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None
    return resident("VmRSS")


def resident(field: str) -> int:
    """Return a size that Linux keeps of this process, in bytes."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def fits(length: int) -> bool:
    """Say whether the naive forms, which hold three L × S matrices, have room here."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 3 * HEADS * length**2 * 4 < 0.8 * free


def core_type() -> str:
    """Return the processor that OpenBLAS chooses its kernels for, unless the caller fixed one."""
    chosen = os.environ.get("OPENBLAS_CORETYPE")
    if chosen:
        return chosen
    report = subprocess.run(
        [sys.executable, "-c", "import numpy"],
        env=os.environ | {"OPENBLAS_VERBOSE": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    cores = [line.split()[1] for line in report.stderr.splitlines() if line.startswith("Core:")]
    return cores[0] if cores else ""


def in_process(threads: int, core: str, what: str, *arguments: object) -> object:
    """Run one measurement in a fresh process and return what it found."""
    count = str(threads)
    limits = {"OMP_NUM_THREADS": count, "OPENBLAS_NUM_THREADS": count, "MKL_NUM_THREADS": count}
    result = subprocess.run(
        [sys.executable, "-m", "benchmarks.flash", what, json.dumps(arguments)],
        cwd=ROOT,
        env=os.environ | limits | {"OPENBLAS_CORETYPE": core},
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(result.stdout)


MEASUREMENTS = {"times": measure_times, "room": measure_room, "once": measure_once}

if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(MEASUREMENTS[sys.argv[1]](*json.loads(sys.argv[2]))))
    else:
        main()
