"""Right and wrong answers to `time_milliseconds`."""

import statistics
import time
import timeit
from time import perf_counter

import numpy as np
import torch


def wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    if device.type == "mps":
        torch.mps.synchronize()


def right_by_the_clock(fn, device, repeats=10):
    fn()
    times = []
    for _ in range(repeats):
        wait(device)
        start = time.perf_counter()
        fn()
        wait(device)
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def right_by_a_clock_imported_by_name(fn, device, repeats=10):
    fn()
    wait(device)
    times = []
    while len(times) < repeats:
        start = perf_counter()
        fn()
        wait(device)
        times.append(perf_counter() - start)
    return 1e3 * np.median(times)


def right_by_events(fn, device, repeats=10):
    if device.type != "cuda":
        return right_by_the_clock(fn, device, repeats)
    fn()
    torch.cuda.synchronize()
    times = []
    for _ in range(repeats):
        start = torch.cuda.Event(enable_timing=True)
        end = torch.cuda.Event(enable_timing=True)
        start.record()
        fn()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return sorted(times)[repeats // 2]


def right_by_timeit(fn, device, repeats=10):
    def call():
        fn()
        wait(device)

    call()
    seconds = timeit.repeat(call, setup=lambda: wait(device), repeat=repeats, number=1)
    return 1000 * np.median(seconds)


def wrong_always_cuda(fn, device, repeats=10):
    """Stop on a machine that has none."""
    torch.cuda.synchronize()
    return right_by_the_clock(fn, device, repeats)


def wrong_always_events(fn, device, repeats=10):
    fn()
    times = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        fn()
        end.record()
        wait(device)
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def wrong_in_whole_milliseconds(fn, device, repeats=10):
    return round(right_by_the_clock(fn, device, repeats))
