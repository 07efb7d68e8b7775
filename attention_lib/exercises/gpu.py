"""The exercises of lesson 08: PyTorch, timing and a kernel.

The catalogue of exercises is there without torch: everything here that needs it imports it when
it is called.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import linecache
import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from attention_lib.checks.calls import staging
from attention_lib.checks.calls.calling import Elsewhere
from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.calls.simulated import Work
from attention_lib.checks.calls.tensors import is_tensor
from attention_lib.checks.exercise import Exercise, Mistake


class OfLibrary:
    """A function of lesson 08, fetched when it is first used."""

    def __init__(self, name: str, truth: Answer | None = None) -> None:
        self.__name__ = name
        self._truth = truth  # what to compare with, where the function itself is no judge

    @property
    def __wrapped__(self) -> Answer:  # where inspect looks for the source and the signature
        import attention_lib

        function = getattr(attention_lib, self.__name__)
        return getattr(function, "fn", function)  # of a Triton kernel, the Python function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return (self._truth or self.__wrapped__)(*args, **kwargs)


# pick_device


def _device_cases(_rng: Generator) -> Iterator[Case]:
    for cuda, mps in itertools.product((True, False), repeat=2):
        right = "cuda" if cuda else "mps" if mps else "cpu"
        yield Case(cuda=cuda, mps=mps, verify=functools.partial(_problem_with_device, right=right))


def _problem_with_device(value: Any, right: str) -> str | None:
    import torch

    if not isinstance(value, torch.device):
        return f'pick_device returned {value!r}: make a device of it, torch.device("{right}").'
    if value.type != right:
        return f"pick_device returned {value.type} where {right} should be taken."
    return None


def _device(name: str) -> Any:
    import torch

    return torch.device(name)


def _cuda() -> bool:
    import torch

    return torch.cuda.is_available()


def _mps() -> bool:
    import torch

    return torch.backends.mps.is_available()


def _first_of(*names: str) -> str:
    return next(n for n in names if {"cuda": _cuda, "mps": _mps, "cpu": lambda: True}[n]())


PICK_DEVICE = Exercise(
    name="pick_device",
    points=1,
    minutes=3,
    reference=OfLibrary("pick_device"),
    signature="pick_device()",
    accelerated=True,
    run=staging.with_devices,
    run_as="def pick_device_where(cuda, mps)",
    cases=_device_cases,
    hints=(
        "torch.cuda.is_available() and torch.backends.mps.is_available() say what there is.",
        'Ask for CUDA first, then for MPS; what remains is the CPU. Return torch.device("cuda"), '
        'torch.device("mps") or torch.device("cpu").',
    ),
    mistakes=(
        Mistake(
            'These are names: return the device itself, such as torch.device("cuda").',
            lambda: _first_of("cuda", "mps", "cpu"),
        ),
        Mistake(
            "Only CUDA is looked for: on a Mac, torch.backends.mps.is_available() is True.",
            lambda: _device(_first_of("cuda", "cpu")),
        ),
        Mistake(
            "CUDA is never taken: ask torch.cuda.is_available() first, and keep what it says.",
            lambda: _device(_first_of("mps", "cpu")),
        ),
        Mistake(
            "MPS is taken before CUDA: look for CUDA first.",
            lambda: _device(_first_of("mps", "cuda", "cpu")),
        ),
        Mistake(
            "It is always the CPU: ask torch.cuda.is_available() first.",
            lambda: _device("cpu"),
        ),
        Mistake(
            "It is always CUDA, also where there is none: ask torch.cuda.is_available(), with its "
            "parentheses.",
            lambda: _device("cuda"),
        ),
        Mistake(
            "MPS is taken where there is none: ask torch.backends.mps.is_available(), with its "
            "parentheses; the CPU comes last.",
            lambda: _device("cuda" if _cuda() else "mps"),
        ),
    ),
)

# torch_attention


def _tensors(rng: Generator, *shapes: tuple[int, ...], dtype: str = "float64") -> list[Any]:
    import torch

    arrays = [rng.standard_normal(shape) for shape in shapes]
    return [torch.from_numpy(array).to(getattr(torch, dtype)) for array in arrays]


def _qkv(
    rng: Generator,
    leading: Sequence[int],
    sizes: tuple[int, int, int, int],
    dtype: str = "float64",
) -> list[Any]:
    length, keys, d_k, d_v = sizes
    shapes = [(*leading, length, d_k), (*leading, keys, d_k), (*leading, keys, d_v)]
    return _tensors(rng, *shapes, dtype=dtype)


def _attention_cases(rng: Generator) -> Iterator[Case]:
    import torch

    query = torch.tensor([[1.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
    key = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
    value = torch.tensor([[1.0], [2.0], [4.0]], dtype=torch.float64)
    yield Case(query, key, value)
    yield Case(query, key, value, is_causal=True)
    yield Case(*_qkv(rng, (), (3, 5, 6, 2)))
    yield Case(*_qkv(rng, (2,), (5, 3, 7, 2)), is_causal=True)  # more queries than keys
    yield Case(*_qkv(rng, (2, 3), (3, 7, 5, 6)), True)
    yield Case(*_qkv(rng, (3,), (3, 3, 3, 3)))  # square: here a lost axis gives numbers
    yield Case(*_qkv(rng, (2, 3), (5, 7, 6, 2), "float32"))
    yield Case(*_qkv(rng, (3,), (5, 5, 7, 2), "float32"), is_causal=True)
    yield Case(*_qkv(rng, (2,), (3, 6, 5, 7), "float16"))
    yield Case(*_qkv(rng, (2,), (4, 4, 3, 5), "float16"), is_causal=True)
    yield Case(*_qkv(rng, (2,), (6, 6, 5, 3), "bfloat16"), is_causal=True)
    query, key, value = _qkv(rng, (2,), (3, 5, 6, 7))
    yield Case(query * 1000.0, key, value)  # exponentials that overflow
    slope = torch.linspace(-1.0, 1.0, 5, dtype=torch.float64)[:, None]
    rising = slope * (1.0 + key.abs())  # the future would take all the weight
    yield Case(1000.0 * (1.0 + query.abs()), rising, value, is_causal=True)
    yield Case(query + 0 * query[:, :1], key - 40.0 * query.mean(), value, False)


def _attention_size(query: Any, key: Any, value: Any, is_causal: bool = False) -> Any:
    scores = query.abs() @ key.abs().transpose(-2, -1) / math.sqrt(query.shape[-1])
    largest = value.abs().amax(dim=(-2, -1), keepdim=True)
    return (2.0 + scores.amax(dim=-1, keepdim=True)) * largest


def _differentiable(answer: Answer) -> str | None:
    """Compare the gradients of an answer with those of the reference."""
    import torch

    rng = np.random.default_rng(5)
    for is_causal in (False, True):
        inputs = _qkv(rng, (2,), (3, 5, 6, 7))
        (toward,) = _tensors(rng, (2, 3, 7))
        try:
            got = staging.gradients(answer, inputs, toward, is_causal=is_causal)
        except RuntimeError as error:
            if "inplace operation" in str(error):
                return CHANGED_IN_PLACE
            raise
        if got is None:
            return NO_GRADIENT
        right = staging.gradients(TORCH_ATTENTION.reference, inputs, toward, is_causal=is_causal)
        for name, one, other in zip(("query", "key", "value"), got, right, strict=True):
            if one is None:
                return f"{NO_GRADIENT} Here it is {name} that gets no gradient."
            if not torch.allclose(one, other, rtol=1e-6, atol=1e-9):
                return (
                    f"The output is right, but its gradient with respect to {name} is not: leave "
                    "nothing of the calculation out of autograd's sight."
                )
    return None


NO_GRADIENT = (
    "No gradient flows back through the output: leave detach, no_grad, .item() and NumPy out, and "
    "compute with tensors from the inputs to the output."
)
CHANGED_IN_PLACE = (
    "A tensor that autograd needs for the gradient is changed in place: write x = x / y in place "
    "of x /= y, and leave out functions whose names end with an underscore."
)
WRONG_DEVICE = (
    "A tensor inside torch_attention is on the CPU whatever device the inputs are on: give "
    "device=query.device where you make one, and leave .cpu() out."
)


def _stays_on_its_device(answer: Answer) -> str | None:
    """Try tensors of the meta device, which have a device and no values."""
    import torch

    for is_causal in (False, True):
        inputs = [torch.empty(shape, device="meta") for shape in ((2, 3, 6), (2, 5, 6), (2, 5, 7))]
        try:
            output = answer(*inputs, is_causal)
        except RuntimeError as error:
            # An answer may look at values, which are not there; devices it may not mix.
            texts = ("expected device", "same device", "Cannot copy out of meta tensor")
            if any(text in str(error) for text in texts):
                return WRONG_DEVICE
            continue
        except TypeError:
            continue
        if is_tensor(output) and not output.is_meta:
            return WRONG_DEVICE
    return None


def _torch_attention(
    query: Any,
    key: Any,
    value: Any,
    is_causal: bool = False,
    *,
    scale: Callable[..., float] = lambda q, k, v: math.sqrt(q.shape[-1]),
    mask: Callable[[Any], Any] | None = None,
    forbidden: float = -math.inf,
    dim: int = -1,
    late: Callable[[Any], Any] | None = None,
    out: Callable[[Any, Any], Any] = lambda output, value: output.to(value.dtype),
    shift: bool = True,
) -> Any:
    """The reference with one thing changed."""
    import torch

    query, key, wide = query.double(), key.double(), value.double()
    scores = query @ key.transpose(-2, -1) / scale(query, key, value)
    if is_causal and not late:
        allowed = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        scores = scores.masked_fill(~(mask(scores) if mask else allowed), forbidden)
    if shift:
        weights = torch.softmax(scores, dim=dim)
    else:
        weights = torch.exp(scores) / torch.exp(scores).sum(dim=dim, keepdim=True)
    if is_causal and late:
        weights = late(weights)
    return out(weights @ wide, value)


def _with(**changes: Any) -> Answer:
    return functools.partial(_torch_attention, **changes)


def _lower(diagonal: Callable[[int, int], int]) -> Callable[[Any], Any]:
    def mask(scores: Any) -> Any:
        import torch

        length, keys = scores.shape[-2:]
        ones = torch.ones((length, keys), dtype=torch.bool, device=scores.device)
        return ones.tril(diagonal=diagonal(length, keys))

    return mask


def _upper(scores: Any) -> Any:
    import torch

    return torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu()


def _fused(query: Any, key: Any, value: Any, is_causal: bool = False) -> Any:
    import torch

    return torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=is_causal)


def _on_the_cpu(query: Any, key: Any, value: Any, is_causal: bool = False) -> Any:
    import torch

    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if is_causal:
        past = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = torch.where(past, scores, torch.tensor(-math.inf, dtype=scores.dtype))
    return torch.softmax(scores, dim=-1) @ value


def _back_from_the_cpu(query: Any, key: Any, value: Any, is_causal: bool = False) -> Any:
    inputs = [tensor.cpu() for tensor in (query, key, value)]
    return _torch_attention(*inputs, is_causal)


def _through_numpy(query: Any, key: Any, value: Any, is_causal: bool = False) -> Any:
    import torch

    arrays = [tensor.detach().double().numpy() for tensor in (query, key, value)]
    scores = arrays[0] @ arrays[1].swapaxes(-1, -2) / math.sqrt(query.shape[-1])
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return torch.from_numpy(weights @ arrays[2]).to(query.dtype)


def _divided_in_place(query: Any, key: Any, value: Any, is_causal: bool = False) -> Any:
    import torch

    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if is_causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(future, -math.inf)
    weights = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    weights /= weights.sum(dim=-1, keepdim=True)
    return weights @ value


def _in_float32(query: Any, key: Any, value: Any, is_causal: bool = False) -> Any:
    narrow = [tensor.float() for tensor in (query, key, value)]
    return TORCH_ATTENTION.reference(*narrow, is_causal).to(value.dtype)


def _without_gradient(query: Any, key: Any, value: Any, is_causal: bool = False) -> Any:
    return _torch_attention(query, key, value, is_causal).detach()


TORCH_ATTENTION = Exercise(
    name="torch_attention",
    points=3,
    minutes=12,
    reference=OfLibrary("torch_attention"),
    signature="torch_attention(query, key, value, is_causal=False)",
    accelerated=True,
    cases=_attention_cases,
    magnitude=_attention_size,
    probes=(_differentiable, _stays_on_its_device),
    hints=(
        "The steps are those of lesson 05: scores, mask, softmax, mixture. For tensors, "
        "key.transpose(-2, -1) turns the last two axes and torch.softmax(scores, dim=-1) is there.",
        "The causal mask is torch.ones(L, S, dtype=torch.bool, device=query.device).tril(): True "
        "where the key is not after the query.",
        "scores.masked_fill(~mask, float('-inf')) fills what may not be seen. Whatever dtype you "
        "compute in, return the dtype of value.",
    ),
    mistakes=(
        Mistake(
            "fused attention: write it with matrix products and other plain tensor operations.",
            _fused,
            measured=True,
        ),
        Mistake(
            "The scores are not scaled: divide them by the square root of d_k.",
            _with(scale=lambda q, k, v: 1.0),
        ),
        Mistake(
            "The scores are divided by √d_v: the length of a query counts, query.shape[-1].",
            _with(scale=lambda q, k, v: math.sqrt(v.shape[-1])),
        ),
        Mistake(
            "The scores are divided by d_k: divide by its square root.",
            _with(scale=lambda q, k, v: q.shape[-1]),
        ),
        Mistake(
            "The scores are divided by the square root of the number of keys: d_k is the last axis, "
            "query.shape[-1].",
            _with(scale=lambda q, k, v: math.sqrt(k.shape[-2])),
        ),
        Mistake(
            "The causal mask is aligned at the bottom right: query 0 sees key 0 and no other, also "
            "where L and S differ.",
            _with(mask=_lower(lambda length, keys: keys - length)),
        ),
        Mistake(
            "is_causal is ignored: with it, query i sees the keys 0 to i only.",
            _with(mask=_lower(lambda length, keys: keys)),
        ),
        Mistake(
            "The mask is reversed: it hides the past, and the future is seen.",
            _with(mask=_upper),
            _with(mask=lambda scores: ~_lower(lambda length, keys: 0)(scores)),
        ),
        Mistake(
            "Each query misses its own key: key i may be seen by query i.",
            _with(mask=_lower(lambda length, keys: -1)),
        ),
        Mistake(
            "Each query sees one key of the future: the last one it may see is its own.",
            _with(mask=_lower(lambda length, keys: 1)),
        ),
        Mistake(
            "Masked scores are set to 0, which softmax turns into a weight: fill in -inf.",
            _with(forbidden=0.0),
        ),
        Mistake(
            "The mask comes after the softmax: fill -inf into the scores before it, so that what "
            "is hidden takes no part in the sum.",
            _with(late=lambda weights: weights.tril()),
            _with(late=lambda weights: weights.tril() / weights.tril().sum(-1, keepdim=True)),
        ),
        Mistake(
            "Keys are hidden without is_causal, too: mask only where it is True.",
            lambda query, key, value, is_causal=False: _torch_attention(query, key, value, True),
        ),
        Mistake(
            "The softmax runs over the queries: it must run over the keys, dim=-1.",
            _with(dim=-2),
        ),
        Mistake(
            "NaN: the exponentials overflow. torch.softmax subtracts each row's maximum first.",
            _with(shift=False),
        ),
        Mistake(
            "float64 inputs are computed in float32, and half of their digits are lost: keep the "
            "inputs' dtype, or a wider one.",
            _in_float32,
        ),
        Mistake(NO_GRADIENT, _without_gradient, _through_numpy, measured=True),
        Mistake(CHANGED_IN_PLACE, _divided_in_place, measured=True),
        Mistake(WRONG_DEVICE, _on_the_cpu, _back_from_the_cpu, measured=True),
    ),
)


# attention_flops


def _flops_cases(rng: Generator) -> Iterator[Case]:
    yield Case(1, 1, 2, 3)
    yield Case(1, 1, 2, 3, is_causal=True)
    yield Case(2, 3, 5, 7)
    yield Case(3, 2, 6, 5, True)
    yield Case(4, 16, 4096, 64)
    yield Case(1, 8, 1_048_576, 128, is_causal=True)
    sizes = [int(size) for size in rng.integers(2, 50, 4)]
    yield Case(*sizes, is_causal=False)
    yield Case(*sizes, is_causal=True)


def _flops(factor: float, causal: float = 0.5, length: float = 2, extra: float = 0.0) -> Answer:
    def count(b: int, h: int, n: int, d: int, is_causal: bool = False) -> float:
        pairs = b * h * n**length
        return (factor * d + extra) * pairs * (causal if is_causal else 1)

    return count


ATTENTION_FLOPS = Exercise(
    name="attention_flops",
    points=1,
    minutes=5,
    reference=OfLibrary("attention_flops"),
    signature="attention_flops(batch, heads, length, head_dim, is_causal=False)",
    accelerated=True,
    cases=_flops_cases,
    hints=(
        "One entry of QKᵀ is a dot product of head_dim components: as many multiplications, and "
        "about as many additions. How many entries are there?",
        "The second product, of weights and values, costs the same. A causal mask leaves about "
        "half of the pairs.",
    ),
    mistakes=(
        Mistake(
            "Half of it: there are two products, and a multiplication and an addition are two "
            "operations.",
            _flops(2),
        ),
        Mistake(
            "A quarter of it: there are two products, and each of their steps is a multiplication "
            "and an addition.",
            _flops(1),
        ),
        Mistake(
            "Twice the count: two products, of two operations a step, make 4 · head_dim for a pair.",
            _flops(8),
        ),
        Mistake(
            "is_causal is ignored: it leaves half of the pairs.",
            _flops(4, causal=1.0),
        ),
        Mistake(
            "A causal mask halves the pairs, and so the operations, once: not the two products each "
            "by four.",
            _flops(4, causal=0.25),
        ),
        Mistake(
            "The batch or the heads are left out: every head of every sequence has its own products.",
            lambda b, h, n, d, is_causal=False: _flops(4)(1, h, n, d, is_causal),
            lambda b, h, n, d, is_causal=False: _flops(4)(b, 1, n, d, is_causal),
            lambda b, h, n, d, is_causal=False: _flops(4)(1, 1, n, d, is_causal),
        ),
        Mistake(
            "This grows with the length and not with its square: every query meets every key.",
            _flops(4, length=1),
        ),
        Mistake(
            "The operations of the softmax are counted as well: only the two matrix products count.",
            *(_flops(4, extra=extra) for extra in (1, 2, 3, 4, 5)),
        ),
        Mistake(
            "The causal pairs are counted one by one, the diagonal included: here causal counts as "
            "exactly half.",
            lambda b, h, n, d, is_causal=False: (
                4 * b * h * d * (n * (n + 1) // 2 if is_causal else n * n)
            ),
        ),
        Mistake(
            "The last addition of each dot product is left out: count as many additions as "
            "multiplications.",
            lambda b, h, n, d, is_causal=False: (
                2 * b * h * n * n * (2 * d - 1) / (2 if is_causal else 1)
            ),
        ),
    ),
)

# time_milliseconds


def _timing_cases(rng: Generator) -> Iterator[Case]:
    yield _timing_case("cpu", 400.0, 20.0, 30.0, 70.0)
    yield _timing_case("cuda", 900.0, 12.0, 10.0, 45.0, 11.0, 80.0)
    yield _timing_case("mps", 900.0, 0.2, 0.4, 0.9)  # less than a millisecond
    yield _timing_case("cpu", 500.0, 80.0, 10.0, 82.0, 11.0, 12.0, 81.0, 30.0)
    yield _timing_case("cuda", 600.0, 15.0, 60.0, 16.0, 90.0)  # even: between 16 and 60
    for device in ("cpu", "cuda"):  # as many as the default
        drawn = rng.permutation([10.0, 12.0, 14.0, 16.0, 17.0, 18.0, 40.0, 50.0, 70.0, 95.0])
        scaled = (rng.uniform(0.5, 3.0) * drawn).round(2)
        yield _timing_case(device, 800.0, *scaled.tolist(), by_default=True)


def _timing_case(device: str, first: float, *then: float, by_default: bool = False) -> Case:
    # Any stretch of len(then) calls after the first has the same median, however many warm up.
    repeats = () if by_default else (len(then),)
    verify = functools.partial(_problem_with_time, durations=sorted(then))
    return Case(Work(first, then), _device(device), *repeats, verify=verify)


def _problem_with_time(value: Any, durations: list[float]) -> str | None:
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
        f"{between}. Read time.perf_counter() before and after each call, on an idle device."
    )


def _timer(
    *,
    warm: int = 1,
    of: Callable[[list[float]], Any] = statistics.median,
    unit: float = 1e3,
    before: bool = True,
    after: bool = True,
    repeats_given: bool = True,
    waits_on: Sequence[str] = ("cuda", "mps"),
    clock: str = "perf_counter",
) -> Answer:
    """Build the reference with one thing changed."""

    def wait(device: Any) -> None:
        if device.type in waits_on:
            _wait(device)

    def time_milliseconds(fn: Answer, device: Any, repeats: int = 10) -> Any:
        times = []
        for _ in range(warm):
            fn()
        for _ in range(repeats if repeats_given else 10):
            if before:
                wait(device)
            start = getattr(time, clock)()
            fn()
            if after:
                wait(device)
            times.append(unit * (getattr(time, clock)() - start))
        return of(times)

    return time_milliseconds


def _wait(device: Any) -> None:
    import torch

    if device.type == "cuda":
        torch.cuda.synchronize()
    elif device.type == "mps":
        torch.mps.synchronize()


def _all_at_once(fn: Answer, device: Any, repeats: int = 10) -> float:
    fn()
    _wait(device)
    start = time.perf_counter()
    for _ in range(repeats):
        fn()
    _wait(device)
    return 1e3 * (time.perf_counter() - start) / repeats


TIME_MILLISECONDS = Exercise(
    name="time_milliseconds",
    points=2,
    minutes=10,
    reference=OfLibrary("time_milliseconds"),
    signature="time_milliseconds(fn, device, repeats=10)",
    accelerated=True,
    run=staging.on_simulated_machine,
    run_as="def time_milliseconds(fn, device, repeats=10)",
    cases=_timing_cases,
    tolerance=0.005,
    hints=(
        "First call fn() once and throw the time away: the first call compiles and allocates.",
        "On CUDA, fn() returns before the work is done. torch.cuda.synchronize() waits for it: "
        "before the clock starts, and again before it stops. On MPS it is torch.mps.synchronize().",
        "Collect repeats times in a list, each 1000 * (stop - start) from time.perf_counter(), and "
        "return statistics.median of it.",
    ),
    mistakes=(
        Mistake(
            "The first call is timed as well: call fn() once, untimed, before you begin.",
            _timer(warm=0),
        ),
        Mistake(
            "This is the mean, which one slow call drags away: take the median.",
            _timer(of=statistics.mean),
            _all_at_once,
        ),
        Mistake("This is the fastest call: take the median.", _timer(of=min)),
        Mistake("This is the slowest call: take the median.", _timer(of=max)),
        Mistake(
            "These are all calls together: take the median of the single calls.", _timer(of=sum)
        ),
        Mistake("These are seconds: a second has 1000 milliseconds.", _timer(unit=1.0)),
        Mistake("These are microseconds: a second has 1000 milliseconds.", _timer(unit=1e6)),
        Mistake(
            "The clock stops before the device has done its work: synchronize before you read it.",
            *(
                _timer(before=before, after=False, of=of)
                for before in (True, False)
                for of in (statistics.median, statistics.median_high)
            ),
        ),
        Mistake(
            "The clock starts while the device still does earlier work: synchronize before the "
            "first timed call, too.",
            _timer(before=False),
        ),
        Mistake(
            "Only CUDA is waited for: on MPS it is torch.mps.synchronize().",
            _timer(waits_on=("cuda",)),
        ),
        Mistake(
            "Only MPS is waited for: on CUDA it is torch.cuda.synchronize().",
            _timer(waits_on=("mps",)),
        ),
        Mistake(
            "process_time counts what the processor works, and not what it waits for a device: "
            "read time.perf_counter().",
            _timer(clock="process_time"),
        ),
        Mistake(
            "repeats is ignored: time as many calls as asked for.",
            _timer(repeats_given=False),
        ),
        Mistake(
            "This is the list of times: return its median, one number.",
            _timer(of=list),
        ),
    ),
)

# flash_kernel


def launched(answer: Any) -> Answer:
    """Launch a kernel, or the edited text of the library's."""
    return staging.launched(answer.kernel if isinstance(answer, Edited) else answer)


