"""An exercise is complete: what is missing is named, with the file to edit."""

import dataclasses
import inspect
import itertools
from pathlib import Path

import numpy as np
import pytest

import attention_lib
from attention_lib.checks.compare.cases import cases_of
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.patch import Patch
from attention_lib.exercises import EXERCISES
from attention_lib.exercises.contracts import contract_of
from attention_lib.exercises.ids import FILE, current_id, published_ids
from attention_lib.lessons import LESSONS, module_of
from tests.exercises.chosen import chosen

FOLDER = Path(attention_lib.__file__).parent / "exercises"
DEFAULTS = {field.name: field.default for field in dataclasses.fields(Exercise)}
OF_SQUARES = "induction_score"  # of weights of a sequence on itself
PARTS = ["reference", "hints", "cases", "mistakes"]
MAY_LACK = {"function": [], "value": ["cases"], "written": PARTS}


def file_of(exercise):
    return f"attention_lib/exercises/{module_of(exercise.lesson)}/{exercise.name}.py"


def pytest_generate_tests(metafunc):
    if "exercise" in metafunc.fixturenames:
        exercises = chosen(metafunc.config).values()
        metafunc.parametrize("exercise", exercises, ids=lambda exercise: exercise.name)


def test_reference_is_exported(exercise):
    if exercise.kind == "function":
        module = exercise.reference.__module__.replace(".", "/")
        assert exercise.name in attention_lib.__all__, (
            f"Add {exercise.name} to __all__ in {module}.py, or, if it needs PyTorch, to LAZY_EXPORTS "
            "in attention_lib/__init__.py."
        )
        exported = getattr(attention_lib, exercise.name)
        exported = getattr(exported, "fn", exported)  # of a Triton kernel, the Python function
        assert inspect.unwrap(exercise.reference) is exported


def test_contract_begins_with_name(exercise):
    contract = contract_of(exercise)
    assert contract.startswith(f"`{exercise.name}"), (
        f"The docstring of {file_of(exercise)} is the contract: begin it with `{exercise.name}`, and "
        "the parameters of a function."
    )


def test_exercise_has_every_part(exercise):
    missing = [part for part in PARTS if getattr(exercise, part) is DEFAULTS[part]]
    if missing not in ([], MAY_LACK[exercise.kind]):
        pytest.fail(f"EXERCISE in {file_of(exercise)} lacks {', '.join(missing)}.")


def test_mistake_has_sentence_and_function(exercise):
    for mistake in exercise.mistakes:
        assert mistake.variants, (
            f'Give the mistake "{mistake.sentence}" in {file_of(exercise)} a function that makes it.'
        )
        assert mistake.sentence.endswith("."), (
            f'End "{mistake.sentence}" in {file_of(exercise)} with a period: learners read it.'
        )


def test_cases_can_be_made_from_any_seed(exercise):
    if exercise.kind == "function" and not exercise.accelerated:
        for seed in range(10):
            assert cases_of(exercise, seed)


def test_sizes_differ_in_some_case(exercise):
    if exercise.kind != "function" or exercise.accelerated or exercise.name == OF_SQUARES:
        return
    arrays = [
        [one for one in case.args if isinstance(one, np.ndarray)] for case in cases_of(exercise, 0)
    ]
    shapes = [one.shape for of_case in arrays for one in of_case[:1] if one.ndim > 1]
    assert not shapes or any(len({*shape}) == len(shape) for shape in shapes), (
        f"In {file_of(exercise)} every case has an array with two equal sizes, {shapes}, where exchanged "
        "axes give numbers: let all sizes of one differ."
    )


def test_published_id_of_a_mistake_is_kept(exercise):
    listed = {id for id in published_ids() if id.startswith(f"{exercise.name}-")}
    present = {f"{exercise.name}-{mistake.id}" for mistake in exercise.mistakes}
    assert listed <= present, (
        f"{file_of(exercise)} has lost {', '.join(sorted(listed - present))}: give the mistake its id "
        f"back, or delete its line in {FILE.name}. A new id gets the old one written behind it there."
    )


def test_former_id_leads_to_the_present_one():
    assert current_id("entropy-f01328") == "entropy-bits"
    assert current_id("entropy-bits") == "entropy-bits"
    assert current_id("no-such") == "no-such"


def test_hints_name_the_library_as_the_notebooks_import_it(exercise):
    assert not any("attention_lib." in hint for hint in exercise.hints), (
        f"In the hints of {file_of(exercise)}, write lib for attention_lib: the notebooks say "
        "`import attention_lib as lib`."
    )


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_file_of_an_exercise_is_listed(lesson):
    folder = FOLDER / module_of(lesson)
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    listed = {name for name, exercise in EXERCISES.items() if exercise.lesson == lesson}
    assert files <= listed, (
        f"Add {', '.join(sorted(files - listed))} to EXERCISES in "
        f"attention_lib/exercises/{folder.name}/__init__.py."
    )


def test_patches_and_pairs_of_them_define_functions(exercise):
    patches = [one for m in exercise.mistakes for one in m.variants if isinstance(one, Patch)]
    for patch in patches:
        assert patch.function
    for one, other in itertools.combinations(patches, 2):
        both = one.with_(other)
        assert both is None or both.function
