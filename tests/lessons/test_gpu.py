"""Lesson 10's functions and its kernel: in NumPy everywhere, on CUDA where there is one."""

import dataclasses
import functools
import itertools
import math
import os
import subprocess
import sys
import types
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

import attention_lib
from attention_lib.exercises.parts.tensors import output_magnitude
from attention_lib.lessons import gpu
from attention_lib.lessons.gpu import backward, forward, launch, tuning, variants
from attention_lib.lessons.gpu.backward import (
    flash_attention_backward,
    flash_attention_with_gradients,
)
from attention_lib.lessons.gpu.launch import flash_attention
from benchmarks import gpu as benchmark
from tests.exercises.answers import patched

ROOT = Path(attention_lib.__file__).parent.parent
STEP = {dtype: torch.finfo(dtype).eps for dtype in launch.DTYPES}

in_numpy = pytest.mark.skipif(
    not launch.INTERPRETED, reason="with a CUDA device the kernel is compiled"
)
on_cuda = pytest.mark.skipif(launch.INTERPRETED, reason="there is no CUDA device, or no Triton")


def drawn(*shape, dtype=torch.float64, seed=0):
    numbers = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return torch.from_numpy(numbers).to(dtype)


def qkv(heads, length, keys, size, dtype, d_v=None):
    return (
        drawn(*heads, length, size, dtype=dtype, seed=1),
        drawn(*heads, keys, size, dtype=dtype, seed=2),
        drawn(*heads, keys, d_v or size, dtype=dtype, seed=3),
    )


def exact(query, key, value, is_causal=False):
    arrays = (tensor.double().cpu().numpy() for tensor in (query, key, value))
    past = np.tri(query.shape[-2], key.shape[-2], dtype=bool)
    mask = past if is_causal else None
    return torch.from_numpy(attention_lib.attention(*arrays, mask)[0])


def error(got, right):
    return float((got.double().cpu() - right).abs().max() / right.abs().max())


def bound(inputs, right, is_causal):
    """Return how far a result may be off: in 16 bits its own rounding, in 32 that of its scores."""
    step = STEP[inputs[0].dtype]
    if inputs[0].dtype != torch.float32:
        return 8 * step * right.abs().max()
    return step * output_magnitude(*(tensor.double() for tensor in inputs), is_causal)


class TestPickDevice:
    @pytest.mark.parametrize(
        ("cuda", "mps", "expected"),
        [(True, True, "cuda"), (True, False, "cuda"), (False, True, "mps"), (False, False, "cpu")],
    )
    def test_cuda_comes_before_mps_and_the_cpu_last(self, monkeypatch, cuda, mps, expected):
        monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
        assert gpu.pick_device() == torch.device(expected)


class TestTorchAttention:
    @pytest.mark.parametrize("is_causal", [False, True])
    @pytest.mark.parametrize(("length", "keys"), [(5, 7), (7, 5), (1, 6), (6, 1), (4, 4)])
    def test_agrees_with_numpy_in_float64(self, length, keys, is_causal):
        inputs = qkv((2, 3), length, keys, 6, torch.float64, d_v=5)
        right = exact(*inputs, is_causal)
        assert error(gpu.torch_attention(*inputs, is_causal), right) < 1e-14

    @pytest.mark.parametrize("dtype", launch.DTYPES)
    def test_keeps_the_dtype(self, dtype):
        inputs = qkv((2,), 9, 33, 16, dtype)
        got = gpu.torch_attention(*inputs, True)
        assert got.dtype == dtype
        assert error(got, exact(*inputs, True)) < 8 * STEP[dtype]

    def test_large_scores_stay_finite_in_float16(self):
        query = torch.full((3, 64), 40.0, dtype=torch.float16)  # 40 · 40 · 64 is above 65504
        got = gpu.torch_attention(query, query, query)
        assert torch.equal(got, query)

    def test_its_gradients_are_those_of_lesson_04(self):
        inputs = [tensor.requires_grad_() for tensor in qkv((2,), 3, 5, 6, torch.float64, d_v=7)]
        toward = drawn(2, 3, 7, seed=4)
        got = torch.autograd.grad(gpu.torch_attention(*inputs), inputs, toward)
        arrays = (tensor.detach().numpy() for tensor in (*inputs, toward))
        for one, right in zip(got, attention_lib.attention_backward(*arrays), strict=True):
            np.testing.assert_allclose(one.numpy(), right, rtol=0, atol=1e-13)

    def test_makes_its_mask_where_the_inputs_are(self):
        inputs = [torch.empty(2, 3, 4, device="meta") for _ in range(3)]
        assert gpu.torch_attention(*inputs, is_causal=True).is_meta


class TestDecodePart:
    @pytest.mark.parametrize("cuts", [(0, 7), (0, 3, 7), (0, 0, 2, 2, 7)])
    def test_parts_join_to_attention(self, cuts):
        query, key, value = qkv((2,), 3, 7, 4, torch.float64, d_v=5)
        joined = np.zeros((2, 3, 5)), np.full((2, 3), -np.inf)
        for start, stop in itertools.pairwise(cuts):
            part = gpu.decode_part(query, key[:, start:stop], value[:, start:stop])
            joined = attention_lib.merge_attention(joined, [tensor.numpy() for tensor in part])
        assert error(torch.from_numpy(joined[0]), exact(query, key, value, False)) < 1e-14

    @pytest.mark.parametrize("dtype", launch.DTYPES)
    def test_keeps_the_dtype_and_sums_in_32_bits(self, dtype):
        inputs = qkv((2,), 1, 33, 16, dtype)
        output, logsumexp = gpu.decode_part(*inputs)
        assert output.dtype == dtype
        assert logsumexp.dtype == torch.float32
        assert error(output, exact(*inputs, False)) < 8 * STEP[dtype]


