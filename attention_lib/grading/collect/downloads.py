"""Find what an instructor downloaded from a learning platform, and whose it is.

The name of a download in the instructor's folder says whose it is. Names inside it do not count.
`exports` reads what a learning platform exports for a whole class.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from attention_lib.grading import limits
from attention_lib.grading.classroom.course import Course
from attention_lib.grading.classroom.roster import NotFound, Roster
from attention_lib.grading.collect.archives import NotCollected, read_zip
from attention_lib.grading.intake.folder import (
    NotTaken,
    is_folder,
    names,
    opened,
    read_file,
    same_name,
    walk,
)
from attention_lib.grading.intake.submission import (
    ARCHIVE_SUFFIXES,
    IGNORED_FOLDERS,
    MODULE_SUFFIXES,
    NBGRADER_FILES,
)

NOTEBOOK, ZIP = ".ipynb", ".zip"

Blank = Callable[[bytes], bool]  # whether a notebook is as it was given out


def by_name(name: str, lesson: str) -> str | None:
    """Return the student named by STUDENT_LESSON, with anything after it, or by STUDENT alone."""
    student, separator, _ = name.rpartition(f"_{lesson}")
    if not separator:
        # Browsers add a number to a name that is there already.
        student = "" if name.startswith(lesson) else re.sub(r" ?\(\d+\)$", "", name)
    return student or None


@dataclass(frozen=True)
class Contents:
    """What a student handed in: one notebook, and files beside it by path."""

    notebook: bytes
    files: dict[str, bytes]
    left_out: list[str] = field(default_factory=list)  # the paths of what is not taken


@dataclass(frozen=True)
class Download:
    """What one student handed in, as it lies in the instructor's folder."""

    path: Path
    student: str
    late: bool = False  # nobody says when it came
    remarks: Sequence[str] = ()

    @property
    def name(self) -> str:
        """What sentences call it."""
        return self.path.name

    def read(self, lesson: str, blank: Blank) -> Contents:
        """Read it, or raise NotCollected."""
        try:
            with opened(self.path.parent, below=self.path.parent) as folder:
                if is_folder(folder, self.path.name):
                    files = _read_folder(self.path)
                else:
                    suffix = self.path.suffix.lower()
                    most = limits.NOTEBOOK_BYTES if suffix == NOTEBOOK else limits.ARCHIVE_BYTES
                    content = read_file(folder, self.path.name, most)
                    files = read_zip(content) if suffix == ZIP else {f"{lesson}{NOTEBOOK}": content}
        except NotTaken as reason:
            raise NotCollected(f"it is {reason}") from None
        return choose_work(files, lesson, blank)


def find_downloads(
    folder: Path, lesson: str, roster: Roster | None
) -> tuple[list[Download], list[str]]:
    """Find the downloads in a folder, and write a sentence about each that is not one.

    With a roster, a name has to be that of one of its students. Where several downloads are of one
    student, none of them is chosen.
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
            download = _download(folder / name, lesson, roster)
        except NotCollected as why:
            sentences.append(not_collected(name, str(why)))
        else:
            found[same_name(download.student)].append(download)
    for downloads in found.values():
        for download in downloads[1:] and downloads:
            others = ", ".join(one.path.name for one in downloads if one is not download)
            conflict = f"{others} is of the same student; leave one of them there"
            sentences.append(not_collected(download.path.name, conflict))
    return [downloads[0] for downloads in found.values() if len(downloads) == 1], sentences


def not_collected(name: str, why: str) -> str:
    """Return the sentence about a download that is not collected."""
    return f"{name}: not collected, since {why}."


def _download(path: Path, lesson: str, roster: Roster | None) -> Download:
    is_directory = path.is_dir() and not path.is_symlink()
    suffix = path.suffix.lower()
    if not is_directory and suffix not in (NOTEBOOK, ZIP):
        raise NotCollected("it is neither a notebook, a folder nor a zip archive; unpack it")
    name = path.name if is_directory else path.stem
    student = by_name(name, lesson)
    if student is not None and roster is not None:
        try:
            student = roster.find(student).id
        except NotFound as why:
            raise NotCollected(str(why)) from None
    if student is None or (suffix == NOTEBOOK and f"_{lesson}" not in name and not is_directory):
        example = f"STUDENT_{lesson}{'' if is_directory else suffix}"
        raise NotCollected(f"its name does not say whose it is; name it {example}")
    if student.startswith(".") or "\\" in student or Course.problem_with_name(student):
        raise NotCollected("its name gives a student's name that no folder can have; rename it")
    return Download(path, student)


def _read_folder(path: Path) -> dict[str, bytes]:
    """Read the files of a folder, or of the one archive in it."""
    files: dict[str, bytes] = {}
    room = limits.ARCHIVE_UNPACKED_BYTES
    for folder, inner, reason in walk(
        path, path.parent, limits.FOLDER_ENTRIES, limits.FOLDER_DEPTH
    ):
        if reason:
            continue
        try:
            content = read_file(folder, inner.name, min(room, limits.ARCHIVE_BYTES))
        except NotTaken:
            continue
        room -= len(content)
        files[str(inner)] = content
    return unpack_archive(files)


def unpack_archive(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return what is in the one archive among files without a notebook, else the files."""
    archives = [path for path in files if path.lower().endswith(ZIP)]
    has_notebook = any(path.lower().endswith(NOTEBOOK) for path in files)
    return read_zip(files[archives[0]]) if len(archives) == 1 and not has_notebook else files


def choose_work(files: dict[str, bytes], lesson: str, blank: Blank) -> Contents:
    """Choose the notebook, and the plain files beside and below it.

    One that is as it was given out does not count beside another.
    """
    notebooks = [path for path in files if path.lower().endswith(NOTEBOOK)]
    if len(notebooks) > 1:
        notebooks = [path for path in notebooks if not blank(files[path])] or notebooks
    named = [path for path in notebooks if PurePosixPath(path).name == f"{lesson}{NOTEBOOK}"]
    chosen = named if len(named) == 1 else notebooks
    if not chosen:
        raise NotCollected("there is no notebook in it")
    if len(chosen) > 1:
        shown = ", ".join(sorted(chosen)[: limits.FILES_NAMED_PER_NOTE])
        raise NotCollected(f"it holds {len(chosen)} notebooks ({shown}); leave one of them there")
    folder = PurePosixPath(chosen[0]).parent
    beside = {
        str(PurePosixPath(path).relative_to(folder)): content
        for path, content in files.items()
        if PurePosixPath(path).is_relative_to(folder) and not path.lower().endswith(NOTEBOOK)
    }
    plain = {path: content for path, content in beside.items() if _is_plain(path)}
    taken = {same_name(path) for path in (f"{lesson}{NOTEBOOK}", *plain)}
    if any(
        same_name(str(parent)) in taken for path in plain for parent in PurePosixPath(path).parents
    ):
        raise NotCollected("a name in it is that of a file and of a folder")
    if len({same_name(path) for path in plain}) < len(plain):
        raise NotCollected("two names in it differ in capitals alone")
    taken_paths = {chosen[0], *(str(folder / path) for path in plain)}
    return Contents(files[chosen[0]], plain, sorted(set(files) - taken_paths))


def _is_plain(path: str) -> bool:
    """Tell whether a file is taken. Modules, archives and nbgrader's own files are not."""
    parts = [part.lower() for part in PurePosixPath(path).parts]
    return not (
        path.lower().endswith(MODULE_SUFFIXES + ARCHIVE_SUFFIXES)
        or IGNORED_FOLDERS.intersection(parts)
        or parts[-1] in NBGRADER_FILES
    )
