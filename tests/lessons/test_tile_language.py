"""What stands for Triton without a GPU, held to Triton's own interpreter."""

import math
import os
import pickle
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch

import attention_lib
from attention_lib.checks.calls import staging
from attention_lib.checks.patch import Patch
from attention_lib.exercises import find
from attention_lib.lessons.gpu import kernel as ours
from attention_lib.lessons.gpu import tile_language as tl
from attention_lib.lessons.gpu.programs import in_numpy, jit
from tests.exercises.answers import answers_of, patched
from tests.exercises.gpu.test_flash_kernel import TOLD

ROOT = Path(attention_lib.__file__).parent.parent
RUN = {
    "softmax_kernel": staging.launched_on_rows,
    "flash_kernel": staging.launched,
    "flash_program": staging.launched_program,
}


def kernels():
    """Yield every right and wrong kernel of the tests, by exercise and name."""
    for name in RUN:
        variants = [one for mistake in find(name).mistakes for one in mistake.variants]
        variants += [
            patched(name, " => ".join(change[1:3])) for change in TOLD if change[0] == name
        ]
        answers = [
            *answers_of(name, "RIGHT").values(),
            *answers_of(name, "WRONG").values(),
            *variants,
        ]
        for number, one in enumerate(answers):
            yield name, number, one.function if isinstance(one, Patch) else one


def outcomes():
    """Run each kernel on a case of its exercise: numbers, or the words of an error."""
    done = {}
    for name, number, kernel in kernels():
        kernel.fn.__globals__.update(np=np)
        run = RUN[name](kernel)
        # The interpreter keeps bfloat16 as bare bits.
        cases = [
            case
            for case in find(name).cases(np.random.default_rng(0))
            if case.args[0].dtype != torch.bfloat16
        ]
        case = cases[number % len(cases)]  # the kernels after it run on the others
        try:
            done[name, number] = run(*case.args, **case.kwargs).double().numpy()
        except Exception as error:
            done[name, number] = str(error)
    return done


def innermost(error, _):
    """Return the error that Triton's are about."""
    return innermost(error.__cause__, _) if error.__cause__ else error


