"""Right answers to the exercises of lesson 08, written in unlike ways."""

import math
import statistics
import time
import timeit
from time import perf_counter

import numpy as np
import torch

from attention_lib.lessons.gpu import launch

triton, jit = launch.triton, launch.jit
tl = triton.language if triton else None


def device_step_by_step():
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def device_with_its_number():
    if torch.cuda.device_count():
        return torch.device("cuda", 0)
    return torch.device("mps:0" if torch.mps.is_available() else "cpu")


def device_at_present():
    if torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("mps" if torch.mps.is_available() else "cpu")


def device_of_the_accelerator():
    return torch.accelerator.current_accelerator() or torch.device("cpu")


def attention_textbook(query, key, value, is_causal=False):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if is_causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=query.device).tril()
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ value


def attention_as_einsum(query, key, value, is_causal=False):
    wide = torch.promote_types(query.dtype, torch.float32)
    scores = torch.einsum("...ld,...sd->...ls", query.to(wide), key.to(wide))
    scores *= query.size(-1) ** -0.5
    if is_causal:
        length, keys = scores.shape[-2:]
        rows = torch.arange(length, device=query.device)[:, None]
        future = torch.arange(keys, device=query.device) > rows
        scores = torch.where(future, float("-inf"), scores)
    weights = scores.softmax(-1)
    return torch.einsum("...ls,...sv->...lv", weights, value.to(wide)).to(value.dtype)


def attention_by_hand(query, key, value, is_causal=False):
    scores = torch.matmul(query, key.mT) * (1 / math.sqrt(key.shape[-1]))
    if is_causal:
        scores = scores + torch.full_like(scores, -math.inf).triu(1)
    scores = scores - scores.amax(-1, keepdim=True).detach()
    exponentials = scores.exp()
    return (exponentials / exponentials.sum(-1, keepdim=True)).matmul(value)


def attention_in_float64(query, key, value, is_causal=False):
    scores = (query.double() / query.shape[-1] ** 0.5) @ key.double().transpose(-1, -2)
    if is_causal:
        keep = torch.tril(torch.ones_like(scores)).bool()
        scores = scores.masked_fill(keep.logical_not(), -torch.inf)
    log_weights = scores - scores.logsumexp(-1, keepdim=True)
    return (log_weights.exp() @ value.double()).type_as(value)


def attention_by_rows(query, key, value, is_causal=False):
    rows = []
    for i in range(query.shape[-2]):
        seen = min(i + 1, key.shape[-2]) if is_causal else key.shape[-2]
        scores = (query[..., i : i + 1, :] * key[..., :seen, :]).sum(-1)
        weights = torch.nn.functional.softmax(scores / math.sqrt(query.shape[-1]), dim=-1)
        rows.append((weights[..., None] * value[..., :seen, :]).sum(-2))
    return torch.stack(rows, dim=-2)


def attention_that_looks_at_values(query, key, value, is_causal=False):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if is_causal:
        scores = scores.masked_fill(torch.ones_like(scores).triu(1) == 1, -torch.inf)
    if bool(scores.isnan().any()):
        raise ValueError("NaN")
    return scores.softmax(dim=-1) @ value


def flops_by_products(batch, heads, length, head_dim, is_causal=False):
    one = 2 * batch * heads * length**2 * head_dim
    return 2 * one // (2 if is_causal else 1)


def flops_as_a_float(batch, heads, length, head_dim, is_causal=False):
    return 4.0 * math.prod((batch, heads, length, length, head_dim)) * (0.5 if is_causal else 1.0)


def flops_in_numpy(batch, heads, length, head_dim, is_causal=False):
    entries = np.float64(batch) * heads * length * length
    return entries * head_dim * (2 if is_causal else 4)


def wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    if device.type == "mps":
        torch.mps.synchronize()


def timed_by_the_clock(fn, device, repeats=10):
    fn()
    times = []
    for _ in range(repeats):
        wait(device)
        start = time.perf_counter()
        fn()
        wait(device)
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def timed_in_nanoseconds(fn, device, repeats=10):
    for _ in range(3):
        fn()
    times = torch.zeros(repeats)
    for i in range(repeats):
        if device.type != "cpu":
            torch.accelerator.synchronize()
        start = time.perf_counter_ns()
        fn()
        if device.type != "cpu":
            torch.accelerator.synchronize()
        times[i] = (time.perf_counter_ns() - start) / 1e6
    return times.median().item()  # of an even number, the lower of the middle two


def timed_by_a_clock_imported_by_name(fn, device, repeats=10):
    fn()
    wait(device)
    times = []
    while len(times) < repeats:
        start = perf_counter()
        fn()
        wait(device)
        times.append(perf_counter() - start)
    return 1e3 * np.median(times)


