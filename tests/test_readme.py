"""The README says what is there: commands, files, and which lessons are ready."""

import re
from pathlib import Path

import pytest

from attention_lib.checks.catalogue import EXERCISES

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ROW = re.compile(
    r"^\| `(?P<lesson>\d\d_\w+)` \|.*\| (?P<points>\d+) \| (?P<ready>[\w ]+) \|$", re.M
)
TABLE = {row["lesson"]: row for row in ROW.finditer(README)}


def test_the_table_lists_eight_lessons_in_order():
    assert [lesson[:2] for lesson in TABLE] == [f"{number:02}" for number in range(1, 9)]


@pytest.mark.parametrize("lesson", TABLE)
def test_a_lesson_is_called_ready_when_it_is_released(lesson):
    released = (ROOT / "notebooks" / lesson / f"{lesson}.ipynb").is_file()
    assert TABLE[lesson]["ready"] == ("yes" if released else "not yet")


@pytest.mark.parametrize("lesson", sorted({exercise.lesson for exercise in EXERCISES.values()}))
def test_the_points_are_those_of_the_exercises(lesson):
    points = sum(exercise.points for exercise in EXERCISES.values() if exercise.lesson == lesson)
    assert int(TABLE[lesson]["points"]) == points


def test_every_make_command_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    assert set(re.findall(r"(?:`|    )make ([a-z]+)", README)) <= targets


def test_every_picture_and_linked_file_is_there():
    targets = re.findall(r"\]\(([^)]+)\)", README)
    assert targets
    assert [t for t in targets if "://" not in t and not (ROOT / t).is_file()] == []
