"""Which exercises the tests try: all of them, or the one that --exercise names."""

import pytest

from attention_lib.checks.exercise import Exercise
from attention_lib.exercises import EXERCISES


def chosen(config: pytest.Config) -> dict[str, Exercise]:
    """Return the exercises to try, by name."""
    name = config.getoption("--exercise")
    return {name: EXERCISES[name]} if name else EXERCISES
