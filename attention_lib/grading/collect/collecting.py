"""Collect downloads into the folders of students, where nothing is overwritten."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from attention_lib.grading.classroom.course import Course
from attention_lib.grading.collect.archives import NotCollected
from attention_lib.grading.collect.downloads import (
    Download,
    Layout,
    Work,
    by_name,
    find_downloads,
    not_collected,
)
from attention_lib.grading.intake.folder import same_name
from attention_lib.grading.intake.submission import read_submission

log = logging.getLogger(__name__)


@dataclass
class Collected:
    """What became of each download, in sentences."""

    collected: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def collect(course: Course, lesson: str, layout: Layout = by_name) -> Collected:
    """Collect what lies in a lesson's folder of downloads, each for itself."""
    downloads, refused = find_downloads(course.downloaded(lesson), lesson, layout)
    result = Collected(refused=refused)
    for download in downloads:
        name = download.path.name
        try:
            result.collected.append(f"{name}: {_collect(course, lesson, download)}.")
        except NotCollected as why:
            result.refused.append(not_collected(name, str(why)))
        except Exception as problem:  # whatever it is, the other downloads are collected
            log.debug("%s is not collected", name, exc_info=True)
            result.refused.append(not_collected(name, f"it could not be read ({problem!r})"))
    return result


def _collect(course: Course, lesson: str, download: Download) -> str:
    """Write what a student handed in, and say so."""
    work = download.read(lesson)
    folder = course.submission(lesson, download.student)
    for other in course.submitted(lesson):
        if same_name(other) == same_name(download.student):
            there = course.submission(lesson, other)
            if _is_the_same(there, lesson, work):
                return f"collected before for {other}"
            raise NotCollected(
                f"{course.shown(there)} holds another notebook; remove one of the two"
            )
    _write(folder, lesson, work)
    beside = f", with {len(work.files)} more files" if work.files else ""
    return f"collected for {download.student}{beside}"


def _is_the_same(folder: Path, lesson: str, work: Work) -> bool:
    there = read_submission(folder, lesson)
    return (there.notebook, there.files) == (work.notebook, work.files)


def _write(folder: Path, lesson: str, work: Work) -> None:
    """Write a student's folder beside its place, and then move it there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".collecting-", dir=folder.parent) as temporary:
        new = Path(temporary, "new")
        new.mkdir()
        for path, content in {f"{lesson}.ipynb": work.notebook, **work.files}.items():
            (new / path).parent.mkdir(parents=True, exist_ok=True)
            (new / path).write_bytes(content)
        new.rename(folder)
