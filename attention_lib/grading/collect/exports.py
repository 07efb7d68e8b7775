"""Read an export of a whole class's submissions from Moodle or Canvas, as a zip archive or unpacked.

Both platforms put the student's name and a number into the name of each file, or of its folder:

- Moodle: `Ada Lovelace_12345_assignsubmission_file/any name.ipynb`, or with `_any name.ipynb` in
  place of the folder. The number identifies one student in one assignment.
- Canvas: `lovelaceada_12345_67890_any name-1.ipynb`, with `_LATE` after the name for a late file.
  The first number identifies the student. The second identifies the file and grows from one
  hand-in to the next. `-1` marks a file that was handed in again.

This part of a name says whose a file is. The student chooses the rest, and on Canvas also the name
in front. So a name that may be two students' is nobody's.
"""

from __future__ import annotations

import contextlib
import functools
import re
import shutil
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import IO

from attention_lib.grading import limits
from attention_lib.grading.classroom.roster import NotFound, Roster
from attention_lib.grading.collect.archives import (
    READ_METHODS,
    Files,
    NotCollected,
    entries_of,
    is_hidden,
    minute_of_entry,
    not_collected,
    path_inside,
    read_entry,
)
from attention_lib.grading.collect.choosing import (
    NOTEBOOK,
    ZIP,
    Blank,
    Contents,
    choose_work,
)
from attention_lib.grading.intake.folder import NotTaken, opened, read_file, walk

MOODLES_MARK = "_assignsubmission_"
MOODLE = re.compile(r"(?P<name>[^_/]+)_(?P<id>\d+)_assignsubmission_(?P<plugin>[a-z]+)(?:_|(?=/))")
MOODLE_TEAM = re.compile(r"[^_/]+_assignsubmission_[a-z]+(?:_|/)")  # of users without a team
CANVAS = re.compile(
    r"(?=_(?P<late>LATE_)?(?P<id>[1-9]\d*)_(?P<number>[1-9]\d*)_(?P<own_name>[^/]+)$)"
)
CANVAS_TEXT = re.compile(r"[^/]+?_\d+_(?:text|link)\.html$")
TEAM = re.compile(
    r"(?:team|group|groupe|gruppe|gruppo|grupo|[eé]quipe|equipo) ?(?:\d+|[a-z])?$", re.IGNORECASE
)
NO_TEAMS = (
    "hand-ins of teams and groups are not supported; collect a copy for each member, named "
    "STUDENT_LESSON.ipynb"
)


@dataclass(frozen=True)
class File:
    """One file of an export."""

    path: str  # in the export
    own_name: str  # as the student named it; on Moodle with its folders
    student: str  # as the platform names the student
    lms_id: str
    on_canvas: bool = False
    late: bool = False
    number: int = 0  # larger in a later hand-in
    others: tuple[File, ...] = ()  # other ways to read the name

    @property
    def owner(self) -> str:
        """The name of the student used in messages."""
        return f"{self.student}_{self.lms_id}"

    @property
    def is_notebook(self) -> bool:
        return self.own_name.lower().endswith(NOTEBOOK)


def read_name(path: str, on_canvas: bool | None = None) -> File:
    """Read a path in an export of either platform, or of the given one, or raise NotCollected."""
    match = None if on_canvas else MOODLE.match(path)
    if match:
        if path.partition("/")[0].count(MOODLES_MARK) > 1:  # the student chose one of them
            raise NotCollected("its name can be read as that of two students; rename it")
        own_name = path[match.end() :].removeprefix("/")
        if match["plugin"] != "file" or not own_name:
            raise NotCollected("it is not a file that a student handed in")
        return File(path, own_name, match["name"], match["id"])
    if readings := _canvas_readings(path):
        if on_canvas is False:
            raise NotCollected("its name is not as Moodle exports it, as the others are")
        return replace(readings[0], others=tuple(readings[1:]))
    if MOODLE_TEAM.match(path):
        raise NotCollected(NO_TEAMS)
    if CANVAS_TEXT.match(path):
        raise NotCollected("it is a text or link, not a file that a student handed in")
    raise NotCollected("its name is neither as Moodle nor as Canvas exports it")


def _canvas_readings(path: str) -> list[File]:
    """Return all ways to read a name as one of Canvas's, the shortest student's name first."""
    found: dict[int, File] = {}
    first, separator, rest = path.partition("/")  # a folder, if an archive was unpacked
    for match in CANVAS.finditer(first):
        if match.start():
            reading = File(
                path,
                match["own_name"] + separator + rest,
                path[: match.start()],
                match["id"],
                on_canvas=True,
                late=bool(match["late"]),
                number=int(match["number"]),
            )
            found.setdefault(match.start("id"), reading)
    return list(found.values())


def _is_platform_name(path: str) -> bool:
    return bool(MOODLE.match(path) or MOODLE_TEAM.match(path) or _canvas_readings(path))


