"""Read what a student handed in; prepare the notebook to run, and the other files."""

from __future__ import annotations

import contextlib
import functools
import json
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell

from attention_lib.grading import limits
from attention_lib.grading.intake.cells import lessons_of, read_cells
from attention_lib.grading.intake.folder import (
    Folder,
    Missing,
    NotTaken,
    TooLarge,
    names,
    opened,
    read_file,
    walk,
)
from attention_lib.grading.intake.rebuild import (
    ForeignNotebook,
    answers_nothing,
    is_blank,
    rebuild,
)
from attention_lib.grading.intake.timestamps import TIMESTAMP, Record, choose_time, read_time
from attention_lib.grading.resource_limits import TooSlow, cpu_limit, memory_limit
from attention_lib.grading.terminal import first_few

NOTE_ID = "intake-note"
AS_GIVEN_OUT = (
    "Every answer is as it was given out: was the notebook saved before it was handed in?"
)
SECRET_FILE = "submission_secret.txt"
NBGRADER_FILES = {TIMESTAMP, SECRET_FILE}  # files that nbgrader adds to a submission
IGNORED_FOLDERS = {"__pycache__", "__macosx", "feedback"}  # without a note
MODULE_SUFFIXES = (".py", ".pyc", ".pyo", ".pyd", ".pyw", ".so", ".dll", ".dylib")
RENAMED_NOTEBOOKS = (".json", ".txt")  # browsers and mail programs rename .ipynb to these
ARCHIVE_SUFFIXES = (".pth", ".egg", ".whl", ".zip")  # can contain modules


class UnreadableNotebook(ValueError):
    """A file is not a notebook; the text says why, as the end of a sentence."""


@dataclass
class Submission:
    """What a student handed in for one lesson, as read from the folder."""

    notebook: bytes = b""
    problem: str | None = None  # why there is no notebook, as the end of a sentence
    files: dict[str, bytes] = field(default_factory=dict)  # by path within the folder, with /
    notes: list[str] = field(default_factory=list)  # what was left out, in whole sentences
    told: list[str] = field(default_factory=list)  # those of the notes that the table shows
    time: datetime | None = None  # when it was handed in, in UTC, if known
    time_problem: str | None = None  # one of the notes: why timestamp.txt was not used
    time_doubt: str = ""  # for the instructor: how it differs from the exchange's
    secret: bytes = b""  # identifies the student's feedback in nbgrader's exchange

    def is_copy_of(self, other: Submission) -> bool:
        """Tell whether everything in this submission is also in the other, which may hold more."""
        return self.notebook == other.notebook and self.files.items() <= other.files.items()


@dataclass
class Prepared:
    """A submission that is ready to run."""

    submission: Submission
    notebook: NotebookNode
    files: dict[str, bytes] = field(default_factory=dict)
    problem: str | None = None
    notes: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)  # those of the notes that the table shows
    is_as_given_out: bool = False  # all of its answers are


def prepare(submission: Submission, released: Path, source: Path) -> Prepared:
    """Rebuild a submission's notebook, and collect the files to run it with.

    A submission that cannot be read, or is another notebook, becomes the notebook as `released`.
    Cells at the top say so, and what was done, for the feedback. `source` is the folder of the
    instructor's version.
    """
    template = _read_released(released, released.stat().st_mtime_ns)
    problem, notes, told = submission.problem, submission.notes, submission.told
    is_as_given_out = False
    if not problem:
        try:
            with _reading_limits():
                parsed = read_notebook(submission.notebook)
                notebook, changes, told_too = rebuild(template, parsed, released.stem)
            notes, told = notes + changes, told + told_too
            is_as_given_out = answers_nothing(template, notebook)
        except (UnreadableNotebook, ForeignNotebook) as reason:
            problem = str(reason)
    if problem:
        notebook = deepcopy(template)
    notebook.cells[:0] = _cells_on_top(problem, is_as_given_out, notes)
    files = files_of(submission, source)
    return Prepared(submission, notebook, files, problem, notes, told, is_as_given_out)


