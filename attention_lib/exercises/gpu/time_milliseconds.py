"""`time_milliseconds(fn, device, repeats=10)` times a function on a device.

→ the median of `repeats` timed calls of `fn()`, in milliseconds, after at least one untimed call, the
device synchronized around each. Of an even number of calls, any number between the middle two will do.
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.random import Generator

from attention_lib.checks.calls import staging
from attention_lib.checks.calls.case import Case
from attention_lib.checks.calls.tensors import is_tensor
from attention_lib.checks.exercise import Exercise, known_mistakes
from attention_lib.exercises.parts.tensors import LazyReference, torch_device

HINTS = (
    "First call fn() once and throw the time away: the first call compiles and allocates.",
    "On CUDA, fn() returns before the work is done. torch.cuda.synchronize() waits for it: "
    "before the clock starts, and again before it stops. On MPS it is torch.mps.synchronize().",
    'device is a torch.device, which equals no string: ask device.type == "cuda" or '
    'device.type == "mps". A CPU has nothing to wait for.',
    "Collect repeats times in a list, each 1000 * (stop - start) from time.perf_counter(), and "
    "return statistics.median of it.",
)


def cases(rng: Generator) -> Iterator[Case]:
    yield timed_case("cpu", 400.0, 45.0, 30.0, 90.0, 70.0, 20.0)
    yield timed_case("cuda", 900.0, 12.0, 10.0, 45.0, 11.0, 80.0)
    yield timed_case("mps", 900.0, 0.2, 0.4, 0.9)  # less than a millisecond
    yield timed_case("cpu", 500.0, 80.0, 10.0, 82.0, 11.0, 12.0, 81.0, 30.0)
    yield timed_case("cuda", 600.0, 15.0, 60.0, 16.0, 90.0)  # even: between 16 and 60
    for device in ("cpu", "cuda"):  # as many as the default
        drawn = rng.permutation([10.0, 12.0, 14.0, 16.0, 17.0, 18.0, 40.0, 50.0, 70.0, 95.0])
        scaled = (rng.uniform(0.5, 3.0) * drawn).round(2)
        yield timed_case(device, 800.0, *scaled.tolist(), by_default=True)


class Durations(tuple[float, ...]):
    """The milliseconds that calls of `fn` take; a panel shows the name."""

    __name__ = "fn"


def timed_case(device: str, first: float, *then: float, by_default: bool = False) -> Case:
    # Any stretch of len(then) calls after the first has the same median, however many warm up.
    repeats = () if by_default else (len(then),)
    verify = functools.partial(problem_with, durations=sorted(then))
    return Case(Durations((first, *then)), torch_device(device), *repeats, verify=verify)


def problem_with(value: Any, durations: list[float]) -> str | None:
    value = value.item() if is_tensor(value) and value.numel() == 1 else value
    if not isinstance(value, (int, float, np.number)) or isinstance(value, bool):
        return f"time_milliseconds should return one number; it returned {value!r:.60}."
    middle = (len(durations) - 1) // 2, len(durations) // 2
    low, high = durations[middle[0]], durations[middle[1]]
    if low * 0.99 <= value <= high * 1.01:
        return None
    taken = ", ".join(f"{duration:g}" for duration in durations)
    between = f"{low:g}" if low == high else f"between {low:g} and {high:g}"
    return (
        f"time_milliseconds gives {value:.4g} where the calls took {taken} ms: the median is "
        f"{between}."
    )


def plain(fn, device, repeats=10):
    import torch

    def wait():
        if device.type == "cuda":
            torch.cuda.synchronize()
        elif device.type == "mps":
            torch.mps.synchronize()

    fn()
    times = []
    for _ in range(repeats):
        wait()
        start = time.perf_counter()
        fn()
        wait()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


NO_WARM_UP = "fn()\n    times = [] => times = []"
NO_WAIT_AT_END = "fn()\n        wait() => fn()"
NO_WAIT_AT_START = ":\n        wait() => :"
CPU_TIME = "start = time.perf_counter => start = time.process_time && (time.perf_counter => (time.process_time"
OTHER_MIDDLE = " && statistics.median => statistics.median_{high|low}"

MISTAKES = known_mistakes(
    plain,
    "first-call-timed: The first call is timed as well: call fn() once, untimed, before you begin.",
    NO_WARM_UP,
    NO_WARM_UP + OTHER_MIDDLE,
    "one-call-short: The call that warms up is one of the repeats, and one time is missing: keep all "
    "of them, and call fn() once more, untimed, before them.",
    f"{NO_WARM_UP} && (times) => (times[1:] or [0.0])",
    "mean: This is the mean, which one slow call drags away: take the median.",
    "statistics.median => statistics.mean",
    "fastest: This is the fastest call: take the median.",
    "statistics.median => min",
    "slowest: This is the slowest call: take the median.",
    "statistics.median => max",
    "percentile: np.percentile takes percent: 50 is the median, and 0.5 nearly the fastest call.",
    "statistics.median(times) => np.percentile(times, 0.5)",
    "not-sorted: The middle one in the order of the calls is taken: the median is the middle one in "
    "order of size, as in sorted(times).",
    "statistics.median(times) => times[len(times) // 2]",
    "sum: These are all calls together: take the median of the single calls.",
    "statistics.median => sum",
    "seconds: These are seconds: a second has 1000 milliseconds.",
    "1000 * => ",
    "1000 * => " + OTHER_MIDDLE,
    "microseconds: These are microseconds: a second has 1000 milliseconds.",
    "1000 => 1e6",
    "1000 => 1e6" + OTHER_MIDDLE,
    "not-synchronized-at-end: The clock stops before the device has done its work: synchronize "
    'before you read it, where device.type is "cuda" or "mps".',
    NO_WAIT_AT_END,
    NO_WAIT_AT_END + OTHER_MIDDLE,
    "untimed-and-unsynchronized: The first call is timed as well, and the clock stops before the "
    "device has done its work: call fn() once, untimed, and synchronize before you read the clock.",
    f"{NO_WARM_UP} && {NO_WAIT_AT_END}",
    f"{NO_WARM_UP} && {NO_WAIT_AT_END}" + OTHER_MIDDLE,
    "not-synchronized-at-start: The clock starts while the device still does earlier work: "
    "synchronize before the first timed call, too.",
    NO_WAIT_AT_START,
    NO_WAIT_AT_START + OTHER_MIDDLE,
    "only-cuda-synchronized: Only CUDA is waited for: on MPS it is torch.mps.synchronize().",
    "torch.mps.synchronize() => pass",
    "torch.mps.synchronize() => pass" + OTHER_MIDDLE,
    "only-mps-synchronized: Only MPS is waited for: on CUDA it is torch.cuda.synchronize().",
    "torch.cuda.synchronize() => pass",
    "torch.cuda.synchronize() => pass" + OTHER_MIDDLE,
    "process-time: process_time counts what the processor works, and not what it waits for a "
    "device: read time.perf_counter().",
    CPU_TIME,
    CPU_TIME + OTHER_MIDDLE,
    "repeats-ignored: repeats is ignored: time as many calls as asked for.",
    "range(repeats => range(10",
    "list-of-times: This is the list of times: return its median, one number.",
    "statistics.median(times) => times",
)


EXERCISE = Exercise(
    name="time_milliseconds",
    points=2,
    minutes=10,
    reference=LazyReference("time_milliseconds"),
    accelerated=True,
    run=staging.on_simulated_machine,
    run_as="def time_milliseconds(fn, device, repeats=10)",
    cases=cases,
    tolerance=0.005,
    hints=HINTS,
    mistakes=MISTAKES,
)
