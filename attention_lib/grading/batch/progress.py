"""Print the progress of a batch: on a terminal one line, rewritten; elsewhere a line now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

from attention_lib.grading import limits
from attention_lib.grading.terminal import first_few, printable


class Progress:
    """Print how many students are done or have failed, and whose work is running."""

    def __init__(
        self, out: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._out = sys.stderr if out is None else out
        self._clock = clock
        self._begun = self._printed = clock()
        self._expected, self._done, self._failed = set[str](), set[str](), set[str]()
        self._waiting_for: dict[str, None] = {}  # the student waited for longest comes first

    def expect(self, student: str) -> None:
        """Note that a student's work is due."""
        self._expected.add(student)

    def begin(self, student: str) -> None:
        """Note that a student's work has been given to a worker."""
        self._waiting_for[student] = None

    def pause(self, student: str) -> None:
        """Note that a student's work is not running for now."""
        self._waiting_for.pop(student, None)

    def count(self, student: str, failed: bool = False) -> None:
        """Count a student as done or failed; the last word on a student holds."""
        self.pause(student)
        self._done.add(student)
        if failed:
            self._failed.add(student)
        else:
            self._failed.discard(student)
        self.show()

    def show(self) -> None:
        """Print the progress: over the last line of a terminal, elsewhere now and then."""
        if self._out.isatty():
            print(f"\r\033[K{self}", end="", file=self._out, flush=True)
        elif self._clock() - self._printed > limits.PROGRESS_LINE_SECONDS:
            self._printed = self._clock()
            print(self, file=self._out, flush=True)

    def clear(self) -> None:
        """Erase the line on the terminal, so that another can be printed."""
        if self._out.isatty():
            print("\r\033[K", end="", file=self._out, flush=True)

    def close(self) -> None:
        """End the line on the terminal."""
        if self._out.isatty():
            print(file=self._out, flush=True)

    def __str__(self) -> str:
        failed = f", {len(self._failed)} failed" if self._failed else ""
        counts = f"{len(self._done)} of {len(self._expected)} graded{failed}"
        return f"{counts}{self._time_left()}{self._waiting_names()}"

    def _waiting_names(self) -> str:
        names = [_on_one_line(name) for name in self._waiting_for]
        return f", waiting for {first_few(names, 2)}" if names else ""

    def _time_left(self) -> str:
        done, left = len(self._done), len(self._expected - self._done)
        if not (done and left):
            return ""
        seconds = (self._clock() - self._begun) / done * left
        return f", {seconds:.0f} s left" if seconds < 60 else f", {seconds / 60:.0f} min left"


def _on_one_line(name: str) -> str:
    """Return a student's name, printable and cut to fit in the line."""
    shown, most = printable(name), 20
    return shown if len(shown) <= most else shown[: most - 1] + "…"