@functools.lru_cache(maxsize=16)
def _read_released(path: Path, _changed: int) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def blank_of(released: Path) -> Callable[[bytes], bool]:
    """Return a function that tells whether a notebook answers nothing in the released one."""

    def is_as_released(content: bytes) -> bool:
        if not released.is_file():
            return False
        template = _read_released(released, released.stat().st_mtime_ns)
        try:
            with _reading_limits():
                return is_blank(template, read_notebook(content), released.stem)
        except UnreadableNotebook:
            return False

    return is_as_released


def read_submission(
    folder: Path,
    lesson: str,
    records: Sequence[Record] = (),
    blank: Callable[[bytes], bool] = lambda _: False,
) -> Submission:
    """Read a student's folder for a lesson, submitted/STUDENT/LESSON, and follow no link in it.

    Links and special files are not read. Hidden files, Python modules, other notebooks, and files
    over the limits are left out. STUDENT and LESSON may not be links.

    The notebook has the lesson's name. Browsers and students change it, so the only notebook in the
    folder is taken under any name. A notebook without answers, such as an unchanged (`blank`) one,
    does not count if another one has answers. `records` are this student's records of the lesson in
    nbgrader's exchange.
    """
    submission = _read_folder(folder, lesson, blank)
    submission.time, submission.time_doubt = choose_time(
        submission.time,
        records,
        lambda recorded: submission.is_copy_of(_read_folder(recorded, lesson, blank)),
    )
    return submission


def _read_folder(folder: Path, lesson: str, blank: Callable[[bytes], bool]) -> Submission:
    submission = Submission()
    wanted = f"{lesson}.ipynb"
    try:
        with opened(folder, below=folder.parent.parent) as place:
            no_answer = functools.partial(_answers_nothing, lesson=lesson, blank=blank)
            name = _take_notebook(place, wanted, no_answer, submission)
            submission.time, submission.time_problem = read_time(place)
            with contextlib.suppress(NotTaken):
                submission.secret = read_file(place, SECRET_FILE, 1_000)
    except NotTaken as reason:
        submission.problem = f"its folder is {reason}; hand in the folder itself"
        return submission
    submission.files, left = _take_files(folder, name)
    if submission.time_problem:
        submission.notes.append(submission.time_problem)
    if name != wanted:
        is_of_several = any(path.endswith(".ipynb") for paths in left.values() for path in paths)
        why = " with answers to the lesson" if is_of_several else ""
        submission.notes.append(
            f"{_as_markdown_code(name)}, the only notebook there{why}, is taken for {wanted}."
        )
    for why, what in left.items():
        submission.notes.append(f"Left out as {why}: {_first_few_paths(what)}.")
        if any(path.lower().endswith(".ipynb") for path in what):
            submission.told.append(submission.notes[-1])
    return submission


def _answers_nothing(content: bytes, lesson: str, blank: Callable[[bytes], bool]) -> bool:
    """Tell whether a notebook cannot be read, is unchanged, or is another lesson's."""
    notebook, _ = read_within_limits(content)
    if notebook is None or blank(content):
        return True
    lessons = lessons_of(list(read_cells(notebook)))
    return bool(lessons) and lesson not in lessons


def _take_notebook(
    place: Folder, wanted: str, no_answer: Callable[[bytes], bool], submission: Submission
) -> str:
    """Read the notebook; return its name: the wanted one, or the only other suitable one."""
    name = wanted
    try:
        with contextlib.suppress(Missing):
            submission.notebook = read_file(place, wanted, limits.NOTEBOOK_BYTES)
        if _notebooks(place) != [wanted] and no_answer(submission.notebook):
            name = _other_notebook(place, wanted, no_answer)
            submission.notebook = read_file(place, name, limits.NOTEBOOK_BYTES)
    except Missing:
        others = _notebooks(place) or _visible_names(place)
        but = f", but {_first_few_paths(others)}" if others else ""
        submission.problem = f"there is no {wanted} in the folder{but}"
    except TooLarge as reason:
        submission.problem = f"{wanted} is {reason}; clear its outputs and hand it in again"
    except NotTaken as reason:
        submission.problem = f"{wanted} is {reason}; hand in the notebook itself"
    return name


