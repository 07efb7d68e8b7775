"""Collect downloads into the students' folders without overwriting anything."""

from __future__ import annotations

import contextlib
import itertools
import logging
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from attention_lib.grading import limits
from attention_lib.grading.classroom.columns import COLUMNS
from attention_lib.grading.classroom.course import LATE_MARK, Course
from attention_lib.grading.classroom.roster import read_roster, roster_or_empty
from attention_lib.grading.collect.archives import NotCollected, not_collected
from attention_lib.grading.collect.choosing import Contents
from attention_lib.grading.collect.downloads import find_downloads
from attention_lib.grading.collect.exports import HandIn, find_hand_ins, open_export
from attention_lib.grading.intake.folder import same_name
from attention_lib.grading.intake.submission import blank_of, read_submission
from attention_lib.grading.intake.timestamps import TIMESTAMP
from attention_lib.grading.terminal import first_few

log = logging.getLogger(__name__)


@dataclass
class Collected:
    """What happened to each download, as sentences."""

    collected: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)  # the roster


def collect(course: Course, lesson: str, again: bool = False) -> Collected:
    """Collect each download in a lesson's folder; continue after one that fails.

    With `again`, a different notebook that was collected before is set aside.
    """
    folder = course.downloaded(lesson)
    downloads, refused = find_downloads(folder, lesson, read_roster(course))
    return _collect_each(course, lesson, downloads, refused, again)


def collect_export(
    course: Course, lesson: str, path: Path, again: bool = False, late: str | None = None
) -> Collected:
    """Collect each hand-in of a Moodle or Canvas export; continue after one that fails.

    `late` becomes the timestamp of late hand-ins, because Canvas marks them and gives no time.
    Without a roster no student is known, and each message has the line to add.

    Raises
    ------
    NotCollected
        If the export cannot be read.
    """
    roster = roster_or_empty(course)
    with open_export(path) as export:
        hand_ins, refused = find_hand_ins(export, roster)
        result = _collect_each(course, lesson, hand_ins, refused, again, late)
    if not roster.is_there:
        result.missing.append(
            f"There is no {roster.file}: write it, with {','.join(COLUMNS)} as its first line and "
            "then the lines proposed above, or save there what Moodle exports as the list of participants or "
            "Canvas as the gradebook."
        )
    return result


def _collect_each(
    course: Course,
    lesson: str,
    downloads: list[HandIn],
    refused: list[str],
    again: bool,
    late: str | None = None,
) -> Collected:
    result = Collected(refused=refused)
    reasons: dict[str, str | None] = {}  # by student, why nothing was collected
    notes: dict[str, list[str]] = {}  # by student, remarks for the table of marks
    for download in downloads:
        reasons[download.student] = None
        try:
            work, sentence = _collect(course, lesson, download, again)
        except NotCollected as why:
            result.refused.append(not_collected(download.name, why))
            reasons[download.student] = str(why)
        except Exception as problem:  # whatever fails here, the other downloads are collected
            log.debug("%s is not collected", download.name, exc_info=True)
            sentence = not_collected(download.name, f"it could not be read ({problem!r})")
            result.refused.append(sentence)
            reasons[download.student] = "it could not be read"
        else:
            remarks = [*work.remarks, *download.remarks]
            notes[download.student] = [*([LATE_MARK] if work.late else []), *remarks]
            remarks += work.foreseen
            if work.late:
                remarks = [_late_remark(course, lesson, download.student, late), *remarks]
            result.collected.append(f"{download.name}: {'; '.join([sentence, *remarks])}.")
    course.note_not_collected(lesson, reasons)
    course.note_collected(lesson, notes)
    return result


def _collect(course: Course, lesson: str, download: HandIn, again: bool) -> tuple[Contents, str]:
    """Write a student's hand-in to its folder; return it, with a sentence about it."""
    blank = blank_of(course.released(lesson))
    work = download.read(lesson, blank)
    folder = course.submission(lesson, download.student)
    before, aside = None, ""
    for other in course.submitted(lesson):
        if same_name(other) == same_name(download.student):
            there = course.submission(lesson, other)
            known = read_submission(there, lesson)
            if (known.notebook, known.files) == (work.notebook, work.files):
                return work, f"collected before for {other}"
            was_blank = blank(known.notebook)
            if blank(work.notebook) and not was_blank:
                raise NotCollected(
                    f"its notebook is as it was given out, and {course.shown(there)} holds another"
                )
            if not (again or was_blank) or before is not None:
                raise NotCollected(
                    f"{course.shown(there)} holds another notebook; remove one of the two, or "
                    "collect with AGAIN=1, which sets aside what was collected before"
                )
            before = there
    with _new_folder(folder, lesson, work) as new:
        if before is not None:
            place = _free_place(course.earlier(lesson), download.student)
            shutil.move(before, place)
            aside = f", and what was collected before is now in {course.shown(place)}"
        new.rename(folder)
    beside = f", with {len(work.files)} more files" if work.files else ""
    without = f", without {first_few(work.left_out, limits.FILES_NAMED_PER_NOTE)}"
    sentence = f"collected for {download.student}{beside}{without if work.left_out else ''}{aside}"
    return work, sentence


def _late_remark(course: Course, lesson: str, student: str, time: str | None) -> str:
    """Return a remark that a hand-in is late; write its time to a file, or say which file needs it."""
    path = course.submission(lesson, student) / TIMESTAMP
    if path.is_file():
        return "late"
    if time:
        path.write_text(f"{time}\n", encoding="utf-8")
        return f"late, {time}"
    return f'late (if that costs something, add LATE="2026-12-01 17:30 UTC" or write {course.shown(path)})'


def _free_place(folder: Path, student: str) -> Path:
    """Return the path of a new folder for one student's hand-in."""
    folder.mkdir(parents=True, exist_ok=True)
    taken = {same_name(path.name) for path in folder.iterdir()}
    numbers = itertools.count(1)
    return next(
        folder / name
        for name in (f"{student}-{number}" for number in numbers)
        if same_name(name) not in taken
    )


@contextlib.contextmanager
def _new_folder(folder: Path, lesson: str, work: Contents) -> Iterator[Path]:
    """Write a student's folder next to its final place, so that one rename moves it there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".collecting-", dir=folder.parent) as temporary:
        new = Path(temporary, "new")
        new.mkdir()
        for path, content in {f"{lesson}.ipynb": work.notebook, **work.files}.items():
            (new / path).parent.mkdir(parents=True, exist_ok=True)
            (new / path).write_bytes(content)
        yield new
