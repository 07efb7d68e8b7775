"""Read the submissions that Moodle or Canvas exports for a whole class, as a zip archive or unpacked.

Both platforms put the student's name and a number into the name of each file, or of its folder:

- Moodle: `Ada Lovelace_12345_assignsubmission_file/any name.ipynb`, or with `_any name.ipynb` in
  place of the folder. The number belongs to one student in one assignment.
- Canvas: `lovelaceada_12345_67890_any name-1.ipynb`, with `_LATE` after the name of who is late.
  The first number belongs to the student, the second to the file and grows from one hand-in to the
  next, and `-1` comes with a file that was handed in again.

That part of a name says whose a file is. What follows it is a student's own choice.
"""

from __future__ import annotations

import contextlib
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from attention_lib.grading import limits
from attention_lib.grading.classroom.roster import NotFound, Roster
from attention_lib.grading.collect.archives import (
    NotCollected,
    is_hidden,
    is_left_out,
    path_inside,
    read_entry,
)
from attention_lib.grading.collect.downloads import (
    NOTEBOOK,
    ZIP,
    Blank,
    Contents,
    choose_work,
    not_collected,
    unpack_archive,
)
from attention_lib.grading.intake.folder import NotTaken, opened, read_file, walk

MOODLE = re.compile(r"(?P<name>[^_/]+)_(?P<id>\d+)_assignsubmission_(?P<plugin>[a-z]+)(?:_|(?=/))")
CANVAS = re.compile(r"(?P<name>[^/]+?)_(?P<late>LATE_)?(?P<id>\d+)_(?P<number>\d+)_(?=[^/]+$)")
CANVAS_TEXT = re.compile(r"[^/]+?_\d+_(?:text|link)\.html$")
COPY = re.compile(r"-\d+$")  # which Canvas adds to the name of a file that is handed in again


@dataclass(frozen=True)
class File:
    """One file of an export."""

    path: str  # in the export
    own_name: str  # as the student named it; for Moodle with folders before it
    student: str  # as the platform names them
    lms_id: str
    on_canvas: bool = False
    late: bool = False
    number: int = 0  # larger in a later hand-in

    @property
    def is_notebook(self) -> bool:
        return self.own_name.lower().endswith(NOTEBOOK)


def read_name(path: str) -> File:
    """Read a path in an export, or raise NotCollected."""
    if match := MOODLE.match(path):
        own_name = path[match.end() :].removeprefix("/")
        if match["plugin"] != "file" or not own_name:
            raise NotCollected("it is not a file that a student handed in")
        return File(path, own_name, match["name"], match["id"])
    if match := CANVAS.match(path):
        return File(
            path,
            path[match.end() :],
            match["name"],
            match["id"],
            on_canvas=True,
            late=bool(match["late"]),
            number=int(match["number"]),
        )
    if CANVAS_TEXT.match(path):
        raise NotCollected("it is a text or link, not a file that a student handed in")
    raise NotCollected("its name is neither as Moodle nor as Canvas exports it")


class ExportedArchive:
    """A zip archive as the platform made it; its files are read one by one."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._entries: dict[str, zipfile.ZipInfo] = {}
        self.sentences: list[str] = []  # about what cannot be read
        entries = archive.infolist()
        if len(entries) > limits.EXPORT_ENTRIES:
            raise NotCollected(f"it holds more than {limits.EXPORT_ENTRIES:,} files")
        twice = set()
        for entry in entries:
            name = _name_of(entry)
            if entry.is_dir():
                continue
            try:
                path = path_inside(name)
            except NotCollected as why:
                self.sentences.append(not_collected(name, str(why)))
                continue
            if path in self._entries:
                twice.add(path)
            elif not is_left_out(entry, path):
                self._entries[path] = entry
        for path in sorted(twice):
            del self._entries[path]
            self.sentences.append(not_collected(path, "the export holds it twice"))
        self.paths = list(self._entries)

    def read(self, path: str, most: int) -> bytes:
        """Return a file of at most `most` bytes, or raise NotCollected."""
        try:
            return read_entry(self._archive, self._entries[path], most)
        except NotCollected:
            raise
        except Exception as problem:  # zipfile raises errors of many types on damaged archives
            raise NotCollected(f"{path} is damaged ({type(problem).__name__})") from None


class ExportedFolder:
    """A folder into which a browser unpacked the export."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.paths: list[str] = []
        self.sentences: list[str] = []  # about what cannot be read
        most, depth = limits.EXPORT_ENTRIES, limits.FOLDER_DEPTH + 1
        for _, inner, reason in walk(folder, folder, most, depth):
            path = str(inner)
            try:
                if reason:
                    raise NotCollected(f"it is {reason}")
                if path_inside(path) != path:
                    raise NotCollected("its name has a backslash in it")
            except NotCollected as why:
                self.sentences.append(not_collected(path, str(why)))
            else:
                self.paths += [] if is_hidden(path) else [path]

    def read(self, path: str, most: int) -> bytes:
        """Return a file of at most `most` bytes, or raise NotCollected."""
        inner = PurePosixPath(path)
        try:
            with opened(self._folder / inner.parent, below=self._folder) as folder:
                return read_file(folder, inner.name, most)
        except NotTaken as reason:
            raise NotCollected(f"{path} is {reason}") from None


