"""Which exercises the tests try: all of them, or the one that --exercise names."""

import hypothesis
import pytest

from attention_lib.checks.exercise import Exercise
from attention_lib.exercises import EXERCISES
from attention_lib.lessons import LESSONS


def chosen(config: pytest.Config) -> dict[str, Exercise]:
    """Return the exercises to try, by name."""
    name = config.getoption("--exercise")
    return {name: EXERCISES[name]} if name else EXERCISES


def chosen_lessons(config: pytest.Config) -> list[str]:
    """Return the lessons to try, in order."""
    lessons = {exercise.lesson for exercise in chosen(config).values()}
    return [lesson for lesson in LESSONS if lesson in lessons]


def in_one_worker(name: str) -> list[pytest.MarkDecorator]:
    """Mark tests of an exercise: one process runs all, and keeps what its known mistakes return."""
    return [pytest.mark.xdist_group(f"exercise_{name}")]


def seeds(count: int) -> range:
    """Return what to draw cases from: under the profile of `make quick` the first seed alone."""
    return range(1 if hypothesis.settings.get_current_profile_name() == "quick" else count)
