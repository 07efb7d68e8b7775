"""What a submission sees of the library: earlier lessons, and nothing of its own."""

import inspect

import pytest

import attention_lib
from attention_lib.exercises import EXERCISES
from attention_lib.grading.sandbox.library import visible_library
from attention_lib.lessons import LESSONS


@pytest.mark.parametrize("lesson", LESSONS)
def test_no_solution_of_the_lesson_or_a_later_one_is_there(lesson):
    text = "\n".join(content.decode() for content in visible_library(lesson).values())
    lessons = list(LESSONS)
    for exercise in EXERCISES.values():
        if exercise.kind == "function":
            source = inspect.getsource(inspect.unwrap(exercise.reference))
            earlier = lessons.index(exercise.lesson) < lessons.index(lesson)
            assert (source in text) == earlier, exercise.name


@pytest.mark.parametrize("lesson", LESSONS)
def test_neither_cases_nor_known_mistakes_are_there(lesson):
    files = visible_library(lesson)
    assert not [name for name in files if name.startswith("exercises/")]
    for module in ("judging", "comparing", "recognizing", "panel"):
        assert f"checks/{module}.py" not in files


def test_every_name_can_be_imported():
    for lesson in LESSONS:
        text = visible_library(lesson)["__init__.py"].decode()
        assert all(name in text for name in attention_lib.__all__)