Export = ExportedArchive | ExportedFolder


@contextlib.contextmanager
def open_export(path: Path) -> Iterator[Export]:
    """Open an export.

    Raises
    ------
    NotCollected
        If it is neither a folder nor a zip archive, or too large.
    """
    if path.is_dir():
        yield ExportedFolder(path)
        return
    with contextlib.ExitStack() as stack:
        try:
            if path.stat().st_size > limits.EXPORT_BYTES:
                size = f"{limits.EXPORT_BYTES / 1_000_000:,.0f} MB"
                raise NotCollected(f"it is larger than {size}")
            export = ExportedArchive(stack.enter_context(zipfile.ZipFile(path)))
        except OSError as problem:
            raise NotCollected(f"it cannot be read ({problem.strerror})") from None
        except NotCollected:
            raise
        except Exception as problem:  # zipfile raises errors of many types on damaged archives
            raise NotCollected(
                f"it is damaged, or no zip archive ({type(problem).__name__})"
            ) from None
        yield export


def _name_of(entry: zipfile.ZipInfo) -> str:
    """Return an entry's name, also where the archive does not say that it is written in UTF-8."""
    if entry.flag_bits & 0x800:  # the name is written in UTF-8
        return entry.filename
    try:
        return entry.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return entry.filename


@dataclass(frozen=True)
class HandIn:
    """What one student handed in, as it lies in an export."""

    export: Export
    name: str  # what sentences call it
    student: str  # the id in the roster
    files: list[File]
    earlier: list[File] = field(default_factory=list)  # handed in again since

    def read(self, lesson: str, blank: Blank) -> Contents:
        """Read it, or raise NotCollected."""
        if len(self.files) > limits.FOLDER_ENTRIES:
            raise NotCollected(f"it holds more than {limits.FOLDER_ENTRIES:,} files")
        contents: dict[str, bytes] = {}
        room = limits.ARCHIVE_UNPACKED_BYTES
        for file in self.files:
            most = limits.NOTEBOOK_BYTES if file.is_notebook else limits.ARCHIVE_BYTES
            contents[file.own_name] = self.export.read(file.path, min(room, most))
            room -= len(contents[file.own_name])
        return choose_work(unpack_archive(contents), lesson, blank)

    @property
    def main(self) -> File:
        """The file that feedback answers: the notebook, or else the archive."""
        return max(
            self.files,
            key=lambda file: (file.is_notebook, file.own_name.lower().endswith(ZIP), file.number),
        )

    @property
    def remarks(self) -> list[str]:
        """What else there is to say about it."""
        return [f"{file.path} is of an earlier hand-in" for file in self.earlier]

    @property
    def late(self) -> bool:
        """Whether the platform calls it late."""
        return any(file.late for file in self.files)


def find_hand_ins(export: Export, roster: Roster) -> tuple[list[HandIn], list[str]]:
    """Find what each student handed in, and write a sentence about each file that is nobody's.

    Where two hand-ins would be one student's, neither is chosen.
    """
    sentences = list(export.sentences)
    # A platform's export has names of one kind: a student's own name may look like the other.
    is_moodles = any(MOODLE.match(path) for path in export.paths)
    by_owner: dict[tuple[bool, str], list[File]] = defaultdict(list)
    for path in export.paths:
        try:
            file = read_name(path)
            if is_moodles and file.on_canvas:
                raise NotCollected("its name is not as Moodle exports it, as the others are")
        except NotCollected as why:
            sentences.append(not_collected(path, str(why)))
        else:
            by_owner[file.on_canvas, file.lms_id].append(file)
    by_student: dict[str, list[HandIn]] = defaultdict(list)
    for files in by_owner.values():
        first = files[0]
        name = f"{first.student}_{first.lms_id}"
        try:
            student = roster.find(first.student, first.lms_id, lasting=first.on_canvas).id
        except NotFound as why:
            sentences.append(not_collected(name, str(why)))
        else:
            latest, earlier = _split(files)
            by_student[student].append(HandIn(export, name, student, latest, earlier))
    for student, hand_ins in by_student.items():
        for hand_in in hand_ins[1:] and hand_ins:
            others = ", ".join(one.name for one in hand_ins if one is not hand_in)
            conflict = (
                f"{others} fits {student} of the roster too; write each one's number as "
                f"lms_user_id into the line of whose it is"
            )
            sentences.append(not_collected(hand_in.name, conflict))
    return [one for (one, *others) in by_student.values() if not others], sentences


def _split(files: list[File]) -> tuple[list[File], list[File]]:
    """Return the latest files, and those that were handed in again since."""
    latest: dict[str, File] = {}
    earlier = []
    for file in sorted(files, key=lambda file: file.number):
        name = PurePosixPath(file.own_name)
        may_be_a_copy = file.on_canvas and name.suffix.lower() in (NOTEBOOK, ZIP)
        key = f"{COPY.sub('', name.stem)}{name.suffix}" if may_be_a_copy else file.own_name
        if key in latest:
            earlier.append(latest[key])
        latest[key] = file
    return list(latest.values()), earlier