def _kernel_cases(rng: Generator) -> Iterator[Case]:
    import torch

    query = torch.tensor([[[1.0, 0.0], [0.0, 2.0]]])
    key = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]])
    value = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]])
    yield Case(query, key, value)
    yield Case(query, key, value, is_causal=True)
    yield Case(*_heads(rng, 1, 3, 64, 32))  # two full blocks
    yield Case(*_heads(rng, 2, 20, 45, 32))  # the last block is short
    yield Case(*_heads(rng, 1, 37, 37, 64), is_causal=True)
    yield Case(*_heads(rng, 1, 32, 32, 32), is_causal=True, tile=(16, 16))
    yield Case(*_heads(rng, 1, 18, 50, 40, "float16"), is_causal=True, tile=(32, 16))
    # The interpreter would compute bfloat16 in float32, which is tried already.
    yield Case(*_heads(rng, 1, 5, 33, 48, "bfloat16" if _cuda() else "float16"))
    query, key, value = _heads(rng, 1, 7, 70, 32)
    yield Case(40.0 * query, key, value)  # exponentials that overflow without their maximum
    slope = torch.linspace(1.0, -1.0, 70)[:, None]
    for direction in (slope, -slope):  # the largest scores come first, and last
        yield Case(100.0 * query.abs(), direction * key.abs(), value)


