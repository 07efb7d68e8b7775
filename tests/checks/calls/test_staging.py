"""What runs an answer hands it the arguments that it promises, on any device."""

import time

import numpy as np
import pytest
import torch

from attention_lib.checks.calls import staging
from attention_lib.checks.calls.calling import observe
from attention_lib.checks.calls.case import Case
from attention_lib.checks.calls.staging import on_strided_arrays
from attention_lib.lessons.gpu import launch, torch_attention
from attention_lib.lessons.gpu.kernel import flash_kernel
from tests.exercises.answers import patched


@pytest.mark.parametrize("shape", [(2, 3), (4, 1, 2)])
def test_strided_arrays_have_their_values_and_no_flat_view(shape):
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    (seen,), options = on_strided_arrays(lambda *args, **kwargs: (args, kwargs))(array, eps=0.5)
    assert np.array_equal(seen, array)
    assert seen.dtype == np.float32
    assert not np.shares_memory(seen.reshape(-1), seen)
    assert options == {"eps": 0.5}


def test_arguments_that_are_no_arrays_reach_the_answer_as_they_are():
    def square(x):
        return x * x

    assert on_strided_arrays(lambda *args: args)(square, 3) == (square, 3)


def moved(kernel, *tensors):
    """Move tensors as `.cuda()` does: what lay between their rows stays behind."""
    return [kernel, *(tensor.clone(memory_format=torch.contiguous_format) for tensor in tensors)]


class TestLaunchOnADevice:
    @pytest.mark.parametrize(
        "change",
        [
            "key_pointers, mask=there, other=0.0 => key_pointers"
            " && value_pointers, mask=there, other=0.0 => value_pointers",
            "start * value_stride => start * key_stride",
        ],
    )
    def test_traps_are_laid_where_the_kernel_runs(self, change, monkeypatch):
        monkeypatch.setattr(staging, "_on_device", moved)
        inputs = torch.randn(3, 1, 40, 32)
        right = torch_attention(*inputs)
        run = staging.launched(flash_kernel)
        assert torch.allclose(run(*inputs), right, atol=1e-5)
        run = staging.launched(patched("flash_kernel", change).function)
        assert not torch.allclose(run(*inputs), right, atol=1e-2)

    def launched(self, monkeypatch, attend):
        """Launch a kernel where there seems to be CUDA; `attend` does the work."""
        monkeypatch.setattr(launch, "runs_in_numpy", lambda _: False)
        monkeypatch.setattr(staging, "_on_device", moved)
        monkeypatch.setattr(launch, "flash_attention", attend)
        return staging.launched(lambda: None)

    def test_compiling_may_take_longer_than_a_call(self, monkeypatch):
        def attend(query, *_, **__):
            end = time.process_time() + 0.2
            while time.process_time() < end:
                pass
            return query

        answer = self.launched(monkeypatch, attend)
        seen = observe(answer, Case(*torch.zeros(3, 1, 2, 16)), limit=0.05)
        assert not seen.out_of_time
        assert seen.error is None

    def test_process_that_cuda_has_given_up_on_is_to_be_restarted(self, monkeypatch):
        def attend(*_, **__):
            raise RuntimeError("CUDA error: an illegal memory access was encountered\nSearch for")

        with pytest.raises(RuntimeError, match="restart the kernel") as caught:
            self.launched(monkeypatch, attend)(*torch.zeros(3, 1, 2, 16))
        assert "\n" not in str(caught.value)
