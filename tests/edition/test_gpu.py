"""Lesson 09 in a students' edition: tensors in records, a launch by plans, look-ups for kernels."""

import ast
import dataclasses
import itertools
import types

import numpy as np
import pytest
import torch

import attention_lib
from attention_lib.checks.calls.simulated import Work
from attention_lib.checks.cases import cases_of
from attention_lib.checks.judging import judge
from attention_lib.checks.panel import as_text
from attention_lib.edition import calls, gpu, kernels, making, stepping, storage
from attention_lib.edition.exercises import recorded_exercise
from attention_lib.edition.keys import Undescribed, key_of
from attention_lib.edition.lookups import NotRecorded
from attention_lib.edition.packing import Packer, Unpacker
from attention_lib.edition.recording import SEED, recorded
from attention_lib.exercises import EXERCISES
from attention_lib.exercises.model_answers import model_answer
from attention_lib.exercises.parts.kernels import Edited
from attention_lib.exercises.parts.tensors import LazyReference
from attention_lib.lessons.gpu import launch, loops
from tests.edition.searching import lines_of, plain
from tests.exercises.answers import as_a_learner_writes_it

needs_triton = pytest.mark.skipif(
    launch.triton is None or not launch.INTERPRETED, reason="Triton's interpreter is not here"
)
NUMBERS = torch.tensor([[1.0, float("nan"), -2.5], [0.1, 0.2, 0.3]])
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the interpreter's own


@pytest.mark.parametrize(
    "value",
    [
        NUMBERS,
        NUMBERS.T,
        NUMBERS.double(),
        NUMBERS.to(torch.bfloat16),
        NUMBERS.half(),
        torch.tensor([True, False]),
        torch.device("mps"),
        Work(400.0, (20.0, 30.0)),
    ],
)
def test_unpacked_value_of_lesson_is_what_was_packed(tmp_path, value):
    packer = Packer()
    packer.write(tmp_path / "records.bin", packer.encoded(value))
    records = Unpacker(tmp_path / "records.bin")
    again = records.decoded(records.content)
    assert type(again) is type(value)
    if isinstance(value, torch.Tensor):
        torch.testing.assert_close(again, value, rtol=0.0, atol=0.0, equal_nan=True)
        assert again.stride() == value.stride()
    else:
        assert again == value
    assert key_of((again,)) == key_of((value,))


def test_keys_tell_tensors_from_arrays_and_dtypes_from_each_other():
    same = torch.zeros(2, 3)
    values = [same, same.numpy(), same.double(), same.half(), same.to(torch.bfloat16), same.T]
    assert len({key_of((value,)) for value in values}) == len(values)
    with pytest.raises(Undescribed):
        key_of((same.requires_grad_(),))


@needs_triton
def test_launch_by_plans_gives_every_bit_that_the_own_launch_gives(monkeypatch):
    exercise = EXERCISES["flash_kernel"]
    divided = next(m for m in exercise.mistakes if m.sentence.startswith("output is divided"))
    answers = [attention_lib.flash_kernel, divided.variants[0]]
    cases = [cases_of(exercise, SEED)[place] for place in (1, 3, 6)]

    def outputs():
        return [exercise.on_cases(a)(*c.args, **c.kwargs) for a in answers for c in cases]

    right = outputs()
    monkeypatch.setattr(launch, "flash_attention", _by_plan)
    for one, other in zip(outputs(), right, strict=True):
        torch.testing.assert_close(one, other, rtol=0.0, atol=0.0, equal_nan=True)


def _by_plan(query, key, value, is_causal=False, *, kernel, tile):
    return stepping.attend(query, key, value, bool(is_causal), kernel, tile)


@needs_triton
def test_remarks_are_the_same_by_plans(monkeypatch):
    exercise = EXERCISES["flash_kernel"]
    masks_always = Edited("flash_kernel", ("        if MASKED:\n    ", "        if True:\n    "))
    remark = exercise.probes[-1]
    assert remark(attention_lib.flash_kernel) is None
    said = remark(masks_always)
    assert said
    monkeypatch.setattr(loops, "one_tile_without_limit", stepping.OneTile())
    assert (remark(attention_lib.flash_kernel), remark(masks_always)) == (None, said)


