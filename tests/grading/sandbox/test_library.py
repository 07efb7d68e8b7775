"""What a submission sees of the library: earlier lessons, and no solution of its own or later."""

import inspect
import os
import subprocess
import sys

import pytest

import attention_lib
from attention_lib.exercises import EXERCISES
from attention_lib.grading.sandbox.library import visible_library
from attention_lib.lessons import LESSONS


@pytest.mark.parametrize("lesson", LESSONS)
def test_references_of_earlier_lessons_alone_are_shown(lesson):
    files = visible_library(lesson)
    text = "\n".join(content.decode() for name, content in files.items() if name.endswith(".py"))
    lessons = list(LESSONS)
    for exercise in EXERCISES.values():
        if exercise.kind == "function":
            source = inspect.getsource(inspect.unwrap(exercise.reference))
            earlier = lessons.index(exercise.lesson) < lessons.index(lesson)
            assert (source in text) == earlier, exercise.name


@pytest.mark.parametrize("lesson", LESSONS)
def test_cases_known_mistakes_and_the_rest_of_the_grader_are_hidden(lesson):
    files = visible_library(lesson)
    assert not [name for name in files if name.startswith("exercises/")]
    of_checks = {name for name in files if name.startswith("checks/")} - {"checks/__init__.py"}
    assert all(name.startswith(("checks/calls/", "checks/errors/")) for name in of_checks)
    of_grader = {name for name in files if name.startswith("grading/")}
    others = {name for name in of_grader if not name.startswith("grading/inside/")}
    assert others == {"grading/__init__.py", "grading/limits.py"}


def test_every_name_can_be_imported():
    for lesson in LESSONS:
        text = visible_library(lesson)["__init__.py"].decode()
        assert all(name in text for name in attention_lib.__all__)


def test_trained_numbers_can_be_read(tmp_path):
    for name, content in visible_library("01_softmax").items():
        path = tmp_path / "attention_lib" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    read = "import attention_lib; print(*attention_lib.trained().words)"
    command = [sys.executable, "-P", "-c", read]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    words = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert words.stdout.split()[:3] == ["please", "study", "man"], words.stderr
