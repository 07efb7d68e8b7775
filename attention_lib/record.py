"""Keep a learner's record of checks, exercises solved and known mistakes met, in learn/.progress.json.

The record stays on the learner's own disk and is sent nowhere. Outside the folder that `make lab`
makes, and if that folder is not writable, it is kept in memory until the kernel stops.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = [
    "FILE",
    "RELEASES",
    "Check",
    "Record",
    "Tried",
    "learner_folder",
    "note",
    "read",
    "set_aside",
]

FILE = ".progress.json"
DAMAGED = ".progress.damaged-{}.json"
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
    """The results of one exercise so far."""

    checks: int = 0
    solved: str = ""  # the day, as 2026-11-22
    broken: str = ""  # the day of the last check, if it was not right after one that was
    mistakes: dict[str, int] = field(default_factory=dict)  # how often, by id


@dataclass
class Record:
    """All checks so far: by exercise, and the last one."""

    exercises: dict[str, Tried] = field(default_factory=dict)
    last: str = ""  # the exercise
    day: str = ""

    def add(self, check: Check) -> None:
        """Count one check. An exercise solved is broken until its next right answer."""
        tried = self.exercises.setdefault(check.exercise, Tried())
        tried.checks += 1
        tried.broken = check.day if tried.solved and not check.right else ""
        if check.right:
            tried.solved = tried.solved or check.day
        elif check.mistake:
            tried.mistakes[check.mistake] = tried.mistakes.get(check.mistake, 0) + 1
        self.last, self.day = check.exercise, check.day


_unwritten: list[Check] = []  # of this kernel


def learner_folder() -> Path | None:
    """Return the working folder if `make lab` made it, or None; Jupyter starts kernels there."""
    if "NBGRADER_EXECUTION" in os.environ:  # nbgrader runs this notebook, not its learner
        return None
    with contextlib.suppress(OSError):
        folder = Path.cwd()
        if (folder / RELEASES).is_file():
            return folder
    return None


def note(check: Check) -> str:
    """Add a check to the record, on disk if there is a learner's folder.

    Return a sentence if the record on disk was damaged, otherwise "".
    """
    _unwritten.append(check)
    folder = learner_folder()
    return "" if folder is None else _write(folder)


def read(folder: Path | None) -> Record:
    """Return a folder's record plus checks not yet written; for None, only these checks."""
    record = Record() if folder is None else _read(folder / FILE)[0]
    for check in _unwritten:
        record.add(check)
    return record


def set_aside(folder: Path | None) -> str:
    """Keep a damaged record under another name, and return a sentence; return "" if it is intact."""
    return _write(folder) if folder is not None and _read(folder / FILE)[1] else ""


def _write(folder: Path) -> str:
    """Add the checks not yet written to the file, in one step, locking out other notebooks.

    A record that cannot be written must not disturb a check: it stays in memory.
    """
    path, told = folder / FILE, ""
    with contextlib.suppress(OSError, ImportError):
        from filelock import FileLock  # may be missing in a browser's Python

        with FileLock(path.with_name(FILE + ".lock"), timeout=LOCK_SECONDS):
            record = read(folder)
            if _read(path)[1]:
                kept = next(
                    name
                    for n in itertools.count(1)
                    if not (name := folder / DAMAGED.format(n)).exists()
                )
                os.replace(path, kept)
                told = (
                    f"Your record of checks, {folder.name}/{FILE}, was damaged: it is kept as {kept.name}, "
                    "and a new one begins with what could be read of it."
                )
            part = path.with_name(FILE + ".part")
            text = json.dumps(_content(record), indent=1, sort_keys=True)
            part.write_text(f"{text}\n", encoding="utf-8")
            os.replace(part, path)
            _unwritten.clear()
    return told


def _content(record: Record) -> dict[str, Any]:
    return {
        "exercises": {name: vars(tried) for name, tried in record.exercises.items()},
        "last": record.last,
        "day": record.day,
    }


def _read(path: Path) -> tuple[Record, bool]:
    """Read a record without its missing or damaged parts; also return whether anything is damaged."""
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return Record(), False
    except (OSError, ValueError, RecursionError):
        return Record(), True
    content = _dict(found)
    exercises = {
        name: Tried(
            _count(tried.get("checks")),
            _text(tried.get("solved")),
            _text(tried.get("broken")),
            counts,
        )
        for name, entry in _dict(content.get("exercises")).items()
        if (tried := _dict(entry)) or entry == {}
        for counts in [{id: _count(n) for id, n in _dict(tried.get("mistakes")).items()}]
    }
    record = Record(exercises, _text(content.get("last")), _text(content.get("day")))
    return record, _has_unkept(found, _content(record))


def _has_unkept(found: Any, kept: Any) -> bool:
    """Tell whether the content of a file has something that is not kept."""
    if isinstance(found, dict) and isinstance(kept, dict):
        return any(name not in kept or _has_unkept(found[name], kept[name]) for name in found)
    return bool(found != kept)


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0
