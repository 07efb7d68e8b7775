"""The progress line of a batch, on a terminal and in a file."""

import io
import os

import pytest

from attention_lib.grading import limits
from attention_lib.grading.batch.progress import Progress


@pytest.fixture
def now():
    """The time, to be set by hand."""
    return [0.0]


def progress_of(students, out=None, clock=lambda: 0.0):
    """Return the progress of students who are named by numbers or letters."""
    progress = Progress(out or io.StringIO(), clock)
    for student in students:
        progress.expect(str(student))
    return progress


def test_text_counts_done_and_failed_and_estimates_the_time_left(now):
    progress = progress_of(range(10), clock=lambda: now[0])
    assert str(progress) == "0 of 10 graded"
    now[0] = 4
    progress.count("0")
    progress.count("1", failed=True)
    assert str(progress) == "2 of 10 graded, 1 failed, 16 s left"
    now[0] = 40
    assert str(progress) == "2 of 10 graded, 1 failed, 3 min left"
    for number in range(2, 10):
        progress.count(str(number))
    assert str(progress) == "10 of 10 graded, 1 failed"


def test_those_waited_for_longest_are_named(now):
    students = ("ada", "b\no", "c" * 100, "dee")
    progress = progress_of([*students, *range(6)], clock=lambda: now[0])
    for student in students:
        progress.begin(student)
    assert str(progress) == "0 of 10 graded, waiting for ada, b?o and 2 more"
    progress.begin("ada")  # her page, after her grade
    progress.pause("b\no")
    now[0] = 1
    progress.count("dee")
    assert str(progress) == f"1 of 10 graded, 9 s left, waiting for ada, {'c' * 19}…"
    progress.count("c" * 100, failed=True)
    progress.count("ada")
    assert "waiting" not in str(progress)


def test_terminal_shows_one_line_that_is_rewritten(now):
    screen, terminal = os.openpty()
    with os.fdopen(terminal, "w") as out, os.fdopen(screen, "rb", buffering=0) as shown:
        progress = progress_of("ab", out, lambda: now[0])
        progress.show()
        progress.count("a")
        progress.count("b")
        progress.close()
        text = b""
        while not text.endswith(b"\n"):  # a terminal hands over what it has, not all that comes
            text += shown.read(1000)
    lines = text.decode().split("\r\n")
    assert lines[0].split("\r\033[K")[1:] == [
        "0 of 2 graded",
        "1 of 2 graded, 0 s left",
        "2 of 2 graded",
    ]
    assert lines[1:] == [""]


def test_file_gets_a_line_a_minute_at_most(now):
    out = io.StringIO()
    progress = progress_of("abc", out, lambda: now[0])
    progress.count("a")
    now[0] = limits.PROGRESS_LINE_SECONDS + 1
    progress.count("b")
    progress.count("c")
    progress.close()
    assert out.getvalue() == "2 of 3 graded, 30 s left\n"


def test_one_that_fails_after_it_was_counted_is_counted_once():
    progress = progress_of("a")
    progress.count("a")
    progress.count("a", failed=True)
    assert str(progress) == "1 of 1 graded, 1 failed"
    progress.count("a")  # after the next hand-in
    assert str(progress) == "1 of 1 graded"