def timed_by_events(fn, device, repeats=10):
    if device.type != "cuda":
        return timed_by_the_clock(fn, device, repeats)
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


def timed_by_timeit(fn, device, repeats=10):
    def call():
        fn()
        wait(device)

    call()
    seconds = timeit.repeat(call, setup=lambda: wait(device), repeat=repeats, number=1)
    return 1000 * np.median(seconds)


@jit
def kernel_scaled_first(
    query, key_pointers, value_pointers, key_stride, value_stride, start, stop, limit, scale,
    output, total, maximum, BLOCK: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    for first in range(start, stop, BLOCK):
        columns = first + tl.arange(0, BLOCK)
        key = tl.load(key_pointers + first * key_stride, mask=columns[:, None] < stop, other=0.0)
        scores = tl.dot(query, tl.trans(key)) * scale
        if MASKED:
            scores += tl.where(columns[None, :] < limit[:, None], 0.0, float("-inf"))
        new = tl.maximum(maximum, tl.max(scores, 1))
        weights = tl.exp2(scores - new[:, None])
        old = tl.exp2(maximum - new)
        value = tl.load(
            value_pointers + first * value_stride, mask=columns[:, None] < stop, other=0
        )
        output = tl.dot(weights.to(value.dtype), value, output * old[:, None])
        total = old * total + tl.sum(weights, 1)
        maximum = new
    return output, total, maximum


@jit
def kernel_with_moving_pointers(
    query, key_pointers, value_pointers, key_stride, value_stride, start, stop, limit, scale,
    output, total, maximum, BLOCK: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    key_pointers += start * key_stride
    value_pointers += start * value_stride
    offsets = tl.arange(0, BLOCK)
    for first in range(start, stop, BLOCK):
        there = (first + offsets < stop)[:, None]
        key = tl.load(key_pointers, mask=there, other=0.0)
        value = tl.load(value_pointers, mask=there, other=0.0)
        scores = scale * tl.dot(query, key.T)
        if MASKED:
            scores = tl.where((first + offsets)[None, :] < limit[:, None], scores, -1.0e9)
        highest = tl.maximum(tl.max(scores, axis=1), maximum)
        shrink = tl.math.exp2(maximum - highest)
        weights = tl.math.exp2(scores - tl.expand_dims(highest, 1))
        total *= shrink
        total += tl.sum(weights, axis=1)
        output *= tl.expand_dims(shrink, 1)
        output += tl.dot(weights.to(value.dtype), value)
        maximum = highest
        key_pointers += BLOCK * key_stride
        value_pointers += BLOCK * value_stride
    return output, total, maximum


@jit
def kernel_in_powers_of_e(
    query, key_pointers, value_pointers, key_stride, value_stride, start, stop, limit, scale,
    output, total, maximum, BLOCK: tl.constexpr, MASKED: tl.constexpr,
):  # fmt: skip
    for first in range(start, stop, BLOCK):
        columns = first + tl.arange(0, BLOCK)
        inside = columns < stop
        key = tl.load(key_pointers + first * key_stride, mask=inside[:, None], other=0.0)
        value = tl.load(value_pointers + first * value_stride, mask=inside[:, None], other=0.0)
        scores = tl.dot(query, tl.trans(key)) * scale * 0.6931471805599453
        visible = inside[None, :] & (columns[None, :] < limit[:, None])
        scores = tl.where(visible, scores, float("-inf"))
        larger = tl.maximum(maximum, tl.max(scores, axis=1))
        weights = tl.exp(scores - larger[:, None])
        shrink = tl.exp(maximum - larger)
        total = total * shrink + tl.sum(weights, axis=1)
        output = output * shrink[:, None] + tl.dot(weights.to(value.dtype), value)
        maximum = larger
    return output, total, maximum


RIGHT = {
    "pick_device": [
        device_step_by_step,
        device_with_its_number,
        device_at_present,
        device_of_the_accelerator,
    ],
    "torch_attention": [
        attention_textbook,
        attention_as_einsum,
        attention_by_hand,
        attention_in_float64,
        attention_by_rows,
        attention_that_looks_at_values,
    ],
    "attention_flops": [flops_by_products, flops_as_a_float, flops_in_numpy],
    "time_milliseconds": [
        timed_by_the_clock,
        timed_in_nanoseconds,
        timed_by_a_clock_imported_by_name,
        timed_by_events,
        timed_by_timeit,
    ],
    "flash_kernel": [
        kernel_scaled_first,
        kernel_with_moving_pointers,
        kernel_in_powers_of_e,
    ],
}
