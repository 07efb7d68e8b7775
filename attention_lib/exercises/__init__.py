"""All exercises of the course, in order, found by name."""

from __future__ import annotations

import dataclasses
import difflib
import importlib

from attention_lib.checks.exercise import Exercise
from attention_lib.lessons import LESSONS, module_of
from attention_lib.outdated import OLDER

EXERCISES: dict[str, Exercise] = {
    exercise.name: dataclasses.replace(exercise, lesson=lesson)
    for lesson in LESSONS
    for exercise in importlib.import_module(f"{__name__}.{module_of(lesson)}").EXERCISES
}


def find(name: str) -> Exercise:
    """Return the exercise of that name, or raise ValueError with the nearest names there are."""
    if not isinstance(name, str):
        raise ValueError('The first argument is the exercise\'s name in quotes, such as "softmax".')
    if name not in EXERCISES:
        near = difflib.get_close_matches(name, EXERCISES, n=3, cutoff=0.5)
        meant = (
            f"Did you mean {' or '.join(near)}? {OLDER}"
            if near
            else f"{OLDER} There are: {', '.join(EXERCISES)}."
        )
        raise ValueError(f'There is no exercise "{name}". {meant}')
    return EXERCISES[name]