def _other_notebook(place: Folder, wanted: str, no_answer: Callable[[bytes], bool]) -> str:
    """Return the only notebook, or the only other one with answers; otherwise the wanted name."""
    found = _notebooks(place)
    if len(found) > 1:
        others = (name for name in found if name != wanted)
        found = [name for name in others if not no_answer(_content_or_nothing(place, name))]
    return found[0] if len(found) == 1 else wanted


def _content_or_nothing(place: Folder, name: str) -> bytes:
    try:
        return read_file(place, name, limits.NOTEBOOK_BYTES)
    except NotTaken:
        return b""


def _notebooks(place: Folder) -> list[str]:
    """Return the names of notebooks or, if there are none, of notebooks with another suffix."""
    found = _visible_names(place)
    named = [name for name in found if name.lower().endswith(".ipynb")]
    renamed = [name for name in found if name.lower().endswith(RENAMED_NOTEBOOKS)]
    few = renamed[: limits.FILES_NAMED_PER_NOTE]  # each takes time to read
    return named or [name for name in few if is_notebook(name, _content_or_nothing(place, name))]


def _visible_names(place: Folder) -> list[str]:
    found = names(place, limits.FOLDER_ENTRIES)
    return [name for name in found if name[0] != "." and name not in NBGRADER_FILES]


def _take_files(top: Path, notebook: str) -> tuple[dict[str, bytes], dict[str, list[str]]]:
    """Read the files other than the notebook; group the paths of those left out by the reason."""
    files: dict[str, bytes] = {}
    left: dict[str, list[str]] = defaultdict(list)
    for folder, path, reason in walk(
        top, top.parent.parent, limits.FOLDER_ENTRIES, limits.FOLDER_DEPTH
    ):
        if str(path) in {notebook, *NBGRADER_FILES} or IGNORED_FOLDERS & set(
            map(str.lower, path.parts)
        ):
            continue
        try:
            _refuse_by_name(path, notebook)
            if reason:
                raise reason
            files[str(path)] = _read_one_more(folder, path.name, files)
        except NotTaken as why:
            left[str(why)].append(str(path))
    return files, left


def _refuse_by_name(path: PurePosixPath, notebook: str) -> None:
    if not all(map(_is_in_a_text, str(path))):
        raise NotTaken("of a name that is no text")
    if path.name.lower().endswith(MODULE_SUFFIXES + ARCHIVE_SUFFIXES):
        raise NotTaken("a module or an archive, which could be imported")
    if path.name.lower().endswith(".ipynb"):
        raise NotTaken(f"a notebook other than {notebook}")


def _read_one_more(folder: Folder, name: str, files: dict[str, bytes]) -> bytes:
    """Read a file, within the limits on the number and size of all files read."""
    if len(files) == limits.EXTRA_FILES:
        raise NotTaken(f"beyond {limits.EXTRA_FILES} files")
    room = limits.EXTRA_FILES_BYTES - sum(map(len, files.values()))
    try:
        return read_file(folder, name, min(limits.EXTRA_FILE_BYTES, room))
    except TooLarge:
        if room < limits.EXTRA_FILE_BYTES:
            raise NotTaken(f"beyond {limits.EXTRA_FILES_BYTES / 1_000_000:g} MB together") from None
        raise


