"""The lesson's kernels with one thing changed at a time: what tiles, warps, loads and registers bring.

`python -m benchmarks.gpu_trials` times each change on CUDA at the gates' size and prints it beside the
default: TFLOP/s, ratio, registers, spills, or what kept it from running. `--store` keeps the table
in benchmarks/results/, for lesson 09. Each trial runs in a process of its own with time limits, and
its numbers are held against PyTorch's: a change that fails, hangs or is wrong costs its own row.
Processes compile side by side and take turns on the device. All of it ends after SECONDS.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attention_lib import attention_flops, flash_kernel, pick_device
from attention_lib.exercises.parts.kernels import Edited
from attention_lib.lessons.gpu import call_times, launch
from attention_lib.lessons.gpu.backward import grad_key_value_kernel, grad_query_kernel
from attention_lib.lessons.gpu.launch import triton
from attention_lib.lessons.gpu.trials import (
    DEFAULT,
    KERNELS,
    Trial,
    store_trials,
    text_table_of_trials,
)
from attention_lib.lessons.gpu.variants import RESULTS, describe, fast_dtype, keep_busy
from benchmarks.tensor_descriptors import launch_by_descriptors

FORWARD, GRAD_QUERY, GRAD_KEY_VALUE = KERNELS
HEADS, LENGTH, HEAD_DIM = 16, 4096, 64  # the gates' size
SECONDS = 540  # for all trials together
COMPILE_SECONDS, DEVICE_SECONDS = 90, 20  # for one
AT_A_TIME = min(8, os.cpu_count() or 1)  # processes, of which one uses the device
REPEATS = 20
ROOT = Path(__file__).parents[1]
COMMAND = (sys.executable, "-m", "benchmarks.gpu_trials", "--one")  # and a file to lock
LOOP = "in range(start, stop, BLOCK)"
SPECIALIZED = "in tl.range(start, stop, BLOCK, warp_specialize=True)"
PRODUCTS = {FORWARD: 2, GRAD_QUERY: 3, GRAD_KEY_VALUE: 4}
LARGEST_ERROR = 0.05  # of the largest number, in bfloat16


def main() -> None:
    device = pick_device()
    machine = describe(device)
    print("Trials on " + ", ".join(f"{what} {found}" for what, found in machine.items()))
    if device.type != "cuda":
        print("Nothing is tried: that needs a CUDA device.")
        return
    try_all(machine, time.monotonic() + SECONDS, "--store" in sys.argv[1:])


def try_all(machine: dict[str, str], deadline: float, stores: bool) -> None:
    """Run every trial until a deadline of time.monotonic(); print the table, and store it if asked and measured."""
    trials = run_all(deadline)
    print(text_table_of_trials(trials))
    if stores and any(trial.tflops for trial in trials):
        path = store_trials(trials, machine)
        print(f"\nkept as {path.relative_to(RESULTS.parent.parent)}")


def all_trials() -> list[Trial]:
    """List the defaults, and each with one thing changed."""
    full = Trial(DEFAULT, FORWARD, False, rows=128, keys=128, warps=8, stages=3)
    trials = []
    for default in (full, dataclasses.replace(full, is_causal=True)):
        by_descriptors = dataclasses.replace(default, descriptors=True)
        trials += [default, dataclasses.replace(by_descriptors, change="tensor descriptors")]
        trials += _tiles(default, (128, 64), (64, 128), (64, 64), (256, 64), (256, 128), (128, 32))
        trials += _stages(default, 2, 4) + _registers(default, 128, 168, 240)
        # The compiler makes groups of warps from a program of 4: 4 for the loads, 8 for the rest.
        for rows, keys in ((128, 128), (128, 64)):
            few = dataclasses.replace(by_descriptors, rows=rows, keys=keys, warps=4)
            of_tile = f"{rows} × {keys}, 4 warps, descriptors"
            trials.append(dataclasses.replace(few, change=of_tile))
            if not default.is_causal:
                specialized = dataclasses.replace(few, specialized=True)
                trials.append(dataclasses.replace(specialized, change=f"{of_tile}, specialized"))
    trials.append(
        dataclasses.replace(full, change="4 warps, specialized", warps=4, specialized=True)
    )
    for kernel, is_causal in itertools.product((GRAD_QUERY, GRAD_KEY_VALUE), (False, True)):
        default = Trial(DEFAULT, kernel, is_causal, rows=128, keys=64, warps=8, stages=2)
        trials.append(default)
        trials += _tiles(default, (64, 128), (128, 128), (64, 64), (128, 32), (32, 128))
        trials += _stages(default, 1, 3) + _registers(default, 128, 168)
    return trials


def _tiles(default: Trial, *tiles: tuple[int, int]) -> list[Trial]:
    """Change the warps of the default, then its tile, with 8 warps and with 4."""
    return [
        dataclasses.replace(
            default, change=f"{rows} × {keys}, {warps} warps", rows=rows, keys=keys, warps=warps
        )
        for rows, keys in ((default.rows, default.keys), *tiles)
        for warps in (8, 4)
        if (rows, keys, warps) != (default.rows, default.keys, default.warps)
    ]


def _stages(default: Trial, *numbers: int) -> list[Trial]:
    return [
        dataclasses.replace(default, change=f"{n} stage{'s'[: n > 1]}", stages=n) for n in numbers
    ]


def _registers(default: Trial, *numbers: int) -> list[Trial]:
    return [
        dataclasses.replace(default, change=f"at most {n} registers", most_registers=n)
        for n in numbers
    ]


def run_all(deadline: float) -> list[Trial]:
    """Run every trial in a process of its own, as long as time lasts; return them in order."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(AT_A_TIME) as pool:
        one = functools.partial(run_apart, lock=Path(folder, "device"), deadline=deadline)
        return list(pool.map(one, all_trials()))