# In a process of its own: Triton is told before it is imported that it is to interpret.
THROUGH_TRITON = """
import pickle, sys, types
import triton, triton.language
name = "attention_lib.lessons.gpu.triton"
sys.modules[name] = room = types.ModuleType(name)
room.INTERPRETED, room.triton, room.tl, room.jit = False, triton, triton.language, triton.jit
room.Config, room.autotune = triton.Config, triton.autotune
import torch
from attention_lib.checks.calls import staging
from attention_lib.exercises.parts.kernels import as_kernel
from attention_lib.lessons.gpu import launch
from tests.exercises.answers import patched
from tests.lessons import test_tile_language
staging._on_device, staging._cause = lambda *given: given, test_tile_language.innermost
launch._require = lambda *given: None
edits = {
    "softmax_kernel": "tl.exp( => tl.exp2(",
    "flash_kernel": "= tl.dot( => = 2.0 * tl.dot(",
    "flash_program": "= tile * => = 0 *",
}
for name, run in test_tile_language.RUN.items():  # known mistakes: in NumPy, also on CUDA
    edited = patched(name, edits[name])
    inputs = (torch.randn(3, 5), 8) if name == "softmax_kernel" else torch.randn(3, 2, 40, 32)
    twin = as_kernel(edited)
    assert type(twin).__module__ == "attention_lib.lessons.gpu.programs"
    assert torch.allclose(run(twin)(*inputs), run(edited.function)(*inputs), 1e-4, 1e-4), name
with open(sys.argv[1], "wb") as file:
    pickle.dump(test_tile_language.outcomes(), file)
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("triton") is None, reason="Triton has no build for this system")
def test_every_kernel_does_what_it_does_in_triton(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", THROUGH_TRITON, tmp_path / "outcomes"],
        cwd=ROOT,
        env=os.environ | {"TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    theirs, here = pickle.loads((tmp_path / "outcomes").read_bytes()), outcomes()
    assert here.keys() == theirs.keys()
    for key, mine in here.items():
        other = theirs[key]
        assert isinstance(mine, str) == isinstance(other, str), (key, mine, other)
        if not isinstance(mine, str):
            np.testing.assert_allclose(mine, other, rtol=1e-3, atol=1e-3, err_msg=str(key))


# What the checks read, or what an interpreter would let pass


def launched(body, *arguments, programs=(1,), **constants):
    jit(body)[programs](*arguments, **constants)
    return arguments[-1]


def numbers(source, target, N: tl.constexpr):
    places = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(target + places, 2.0 * tl.load(source + places))


def test_a_load_outside_of_memory_names_the_tensor_the_place_and_the_line():
    source, target = torch.arange(10.0), torch.zeros(12)
    with pytest.raises(IndexError, match=r"tl\.load .* of `source`: place 10 .* 0 to 9"):
        launched(numbers, source, target, programs=(3,), N=4)
    with pytest.raises(IndexError, match=r"tl\.store reaches outside of `target`") as caught:
        launched(numbers, torch.arange(12.0), target[4:10], programs=(3,), N=4)
    assert any("2.0 * tl.load" in str(entry.statement) for entry in caught.traceback)


def test_kernels_write_to_tensors_of_every_dtype_with_any_offset():
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int64):
        source = torch.arange(12).to(dtype)[4:]
        target = launched(numbers, source, torch.zeros(9, dtype=dtype)[1:], N=8)
        assert torch.equal(target, 2 * source)


BLOCK = tl.Block(np.arange(4.0), tl.float32)
HALF = tl.Block(np.arange(4.0), tl.float16)
WHOLE = tl.Block(np.arange(4), tl.int32)


@pytest.mark.parametrize(
    "call",
    [np.exp2, torch.exp2, math.exp, int, float, np.asarray, list, max, bool,
     lambda x: max(x, 2 * x), lambda x: 1 if x > 0 else 0, lambda x: x and x],
)  # fmt: skip
def test_what_takes_no_block_is_refused(call):
    with pytest.raises((TypeError, ValueError)) as caught:
        call(BLOCK)
    assert str(caught.value) in (tl.OF_TL, tl.AMBIGUOUS, "'Block' object is not iterable")


BRAIN = tl.Block(1.0, tl.bfloat16)
PROMOTED = {
    tl.float16: (HALF * 2.0, HALF * WHOLE, HALF * BRAIN),
    tl.float32: (HALF * tl.as_block(2.0), HALF / 2.0, HALF + BLOCK, WHOLE * 0.5, WHOLE / 2, tl.max(HALF)),
    tl.bfloat16: (BRAIN * 2.0, BRAIN + BRAIN),
    tl.int32: (WHOLE // 2, WHOLE + True, tl.sum(WHOLE < 2)),
    tl.int64: (WHOLE + tl.Block(1, tl.int64), WHOLE.to(tl.int64) + 1),
    tl.int1: (WHOLE < 2, (WHOLE < 2) & (HALF > 1.0)),
}  # fmt: skip


def test_dtypes_are_promoted_as_in_triton():
    for dtype, blocks in PROMOTED.items():
        assert [block.dtype for block in blocks] == [dtype] * len(blocks)


def test_maximum_of_two_keeps_nan_and_that_of_an_axis_does_not():
    block = tl.Block([1.0, math.nan], tl.float32)
    assert tl.max(block, axis=0).data == 1.0
    assert np.isnan(tl.maximum(block, 3.0).data).tolist() == [False, True]


def test_whole_numbers_are_divided_towards_zero():
    assert (tl.Block([-7, 7], tl.int32) // 2).data.tolist() == [-3, 3]
    assert (tl.Block([-7, 7], tl.int32) % 2).data.tolist() == [-1, 1]


def test_bfloat16_is_rounded_to_even():
    numbers = torch.randn(1000) * 100
    rounded = tl.Block(numbers.numpy(), tl.bfloat16).data
    assert np.array_equal(rounded, numbers.bfloat16().float().numpy())


@pytest.mark.parametrize("dtype", [tl.float16, tl.int32])
def test_accumulators_of_other_dtypes_are_refused(dtype):
    square = tl.full([16, 16], 1.0, tl.float16)
    with pytest.raises(AssertionError, match="acc must be fp32"):
        tl.dot(square, square, tl.zeros([16, 16], dtype))


def test_kernel_is_called_by_a_launch_alone():
    with pytest.raises(RuntimeError, match=r"flash_program\[grid\]"):
        in_numpy(ours.flash_program)(*[0] * 12)