def _is_in_a_text(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cs")  # controls, and undecodable bytes


def _first_few_paths(paths: list[str]) -> str:
    return first_few(
        [_as_markdown_code(path) for path in sorted(paths)], limits.FILES_NAMED_PER_NOTE
    )


def _as_markdown_code(path: str) -> str:
    """Return a path as Markdown code, with unsafe characters replaced."""
    path = path if len(path) <= 60 else f"{path[:57]}..."
    return "`" + "".join(c if c.isprintable() and c != "`" else "?" for c in path) + "`"


def read_notebook(content: bytes) -> dict[str, Any]:
    """Read the JSON of a notebook in nbformat 3 or 4, without validating it.

    Raises
    ------
    UnreadableNotebook
        If it cannot be read.
    """
    if not content.strip():
        raise UnreadableNotebook("the file is empty")
    if sum(map(content.count, (b"[", b"{"))) > 500_000:  # each takes 100 bytes once parsed
        raise UnreadableNotebook(
            "it has more parts than can be read; clear its outputs and hand it in again"
        )
    try:
        notebook = json.loads(content)
    except UnicodeDecodeError:
        raise UnreadableNotebook("it is not text in UTF-8") from None
    except json.JSONDecodeError as problem:
        if any(line.startswith(b"<<<<<<< ") for line in content.splitlines()):
            raise UnreadableNotebook("it has git's conflict markers (<<<<<<<)") from None
        raise UnreadableNotebook(f"it is not valid JSON: {problem}") from None
    except RecursionError:
        raise UnreadableNotebook("it is nested too deeply") from None
    except ValueError:  # an integer of thousands of digits
        raise UnreadableNotebook("it has a number that is too long") from None
    version = notebook.get("nbformat") if isinstance(notebook, dict) else None
    if not isinstance(version, int):
        raise UnreadableNotebook("it is not a notebook: it says no nbformat")
    if version not in (3, 4):
        shown = version if abs(version) < 1000 else "of a large number"
        raise UnreadableNotebook(f"it is in nbformat {shown}, which is not known here")
    return notebook


def is_notebook(path: str, content: bytes) -> bool:
    """Tell whether a file is a notebook, by its name or by its content."""
    if path.lower().endswith(".ipynb"):
        return True
    if len(content) > limits.NOTEBOOK_BYTES or b'"nbformat"' not in content:
        return False
    return read_within_limits(content)[0] is not None


def read_within_limits(content: bytes) -> tuple[dict[str, Any] | None, str]:
    """Return a notebook, or None and the reason why it cannot be read."""
    try:
        with _reading_limits():
            return read_notebook(content), ""
    except UnreadableNotebook as why:
        return None, str(why)


@contextlib.contextmanager
def _reading_limits() -> Iterator[None]:
    """Limit the memory and CPU time to read a notebook; raise UnreadableNotebook beyond them."""
    try:
        with memory_limit(limits.INTAKE_MEMORY_BYTES), cpu_limit(limits.INTAKE_CPU_SECONDS):
            yield
    except (TooSlow, MemoryError):
        raise UnreadableNotebook(
            "it takes too much time or memory to read; clear its outputs and hand it in again"
        ) from None


def files_of(submission: Submission, source: Path) -> dict[str, bytes]:
    """Return the files that a submission runs with: the student's and the instructor's.

    The instructor's files are in the folder of the lesson's source notebook. They take precedence.
    """
    found = {path.relative_to(source).as_posix(): path for path in source.rglob("*")}
    ours = {
        name: path.read_bytes()
        for name, path in found.items()
        if path.is_file()
        and not any(part.startswith(".") for part in PurePosixPath(name).parts)
        and not name.lower().endswith((*MODULE_SUFFIXES, *ARCHIVE_SUFFIXES, ".ipynb", ".md"))
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
    """Return why an autograded submission could not be graded, or None."""
    if notebook.cells and notebook.cells[0].get("id") == NOTE_ID:
        return notebook.cells[0].metadata.get("attention_lib", {}).get("problem")
    return None


def note_on_all(notebook: NotebookNode) -> str:
    """Take out of an autograded notebook what is said of all of its answers, as Markdown."""
    if notebook.cells and notebook.cells[0].get("id") == NOTE_ID:
        return str(notebook.cells.pop(0).source)
    return ""


def _cells_on_top(
    problem: str | None, is_as_given_out: bool, notes: list[str]
) -> list[NotebookNode]:
    """Return a cell about all answers, if there is something to say, and one that lists the notes."""
    cells = []
    if problem or is_as_given_out:
        told = f"**{AS_GIVEN_OUT}**"
        if problem:
            told = (
                f"**This submission could not be graded: {problem}.** "
                "Below is the lesson as it was given out."
            )
        metadata = {"attention_lib": {"problem": problem}}
        cells.append(new_markdown_cell(told, id=NOTE_ID, metadata=metadata))
    if notes:
        heading = [] if problem else ["**Before grading, this submission was put in order.**\n"]
        listed = "\n".join([*heading, *(f"- {note}" for note in notes)])
        cells.append(new_markdown_cell(listed, id="intake-list", metadata={"attention_lib": {}}))
    return cells