def as_in_an_edition(exercise, folder):
    """Record an exercise and make it again from its records."""
    packer, content = recorded(exercise)
    packer.write(folder / f"{exercise.name}.bin", content)
    declared = {
        name: getattr(exercise, name)
        for name in ("points", "minutes", "hints", "run", "run_as", "signature", "tolerance")
    }
    return recorded_exercise(
        exercise.name,
        gpu.MODULE,
        tuple((m.sentence, m.id, False, len(m.variants)) for m in exercise.mistakes),
        exercise.magnitude is not None,
        False,
        folder,
        lazy=LazyReference,
        lesson=exercise.lesson,
        accelerated=True,
        **declared,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "cases"),
    [
        ("pick_device", None),
        ("time_milliseconds", None),
        pytest.param("flash_kernel", 5, marks=needs_triton),
    ],
)
def test_same_is_said_of_known_mistakes(tmp_path, name, cases):
    full = EXERCISES[name]
    full = dataclasses.replace(
        full,
        cases=lambda rng: itertools.islice(EXERCISES[name].cases(rng), cases),
        mistakes=full.mistakes[:4],
        probes=(),
        remarks=(),
    )
    edition = as_in_an_edition(full, tmp_path)
    for mistake in full.mistakes[:2]:
        answer = as_a_learner_writes_it(mistake.variants[0])
        texts = [as_text(judge(exercise, answer, SEED)) for exercise in (full, edition)]
        assert texts[0] == texts[1]
        assert mistake.sentence in texts[0]


@pytest.fixture(scope="module")
def texts():
    slices = making._slices([EXERCISES["flash_kernel"]], {gpu.LESSON: ""}, {})
    functions = making._withheld_module(gpu.MODULE, slices)
    return gpu.withheld_modules(functions, making._withheld_module(gpu.PLANS, slices))


def test_modules_of_lesson_have_no_line_of_a_model_answer(texts):
    found = []
    for exercise in EXERCISES.values():
        if exercise.lesson == gpu.LESSON:
            lines = {line for line in lines_of(model_answer(exercise)) if len(line) >= 20}
            for name, text in texts.items():
                here = {plain(line) for line in ast.unparse(ast.parse(text)).splitlines()}
                found += [(name, line) for line in sorted(lines & here)]
    loop = f"{gpu.MODULE}.loops"
    assert [one for one in found if one[0] != loop] == []
    assert all(len(line) < 80 and "maximum," not in line for name, line in found if name == loop)


def test_modules_of_lesson_define_what_cells_and_checks_take_from_them(texts):
    defined = {name: vars(_executed(text)) for name, text in texts.items() if "launch" in name}
    (launched,) = defined.values()
    wanted = {"jit", "tl", "triton", "MISSING", "INTERPRETED", "flash_attention", "run_program"}
    assert wanted <= launched.keys()
    assert "forward" not in launched


def _executed(text):
    module = types.ModuleType("edited")
    exec(compile(text, "edited", "exec"), vars(module))
    return module


def test_kernel_is_the_own_one_after_its_check_and_a_sentence_before(monkeypatch):
    monkeypatch.setattr(calls, "own", {})
    withheld = kernels.WithheldKernel("flash_kernel", "")
    for call in (lambda: withheld[(1,)], withheld):
        with pytest.raises(NotRecorded, match="flash_kernel is an exercise of lesson 09"):
            call()
    monkeypatch.setitem(calls.own, "flash_kernel", withheld)
    assert kernels.flash_kernel is withheld
    assert kernels.flash_program is not withheld
    assert kernels.own_attention(None, None, None, False) is None


@needs_triton
def test_kernel_is_not_stored_since_its_text_would_be_missing(tmp_path):
    with pytest.raises(storage.NotStored, match="text of a kernel"):
        storage.store(tmp_path, "flash_kernel", attention_lib.flash_kernel)


@needs_triton
def test_attention_by_own_kernels_is_that_of_the_course(monkeypatch):
    own = {name: getattr(attention_lib, name) for name in ("flash_kernel", "flash_program")}
    monkeypatch.setattr(calls, "own", own)
    inputs = [torch.from_numpy(np.random.default_rng(0).normal(size=(2, 20, 16)))] * 3
    inputs = [tensor.float() for tensor in inputs]
    right = attention_lib.torch_attention(*inputs, is_causal=True)
    torch.testing.assert_close(kernels.own_attention(*inputs, True), right)
