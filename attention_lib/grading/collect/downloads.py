"""Find an instructor's downloads from a learning platform, and the student of each.

Only the name of a download in the instructor's folder says whose it is; names inside do not count.
`exports` reads a learning platform's export of a whole class.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path, PurePosixPath

from attention_lib.grading import limits
from attention_lib.grading.classroom.course import Course
from attention_lib.grading.classroom.roster import NotFound, Roster
from attention_lib.grading.collect.archives import NotCollected, not_collected
from attention_lib.grading.collect.choosing import NOTEBOOK, ZIP
from attention_lib.grading.collect.exports import ExportedFolder, File, HandIn
from attention_lib.grading.intake.folder import names, opened, same_name
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


def find_downloads(
    folder: Path, lesson: str, roster: Roster | None
) -> tuple[list[HandIn], list[str]]:
    """Find the downloads in a folder; return them, and a sentence about each file that is not one.

    With a roster, a name must be that of one of its students. Of several downloads of one student,
    none is chosen.
    """
    with opened(folder, below=folder) as place:
        entries = names(place, limits.DOWNLOADS + 1)
    if len(entries) > limits.DOWNLOADS:
        raise NotCollected(f"it holds more than {limits.DOWNLOADS:,} files")
    downloads = ExportedFolder(folder, is_platforms=False)
    found: dict[str, list[HandIn]] = defaultdict(list)
    sentences = []
    for name in entries:
        if name.startswith("."):
            continue
        try:
            student = _student_of(folder / name, downloads, lesson, roster)
        except (NotCollected, NotFound) as why:
            sentences.append(not_collected(name, why))
        else:
            found[same_name(student)].append(_hand_in(downloads, name, student))
    for own in found.values():
        for hand_in in own[1:] and own:
            others = ", ".join(one.name for one in own if one is not hand_in)
            conflict = f"{others} is of the same student; leave one of them there"
            sentences.append(not_collected(hand_in.name, conflict))
    return [own[0] for own in found.values() if len(own) == 1], sentences


def _student_of(path: Path, downloads: ExportedFolder, lesson: str, roster: Roster | None) -> str:
    """Return the student of a download, or raise NotCollected or NotFound."""
    is_directory = path.is_dir() and not path.is_symlink()
    suffix = path.suffix.lower()
    if not (is_directory or suffix in (NOTEBOOK, ZIP) or _is_renamed_notebook(path, downloads)):
        remedy = "unpack it" if suffix in OTHER_ARCHIVES else "have the notebook itself handed in"
        raise NotCollected(f"it is neither a notebook, a folder nor a zip archive; {remedy}")
    name = path.name if is_directory else path.stem
    student = by_name(name, lesson, roster)
    if student is None or not (is_directory or suffix == ZIP or f"_{lesson}" in name):
        example = f"STUDENT_{lesson}{suffix if suffix == ZIP else '' if is_directory else NOTEBOOK}"
        raise NotCollected(f"its name does not say whose it is; name it {example}")
    if student.startswith(".") or "\\" in student or Course.problem_with_name(student):
        raise NotCollected("its name gives a student's name that no folder can have; rename it")
    return student


def _is_renamed_notebook(path: Path, downloads: ExportedFolder) -> bool:
    if path.suffix.lower() not in RENAMED_NOTEBOOKS:
        return False
    try:
        return is_notebook(path.name, downloads.read(path.name, limits.NOTEBOOK_BYTES))
    except NotCollected:
        return False


def _hand_in(downloads: ExportedFolder, name: str, student: str) -> HandIn:
    """Return the hand-in that a file or a folder of this name is."""

    def own_name(path: str) -> str:
        return path if path == name else str(PurePosixPath(path).relative_to(name))

    def is_in_it(path: str) -> bool:
        return PurePosixPath(path).parts[0] == name

    files = [File(path, own_name(path), student, "") for path in downloads.paths if is_in_it(path)]
    left_out = {own_name(path): why for path, why in downloads.left_out.items() if is_in_it(path)}
    return HandIn(downloads, name, student, files, left_out=left_out)
