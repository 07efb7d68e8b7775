"""Compute a learner's standing in the course: exercises solved, points, what is next, mistakes met."""

from __future__ import annotations

import datetime
from collections import Counter
from dataclasses import dataclass

from attention_lib.checks.exercise import Exercise
from attention_lib.checks.show.panel import COLORS, panel, with_code
from attention_lib.exercises import EXERCISES
from attention_lib.exercises.ids import current_id
from attention_lib.lessons import LESSONS
from attention_lib.record import Record, Tried

__all__ = ["Count", "as_html", "as_text", "count", "lesson_to_open", "next_exercise", "sentences"]


@dataclass(frozen=True)
class Count:
    """Counts of exercises and points. Answers in words, which a human marks, are counted separately."""

    solved: int
    exercises: int
    points: int
    of_points: int
    in_words: int  # points for answers in words, not included in the others

    def __str__(self) -> str:
        return (
            f"{self.solved} of {self.exercises} exercises solved, "
            f"{self.points} of {self.of_points} points"
        )


def count(record: Record, lesson: str | None = None) -> Count:
    """Count what is solved in a lesson, or in the course."""
    exercises = [one for one in EXERCISES.values() if lesson in (None, one.lesson)]
    checked = [one for one in exercises if one.kind != "written"]
    solved = [one for one in checked if _is_solved(record, one)]
    points, of_points, of_all = (
        sum(one.points for one in some) for some in (solved, checked, exercises)
    )
    return Count(len(solved), len(checked), points, of_points, of_all - of_points)


def next_exercise(record: Record, lesson: str) -> Exercise | None:
    """Return the next exercise to solve: the first open one of the lesson, then of other lessons.

    Later lessons come before earlier ones. Return None if all are solved.
    """
    place = LESSONS.index(lesson)
    for later in (*LESSONS[place:], *LESSONS[:place]):
        for exercise in EXERCISES.values():
            is_open = exercise.kind != "written" and not _is_solved(record, exercise)
            if exercise.lesson == later and is_open:
                return exercise
    return None


def lesson_of_last_check(record: Record) -> str:
    """Return the lesson of the last check, or the first lesson if there was no check."""
    return EXERCISES[record.last].lesson if record.last in EXERCISES else LESSONS[0]


def lesson_to_open(record: Record) -> str:
    """Return the lesson of the next open exercise."""
    lesson = lesson_of_last_check(record)
    following = next_exercise(record, lesson)
    return following.lesson if following else lesson


def sentences(record: Record, lesson: str) -> list[str]:
    """Return sentences: what is solved in a lesson, the last check, what is next, what is wrong.

    What is wrong are answers once right, and known mistakes met in exercises that are not solved.
    """
    here = count(record, lesson)
    words = f"; {here.in_words} more for answers in words, which a person reads"
    told = [f"Lesson {lesson}: {here}{words if here.in_words else ''}."]
    if record.last in EXERCISES:
        told.append(f"Your last check was of {record.last}{_days_ago(record.day)}.")
    following = next_exercise(record, lesson)
    if following is None:
        told.append("You have solved every exercise of the course.")
    elif following.lesson == lesson:
        told.append(f"Next in this lesson: {following.name}.")
    else:
        told.append(f"Next: {following.name}, in lesson {following.lesson}.")
    for exercise in EXERCISES.values():
        tried = record.exercises.get(exercise.name)
        if tried and exercise.lesson == lesson and not _is_solved(record, exercise):
            if tried.broken:
                told.append(f"{exercise.name}: solved earlier, not right at the last check.")
            met: Counter[str] = Counter()
            for id, times in tried.mistakes.items():
                met[current_id(f"{exercise.name}-{id}").partition("-")[2]] += times
            told += [
                f"A known mistake met in {exercise.name}{_times_text(met[one.id])}: {one.sentence}"
                for one in exercise.mistakes
                if one.id in met
            ]
    return told


def as_text(record: Record, lesson: str, where: str) -> str:
    """Return a learner's standing as plain text; `where` says where the record is kept."""
    rows = [f"  {name:15} {count(record, name)}" for name in LESSONS]
    return "\n".join([*sentences(record, lesson), f"Course: {count(record)}.", *rows, where])


def as_html(record: Record, lesson: str, where: str) -> str:
    """Return the same as a panel with a table of the lessons."""
    rows = "".join(
        f'<tr><th scope="row" style="text-align:left;font-weight:{700 if name == lesson else 400}">'
        f"{name}</th><td>{one.solved} of {one.exercises}</td><td>{one.points} of {one.of_points}</td></tr>"
        for name in LESSONS
        for one in [count(record, name)]
    )
    whole = count(record)
    lines = "".join(f"<div>{with_code(sentence)}</div>" for sentence in sentences(record, lesson))
    return panel(
        f'{lines}<table style="margin:6px 0"><tr><th scope="col" style="text-align:left">lesson</th>'
        f'<th scope="col">solved</th><th scope="col">points</th></tr>{rows}'
        f'<tr><th scope="row" style="text-align:left">course</th>'
        f"<td>{whole.solved} of {whole.exercises}</td><td>{whole.points} of {whole.of_points}</td>"
        f'</tr></table><div style="opacity:.75">{with_code(where)}</div>',
        COLORS["unattempted"],
        'class="attention-progress"',
    )


def _is_solved(record: Record, exercise: Exercise) -> bool:
    """Tell whether the last check of an exercise was right."""
    tried = record.exercises.get(exercise.name, Tried())
    return bool(tried.solved) and not tried.broken


def _times_text(number: int) -> str:
    return f", {number} times" if number > 1 else ""


def _days_ago(day: str) -> str:
    """Return how long ago a day was: ``, 7 days ago``."""
    try:
        days = (datetime.date.today() - datetime.date.fromisoformat(day)).days
    except ValueError:
        return ""
    if days <= 0:
        return ", today"
    return ", yesterday" if days == 1 else f", {days} days ago"