class ExportedArchive:
    """A zip archive made by the platform; its files are read one by one."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        if len(archive.infolist()) > limits.EXPORT_ENTRIES:
            raise NotCollected(f"it holds more than {limits.EXPORT_ENTRIES:,} files")
        entries, self.left_out = entries_of(archive)
        prefix = _common_folder(list(entries))
        self._entries = {path.removeprefix(prefix): entry for path, entry in entries.items()}
        self.paths = list(self._entries)

    def read(self, path: str, most: int) -> bytes:
        """Return a file's content, at most `most` bytes, or raise NotCollected."""
        return read_entry(self._archive, self._entries[path], most)

    def minute(self, path: str) -> int | None:
        """Return when a file was changed, in minutes, or None if unknown."""
        return minute_of_entry(self._entries[path])

    def unpack(self, path: str, target: IO[bytes]) -> None:
        """Write a file to `target`, if no larger than an export may be, or raise NotCollected."""
        entry = self._entries[path]
        if entry.flag_bits & 1 or entry.compress_type not in READ_METHODS:
            raise NotCollected("the archive in it is packed by a method that is not read here")
        if entry.file_size > limits.EXPORT_BYTES:  # zipfile never reads more than this
            raise NotCollected("it holds too much, unpacked")
        with self._archive.open(entry) as file:
            shutil.copyfileobj(file, target)


