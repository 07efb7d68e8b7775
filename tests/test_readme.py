"""The README says what is there: commands, files and lessons."""

import re
from pathlib import Path

import pytest

from attention_lib.exercises import EXERCISES
from attention_lib.lessons import LESSONS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(?P<lesson>\d\d_\w+)` \|.*\| (?P<points>\d+) \|$", re.M)
TABLE = {row["lesson"]: row for row in ROW.finditer(README)}


def test_the_table_lists_the_released_lessons_in_order():
    released = [path.name for path in sorted((ROOT / "notebooks").glob("*_*"))]
    assert list(TABLE) == released
    assert tuple(TABLE) == LESSONS


@pytest.mark.parametrize("lesson", sorted({exercise.lesson for exercise in EXERCISES.values()}))
def test_the_points_are_those_of_the_exercises(lesson):
    points = sum(exercise.points for exercise in EXERCISES.values() if exercise.lesson == lesson)
    assert int(TABLE[lesson]["points"]) == points, (
        f"README.md says that {lesson} has {TABLE[lesson]['points']} points; its exercises have {points}."
    )


def test_every_make_command_exists():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))
    assert set(re.findall(r"(?:`|    )make ([a-z]+)", README)) <= targets


def test_every_picture_and_linked_file_is_there():
    targets = re.findall(r"\]\(([^)]+)\)", README)
    assert targets
    assert [t for t in targets if "://" not in t and not (ROOT / t).is_file()] == []