REFUSED = [
    ((np.zeros((3, 4)), None, None), TypeError, "query must be a torch tensor"),
    ((torch.zeros(3, 4, dtype=torch.int64), None, None), TypeError, "floating-point"),
    ((torch.zeros(4), None, None), ValueError, "at least two dimensions"),
    ((torch.zeros(3, 4, device="meta"), None, None), ValueError, "one device"),
    ((torch.zeros(3, 4, dtype=torch.float16), None, None), TypeError, "one dtype"),
    ((torch.zeros(3, 5), None, None), ValueError, "d_k"),
    ((None, None, torch.zeros(6, 4)), ValueError, "d_v"),
    ((torch.zeros(2, 3, 4), torch.zeros(3, 5, 4), None), ValueError, "broadcast"),
]
FITTING = (torch.zeros(3, 4), torch.zeros(5, 4), torch.zeros(5, 4))


@pytest.mark.parametrize(("given", "kind", "words"), REFUSED)
@pytest.mark.parametrize("function", [gpu.torch_attention, flash_attention])
def test_what_does_not_fit_is_refused_in_one_sentence(function, given, kind, words):
    inputs = [other if one is None else one for one, other in zip(given, FITTING, strict=True)]
    with pytest.raises(kind, match=words) as caught:
        function(*inputs)
    assert str(caught.value).count("\n") == 0
    assert str(caught.value).endswith(".")


class TestCountingAndTiming:
    @pytest.mark.parametrize(
        ("sizes", "is_causal", "expected"),
        [((1, 1, 2, 3), False, 48), ((2, 3, 5, 7), False, 4200), ((2, 3, 5, 7), True, 2100)],
    )
    def test_operations(self, sizes, is_causal, expected):
        assert gpu.attention_flops(*sizes, is_causal) == expected

    def test_sizes_are_counts(self):
        with pytest.raises(TypeError, match="heads must be an integer"):
            gpu.attention_flops(1, 2.5, 3, 4)
        with pytest.raises(ValueError, match="length must be at least 0"):
            gpu.attention_flops(1, 2, -3, 4)

    def test_the_first_call_does_not_count(self):
        calls = []
        times = gpu.call_times(lambda: calls.append(1), "cpu", 7)
        assert len(times) == 7
        assert len(calls) == 8
        assert min(times) >= 0

    def test_other_work_goes_ahead_of_each_timed_call(self):
        done = []
        gpu.call_times(lambda: done.append("call"), "cpu", 2, lambda: done.append("ahead"))
        assert done == ["call", "ahead", "call", "ahead", "call"]

    def test_at_least_one_call_is_timed(self):
        with pytest.raises(ValueError, match="repeats"):
            gpu.time_milliseconds(lambda: None, "cpu", 0)


def heads_for(dtype):
    """Return two heads in one dtype, one in the others: each takes time."""
    return 2 if dtype == torch.float32 else 1


@in_numpy
class TestKernelInNumPy:
    """Small inputs at every edge: each program runs operation by operation."""

    @pytest.mark.parametrize("dtype", launch.DTYPES)
    @pytest.mark.parametrize("is_causal", [False, True])
    @pytest.mark.parametrize(
        ("length", "keys", "size"),
        [(1, 1, 32), (16, 16, 64), (17, 15, 32), (15, 33, 128), (33, 32, 40), (32, 48, 96)],
    )
    def test_agrees_with_numpy(self, length, keys, size, is_causal, dtype):
        inputs = qkv((1, heads_for(dtype)), length, keys, size, dtype)
        got = flash_attention(*inputs, is_causal)
        assert got.dtype == dtype
        assert error(got, exact(*inputs, is_causal)) < 8 * STEP[dtype]

    @pytest.mark.parametrize("tile", [(16, 16), (16, 32), (32, 16), (32, 32)])
    @pytest.mark.parametrize("is_causal", [False, True])
    def test_any_tile_gives_the_same(self, tile, is_causal):
        inputs = qkv((1,), 45, 45, 32, torch.float32)
        got = flash_attention(*inputs, is_causal, tile=tile)
        assert error(got, exact(*inputs, is_causal)) < 1e-6

    @pytest.mark.parametrize("leading", [(), (2,), (2, 3), (2, 1, 2)])
    def test_any_leading_dimensions(self, leading):
        inputs = qkv(leading, 5, 9, 32, torch.float32)
        got = flash_attention(*inputs)
        assert got.shape == (*leading, 5, 32)
        assert error(got, exact(*inputs)) < 1e-6

    def test_more_heads_than_go_together(self):
        inputs = qkv((5, 7), 20, 20, 16, torch.float32)  # 32 heads and 3 more, of two tiles each
        assert error(flash_attention(*inputs, True), exact(*inputs, True)) < 1e-6

    def test_leading_dimensions_broadcast(self):
        query = drawn(2, 3, 5, 32, dtype=torch.float32)
        key, value = drawn(3, 9, 32, dtype=torch.float32), drawn(9, 32, dtype=torch.float32)
        assert error(flash_attention(query, key, value), exact(query, key, value)) < 1e-6

    def test_any_strides(self):
        query = drawn(32, 5, dtype=torch.float32).T
        key = drawn(18, 64, dtype=torch.float32)[::2, ::2]
        value = drawn(9, 2, 32, dtype=torch.float32)[:, 1]
        got = flash_attention(query, key, value, True)
        assert error(got, exact(query, key, value, True)) < 1e-6

    @pytest.mark.parametrize("size", [1, 2, 16, 31])
    def test_small_and_odd_heads(self, size):
        inputs = qkv((1,), 7, 19, size, torch.float32)
        assert error(flash_attention(*inputs), exact(*inputs)) < 1e-6

    def test_large_scores_need_their_maximum(self):
        query, key, value = qkv((1,), 7, 40, 32, torch.float32)
        got = flash_attention(60.0 * query, key, value)
        assert error(got, exact(60.0 * query, key, value)) < 1e-4

    def test_nothing_to_see_gives_zeros_and_nothing_to_compute_nothing(self):
        query = torch.ones(2, 3, 32)
        none = torch.ones(2, 0, 32)
        assert torch.equal(flash_attention(query, none, none), torch.zeros(2, 3, 32))
        assert flash_attention(none, query, query).shape == (2, 0, 32)

    def test_nothing_behind_the_last_key_is_read(self):
        room = torch.full((1, 60, 32), math.nan)
        room[:, :19] = drawn(1, 19, 32, dtype=torch.float32)
        inputs = drawn(1, 5, 32, dtype=torch.float32), room[:, :19], room[:, :19]
        assert error(flash_attention(*inputs), exact(*inputs)) < 1e-6

    @pytest.mark.parametrize("size", [129, 256])
    def test_a_head_it_does_not_take(self, size):
        with pytest.raises(ValueError, match=f"from 1 to 128; query has {size}"):
            flash_attention(*qkv((), 3, 3, size, torch.float32))

    def test_two_head_sizes(self):
        with pytest.raises(ValueError, match="query has 32 and value 48"):
            flash_attention(*qkv((), 3, 3, 32, torch.float32, d_v=48))

    def test_float64_is_not_narrowed_silently(self):
        with pytest.raises(TypeError, match="float16, bfloat16 or float32"):
            flash_attention(*qkv((), 3, 3, 32, torch.float64))

    def test_another_device(self):
        inputs = [torch.zeros(3, 32, device="meta") for _ in range(3)]
        with pytest.raises(ValueError, match="these are on meta"):
            flash_attention(*inputs)

    def test_gradients_are_refused_and_not_dropped(self):
        inputs = qkv((), 3, 3, 32, torch.float32)
        inputs[1].requires_grad_()
        with pytest.raises(RuntimeError, match="no backward pass"):
            flash_attention(*inputs)
        with torch.no_grad():
            assert not flash_attention(*inputs).requires_grad


