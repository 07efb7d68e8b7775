"""Write what is made from the exercises: docs/contracts.md, points in README.md, mistakes' ids."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

from attention_lib.checks.exercise import Exercise
from attention_lib.exercises import EXERCISES, ids
from attention_lib.lessons import LESSONS, module_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "contracts.md"
README = ROOT / "README.md"
COMMAND = "make release"
PREFACE = f"""\
# Contracts

What each exercise asks for, with its points in a class and the minutes it takes about. This page is
made from the docstrings of the exercises' modules. Do not change it here: change the docstring,
then run `{COMMAND}`.
"""


def page() -> str:
    """Return the text of docs/contracts.md."""
    return "\n".join([PREFACE, *map(lesson_section, LESSONS)])


def first_page() -> str:
    """Return the text of README.md, with each lesson's points at the end of its row."""
    text = README.read_text(encoding="utf-8")
    for lesson in LESSONS:
        points = sum(exercise.points for exercise in exercises_of(lesson))
        text = re.sub(rf"^(\| .*`{lesson}`.*\| )\d+ \|$", rf"\g<1>{points} |", text, flags=re.M)
    return text


def exercises_of(lesson: str) -> list[Exercise]:
    return [exercise for exercise in EXERCISES.values() if exercise.lesson == lesson]


def lesson_section(lesson: str) -> str:
    exercises = exercises_of(lesson)
    points, minutes = (sum(getattr(e, what) for e in exercises) for what in ("points", "minutes"))
    parts = [f"## {lesson}", f"{points} points, about {minutes} minutes."]
    return "\n\n".join([*parts, *map(exercise_section, exercises)]) + "\n"


def exercise_section(exercise: Exercise) -> str:
    points = "1 point" if exercise.points == 1 else f"{exercise.points} points"
    return f"### {exercise.name} ({points}, {exercise.minutes} minutes)\n\n{contract_of(exercise)}"


def contract_of(exercise: Exercise) -> str:
    """Return the docstring of the exercise's module.

    Raises
    ------
    ValueError
        The module has no docstring.
    """
    name = f"attention_lib.exercises.{module_of(exercise.lesson)}.{exercise.name}"
    contract = inspect.getdoc(importlib.import_module(name))
    if not contract:
        file = f"{name.replace('.', '/')}.py"
        raise ValueError(f"{file} has no docstring: write there what {exercise.name} asks for.")
    return contract


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    README.write_text(first_page(), encoding="utf-8")
    ids.write()


if __name__ == "__main__":
    main()
