"""The right and wrong answers of every exercise, each exercise's in a module of its name."""

import importlib
import importlib.util

from attention_lib.exercises import EXERCISES
from attention_lib.lessons import LESSONS, module_of


def _collect(kind):
    found = {}
    for lesson in LESSONS:
        old = f"tests.exercises.{kind.lower()}_answers.{module_of(lesson)}"
        if importlib.util.find_spec(old):
            found |= getattr(importlib.import_module(old), kind)
    for exercise in EXERCISES.values():
        module = f"tests.exercises.{module_of(exercise.lesson)}.{exercise.name}"
        if importlib.util.find_spec(f"tests.exercises.{module_of(exercise.lesson)}") is None:
            continue
        if importlib.util.find_spec(module):
            found[exercise.name] = getattr(importlib.import_module(module), kind, None)
    return {name: answers for name, answers in found.items() if answers}


RIGHT = _collect("RIGHT")  # by exercise, a list of answers that must pass
WRONG = _collect("WRONG")  # by exercise, answers that must fail, by what is wrong with them
