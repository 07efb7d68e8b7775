"""An exercise is complete: what is missing is named, with the file to edit."""

from pathlib import Path

import pytest

import attention_lib
from attention_lib.exercises import EXERCISES
from attention_lib.exercises.contracts import contract_of
from attention_lib.lessons import LESSONS, module_of
from tests.exercises.chosen import chosen

FOLDER = Path(attention_lib.__file__).parent / "exercises"


def pytest_generate_tests(metafunc):
    if "exercise" in metafunc.fixturenames:
        exercises = chosen(metafunc.config).values()
        metafunc.parametrize("exercise", exercises, ids=lambda exercise: exercise.name)


def test_reference_is_exported(exercise):
    if exercise.kind == "function":
        assert exercise.name in attention_lib.__all__, (
            f"Export {exercise.name} in attention_lib/__init__.py: learners compare with it, and "
            "later lessons use it."
        )


def test_contract_begins_with_name(exercise):
    lesson = module_of(exercise.lesson)
    assert contract_of(exercise).startswith(f"`{exercise.name}"), (
        f"The docstring of attention_lib/exercises/{lesson}/{exercise.name}.py is the contract: begin "
        f"it with `{exercise.name}`, and the parameters of a function."
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
