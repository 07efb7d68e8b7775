"""Collect downloads into the folders of students, where nothing is overwritten."""

from __future__ import annotations

import functools
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from attention_lib.grading import limits
from attention_lib.grading.classroom.course import Course
from attention_lib.grading.classroom.roster import NotFound, Roster, read_roster
from attention_lib.grading.collect.archives import NotCollected
from attention_lib.grading.collect.downloads import (
    Layout,
    Work,
    by_name,
    find_downloads,
    not_collected,
)
from attention_lib.grading.collect.exports import find_hand_ins, open_export
from attention_lib.grading.intake.folder import same_name
from attention_lib.grading.intake.submission import read_submission

log = logging.getLogger(__name__)


class Collectable(Protocol):
    """What one student handed in, wherever it lies."""

    @property
    def name(self) -> str: ...
    @property
    def student(self) -> str: ...
    @property
    def remarks(self) -> list[str]: ...
    def read(self, lesson: str) -> Work: ...


@dataclass
class Collected:
    """What became of each download, in sentences."""

    collected: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def collect(course: Course, lesson: str, layout: Layout = by_name) -> Collected:
    """Collect what lies in a lesson's folder of downloads, each for itself.

    With a roster, a name has to be that of one of its students.
    """
    roster = read_roster(course)
    if roster is not None:
        layout = functools.partial(_by_roster, roster, layout)
    downloads, refused = find_downloads(course.downloaded(lesson), lesson, layout)
    return _collect_each(course, lesson, downloads, refused)


def _by_roster(roster: Roster, layout: Layout, name: str, lesson: str) -> str | None:
    student = layout(name, lesson)
    if student is None:
        return None
    try:
        return roster.find(student).id
    except NotFound as why:
        raise NotCollected(str(why)) from None


def collect_export(course: Course, lesson: str, path: Path) -> Collected:
    """Collect what Moodle or Canvas exported for a lesson, each student's for itself.

    Without a roster nobody is known: then each sentence has the line that would add a student.

    Raises
    ------
    NotCollected
        If it cannot be read at all.
    """
    roster = read_roster(course) or Roster((), course.shown(course.roster))
    with open_export(path) as export:
        hand_ins, refused = find_hand_ins(export, roster)
        return _collect_each(course, lesson, hand_ins, refused)


def _collect_each(
    course: Course, lesson: str, downloads: Sequence[Collectable], refused: list[str]
) -> Collected:
    result = Collected(refused=refused)
    for download in downloads:
        try:
            sentence = "; ".join([_collect(course, lesson, download), *download.remarks])
            result.collected.append(f"{download.name}: {sentence}.")
        except NotCollected as why:
            result.refused.append(not_collected(download.name, str(why)))
        except Exception as problem:  # whatever it is, the other downloads are collected
            log.debug("%s is not collected", download.name, exc_info=True)
            sentence = not_collected(download.name, f"it could not be read ({problem!r})")
            result.refused.append(sentence)
    return result


def _collect(course: Course, lesson: str, download: Collectable) -> str:
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
    return f"collected for {download.student}{beside}{_without(work.left_out)}"


def _without(paths: list[str]) -> str:
    """Name what was handed in and is not taken."""
    if not paths:
        return ""
    most = limits.FILES_NAMED_PER_NOTE
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return f", without {', '.join(paths[:most])}{more}"


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
