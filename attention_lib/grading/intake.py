"""Reading what was handed in: the notebook to run, and the files that it may read."""

from __future__ import annotations

import functools
import json
import unicodedata
from collections import defaultdict, deque
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from attention_lib.grading.course import Course
from attention_lib.grading.folder import (
    Folder,
    Missing,
    NotTaken,
    TooLarge,
    is_folder,
    names,
    opened,
    read_file,
)
from attention_lib.grading.lateness import TIMESTAMP, read_time
from attention_lib.grading.rebuild import ForeignNotebook, rebuild

NOTE_ID = "intake-note"
FILES = "submission_files"  # where the resources of nbgrader's second pass have Prepared.files

# What is taken of one submission at most.
NOTEBOOK_BYTES = 20_000_000
FILE_BYTES = 10_000_000  # any other file
ALL_BYTES = 50_000_000  # of these together
MOST_FILES = 200
MOST_ENTRIES = 2_000  # files and folders looked at
MOST_FOLDERS_DEEP = 5
MOST_BRACKETS = 500_000  # in the notebook's JSON, each of which takes a hundred bytes in memory
MOST_SHOWN = 5  # files named in one note

NOT_A_STUDENTS = {TIMESTAMP, "submission_secret.txt"}  # what nbgrader puts beside a notebook
LITTER = {"__pycache__", "__macosx", "feedback"}  # folders that are passed over without a word
MODULES = (".py", ".pyc", ".pyo", ".pyd", ".pyw", ".so", ".dll", ".dylib")
ARCHIVES = (".pth", ".egg", ".whl", ".zip")  # and what brings modules along


class UnreadableNotebook(ValueError):
    """A file that is no notebook; the text says why, as the end of a sentence."""


@dataclass
class Submission:
    """What a student handed in for one lesson, as it lies in the folder."""

    notebook: bytes = b""
    problem: str | None = None  # why there is no notebook, as the end of a sentence
    files: dict[str, bytes] = field(default_factory=dict)  # by path within the folder, with /
    notes: list[str] = field(default_factory=list)  # what was left out, in whole sentences

    def is_same(self, other: Submission) -> bool:
        """Tell whether both hold the same work."""
        return (self.notebook, self.files) == (other.notebook, other.files)


@dataclass
class Prepared:
    """A submission put in order, ready to run."""

    notebook: NotebookNode
    files: dict[str, bytes]
    problem: str | None
    notes: list[str]


def prepare(course: Course, lesson: str, student: str) -> Prepared:
    """Return what nbgrader's Autograde would run for a student, and the files it runs beside."""
    folder = course.root / "classroom" / "submitted" / student / lesson
    return take_in(folder, course.released(lesson), course.source(lesson).parent)


def take_in(folder: Path, released: Path, source: Path) -> Prepared:
    """Put a submission in order.

    A submission that cannot be read, or is another notebook, becomes the released notebook as
    it was given out. A note on top says what was done, for the feedback.

    Parameters
    ----------
    folder
        Where the submission lies: submitted/STUDENT/LESSON.
    released, source
        The notebook that was given out, and the folder of the instructor's version.
    """
    submission = read_submission(folder, released.stem)
    ours = _read_released(released, released.stat().st_mtime_ns)
    problem, notes = submission.problem, submission.notes
    if not problem:
        try:
            notebook, changes = rebuild(ours, read_notebook(submission.notebook))
            notes = notes + changes
        except (UnreadableNotebook, ForeignNotebook) as reason:
            problem = str(reason)
    if problem:
        notebook = deepcopy(ours)
    if problem or notes:
        notebook.cells.insert(0, _note(problem, notes))
    return Prepared(notebook, files_of(submission, source), problem, notes)


@functools.lru_cache(maxsize=16)
def _read_released(path: Path, _changed: int) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def read_submission(folder: Path, lesson: str) -> Submission:
    """Read a student's folder for a lesson, and follow nothing in it.

    Links, and whatever is neither a file nor a folder, stay where they lie; so do hidden files,
    Python modules, other notebooks, and what is too large or too much.

    Parameters
    ----------
    folder
        submitted/STUDENT/LESSON, of which the last two may not be links either.
    lesson
        The name of the notebook to find in it.
    """
    submission = Submission()
    try:
        with opened(folder, below=folder.parent.parent) as place:
            _take_notebook(place, f"{lesson}.ipynb", submission)
            _, told = read_time(place)
    except NotTaken as reason:
        submission.problem = f"its folder is {reason}; hand in the folder itself"
        return submission
    taking = _Taking(folder, f"{lesson}.ipynb")
    taking.take()
    submission.files = taking.files
    submission.notes = [told] if told else []
    submission.notes += [
        f"Left out as {why}: {_listed(what)}." for why, what in taking.left.items()
    ]
    return submission


def _take_notebook(place: Folder, name: str, submission: Submission) -> None:
    try:
        submission.notebook = read_file(place, name, NOTEBOOK_BYTES)
    except Missing:
        submission.problem = f"there is no {name} in the folder"
    except TooLarge as reason:
        submission.problem = f"{name} is {reason}; clear its outputs and hand it in again"
    except NotTaken as reason:
        submission.problem = f"{name} is {reason}; hand in the notebook itself"