def _heads(
    rng: Generator, heads: int, length: int, keys: int, size: int, dtype: str = "float32"
) -> list[Any]:
    return _qkv(rng, (heads,), (length, keys, size, size), dtype)


def _exact_attention(
    query: Any, key: Any, value: Any, is_causal: bool = False, tile: Any = None
) -> Any:
    return TORCH_ATTENTION.reference(query, key, value, is_causal)


def _kernel_size(
    query: Any, key: Any, value: Any, is_causal: bool = False, tile: Any = None
) -> Any:
    return _attention_size(query, key, value, is_causal)


def _of_ones_own(answer: Any) -> str | None:
    """Refuse a kernel that hands its work to the library's; elsewhere that is not there."""
    if isinstance(answer, Elsewhere):
        return None
    from attention_lib.lessons.gpu import kernel

    function = getattr(answer, "fn", answer)
    code = getattr(function, "__code__", None)
    names = code.co_names if code else ()
    reached = [getattr(function, "__globals__", {}).get(name) for name in names]
    reached += [getattr(module, n, None) for module in reached for n in names]
    reached += [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    if answer is kernel.flash_kernel or any(one is kernel.flash_kernel for one in reached):
        return (
            "flash_kernel calls attention_lib.flash_kernel, the course's own solution: write the "
            "loop with Triton's operations."
        )
    return None


class Edited:
    """The library's kernel with some of its text replaced, made when it is first used."""

    def __init__(self, *changes: tuple[str, str]) -> None:
        self._changes = changes

    @functools.cached_property
    def kernel(self) -> Any:
        from attention_lib.lessons.gpu import kernel

        source = inspect.getsource(FLASH_KERNEL.reference)
        for old, new in self._changes:
            if old not in source:
                raise ValueError(f"The kernel has no {old!r} to replace.")
            source = source.replace(old, new)
        name = f"<flash_kernel with {self._changes}>"
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)  # for Triton
        namespace = dict(vars(kernel))
        exec(compile(source, name, "exec", dont_inherit=True), namespace)
        return namespace["flash_kernel"]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.kernel(*args, **kwargs)


