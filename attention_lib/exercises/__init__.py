"""All exercises of the course, in order, found by name."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator

from attention_lib.checks.exercise import Exercise
from attention_lib.lessons import LESSONS, module_of
from attention_lib.outdated import OLDER, NotUnderstood, nearest


def _listed(lesson: str) -> Iterator[Exercise]:
    """Yield the exercises that a lesson's folder lists by name, each from the module of its name."""
    folder = f"{__name__}.{module_of(lesson)}"
    for name in importlib.import_module(folder).EXERCISES:
        exercise = importlib.import_module(f"{folder}.{name}").EXERCISE
        if exercise.name != name:
            raise ValueError(f"{folder}.{name}: its exercise has the name {exercise.name!r}.")
        yield dataclasses.replace(exercise, lesson=lesson)


EXERCISES: dict[str, Exercise] = {
    exercise.name: exercise for lesson in LESSONS for exercise in _listed(lesson)
}


def find(name: str) -> Exercise:
    """Return the exercise of that name, or raise NotUnderstood with the nearest names there are."""
    if not isinstance(name, str):
        meant = getattr(name, "__name__", "softmax")
        raise NotUnderstood(f'The first argument is the exercise\'s name in quotes: "{meant}".')
    if name not in EXERCISES:
        meant = nearest(name, EXERCISES) or f"Names stand in the headings of exercises. {OLDER}"
        raise NotUnderstood(f'There is no exercise "{name}". {meant}')
    return EXERCISES[name]
