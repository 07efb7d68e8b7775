"""Refuse cells whose names nbgrader or this course's grader would confuse."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from nbformat import NotebookNode

from attention_lib.grading.classroom.course import CourseError


def refuse_clashes(
    cells: Iterable[NotebookNode], lesson: str, exercises: Mapping[str, Any]
) -> None:
    """Require distinct names and closed marks in marked cells, and no `check` in a teacher's own tests.

    `exercises` are those of all lessons, by name.

    Raises
    ------
    CourseError
        If two cells have the same grade_id, a mark such as BEGIN SOLUTION has no end, a teacher's
        cell has the name of an exercise, or a test calls `check`, which judges nothing there.
    """
    marked = [cell for cell in cells if "grade_id" in cell.metadata.get("nbgrader", {})]
    names = Counter(cell.metadata.nbgrader.grade_id for cell in marked)
    graded = [cell for cell in marked if cell.metadata.nbgrader.get("grade")]
    columns = Counter(_name_in_tables(cell) for cell in graded)
    for name in [*_repeated(names), *_repeated(columns)]:
        raise CourseError(
            f"two cells are called {name!r}: delete one of them, or give it another name."
        )
    for cell in marked:
        _require_closed_marks(cell)
    own = [cell for cell in graded if not _is_ours(cell, lesson, exercises)]
    refuse_taken(map(_name_in_tables, own), exercises)
    for cell in own:
        is_test = cell.cell_type == "code" and not cell.metadata.nbgrader.get("solution")
        if is_test and re.search(r"\bcheck\(", cell.source):
            raise CourseError(
                f"the test {_name_in_tables(cell)!r} calls check, which judges only the course's own exercises: "
                "test with assert."
            )


def _require_closed_marks(cell: NotebookNode) -> None:
    for what in ("SOLUTION", "HIDDEN TESTS"):
        marks = re.findall(rf"### (BEGIN|END) {what}", cell.source)
        if marks != ["BEGIN", "END"] * (len(marks) // 2):
            raise CourseError(
                f"{_name_in_tables(cell)} needs a line ### END {what} after each line ### BEGIN {what}."
            )


def refuse_taken(names: Iterable[str], exercises: Mapping[str, Any]) -> None:
    """Require that no teacher's own question has the name of an exercise."""
    for name in names:
        if name in exercises:
            raise CourseError(
                f"{name!r} is an exercise of {exercises[name].lesson}: give your own question "
                "another name."
            )


def _name_in_tables(cell: NotebookNode) -> str:
    """Return a graded cell's name in tables."""
    return str(cell.metadata.nbgrader.grade_id).removeprefix("check_")


def _repeated(names: Counter[str]) -> Collection[str]:
    return [name for name, count in names.items() if count > 1]


def _is_ours(cell: NotebookNode, lesson: str, exercises: Mapping[str, Any]) -> bool:
    """Tell whether a graded cell is the course's own for an exercise."""
    name = _name_in_tables(cell)
    exercise = exercises.get(name)
    if exercise is None or exercise.lesson != lesson:
        return False
    return exercise.kind == "written" or cell.source.startswith(f'check("{name}"')