SHRINK_TOTAL = ("total = total * shrink + ", "total = total + ")
SHRINK_OUTPUT = ("output * shrink[:, None] + ", "output + ")
LARGER = "larger = tl.maximum(maximum, tl.max(scores, axis=1) * scale)"
MASK = 'columns[None, :] < limit[:, None], scores, float("-inf")'

FLASH_KERNEL = Exercise(
    name="flash_kernel",
    points=5,
    minutes=25,
    reference=OfLibrary("flash_kernel", truth=_exact_attention),
    signature=(
        "flash_kernel(query, key_pointers, value_pointers, key_stride, value_stride, start, stop, "
        "limit, scale, output, total, maximum, BLOCK: tl.constexpr, MASKED: tl.constexpr)"
    ),
    accelerated=True,
    run=launched,
    run_as="def flash_attention(query, key, value, is_causal=False, tile=(16, 32))",
    cases=_kernel_cases,
    magnitude=_kernel_size,
    probes=(_of_ones_own,),
    hints=(
        "The loop is for first in range(start, stop, BLOCK). Its keys have the numbers columns = "
        "first + tl.arange(0, BLOCK); those below stop are there.",
        "tl.load(key_pointers + first * key_stride, mask=there, other=0.0), with there = "
        "columns[:, None] < stop, loads a block of keys; values go the same way. The scores are "
        "tl.dot(query, tl.trans(key)) * scale.",
        "If MASKED, keep scores where columns[None, :] < limit[:, None] and put float('-inf') "
        "elsewhere. Then larger = tl.maximum(maximum, tl.max(scores, axis=1)).",
        "weights = tl.exp2(scores - larger[:, None]) and shrink = tl.exp2(maximum - larger). Both "
        "total and output are multiplied by shrink before this block's share is added; tl.dot "
        "wants weights.to(value.dtype). At the end of the turn, maximum = larger.",
    ),
    mistakes=(
        Mistake(
            "What earlier blocks left is not brought to the new maximum: multiply total and output "
            "by tl.exp2(maximum - larger).",
            Edited(SHRINK_TOTAL, SHRINK_OUTPUT),
        ),
        Mistake(
            "total is rescaled to the new maximum, and output is not: multiply output by "
            "shrink[:, None] as well.",
            Edited(SHRINK_OUTPUT),
        ),
        Mistake(
            "output is rescaled to the new maximum, and total is not: multiply total by shrink as "
            "well.",
            Edited(SHRINK_TOTAL),
        ),
        Mistake(
            "No maximum is subtracted, and large scores overflow: keep the running maximum in the "
            "exponent.",
            Edited((LARGER, "larger = tl.zeros_like(maximum)")),
        ),
        Mistake(
            "larger is this block's maximum alone: take the larger of it and the maximum so far.",
            Edited((LARGER, "larger = tl.max(scores, axis=1) * scale")),
        ),
        Mistake(
            "maximum is never updated, so every block forgets the ones before: end the turn with "
            "maximum = larger.",
            Edited(("        maximum = larger\n", "")),
        ),
        Mistake(
            "NaN: total stays 0, or the factor for what is there is upside down. It is "
            "tl.exp2(maximum - larger), at most 1.",
            Edited(("tl.exp2(maximum - larger)", "tl.exp2(larger - maximum)")),
        ),
        Mistake(
            "Masked keys keep their scores: if MASKED, put -inf where columns reach limit.",
            Edited((f"tl.where({MASK})", "scores")),
            Edited((MASK, MASK.replace("limit[:, None]", "stop"))),
        ),
        Mistake(
            "Masked keys get the score 0, which is a weight like any other: put -inf there.",
            Edited((MASK, MASK.replace('float("-inf")', "0.0"))),
        ),
        Mistake(
            "One key too many is seen: row i may see the keys below limit[i], limit[i] not among "
            "them.",
            Edited((MASK, MASK.replace("<", "<="))),
        ),
        Mistake(
            "The mask is reversed: what is kept are the keys below limit, columns[None, :] < "
            "limit[:, None].",
            Edited((MASK, MASK.replace("<", ">="))),
        ),
        Mistake(
            "The keys of every block are numbered from 0 where they meet limit: the first of them "
            "is key number first.",
            Edited((MASK, MASK.replace("columns", "tl.arange(0, BLOCK)"))),
        ),
        Mistake(
            "The scores are not scaled: multiply them by scale.",
            Edited((" * scale)", ")"), ("scores * scale", "scores")),
        ),
        Mistake(
            "The maximum is taken before the scores are scaled, and subtracted after: multiply it by "
            "scale as well.",
            Edited((" * scale)", ")")),
        ),
        Mistake(
            "log2 e counts double: scale holds it already, so take tl.exp2 of what scale makes, "
            "tl.exp nowhere, and multiply by nothing else.",
            Edited(("tl.exp2", "tl.exp")),
            Edited(("weights = tl.exp2", "weights = tl.exp")),
        ),
        Mistake(
            "Every turn loads the first block: move the pointers on by first * key_stride and "
            "first * value_stride.",
            Edited(
                ("key_pointers += start * key_stride", "pass"),
                ("value_pointers += start * value_stride", "pass"),
                ("        key_pointers += BLOCK * key_stride\n", ""),
                ("        value_pointers += BLOCK * value_stride\n", ""),
            ),
        ),
        Mistake(
            "NaN: the loads read on behind the last key. Give tl.load mask=there, other=0.0.",
            Edited((", mask=there, other=0.0", "")),
        ),
        Mistake(
            "output is divided by total: leave that to the launch, which divides once, at the end.",
            Edited(("return output,", "return output / total[:, None],")),
            Edited(
                (
                    "output = output * shrink[:, None] + tl.dot(weights.to(value.dtype), value)",
                    "output = (output * shrink[:, None] + tl.dot(weights.to(value.dtype), value)) "
                    "/ total[:, None]",
                )
            ),
        ),
        Mistake(
            "The loop begins anew and loses what was handed in: go on from output, total and maximum.",
            Edited(
                (
                    "    for first in",
                    '    maximum = tl.full(maximum.shape, float("-inf"), tl.float32)\n'
                    "    total = total * 0.0\n    output = output * 0.0\n    for first in",
                )
            ),
        ),
        Mistake(
            "Only the first block is taken: go from start to stop in steps of BLOCK.",
            Edited(
                (
                    "range(start, stop, BLOCK)",
                    "range(start, tl.minimum(stop, start + BLOCK), BLOCK)",
                )
            ),
            Edited(("range(start, stop, BLOCK)", "range(start, start + BLOCK, BLOCK)")),
        ),
        Mistake(
            "The values are taken to lie as far apart as the keys: their distance is value_stride.",
            Edited(
                ("start * value_stride", "start * key_stride"),
                ("BLOCK * value_stride", "BLOCK * key_stride"),
            ),
        ),
        Mistake(
            "The pointers are moved by places, and a key has many: from one key to the next it is "
            "key_stride, from one value to the next value_stride.",
            Edited((" * key_stride", ""), (" * value_stride", "")),
        ),
        Mistake(
            "What is returned is in another order: output, total, maximum.",
            Edited(("return output, total, maximum", "return output, maximum, total")),
        ),
    ),
)

EXERCISES = (PICK_DEVICE, TORCH_ATTENTION, ATTENTION_FLOPS, TIME_MILLISECONDS, FLASH_KERNEL)