def gradients(function, inputs, toward, is_causal):
    inputs = [tensor.detach().clone().requires_grad_() for tensor in inputs]
    return torch.autograd.grad(function(*inputs, is_causal), inputs, toward)


def errors_of_gradients(inputs, toward, is_causal):
    """Return the largest error of each gradient by our kernels, against torch in float64."""
    got = gradients(flash_attention_with_gradients, inputs, toward, is_causal)
    wide = [tensor.double() for tensor in inputs]
    right = gradients(gpu.torch_attention, wide, toward.double(), is_causal)
    assert all(one.dtype == tensor.dtype for one, tensor in zip(got, inputs, strict=True))
    return [error(one, exact.cpu()) for one, exact in zip(got, right, strict=True)]


@in_numpy
class TestBackwardInNumPy:
    @pytest.mark.parametrize("dtype", launch.DTYPES)
    @pytest.mark.parametrize("is_causal", [False, True])
    @pytest.mark.parametrize(
        ("length", "keys", "size"), [(3, 2, 32), (17, 15, 32), (15, 40, 40), (32, 32, 64)]
    )
    def test_gradients_agree_with_float64(self, length, keys, size, is_causal, dtype):
        heads = heads_for(dtype)
        inputs = qkv((1, heads), length, keys, size, dtype)
        toward = drawn(1, heads, length, size, dtype=dtype, seed=4)
        assert max(errors_of_gradients(inputs, toward, is_causal)) < 16 * STEP[dtype]

    def test_keys_that_no_query_sees_get_no_gradient(self):
        inputs = qkv((1,), 5, 40, 16, torch.float32)
        got = gradients(flash_attention_with_gradients, inputs, torch.ones(1, 5, 16), True)
        assert torch.equal(got[1][:, 5:], torch.zeros(1, 35, 16))
        assert torch.equal(got[2][:, 5:], torch.zeros(1, 35, 16))

    def test_the_log_of_each_total_is_kept(self):
        query, key, value = qkv((2,), 7, 19, 32, torch.float32)
        _, logsumexp = launch.attend_with_logsumexp(query, key, value)
        scores = query.double() @ key.double().mT / math.sqrt(32)
        right = torch.logsumexp(scores, dim=-1) * math.log2(math.e)
        assert (logsumexp - right).abs().max() < 1e-5

    def test_strides_and_overflowing_exponentials(self):
        inputs = [t.mT.contiguous().mT for t in qkv((2,), 20, 33, 32, torch.float32)]
        inputs[0] = 40.0 * inputs[0]
        toward = drawn(32, 20, 2, dtype=torch.float32, seed=4).permute(2, 1, 0)
        assert max(errors_of_gradients(inputs, toward, False)) < 1e-4

    def test_more_heads_than_a_grid_takes_are_refused(self):
        many = torch.ones(2**16, 1, 16)
        with pytest.raises(ValueError, match="room for 65,535 heads; there are 65,536"):
            flash_attention_backward(many, many, many, many, many[..., 0], many)

    def test_long_inputs_are_tuned_on_their_first_rows(self, monkeypatch):
        lengths = []

        class Recorded:
            def __getitem__(self, grid):
                return lambda *arguments, **_: lengths.append(arguments[-4])

        monkeypatch.setattr(backward, "INTERPRETED", False)
        monkeypatch.setattr(backward, "TUNED_ON", 8)
        monkeypatch.setattr(backward, "_tuned_for", set())
        for kernel in ("grad_query_kernel", "grad_key_value_kernel"):
            monkeypatch.setattr(backward, kernel, Recorded())
        long = torch.ones(2, 20, 16)
        for _ in range(2):
            flash_attention_backward(long, long, long, long, long[..., 0], long)
        assert lengths == [8, 8, 20, 20, 20, 20]

    @pytest.mark.parametrize(
        ("attend", "kept"),
        [(flash_attention, torch.float16), (launch.attend_with_logsumexp, torch.float32)],
    )
    def test_long_forward_pass_is_tuned_on_its_first_rows_with_what_it_keeps(
        self, attend, kept, monkeypatch
    ):
        """Triton tunes anew for each dtype, also of the log-sum-exp: at its full length, if not here."""
        launches = []

        class Recorded:
            def __getitem__(self, grid):
                return lambda *arguments, **_: launches.append(
                    (arguments[0].shape[-2], arguments[4].dtype, arguments[4].shape[-2:])
                )

        monkeypatch.setattr(launch, "runs_in_numpy", lambda _: False)
        monkeypatch.setattr(launch, "TUNED_ON", 8)
        monkeypatch.setattr(launch, "_tuned_for", set())
        monkeypatch.setattr(launch, "_require", lambda *_: None)
        monkeypatch.setattr(forward, "forward", Recorded())
        long = torch.ones(2, 20, 16, dtype=torch.float16)
        for _ in range(2):
            attend(long, long, long)
        assert [(length, dtype) for length, dtype, _ in launches] == [
            (8, kept),
            (20, kept),
            (20, kept),
        ]
        if kept == torch.float32:
            assert [shape for *_, shape in launches] == [(2, 8), (2, 20), (2, 20)]

    def test_configuration_that_fails_is_the_slowest_and_ends_no_launch(self, monkeypatch):
        def fail():
            raise RuntimeError("PassManager::run failed")

        testing = types.SimpleNamespace(do_bench=lambda call, **_: call())
        monkeypatch.setattr(tuning, "triton", types.SimpleNamespace(testing=testing))
        assert tuning.time_or_lose(fail, (0.5, 0.2, 0.8)) == [math.inf] * 3

    def test_no_keys_or_no_queries_give_zeros(self):
        some, none = torch.ones(2, 3, 16), torch.ones(2, 0, 16)
        for inputs in ((some, none, none), (none, some, some)):
            for got in gradients(flash_attention_with_gradients, inputs, inputs[0], False):
                assert not got.any()

    def test_what_does_not_fit_is_refused_in_one_sentence(self):
        some = torch.ones(2, 3, 16)
        with pytest.raises(ValueError, match="equal leading dimensions"):
            flash_attention_with_gradients(some, some[0], some[0])
        with pytest.raises(ValueError, match=r"logsumexp must have shape \(2, 3\)"):
            flash_attention_backward(some, some, some, some, some[..., :2, 0], some)