class ExportedFolder:
    """A folder into which a browser unpacked the export."""

    def __init__(self, folder: Path, is_platforms: bool = True) -> None:
        self.left_out: dict[str, str] = {}  # files that cannot be read: by path, why
        most, depth = limits.EXPORT_ENTRIES, limits.FOLDER_DEPTH + 3
        paths = []
        for _, inner, reason in walk(folder, folder, most, depth):
            path = str(inner)
            try:
                if reason:
                    raise NotCollected(f"it is {reason}")
                if path_inside(path) != path:
                    raise NotCollected("its name has a backslash in it")
            except NotCollected as why:
                self.left_out[path] = str(why)
            else:
                paths += [] if is_hidden(path) else [path]
        prefix = _common_folder(paths) if is_platforms else ""
        self._top, self._folder = folder, folder / prefix
        self.paths = [path.removeprefix(prefix) for path in paths]

    def read(self, path: str, most: int) -> bytes:
        """Return a file's content, at most `most` bytes, or raise NotCollected."""
        inner = PurePosixPath(path)
        try:
            with opened(self._folder / inner.parent, below=self._top) as folder:
                return read_file(folder, inner.name, most)
        except NotTaken as reason:
            raise NotCollected(f"it is {reason}") from None

    def minute(self, path: str) -> int | None:
        """Return when a file was changed, in minutes."""
        return int((self._folder / path).lstat().st_mtime // 60)

    def unpack(self, path: str, target: IO[bytes]) -> None:
        """Write a file to `target`; the archive read from it is limited."""
        with (self._folder / path).open("rb") as file:
            shutil.copyfileobj(file, target)


Export = ExportedArchive | ExportedFolder


def _common_folder(paths: list[str]) -> str:
    """Return the folders, with / at the end, that somebody packed around a whole export."""
    prefix = ""
    while paths and not _is_platform_name(paths[0]):
        first, separator, _ = paths[0].partition("/")
        if not separator or not all(path.startswith(f"{first}/") for path in paths):
            break
        prefix += f"{first}/"
        paths = [path.removeprefix(f"{first}/") for path in paths]
    return prefix


@contextlib.contextmanager
def open_export(path: Path) -> Iterator[Export]:
    """Open an export, even if it is inside another folder or archive.

    Raises
    ------
    NotCollected
        If it is neither a folder nor a zip archive, or too large.
    """
    with contextlib.ExitStack() as stack:
        try:
            if path.is_dir():
                export: Export = ExportedFolder(path)
            else:
                if path.stat().st_size > limits.EXPORT_BYTES:
                    size = f"{limits.EXPORT_BYTES / 1_000_000:,.0f} MB"
                    raise NotCollected(f"it is larger than {size}")
                export = ExportedArchive(stack.enter_context(zipfile.ZipFile(path)))
            if _is_packed_again(export):
                unpacked = stack.enter_context(TemporaryFile())
                export.unpack(export.paths[0], unpacked)
                export = ExportedArchive(stack.enter_context(zipfile.ZipFile(unpacked)))
        except OSError as problem:
            raise NotCollected(f"it cannot be read ({problem.strerror})") from None
        except NotCollected:
            raise
        except Exception as problem:  # zipfile raises errors of many types on damaged archives
            raise NotCollected(
                f"it is damaged, or no zip archive ({type(problem).__name__}); download it again"
            ) from None
        yield export


def _is_packed_again(export: Export) -> bool:
    """Tell whether the only file is another archive that is not a student's."""
    return len(export.paths) == 1 and (
        export.paths[0].lower().endswith(ZIP) and not _is_platform_name(export.paths[0])
    )


@dataclass(frozen=True)
class HandIn:
    """One student's hand-in, in an export."""

    export: Export
    name: str  # the name used in messages
    student: str  # the id in the roster
    files: list[File]
    remarks: list[str] = field(default_factory=list)  # further remarks on it
    left_out: dict[str, str] = field(default_factory=dict)  # of its files: by name, why

    def read(self, lesson: str, blank: Blank) -> Contents:
        """Read the hand-in, or raise NotCollected."""
        if len(self.files) > limits.FOLDER_ENTRIES:
            raise NotCollected(f"it holds more than {limits.FOLDER_ENTRIES:,} files")
        is_numbered = any(file.on_canvas for file in self.files)
        found = Files(left_out=dict(self.left_out), is_numbered=is_numbered)
        for file in self.files:
            read = functools.partial(self.export.read, file.path)
            most = limits.NOTEBOOK_BYTES if file.is_notebook else limits.ARCHIVE_BYTES
            found.read(file.own_name, read, most, file.number or self.export.minute(file.path))
        work = choose_work(found, lesson, blank)
        places = (work.name, *map(str, PurePosixPath(work.name).parents))  # also an archive's
        source = [file for file in self.files if file.own_name in places] or self.files
        return replace(work, late=any(file.late for file in source))

    @property
    def main(self) -> File:
        """The file that feedback answers: the notebook, or otherwise the archive."""
        return max(
            self.files,
            key=lambda file: (file.is_notebook, file.own_name.lower().endswith(ZIP), file.number),
        )


def find_hand_ins(export: Export, roster: Roster) -> tuple[list[HandIn], list[str]]:
    """Find each student's hand-in; return them, and a sentence about each file that is nobody's.

    If two hand-ins would be one student's, neither is chosen.
    """
    files, sentences = _read_names(export)
    by_owner: dict[tuple[str, str], list[File]] = defaultdict(list)  # by student and LMS id
    problems: dict[str, NotFound] = {}  # by name in messages, of those not in the roster
    numbers = [file.number for file in files if not file.others]
    for file in files:
        try:
            student, reading = _owner_and_reading(file, roster, numbers)
        except NotFound as why:
            problems[file.owner] = why
        except NotCollected as why:
            sentences.append(not_collected(file.path, why))
        else:
            by_owner[student, reading.lms_id].append(reading)
    sentences += [not_collected(name, why) for name, why in problems.items()]
    by_student: dict[str, list[HandIn]] = defaultdict(list)
    for (student, _), own in by_owner.items():
        remarks = []
        if own[0].on_canvas and not roster.has_name(own[0].student):
            remarks.append(
                f"Canvas calls {student} {own[0].student!r}: if that is a group, its other members "
                "have handed in nothing yet"
            )
        by_student[student].append(HandIn(export, own[0].owner, student, own, remarks))
    for student, hand_ins in by_student.items():
        for hand_in in hand_ins[1:] and hand_ins:
            others = ", ".join(one.name for one in hand_ins if one is not hand_in)
            conflict = (
                f"{others} fits {student} of the roster too; write each one's number as "
                f"lms_user_id into the line of whose it is"
            )
            sentences.append(not_collected(hand_in.name, conflict))
    return [one for (one, *others) in by_student.values() if not others], sentences


def _read_names(export: Export) -> tuple[list[File], list[str]]:
    """Read the names of an export's files as one platform's: that of most students' files.

    A student may choose a file name that looks like the other platform's.
    """
    on_moodle = {match.group() for path in export.paths if (match := MOODLE.match(path))}
    others = (path for path in export.paths if not MOODLE.match(path))
    on_canvas = {readings[0].owner for path in others if (readings := _canvas_readings(path))}
    files = []
    sentences = [not_collected(path, why) for path, why in export.left_out.items()]
    for path in export.paths:
        try:
            files.append(read_name(path, on_canvas=len(on_canvas) > len(on_moodle)))
        except NotCollected as why:
            sentences.append(not_collected(path, why))
    return files, sentences


def _owner_and_reading(file: File, roster: Roster, numbers: list[int]) -> tuple[str, File]:
    """Return a file's student, and the right reading of its name.

    `numbers` are those of files whose names have one reading only. A reading with a number far from
    them is not the platform's.

    Raises
    ------
    NotFound, NotCollected
        If the file is nobody's, or its name may be two students'.
    """
    owners: dict[str, tuple[str | None, File]] = {}  # by the reading's name in messages
    problem: NotFound | None = None
    for reading in (file, *file.others):
        try:
            student = roster.find(reading.student, reading.lms_id, lasting=reading.on_canvas).id
        except NotFound as why:
            problem = problem or why
            may_be = not numbers or min(numbers) / 2 <= reading.number <= 2 * max(numbers)
            if file.others and may_be:
                owners[f"{reading.owner}, who is not in the roster"] = None, reading
        else:
            if not any(student == known for known, _ in owners.values()):
                owners[f"{student} as {reading.owner}"] = student, reading
    if len(owners) > 1 and any(owner for owner, _ in owners.values()):
        raise NotCollected(f"its name can be read as that of {' or of '.join(owners)}")
    for owner, reading in owners.values():
        if owner is not None:
            if TEAM.search(reading.student) and not roster.has_name(reading.student):
                break
            return owner, reading
    if TEAM.search(file.student):
        raise NotCollected(NO_TEAMS)
    raise problem or NotCollected("its name says no student")
