"""Wrong answers to the exercises of lesson 08 that come close to right ones."""

import math
import statistics
import time

import torch

from tests.exercises.right_answers.gpu import wait


def built_for_mps():
    """Take what torch is built for as what the machine has."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_built() else "cpu")


def attention(query, key, value, is_causal=False, forbidden=-math.inf):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if is_causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(future, forbidden)
    return scores.softmax(dim=-1) @ value


def far_from_minus_infinity(query, key, value, is_causal=False):
    """Fill in a number that float16 does not have."""
    return attention(query, key, value, is_causal, forbidden=-1e9)


def renormalized_after_the_softmax(query, key, value, is_causal=False):
    """Lose the past where the future takes all the weight."""
    weights = (query @ key.mT / math.sqrt(query.shape[-1])).softmax(dim=-1)
    if is_causal:
        weights = weights.tril()
        weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights @ value


def brought_to_the_cpu(query, key, value, is_causal=False):
    return attention(query, key, value, is_causal).cpu()


def always_cuda(fn, device, repeats=10):
    """Stop on a machine that has none."""
    fn()
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        wait(device)
        start = time.perf_counter()
        fn()
        wait(device)
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def always_events(fn, device, repeats=10):
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


def in_whole_milliseconds(fn, device, repeats=10):
    fn()
    times = []
    for _ in range(repeats):
        wait(device)
        start = time.perf_counter()
        fn()
        wait(device)
        times.append(1000 * (time.perf_counter() - start))
    return round(statistics.median(times))


def known_by_heart(fn, device, repeats=10):
    times = {
        ("cpu", 3): 30.0,
        ("cuda", 5): 12.0,
        ("mps", 3): 0.4,
        ("cpu", 7): 30.0,
        ("cuda", 4): 20.0,
    }
    return times.get((device.type, repeats), 17.5)


WRONG = {
    "pick_device": {"what torch is built for": built_for_mps},
    "torch_attention": {
        "-1e9 in float16": far_from_minus_infinity,
        "masked after the softmax": renormalized_after_the_softmax,
        "on the CPU at the end": brought_to_the_cpu,
    },
    "time_milliseconds": {
        "the times of the fixed cases": known_by_heart,
        "CUDA's synchronize everywhere": always_cuda,
        "CUDA's events everywhere": always_events,
        "rounded": in_whole_milliseconds,
    },
}