def run_apart(trial: Trial, lock: Path, deadline: float) -> Trial:
    """Run a trial in another process, which is ended at the deadline; every failure is a problem."""
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        return dataclasses.replace(trial, problem="not tried: no time left")
    with subprocess.Popen(
        [*COMMAND, str(lock)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,  # to end a compiler that it started, too
    ) as process:
        try:
            asked = json.dumps(dataclasses.asdict(trial))
            answer, errors = process.communicate(asked, timeout=remaining)
        except subprocess.TimeoutExpired:
            return dataclasses.replace(trial, problem="not tried: no time left")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(IndexError, ValueError, TypeError):
        return Trial(**json.loads(answer.splitlines()[-1]))
    return dataclasses.replace(trial, problem=reason(process.returncode, errors))


def reason(returncode: int, errors: str) -> str:
    """Say in one line why a trial's process ended without a result."""
    if returncode == -signal.SIGALRM:
        return (
            f"stopped: not compiled after {COMPILE_SECONDS} s, or not run after {DEVICE_SECONDS} s"
        )
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    said = [line for line in lines if "error: " in line or "failed while executing" in line.lower()]
    shown = (said or lines or ["nothing said why"])[-1 if not said else 0]
    return f"failed: {shown.split('error: ')[-1]:.110}"


def run_one(trial: Trial, lock: Path) -> Trial:
    """Compile and time a trial in this process, which an alarm ends where that takes too long."""
    import fcntl

    device = pick_device()
    torch.manual_seed(0)
    shape = (1, HEADS, LENGTH, HEAD_DIM)
    tensors = [torch.randn(shape, device=device).to(fast_dtype(device)) for _ in range(4)]
    of_kernel = Forward if trial.kernel == FORWARD else Backward
    work = of_kernel(trial, *tensors)
    with ended_after(COMPILE_SECONDS), compiling_only():
        work.launch_all()
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with ended_after(DEVICE_SECONDS):
            error = work.error()
            if not error <= LARGEST_ERROR:  # NaN is no better
                wrong = f"wrong by {error:.2g} of the largest number"
                return dataclasses.replace(trial, problem=wrong)
            milliseconds = median(call_times(work.launch, device, REPEATS, keep_busy(device)))
            compiled = work.launch()
    operations = attention_flops(1, HEADS, LENGTH, HEAD_DIM, trial.is_causal)
    return dataclasses.replace(
        trial,
        milliseconds=milliseconds,
        tflops=operations * PRODUCTS[trial.kernel] / 2 / milliseconds / 1e9,
        registers=getattr(compiled, "n_regs", None),
        spills=getattr(compiled, "n_spills", None),
    )


@contextlib.contextmanager
def ended_after(seconds: int) -> Iterator[None]:
    """End this process by a signal if the body takes longer, wherever it hangs."""
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


@contextlib.contextmanager
def compiling_only() -> Iterator[None]:
    """Let each launch in this process compile its kernel, and not run it."""
    function = triton.runtime.JITFunction
    run = function.run

    def compile_alone(self: Any, *args: Any, warmup: bool, **kwargs: Any) -> Any:
        return run(self, *args, warmup=True, **kwargs)

    function.run = compile_alone
    try:
        yield
    finally:
        function.run = run


class Forward:
    """A forward pass with a trial's options."""

    def __init__(
        self, trial: Trial, query: Tensor, key: Tensor, value: Tensor, _toward: Tensor
    ) -> None:
        self._trial = trial
        self._inputs = (query, key, value)
        self._output = torch.empty_like(query)
        changes = [(LOOP, SPECIALIZED)] if trial.specialized else []
        self._loop = Edited("flash_kernel", *changes).kernel

    def launch(self) -> Any:
        trial, tile = self._trial, (self._trial.rows, self._trial.keys)
        arguments = (*self._inputs, self._output, trial.is_causal)
        if trial.descriptors:
            return launch_by_descriptors(*arguments, tile, trial.specialized, **options(trial))
        return launch.launch_forward(*arguments, self._loop, tile, **options(trial))

    launch_all = launch

    def error(self) -> float:
        """Run once; return the largest difference to PyTorch's result, over its largest number."""
        self.launch_all()
        right = scaled_dot_product_attention(*self._inputs, is_causal=self._trial.is_causal)
        return _difference([self._output], [right])


class Backward:
    """One of the two kernels of the backward pass with a trial's options."""

    def __init__(self, trial: Trial, *tensors: Tensor) -> None:
        self._trial = trial
        *self._inputs, self._toward = tensors
        self._output, *self._results = (torch.empty_like(tensors[0]) for _ in range(3))
        shape = tensors[0].shape[:-1]
        self._of_rows = [tensors[0].new_empty(shape, dtype=torch.float32) for _ in range(2)]

    def launch(self) -> Any:
        trial = self._trial
        _, heads, length, head = self._inputs[0].shape
        of_queries = trial.kernel == GRAD_QUERY
        kernel = (grad_query_kernel if of_queries else grad_key_value_kernel).fn
        step = trial.rows if of_queries else trial.keys
        return kernel[(triton.cdiv(length, step), heads)](
            *self._inputs,
            *([self._output] if of_queries else []),
            self._toward,
            *self._of_rows,
            *(self._results[:1] if of_queries else self._results),
            *(length, length, math.log2(math.e) / math.sqrt(head), length.bit_length()),
            HEAD=head,
            WIDTH=max(16, triton.next_power_of_2(head)),
            IS_CAUSAL=trial.is_causal,
            ROWS=trial.rows,
            BLOCK=trial.keys,
            **options(trial),
        )

    def launch_all(self) -> None:
        """Launch a forward pass, for what it leaves of each row, and then the kernel.

        The other kernel finds in each row's delta what that of the queries would leave there.
        """
        logsumexp, delta = self._of_rows
        arguments = (*self._inputs, self._output, self._trial.is_causal, flash_kernel, (64, 64))
        launch.launch_forward(*arguments, logsumexp, num_warps=4)
        torch.sum(self._output.float() * self._toward.float(), dim=-1, out=delta)
        self.launch()

    def error(self) -> float:
        """Run once; return the largest difference to PyTorch's gradients, over their largest."""
        self.launch_all()
        is_causal = self._trial.is_causal
        leaves = [tensor.detach().requires_grad_() for tensor in self._inputs]
        right = torch.autograd.grad(
            scaled_dot_product_attention(*leaves, is_causal=is_causal), leaves, self._toward
        )
        if self._trial.kernel == GRAD_QUERY:
            return _difference(self._results[:1], right[:1])
        return _difference(self._results, right[1:])


def options(trial: Trial) -> dict[str, Any]:
    """Return what the trial asks of Triton's compiler."""
    asked: dict[str, Any] = {"num_warps": trial.warps, "num_stages": trial.stages}
    return asked | ({"maxnreg": trial.most_registers} if trial.most_registers else {})


def _difference(results: Sequence[Tensor], right: Sequence[Tensor]) -> float:
    pairs = zip(results, right, strict=True)
    return max(float((a - b).abs().max() / b.abs().max()) for a, b in pairs)


if __name__ == "__main__":
    if "--one" in sys.argv:
        asked = Trial(**json.load(sys.stdin))
        print(json.dumps(dataclasses.asdict(run_one(asked, Path(sys.argv[-1])))))
    else:
        main()
