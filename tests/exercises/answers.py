"""The right and wrong answers of every exercise, each exercise's in a module of its name."""

import importlib
import importlib.util

from attention_lib.exercises import EXERCISES
from attention_lib.lessons import module_of


def _collect(kind):
    collected = {}
    for exercise in EXERCISES.values():
        folder = f"tests.exercises.{module_of(exercise.lesson)}"
        if importlib.util.find_spec(folder) and importlib.util.find_spec(
            f"{folder}.{exercise.name}"
        ):
            module = importlib.import_module(f"{folder}.{exercise.name}")
            collected[exercise.name] = getattr(module, kind, None)
    return {name: answers for name, answers in collected.items() if answers}


RIGHT = _collect("RIGHT")  # by exercise, a list of answers that must pass
WRONG = _collect("WRONG")  # by exercise, answers that must fail, by what is wrong with them


def no_right_answers(name):
    """Say which file to write for an exercise that has no right answers."""
    folder = module_of(EXERCISES[name].lesson)
    return (
        f"{name} has no right answers: write RIGHT in tests/exercises/{folder}/{name}.py; "
        "tests/exercises/template.py shows how"
    )
