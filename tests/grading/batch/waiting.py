"""Wait for what other processes do: grades, ends, starts."""

import json
import time
from collections.abc import Callable

import pytest

from attention_lib.grading.classroom.course import Course

SECONDS = 120  # that something may take before a test fails


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"this has not come about within {SECONDS} seconds")
        time.sleep(0.01)


def graded_in(course: Course, lesson: str) -> list[str]:
    """Return the students whose grades the journal holds so far, in the order of grading."""
    journal = course.journal(lesson)
    lines = journal.read_text().splitlines() if journal.exists() else []
    entries = [json.loads(line) for line in lines if line.endswith("}")]
    return [entry["student"] for entry in entries if "work" in entry]
