"""Find an instructor's downloads from a learning platform, and the student of each.

Only the name of a download in the instructor's folder says whose it is; names inside do not count.
`exports` reads a learning platform's export of a whole class.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from attention_lib.grading import limits
from attention_lib.grading.classroom.course import Course
from attention_lib.grading.classroom.roster import NotFound, Roster
from attention_lib.grading.collect.archives import Files, NotCollected
from attention_lib.grading.collect.choosing import (
    NOTEBOOK,
    ZIP,
    Blank,
    Contents,
    choose_work,
)
from attention_lib.grading.intake.folder import (
    NotTaken,
    is_folder,
    names,
    opened,
    read_file,
    same_name,
    walk,
)
from attention_lib.grading.intake.submission import RENAMED_NOTEBOOKS, is_notebook

OTHER_ARCHIVES = (".7z", ".bz2", ".gz", ".rar", ".tar", ".tgz", ".xz")


def by_name(name: str, lesson: str, roster: Roster | None = None) -> str | None:
    """Return the student of a download named STUDENT_LESSON..., or only STUDENT; None if unknown.

    With a roster, return the id of the one student in it who fits.

    Raises
    ------
    NotFound, NotCollected
        If the name fits no student in the roster, or two.
    """
    ends = [match.start() for match in re.finditer(f"(?=_{re.escape(lesson)})", name)]
    students = [name[:end] for end in ends if end]
    if not ends and not name.startswith(lesson):
        # Browsers add such a number if a file of the same name exists.
        students = [re.sub(r" ?\(\d+\)$", "", name)]
    if roster is not None:
        students = _ids_in_roster(students, roster)
    if len(set(students)) > 1:
        raise NotCollected(f"its name may say {' or '.join(students)}; rename it")
    return students[0] if students else None


def _ids_in_roster(names: list[str], roster: Roster) -> list[str]:
    """Return the ids of the students with one of these names."""
    found: list[str] = []
    problem = None
    for name in names:
        try:
            found.append(roster.find(name).id)
        except NotFound as why:
            problem = why
    if problem and not found:
        raise problem
    return found


@dataclass(frozen=True)
class Download:
    """One student's hand-in, in the instructor's folder."""

    path: Path
    student: str
    remarks: Sequence[str] = ()

    @property
    def name(self) -> str:
        """The name used in messages."""
        return self.path.name

    def read(self, lesson: str, blank: Blank) -> Contents:
        """Read the hand-in, or raise NotCollected."""
        try:
            with opened(self.path.parent, below=self.path.parent) as folder:
                if is_folder(folder, self.path.name):
                    files = _read_folder(self.path)
                else:
                    is_zip = self.path.suffix.lower() == ZIP
                    most = limits.ARCHIVE_BYTES if is_zip else limits.NOTEBOOK_BYTES
                    content = read_file(folder, self.path.name, most)
                    files = Files(contents={self.path.name: content})
        except NotTaken as reason:
            raise NotCollected(f"it is {reason}") from None
        return choose_work(files, lesson, blank)


def find_downloads(
    folder: Path, lesson: str, roster: Roster | None
) -> tuple[list[Download], list[str]]:
    """Find the downloads in a folder; return them, and a sentence about each file that is not one.

    With a roster, a name must be that of one of its students. Of several downloads of one student,
    none is chosen.
    """
    found: dict[str, list[Download]] = defaultdict(list)
    sentences = []
    with opened(folder, below=folder) as place:
        entries = names(place, limits.DOWNLOADS + 1)
    if len(entries) > limits.DOWNLOADS:
        raise NotCollected(f"it holds more than {limits.DOWNLOADS:,} files")
    for name in entries:
        if name.startswith("."):
            continue
        try:
            download = _download_at(folder / name, lesson, roster)
        except (NotCollected, NotFound) as why:
            sentences.append(not_collected(name, why))
        else:
            found[same_name(download.student)].append(download)
    for downloads in found.values():
        for download in downloads[1:] and downloads:
            others = ", ".join(one.path.name for one in downloads if one is not download)
            conflict = f"{others} is of the same student; leave one of them there"
            sentences.append(not_collected(download.path.name, conflict))
    return [downloads[0] for downloads in found.values() if len(downloads) == 1], sentences


def not_collected(name: str, why: str | Exception) -> str:
    """Return the sentence about a download that is not collected."""
    has_line = isinstance(why, NotFound) and why.has_line  # to copy, so without a full stop
    end = "" if has_line else "."
    return f"{name}: not collected, since {why}{end}"


def _download_at(path: Path, lesson: str, roster: Roster | None) -> Download:
    is_directory = path.is_dir() and not path.is_symlink()
    suffix = path.suffix.lower()
    if not (is_directory or suffix in (NOTEBOOK, ZIP) or _is_renamed_notebook(path)):
        remedy = "unpack it" if suffix in OTHER_ARCHIVES else "have the notebook itself handed in"
        raise NotCollected(f"it is neither a notebook, a folder nor a zip archive; {remedy}")
    name = path.name if is_directory else path.stem
    student = by_name(name, lesson, roster)
    if student is None or not (is_directory or suffix == ZIP or f"_{lesson}" in name):
        example = f"STUDENT_{lesson}{suffix if suffix == ZIP else '' if is_directory else NOTEBOOK}"
        raise NotCollected(f"its name does not say whose it is; name it {example}")
    if student.startswith(".") or "\\" in student or Course.problem_with_name(student):
        raise NotCollected("its name gives a student's name that no folder can have; rename it")
    return Download(path, student)


def _is_renamed_notebook(path: Path) -> bool:
    if path.suffix.lower() not in RENAMED_NOTEBOOKS:
        return False
    with opened(path.parent, below=path.parent) as folder:
        try:
            return is_notebook(path.name, read_file(folder, path.name, limits.NOTEBOOK_BYTES))
        except NotTaken:
            return False


def _read_folder(path: Path) -> Files:
    """Read a folder's files, within limits."""
    files = Files()
    room = limits.ARCHIVE_UNPACKED_BYTES
    for folder, inner, reason in walk(
        path, path.parent, limits.FOLDER_ENTRIES, limits.FOLDER_DEPTH
    ):
        name = str(inner)
        try:
            if reason:
                raise reason
            content = read_file(folder, inner.name, min(room, limits.ARCHIVE_BYTES))
        except NotTaken as why:
            files.left_out[name] = f"it is {why}"
        else:
            room -= len(content)
            files.add(name, content, minute_of(path / inner))
    return files


def minute_of(path: Path) -> int:
    """Return when a file was changed, in minutes since 1970."""
    return int(path.lstat().st_mtime // 60)
