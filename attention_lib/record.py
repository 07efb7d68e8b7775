"""A learner's record of checks: exercises solved and known mistakes met, in learn/.progress.json.

It is kept on the learner's own disk and sent nowhere. Outside the folder that `make lab` makes, and
where that folder cannot be written to, it is kept in memory until the kernel stops.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["FILE", "RELEASES", "Check", "Record", "Tried", "learner_folder", "note", "read"]

FILE = ".progress.json"
RELEASES = ".releases.json"  # only `make lab` writes this file, into learn/
LOCK_SECONDS = 2.0


@dataclass(frozen=True)
class Check:
    """One check of an answer."""

    exercise: str
    right: bool
    mistake: str = ""  # the id of the known mistake that was recognized
    day: str = field(default_factory=lambda: datetime.date.today().isoformat())


@dataclass
class Tried:
    """What became of one exercise so far."""

    checks: int = 0
    solved: str = ""  # the day, as 2026-11-22
    mistakes: dict[str, int] = field(default_factory=dict)  # how often, by id


@dataclass
class Record:
    """All checks so far: by exercise, and the last one."""

    exercises: dict[str, Tried] = field(default_factory=dict)
    last: str = ""  # the exercise
    day: str = ""

    def add(self, check: Check) -> None:
        """Count one check. What was solved stays so when a later answer is wrong."""
        tried = self.exercises.setdefault(check.exercise, Tried())
        tried.checks += 1
        if check.right:
            tried.solved = tried.solved or check.day
        elif check.mistake:
            tried.mistakes[check.mistake] = tried.mistakes.get(check.mistake, 0) + 1
        self.last, self.day = check.exercise, check.day


_unwritten: list[Check] = []  # of this kernel


def learner_folder() -> Path | None:
    """Return the working folder if it is one that `make lab` made; Jupyter starts kernels there."""
    if "NBGRADER_EXECUTION" in os.environ:  # nbgrader runs this notebook, not its learner
        return None
    with contextlib.suppress(OSError):
        folder = Path.cwd()
        if (folder / RELEASES).is_file():
            return folder
    return None


def note(check: Check) -> None:
    """Add a check to the record, on disk where there is a learner's folder."""
    _unwritten.append(check)
    folder = learner_folder()
    # A record that cannot be written must not disturb a check: it waits in memory.
    if folder is not None:
        with contextlib.suppress(OSError, ImportError):
            _write(folder)


def read(folder: Path | None) -> Record:
    """Return the record of a folder, with what this kernel could not write; None: that alone."""
    record = Record() if folder is None else _read(folder / FILE)
    for check in _unwritten:
        record.add(check)
    return record


def _write(folder: Path) -> None:
    """Add what is not yet written to the file, one notebook at a time, in one step."""
    from filelock import FileLock  # a browser's Python may not have it

    path = folder / FILE
    with FileLock(path.with_name(FILE + ".lock"), timeout=LOCK_SECONDS):
        record = read(folder)
        content = {
            "exercises": {name: vars(tried) for name, tried in record.exercises.items()},
            "last": record.last,
            "day": record.day,
        }
        part = path.with_name(FILE + ".part")
        part.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        os.replace(part, path)
        _unwritten.clear()


def _read(path: Path) -> Record:
    """Read a record; leave out whatever is missing or damaged."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return Record()
    content = _dict(content)
    exercises = {
        name: Tried(_count(tried.get("checks")), _text(tried.get("solved")), counts)
        for name, entry in _dict(content.get("exercises")).items()
        if (tried := _dict(entry))
        for counts in [{id: _count(n) for id, n in _dict(tried.get("mistakes")).items()}]
    }
    return Record(exercises, _text(content.get("last")), _text(content.get("day")))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0
