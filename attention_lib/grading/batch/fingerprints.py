"""Compute fingerprints (cache keys) of all that a grade depends on: same key, no regrading."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
from collections.abc import Iterable
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import attention_lib
from attention_lib.grading.classroom.course import CONFIG, Course
from attention_lib.grading.intake.submission import Submission

NUMERICAL_PACKAGES = ("numpy", "torch")  # their versions may change a result


def digest(parts: Iterable[Any]) -> str:
    """Return a digest of texts, bytes, and values that JSON can hold."""
    whole = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else json.dumps(part).encode()
        whole.update(b"%d:" % len(data) + data)
    return whole.hexdigest()


@functools.cache
def of_library() -> str:
    """Return the digest of this library and of the numerical packages it uses."""
    root = Path(attention_lib.__file__).parent
    files = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.py"))
    versions = []
    for name in NUMERICAL_PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions.append(f"{name} {metadata.version(name).partition('+')[0]}")
    return digest(
        [*versions, *(part for name in files for part in (name, (root / name).read_bytes()))]
    )


def of_lesson(course: Course, lesson: str, due: datetime | None) -> str:
    """Return the digest of what all grades for a lesson depend on."""
    source = course.source(lesson).parent
    files = sorted(path for path in source.rglob("*") if path.is_file())
    contents = [path.read_bytes() for path in (course.root / CONFIG, course.released(lesson))]
    contents += [path.read_bytes() for path in files]
    return digest([of_library(), _as_text(due), *contents])


def of_submission(submission: Submission) -> str:
    """Return the digest of what a student handed in, and when."""
    files = [part for name in sorted(submission.files) for part in (name, submission.files[name])]
    return digest(
        [
            _as_text(submission.time),
            submission.notebook,
            submission.problem,
            submission.notes,
            submission.secret,
            *files,
        ]
    )


def _as_text(time: datetime | None) -> str:
    return time.isoformat() if time else ""