class TestLaunchOfAProgram:
    @in_numpy
    @pytest.mark.parametrize("is_causal", [False, True])
    @pytest.mark.parametrize(("length", "keys"), [(45, 45), (18, 50), (50, 21)])
    def test_our_program_and_loop_agree_with_numpy(self, length, keys, is_causal):
        inputs = [tensor.contiguous() for tensor in qkv((3,), length, keys, 32, torch.float32)]
        output = torch.empty_like(inputs[0])
        launch.run_program(
            attention_lib.flash_program,
            *inputs,
            output,
            is_causal,
            kernel=attention_lib.flash_kernel,
            tile=(16, 32),
        )
        assert error(output, exact(*inputs, is_causal)) < 1e-6

    @in_numpy
    @pytest.mark.parametrize(
        ("tensor", "words"),
        [
            (torch.ones(1, 6, 32)[:, ::2], "query must be .* without gaps"),
            (torch.ones(1, 3, 24), "head size of 16, 32, 64 or 128"),
            (torch.ones(1, 0, 32), "at least one key"),
            (torch.ones(2**16, 1, 16), "room for 65,535 heads; there are 65,536"),
        ],
    )
    def test_what_a_program_would_get_wrong_is_refused(self, tensor, words):
        with pytest.raises(ValueError, match=words):
            launch.run_program(None, *[tensor] * 4, kernel=None, tile=(16, 16))


def in_a_fresh_process(code, **environment):
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


# Compile for a GPU that is not here: a driver that only says which one to compile for.
PRETEND = """
import os, subprocess
from pathlib import Path
import torch
torch.cuda.is_available = lambda: True
import triton
from triton.backends.compiler import GPUTarget
from triton.runtime import driver

class Driver:
    get_current_device = staticmethod(lambda: 0)
    get_current_stream = staticmethod(lambda device=0: 0)
    get_current_target = staticmethod(lambda: GPUTarget("cuda", {capability}, 32))

driver.set_active(Driver())
"""

REFUSED_BY_THE_COMPILER = """
from attention_lib.checks.calls import staging
from attention_lib.lessons.gpu.forward import forward
from tests.exercises.answers import patched

tensor = torch.empty(1, 2, 64, 64, dtype=torch.bfloat16)
for change in ("tl.trans(key) => key", "return output, total, maximum => return output, total"):
    inner = patched("flash_kernel", change).function
    try:
        forward.fn.warmup(
            *[tensor] * 5, *[tensor.stride()] * 4, 2, 64, 64, 0.18, 7, INNER=inner, HEAD=64, WIDTH=64,
            PACKED=True, IS_CAUSAL=True, KEEPS_LOGSUMEXP=False, ROWS=64, BLOCK=32, grid=(1,),
        )
    except Exception as error:
        print(staging._cause(error.with_traceback(None), inner))  # of this script
"""

