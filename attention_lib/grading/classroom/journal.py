"""The journal of a lesson's batches: what each grade was made from, so that no work is repeated."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from attention_lib.grading.classroom.course import CourseError


@dataclass
class Entry:
    """What the journal knows about one student."""

    work: str = ""  # a digest of all that the grade was made from
    automatic: dict[str, float | None] = field(default_factory=dict)  # the grade
    note: str = ""
    page: str = ""  # a digest of all that the feedback page was made from


class Journal:
    """An append-only file of JSON lines, each written after its work is done; the last one counts.

    It is a cache; the gradebook decides. A torn or missing line only means that work is repeated.
    While a journal is open, nobody else can open it.
    """

    def __init__(self, path: Path) -> None:
        """Open the journal and read its entries."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(f"{path}.lock", blocking=False)
        try:
            self._lock.acquire()
        except Timeout:
            raise CourseError(
                f"This lesson is being graded already: {path} is in use. Wait for that."
            ) from None
        self._file = path.open("a+", encoding="utf-8", errors="replace", newline="\n")
        self.entries: dict[str, Entry] = {}
        self._file.seek(0)
        torn = False
        for line in self._file:
            torn = not line.endswith("\n")
            self._read(line)
        if torn:
            self._file.write("\n")

    def _read(self, line: str) -> None:
        try:
            said = json.loads(line)
            if said.get("again"):
                self.entries.clear()
            else:
                self._note(said.pop("student"), said)
        except (ValueError, TypeError, AttributeError, KeyError):
            pass  # a torn line

    def _note(self, student: str, said: Mapping[str, Any]) -> None:
        entry = self.entries.setdefault(student, Entry())
        for name in Entry.__dataclass_fields__.keys() & said.keys():
            setattr(entry, name, said[name])

    def _write(self, said: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(said) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def begin_again(self) -> None:
        """Start a batch that grades everyone again, also when it is resumed after an interruption."""
        self.entries.clear()
        self._write({"again": True})

    def note(self, student: str, **said: Any) -> None:
        """Record work done for a student: `work`, `automatic` and `note`, or `page`."""
        self._note(student, said)
        self._write({"student": student, **said})

    def close(self) -> None:
        self._file.close()
        self._lock.release()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