class _Taking:
    """Reads the files beside a notebook, those of the outer folders first."""

    def __init__(self, top: Path, notebook: str) -> None:
        self.top, self.notebook = top, notebook
        self.files: dict[str, bytes] = {}
        self.left: dict[str, list[str]] = defaultdict(list)
        self.folders = deque([PurePosixPath()])

    def take(self) -> None:
        seen = 0
        while self.folders:
            inner = self.folders.popleft()
            try:
                with opened(self.top / inner, below=self.top.parent.parent) as place:
                    found = names(place, MOST_ENTRIES + 1 - seen)
                    if seen + len(found) > MOST_ENTRIES:
                        why = f"beyond {MOST_ENTRIES:,} files and folders"
                        self.left[why].append(str(inner / "..."))
                        found.pop()
                    seen += len(found)
                    for name in found:
                        self.look_at(place, inner / name)
            except NotTaken as reason:
                self.left[str(reason)].append(str(inner))

    def look_at(self, place: Folder, path: PurePosixPath) -> None:
        if path.name.startswith(".") or str(path) in {self.notebook, *NOT_A_STUDENTS}:
            return
        try:
            if not all(map(_is_in_a_text, path.name)):
                raise NotTaken("of a name that is no text")
            if is_folder(place, path.name):
                self.note_folder(path)
            else:
                self.take_file(place, path)
        except NotTaken as reason:
            self.left[str(reason)].append(str(path))

    def note_folder(self, path: PurePosixPath) -> None:
        if path.name.lower() in LITTER:
            return
        if len(path.parts) > MOST_FOLDERS_DEEP:
            raise NotTaken("too deep in folders")
        self.folders.append(path)

    def take_file(self, place: Folder, path: PurePosixPath) -> None:
        if path.name.lower().endswith(MODULES + ARCHIVES):
            raise NotTaken("a module or an archive, which could be imported")
        if path.name.lower().endswith(".ipynb"):
            raise NotTaken(f"a notebook other than {self.notebook}")
        if len(self.files) == MOST_FILES:
            raise NotTaken(f"beyond {MOST_FILES} files")
        room = ALL_BYTES - sum(map(len, self.files.values()))
        try:
            self.files[str(path)] = read_file(place, path.name, min(FILE_BYTES, room))
        except TooLarge:
            if room < FILE_BYTES:
                raise NotTaken(f"beyond {ALL_BYTES / 1_000_000:g} MB together") from None
            raise


def _is_in_a_text(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cs")  # controls, and undecodable bytes


def _listed(paths: list[str]) -> str:
    shown = ", ".join(map(_shown, sorted(paths)[:MOST_SHOWN]))
    return shown if len(paths) <= MOST_SHOWN else f"{shown} and {len(paths) - MOST_SHOWN} more"


def _shown(path: str) -> str:
    """Return a path as Markdown code, whatever is in it."""
    path = path if len(path) <= 60 else f"{path[:57]}..."
    return "`" + "".join(c if c.isprintable() and c != "`" else "?" for c in path) + "`"


def read_notebook(content: bytes) -> dict[str, Any]:
    """Read the JSON of a notebook in nbformat 3 or 4, without validating it.

    Raises
    ------
    UnreadableNotebook
        If it cannot be read.
    """
    if sum(map(content.count, (b"[", b"{"))) > MOST_BRACKETS:
        raise UnreadableNotebook(
            "it has more parts than can be read; clear its outputs and hand it in again"
        )
    try:
        notebook = json.loads(content)
    except UnicodeDecodeError:
        raise UnreadableNotebook("it is not text in UTF-8") from None
    except json.JSONDecodeError as problem:
        raise UnreadableNotebook(f"it is not valid JSON: {problem}") from None
    except RecursionError:
        raise UnreadableNotebook("it is nested too deeply") from None
    except ValueError:  # Python reads no integer of thousands of digits
        raise UnreadableNotebook("it has a number that is too long") from None
    version = notebook.get("nbformat") if isinstance(notebook, dict) else None
    if not isinstance(version, int):
        raise UnreadableNotebook("it is not a notebook: it says no nbformat")
    if version not in (3, 4):
        shown = version if abs(version) < 1000 else "of a large number"
        raise UnreadableNotebook(f"it is in nbformat {shown}, which is not known here")
    return notebook


def files_of(submission: Submission, source: Path) -> dict[str, bytes]:
    """Return the files that a submission runs beside: the student's and the instructor's.

    The instructor's lie beside the lesson's source notebook; they come first.
    """
    found = {path.relative_to(source).as_posix(): path for path in source.rglob("*")}
    ours = {
        name: path.read_bytes()
        for name, path in found.items()
        if path.is_file()
        and not any(part.startswith(".") for part in PurePosixPath(name).parts)
        and not name.lower().endswith((*MODULES, *ARCHIVES, ".ipynb", ".md"))
    }
    theirs = {
        path: content
        for path, content in submission.files.items()
        if not any(path in _folders_of(name) or name in _folders_of(path) for name in ours)
    }
    return theirs | ours


def _folders_of(path: str) -> list[str]:
    return [str(folder) for folder in PurePosixPath(path).parents]


def problem_of(notebook: NotebookNode) -> str | None:
    """Return why an autograded submission could not be read, if it could not."""
    if notebook.cells and notebook.cells[0].get("id") == NOTE_ID:
        return notebook.cells[0].metadata.get("attention_lib", {}).get("problem")
    return None


def _note(problem: str | None, notes: list[str]) -> NotebookNode:
    lines = ["**Before grading, this submission was put in order.**\n"]
    if problem:
        lines = [
            f"**This submission could not be graded: {problem}.** "
            "Below is the lesson as it was given out.\n"
        ]
    lines += [f"- {note}" for note in notes]
    metadata = {"attention_lib": {"problem": problem}}
    return new_markdown_cell("\n".join(lines), id=NOTE_ID, metadata=metadata)