CROSS_COMPILE = """
from attention_lib import flash_kernel, flash_program, softmax_kernel
from attention_lib.lessons.gpu.backward import (
    OF_KEYS, OF_QUERIES, grad_key_value_kernel, grad_query_kernel,
)
from attention_lib.lessons.gpu.forward import forward
from attention_lib.lessons.gpu.tuning import time_or_lose
from tests.exercises.answers import answers_of, patched

for kernel in forward, grad_query_kernel, grad_key_value_kernel:
    assert kernel.do_bench is time_or_lose

def compiled_program(program):
    return program.warmup(
        *[torch.empty(2, 512, 64, dtype=torch.bfloat16)] * 4, 512, 512, 0.18, INNER=flash_kernel,
        HEAD=64, IS_CAUSAL=True, ROWS=64, BLOCK=64, grid=(1,),
    )

def compiled(dtype, rows, block, is_causal, inner=flash_kernel):
    tensor = torch.empty(1, 2, 512, 64, dtype=dtype)
    strides = [tensor.stride()] * 4
    return forward.fn.warmup(
        *[tensor] * 5, *strides, 2, 512, 512, 0.18, 10, INNER=inner, HEAD=64,
        WIDTH=64, PACKED=True, IS_CAUSAL=is_causal,
        KEEPS_LOGSUMEXP=True, ROWS=rows, BLOCK=block, num_warps=4, num_stages=2,
        allowed_dot_input_precisions=("ieee",), grid=(1,),
    )

def backward(kernel, inputs, results, config):
    tensor = torch.empty(2, 512, 64, dtype=torch.bfloat16)
    of_rows = torch.empty(2, 512)
    return kernel.fn.warmup(
        *[tensor] * inputs, of_rows, of_rows, *[tensor] * results, 512, 512, 512, 0.18, 10, HEAD=64,
        WIDTH=64, IS_CAUSAL=True, **config.all_kwargs(), allowed_dot_input_precisions=("ieee",),
        grid=(1,),
    )

def assembled(ptx):
    # What the assembler says; among it, which products it makes wait for each other.
    folder = Path(triton.__file__).parent / "backends/nvidia/bin"
    target = "sm_90a" if {capability} == 90 else "sm_{capability}"
    command = [folder / "ptxas", "-v", f"--gpu-name={target}", "-o", os.devnull, "-"]
    return subprocess.run(command, input=ptx, capture_output=True, text=True, check=True).stderr

kernel_in_half = compiled(torch.bfloat16, 64, 64, True)
half = kernel_in_half.asm["ptx"]
single = compiled(torch.float32, 32, 32, False).asm["ptx"]
print("{instruction}" in half, "ex2.approx" in half, "cp.async" in half, "tf32" in single)
said = assembled(half)
print("Used" in said, "serialized" in said)
for kernel, inputs, results, configs in (
    (grad_query_kernel, 5, 1, OF_QUERIES), (grad_key_value_kernel, 4, 2, OF_KEYS)
):
    ptx = backward(kernel, inputs, results, configs[0]).asm["ptx"]
    said = assembled(ptx)
    print("{instruction}" in ptx, "ex2.approx" in ptx, "spill" in said and "0 bytes spill" not in said)
if {capability} == 90:
    # A length of 1 as a constant, and quotes in the name of a file, are more than ptxas can take.
    tensor = torch.empty(1, 2, 1, 32, dtype=torch.bfloat16)
    inner = patched("flash_kernel", 'float("-inf") => -float("inf")').function
    forward.fn.warmup(
        *[tensor] * 5, *[tensor.stride()] * 4, 2, 1, 1, 0.18, 1, INNER=inner, HEAD=32, WIDTH=32,
        PACKED=True, IS_CAUSAL=True, KEEPS_LOGSUMEXP=False, ROWS=64, BLOCK=32, num_warps=4,
        num_stages=3, allowed_dot_input_precisions=("ieee",), grid=(1,),
    )
    # The right answers of the tests, which run in NumPy everywhere else.
    for inner in answers_of("flash_kernel", "RIGHT").values():
        compiled(torch.float16, 64, 32, True, inner)
    for program in answers_of("flash_program", "RIGHT").values():
        compiled_program(program)
    for softmax in (softmax_kernel, *answers_of("softmax_kernel", "RIGHT").values()):
        rows = torch.empty(3, 100)
        assert softmax.warmup(rows, rows, 100, BLOCK=128, grid=(3,)).asm["ptx"]
program = compiled_program(flash_program)
print("{instruction}" in program.asm["ptx"], kernel_in_half.metadata.shared)
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("triton") is None, reason="Triton has no build for this system")
class TestTriton:
    @pytest.mark.parametrize(("capability", "instruction"), [(80, "mma.sync"), (90, "wgmma")])
    def test_it_compiles_for_gpus_that_are_not_here(self, capability, instruction, tmp_path):
        code = (PRETEND + CROSS_COMPILE).replace("{capability}", str(capability))
        code = code.replace("{instruction}", instruction)
        said = in_a_fresh_process(code, TRITON_CACHE_DIR=str(tmp_path))
        # Tensor cores, the hardware's own power of 2, loads that run ahead; no float32 cut short.
        # And products that do not wait for each other.
        forward, (program, shared) = said.split()[:6], said.split()[-2:]
        assert forward == ["True", "True", "True", "False", "True", "False"]
        # Tensor cores and powers of 2 in the backward pass, and on Hopper registers enough.
        backward = said.split()[6:12]
        assert backward[:2] + backward[3:5] == ["True"] * 4
        if capability == 90:
            assert backward[2::3] == ["False"] * 2
        assert program == "True"
        if capability == 90:
            # What lesson 10 counts: the queries, and two stages of keys and values.
            assert int(shared) == 2 * 64 * 64 + 2 * 2 * (2 * 64 * 64)

    def test_compilers_error_names_the_learners_line(self, tmp_path):
        code = PRETEND.replace("{capability}", "90") + REFUSED_BY_THE_COMPILER
        first, second = in_a_fresh_process(code, TRITON_CACHE_DIR=str(tmp_path)).splitlines()
        assert first.startswith("input and other must have equal reduction dimensions (line ")
        assert first.endswith("`tl.dot(query, key)`)")
        assert second == "what it returns must be output, total, maximum, in this order."


@pytest.mark.parametrize(
    ("capability", "dtype", "tried"),
    [((7, 5), torch.float16, [2, 3]), ((8, 0), torch.float32, [1, 2, 3])],
)
def test_a_t4_is_tuned_without_the_tile_that_spills(monkeypatch, capability, dtype, tried):
    given = {}
    monkeypatch.setattr(tuning, "INTERPRETED", False)
    monkeypatch.setattr(tuning, "autotune", lambda configs, **options: given.update(options))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    tuning.tuned_over(["tiles"], ["wide"], [1, 2, 3])
    prune = given["prune_configs_by"]["early_config_prune"]
    arguments = {"query": torch.empty(1, dtype=dtype), "length_class": 12}
    assert prune(None, arguments, HEAD=64) == tried


class TestCountedBytes:
    @pytest.mark.parametrize("tile", [(16, 16), (16, 64), (64, 16), (64, 64)])
    def test_a_kernel_moves_what_lesson_07_counts(self, tile):
        counted = variants.counted_bytes(attention_lib.flash_kernel, 128, 32, tile)
        assert counted == attention_lib.attention_bytes(128, 32, 2, block_rows=tile[0])[1]

    def test_what_a_mask_leaves_out_is_not_counted(self):
        """Each tile under a causal mask reads the keys up to its last row."""
        counted = variants.counted_bytes(attention_lib.flash_kernel, 40, 32, (16, 16), True)
        assert counted == 2 * 32 * (2 * 40 + 2 * (16 + 32 + 40))

    @pytest.mark.parametrize(
        ("name", "itemsize", "of_a_score"),
        [
            (variants.NAIVE, 2, 24),
            (variants.NAIVE, 4, 16),
            (variants.COMPILED, 2, 8),
            ("SDPA math", 2, 16),
            ("standard attention", 2, 8),
            ("SDPA Flash", 2, 0),
        ],
    )
    def test_bytes_a_score_are_those_of_the_passes(self, name, itemsize, of_a_score):
        vectors = 4 * 512 * 64 * itemsize
        assert variants.moved_bytes(name, 512, 64, itemsize) == vectors + of_a_score * 512**2

    @in_numpy
    def test_a_mask_given_by_position_is_counted_too(self):
        change = "key_pointers, mask=there, other=0.0 => key_pointers, there, 0.0"
        by_position = patched("flash_kernel", change).function
        counted = variants.counted_bytes(by_position, 40, 32, (16, 16), True)
        assert counted == 2 * 32 * (2 * 40 + 2 * (16 + 32 + 40))

    @in_numpy
    def test_off_cuda_a_tile_is_drawn_at_the_roof(self):
        points = variants.points_of_kernel(
            attention_lib.flash_kernel,
            torch.device("cpu"),
            torch.float32,
            (1e14, 1e12),
            [16, 256],
            [32],
        )
        [(name, (intensity, speed))] = points[16, 32].items()
        assert name == "your kernel, 16 × 32: at most"
        assert speed == pytest.approx(1e12 * intensity)
        assert [speed for _, speed in points[256, 32].values()] == [1e14]


class TestVariants:
    def test_errors_stay_below_one_step_of_what_rounding_can_do(self):
        for seed, dtype in enumerate(launch.DTYPES):
            errors, missing = variants.largest_errors(
                torch.device("cpu"), dtype, np.random.default_rng(seed)
            )
            assert 0 < max(errors.values()) < STEP[dtype]
            assert not set(errors) & set(missing)

    def test_a_wrong_way_lies_far_above_one_step(self, monkeypatch):
        def unscaled(query, key, value, is_causal):
            return lambda: torch.softmax(query @ key.mT, -1) @ value

        ways = [variants.Variant("unscaled", unscaled)]
        monkeypatch.setattr(variants, "variants", lambda *_: ways)
        errors, _ = variants.largest_errors(
            torch.device("cpu"), torch.bfloat16, np.random.default_rng(0)
        )
        assert errors["unscaled"] > STEP[torch.bfloat16]

    def test_every_way_there_is_agrees_and_the_others_say_why_not(self):
        device = torch.device("cpu")
        found = variants.variants(device, torch.float32, 64)
        assert [way.name for way in found][:3] == [
            "naive torch",
            "naive, torch.compile",
            "SDPA math",
        ]
        assert "not there on cpu" in {way.problem for way in found}
        inputs = qkv((1, 2), 20, 37, 64, torch.float32)
        for way in found:
            if not way.problem:
                for is_causal in (False, True):
                    got = way.prepare(*inputs, is_causal)()
                    assert error(got, exact(*inputs, is_causal)) < 1e-6

    def test_a_row_has_times_speed_and_memory(self):
        naive = variants.variants(torch.device("cpu"), torch.float32, 64)[0]
        inputs = qkv((1, 2), 64, 64, 64, torch.float32)
        row = variants.measure(naive, inputs, True, repeats=3)
        assert len(row.milliseconds) == 3
        assert row.operations == 2 * 2 * 64 * 64 * 64
        assert row.tflops == pytest.approx(row.operations / (row.median * 1e-3) / 1e12)
        assert row.variant in variants.text_table([row])

    def test_long_times_are_written_without_an_exponent_in_columns_that_stay_apart(self):
        row = variants.Row("slow", 1, 1, 64, 64, False, "float32", [987.6, 1012.4, 123456.7])
        header, line = variants.text_table([row]).splitlines()
        assert "988 – 123,457" in line
        assert "e+" not in line
        assert line.index("1,012") + len("1,012") == header.index("ms") + len("ms")

    def test_backward_pass_is_timed_without_the_forward_pass(self):
        calls = []

        def prepare(query, key, value, is_causal):
            return lambda: calls.append("forward") or gpu.torch_attention(query, key, value)

        way = variants.Variant("counted", prepare)
        inputs = qkv((1, 2), 64, 64, 64, torch.float32)
        row = variants.measure(way, inputs, repeats=3, is_backward=True)
        assert calls == ["forward"]
        assert row.operations == 5 * 2 * 2 * 64 * 64 * 64
        assert "back" in variants.text_table([row])

    @pytest.mark.slow
    def test_compiled_backward_pass_can_be_repeated(self, monkeypatch):
        """As torch compiles it by default, its buffers are given away to the first repetition."""
        compiler = functools.partial(torch.compile, backend="aot_eager")
        monkeypatch.setattr(torch, "compile", compiler)
        monkeypatch.setattr(torch._functorch.config, "donated_buffer", True)
        monkeypatch.setattr(
            torch.compiler.config, "recompile_limit", torch.compiler.config.recompile_limit
        )
        variants._compiled_naive.cache_clear()
        way = variants.Variant(variants.COMPILED, variants._naive_compiled)
        try:
            row = variants.measure(way, qkv((1, 2), 16, 16, 16, torch.float32), is_backward=True)
        finally:
            variants._compiled_naive.cache_clear()
            torch.compiler.reset()
        assert len(row.milliseconds) == 10

    def test_idle_device_is_woken_before_anything_is_timed(self, monkeypatch):
        times = iter([0.0, 0.1, 0.2, 0.35])
        monkeypatch.setattr(variants.time, "perf_counter", lambda: next(times))
        assert variants.wake(lambda: None, torch.device("cpu")) == 3

    @pytest.mark.slow
    @pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process held")
    def test_memory_that_is_used_again_counts_again(self):
        """In a process of its own, as a notebook's: other tests may have changed how memory is kept."""
        program = (
            "import torch; from attention_lib.lessons.gpu.variants import peak_bytes\n"
            "for _ in range(4):  # the later ones find what the earlier have freed\n"
            "    print(peak_bytes(lambda: torch.ones(6 * 2**20).sum(), torch.device('cpu')))"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
        held = [int(line) for line in done.stdout.split()]
        assert len(held) == 4
        assert min(held) >= 12 * 2**20  # of 24; the kernel counts for each processor on its own

    def test_a_dtype_that_the_device_lacks_is_a_reason(self, monkeypatch):
        def refuse(*_, **__):
            raise TypeError("BFloat16 is not supported on MPS")

        monkeypatch.setattr(variants.torch, "ones", refuse)
        ways = variants.variants(torch.device("cpu"), torch.bfloat16, 64)
        assert "TypeError: BFloat16 is not supported on MPS" in ways[0].problem

    @pytest.mark.parametrize(
        "failure",
        [
            torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 64 GiB"),
            RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate"),
            RuntimeError("MPS backend out of memory"),
            MemoryError(),
        ],
    )
    def test_out_of_memory_is_a_row(self, failure):
        def prepare(*_):
            raise failure

        way = variants.Variant("greedy", prepare)
        row = variants.measure(way, qkv((1, 1), 2, 2, 4, torch.float32))
        assert row.problem == "out of memory"
        assert "out of memory" in variants.text_table([row])

    def test_way_without_gradients_is_a_row(self):
        def prepare(*_):
            raise NotImplementedError("The gradients come later.")

        way = variants.Variant("half done", prepare)
        row = variants.measure(way, qkv((1, 1), 2, 2, 4, torch.float32), is_backward=True)
        assert row.problem == "NotImplementedError: The gradients come later."

    def test_other_failures_are_not_hidden(self):
        def prepare(*_):
            raise RuntimeError("something else")

        way = variants.Variant("broken", prepare)
        with pytest.raises(RuntimeError, match="something else"):
            variants.measure(way, qkv((1, 1), 2, 2, 4, torch.float32))

    def test_what_would_not_fit_is_not_tried(self, monkeypatch):
        monkeypatch.setattr(variants, "_free_memory", lambda: 2.0**30)
        ways = variants.variants(torch.device("cpu"), torch.float32, 8)
        inputs = [torch.zeros(1, 1, 65_536, 8) for _ in range(3)]
        for way in (ways[0], ways[2]):
            row = variants.measure(way, inputs)
            assert row.problem == "not tried: it needs about 48 GiB, and 1 GiB are free"

    def test_stored_rows_come_back(self, tmp_path):
        rows = [
            variants.Row("naive torch", 1, 2, 64, 8, True, "float32", [1.0, 3.0, 2.0], 4096),
            variants.Row("SDPA math", 1, 2, 64, 8, False, "float32", problem="not there"),
        ]
        machine = {"device": "NVIDIA H200", "torch": "2.13.0", "date": "2026-01-02"}
        path = variants.store(rows, machine, tmp_path)
        assert path.name == "gpu-nvidia-h200-2026-01-02.json"
        assert variants.stored(tmp_path) == [(machine, rows)]
        assert variants.stored(tmp_path / "nowhere") == []

    def test_ceilings_are_positive(self):
        assert min(variants.ceilings(torch.device("cpu"), torch.float32, 64)) > 0


class TestGatesOfTheBenchmark:
    @staticmethod
    def row(name, milliseconds, is_causal, is_backward=False, length=4096, held=2**20):
        sizes = (1, 16, length, 64, is_causal, "bfloat16")
        return variants.Row(name, *sizes, [milliseconds], held, is_backward=is_backward)

    def rows(self):
        ours, other = variants.KERNEL, "SDPA Flash"
        return [
            *(self.row(ours, 1.0, False), self.row(ours, 0.55, True)),
            *(self.row(other, 0.95, False), self.row(other, 0.5, True)),
            *(self.row(ours, 3.0, False, True), self.row(ours, 2.0, True, True)),
            *(self.row(other, 2.2, False, True), self.row(other, 1.4, True, True)),
            self.row(ours, 100.0, True, length=benchmark.MILLION),
        ]

    def test_each_gate_passes_where_it_is_met(self):
        said = list(benchmark.targets(self.rows()))
        assert all(passed for _, passed in said), said
        assert "4096 tokens, backward, no mask: 0.73 of SDPA Flash's speed; at least 0.65" in dict(
            said
        )

    @pytest.mark.parametrize(
        ("place", "change", "words"),
        [
            (0, {"milliseconds": [1.2]}, "forward, no mask"),
            (1, {"milliseconds": [0.65]}, "causal 1.54 times as fast"),
            (5, {"milliseconds": [2.5]}, "backward, causal"),
            (4, {"peak_bytes": 2**29}, "backward: holds 21.33 times its inputs"),
            (8, {"problem": "out of memory"}, "1,048,576 tokens: out of memory"),
        ],
    )
    def test_a_missed_gate_is_named(self, place, change, words):
        rows = self.rows()
        rows[place] = dataclasses.replace(rows[place], **change)
        missed = [line for line, passed in benchmark.targets(rows) if not passed]
        assert any(words in line for line in missed), missed

    def test_without_a_gpu_no_gate_is_missed(self):
        assert [passed for _, passed in benchmark.targets([])] == [True]


@pytest.mark.gpu
@on_cuda
class TestCompiledKernel:
    @pytest.mark.parametrize("dtype", launch.DTYPES)
    @pytest.mark.parametrize("is_causal", [False, True])
    @pytest.mark.parametrize(
        ("length", "keys", "size"),
        [(1, 1, 32), (128, 128, 64), (129, 127, 64), (1000, 1500, 128), (333, 257, 40)],
    )
    def test_agrees_with_numpy(self, length, keys, size, is_causal, dtype):
        inputs = qkv((2, 3), length, keys, size, dtype)
        right = exact(*inputs, is_causal)
        got = flash_attention(*(tensor.cuda() for tensor in inputs), is_causal)
        assert got.dtype == dtype
        assert ((got.cpu().double() - right).abs() < bound(inputs, right, is_causal)).all()

    def test_any_strides(self):
        query = drawn(2, 64, 300, dtype=torch.float16).cuda().transpose(-1, -2)
        key = drawn(2, 300, 3, 64, dtype=torch.float16).cuda()[:, :, 1]
        value = drawn(600, 2, 64, dtype=torch.float16).cuda()[::2].transpose(0, 1)
        got = flash_attention(query, key, value, True)
        assert error(got, exact(query, key, value, True)) < 8 * STEP[torch.float16]

    def test_it_never_holds_the_scores(self):
        inputs = [torch.randn(1, 4, 8192, 64, device="cuda").bfloat16() for _ in range(3)]
        flash_attention(*inputs)  # tunes
        held = variants.peak_bytes(lambda: flash_attention(*inputs), inputs[0].device)
        assert held <= 2 * inputs[0].numel() * 2  # the output, and as much again to spare

    @pytest.mark.parametrize("is_causal", [False, True])
    def test_a_million_tokens(self, is_causal):
        inputs = [torch.randn(1, 1, 2**20, 64, device="cuda").bfloat16() for _ in range(3)]
        got = flash_attention(*inputs, is_causal)
        for row in (0, 1, 2**19, 2**20 - 1):
            seen = row + 1 if is_causal else 2**20
            right = scaled_dot_product_attention(
                inputs[0][:, :, row : row + 1].float(),
                inputs[1][:, :, :seen].float(),
                inputs[2][:, :, :seen].float(),
            )
            # Averages of so many values are small: compare at the size of the values, 1.
            assert (got[:, :, row : row + 1].float() - right).abs().max() < STEP[torch.bfloat16]

    def test_offsets_beyond_two_to_the_31(self):
        room = torch.zeros(1, 2**19, 80, 64, device="cuda", dtype=torch.float16)
        tensor = room.transpose(1, 2)[:, 79:]  # (1, 1, 2^19, 64), its rows 5120 apart
        tensor.normal_()
        got = flash_attention(tensor, tensor, tensor)[:, :, -3:]
        right = scaled_dot_product_attention(
            tensor[:, :, -3:].float(), tensor.float(), tensor.float()
        )
        assert (got.float() - right).abs().max() < 8 * STEP[torch.float16]

    def test_another_device(self):
        with pytest.raises(ValueError, match="needs tensors on a CUDA device"):
            flash_attention(*torch.zeros(3, 2, 32))

    @pytest.mark.parametrize("dtype", launch.DTYPES)
    @pytest.mark.parametrize("is_causal", [False, True])
    @pytest.mark.parametrize(
        ("length", "keys", "size"), [(3, 2, 32), (128, 128, 64), (129, 127, 64), (333, 500, 40)]
    )
    def test_gradients_agree_with_float64(self, length, keys, size, is_causal, dtype):
        inputs = [tensor.cuda() for tensor in qkv((2, 3), length, keys, size, dtype)]
        toward = drawn(2, 3, length, size, dtype=dtype, seed=4).cuda()
        assert max(errors_of_gradients(inputs, toward, is_causal)) < 16 * STEP[dtype]

    def test_the_backward_pass_never_holds_the_scores(self):
        inputs = [torch.randn(1, 4, 8192, 64, device="cuda").bfloat16() for _ in range(3)]
        output, logsumexp = launch.attend_with_logsumexp(*inputs)

        def call():
            return flash_attention_backward(*inputs, output, logsumexp, output)

        call()  # tunes
        held = variants.peak_bytes(call, inputs[0].device)
        assert held <= 10 * inputs[0].numel() * 2

    @pytest.mark.parametrize("is_causal", [False, True])
    def test_our_program_and_loop_agree_with_numpy(self, is_causal):
        inputs = [tensor.cuda() for tensor in qkv((3,), 300, 500, 64, torch.float16)]
        output = torch.empty_like(inputs[0])
        kernels = attention_lib.flash_program, attention_lib.flash_kernel
        launch.run_program(kernels[0], *inputs, output, is_causal, kernel=kernels[1], tile=(64, 32))
        assert error(output, exact(*inputs, is_causal)) < 8 * STEP[torch.float16]

    def test_every_way_there_is_agrees(self):
        inputs = [t.cuda() for t in qkv((1, 2), 200, 333, 64, torch.float16)]
        ways = variants.variants(torch.device("cuda"), torch.float16, 64)
        for way, is_causal in itertools.product(ways, (False, True)):
            if not way.problem:
                query, key, value = inputs
                if is_causal:  # PyTorch's Flash takes this mask for as many keys as queries only
                    key, value = key[..., :200, :], value[..., :200, :]
                got = way.prepare(query, key, value, is_causal)()
                right = exact(query, key, value, is_causal)
                assert error(got, right) < 8 * STEP[torch.float16], way.name
