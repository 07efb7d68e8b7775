"""Count the exercises of each lesson: `python -m attention_lib.exercises`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from attention_lib.checks.exercise import Exercise
from attention_lib.exercises import EXERCISES
from attention_lib.lessons import LESSONS

COLUMNS = ("exercises", "points", "minutes", "hints", "cases", "known mistakes", "wrong answers")


def counts(exercises: Iterable[Exercise]) -> tuple[int, ...]:
    """Return one number for each of COLUMNS.

    Cases are the inputs that answers are tried on. A known mistake is made by one or more wrong
    answers; each of them is refused with the mistake's sentence, as the tests show.
    """
    exercises = list(exercises)
    called = [exercise for exercise in exercises if exercise.kind == "function"]
    mistakes = [mistake for exercise in exercises for mistake in exercise.mistakes]
    return (
        len(exercises),
        sum(exercise.points for exercise in exercises),
        sum(exercise.minutes for exercise in exercises),
        sum(len(exercise.hints) for exercise in exercises),
        sum(len(list(exercise.cases(np.random.default_rng(0)))) for exercise in called),
        len(mistakes),
        sum(len(mistake.variants) for mistake in mistakes),
    )


def main() -> None:
    """Print a line for each lesson, and the totals."""
    print(f"{'':14}" + "".join(f"{column:>16}" for column in COLUMNS))
    for lesson in LESSONS:
        of_lesson = [exercise for exercise in EXERCISES.values() if exercise.lesson == lesson]
        _print_line(lesson, of_lesson)
    _print_line("all", EXERCISES.values())


def _print_line(name: str, exercises: Iterable[Exercise]) -> None:
    print(f"{name:14}" + "".join(f"{count:16,}" for count in counts(exercises)))


if __name__ == "__main__":
    main()
