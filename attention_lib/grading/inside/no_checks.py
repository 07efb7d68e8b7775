"""Replacements for `check`, `hint`, `solution` and `progress` while a submission is graded."""

from __future__ import annotations

from typing import Any


def check(name: str, answer: Any = None, *, seed: int | None = 0) -> None:
    """Say that the grader checks the answer itself."""
    print(f"{name}: the grader checks this answer itself, in its check cell.")


def hint(name: str) -> None:
    """Say that hints are off during grading."""
    print(f"{name}: no hints while this is graded.")


def solution(name: str, *, library: bool = False) -> None:
    """Say that solutions are off during grading."""
    print(f"{name}: no solutions while this is graded.")


def progress(lesson: str | None = None) -> None:
    """Say that progress is not recorded during grading."""
    print("No progress is kept while this is graded.")
