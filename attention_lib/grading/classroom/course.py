"""Find a course's lessons and its class's folders, as nbgrader's settings name them."""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import re
import stat
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from attention_lib.lessons import RENAMED

if TYPE_CHECKING:
    from nbgrader.api import Gradebook
    from nbgrader.apps.api import NbGraderAPI
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import Config

CONFIG = "nbgrader_config.py"
CLASS = "NBGRADER_CLASS"  # environment variable: the class's name, or empty for the unnamed class
CLASS_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
FOR_PATTERNS = "*?[]"  # nbgrader reads these as glob patterns, and would find other folders too
ANY = "*"  # instead of a student's name: all students
UNNAMED = "default_course"  # nbgrader's name for a course without an id
LATE_MARK = "late, as the platform marks it"  # one of the notes on what was collected
NOBODY = "."  # instead of a student's name, in folders that have no student


class CourseError(Exception):
    """Something an author or an instructor has to change; the text is the message to show."""


def class_name() -> str:
    """Return the class's name from the environment, or "" for the unnamed class.

    Raises
    ------
    CourseError
        If the name cannot be part of a folder's name.
    """
    name = os.environ.get(CLASS, "")
    if name and not CLASS_NAME.fullmatch(name):
        raise CourseError(
            f"A class cannot be called {name!r}: use letters, digits and . _ -, such as 2027-spring-b."
        )
    return name


def class_folder(root: Path) -> Path:
    """Return the folder of the chosen class: an instructor's own files, which are not in git."""
    name = class_name()
    return root / (f"classroom-{name}" if name else "classroom")


def private_class_folder(root: Path) -> Path:
    """Return the folder of the chosen class, after making it private to its owner.

    The folder of the unnamed class is created if it does not exist. A folder with the setgid bit is
    shared with a group, and stays shared. On a hub, students may see the course read-only, so a
    failure to create it or to change its mode is ignored.

    Raises
    ------
    CourseError
        If a class with that name does not exist yet.
    """
    folder = class_folder(root)
    if folder.name != "classroom" and not folder.is_dir():
        begun = sorted(path.name.partition("-")[2] for path in root.glob("classroom-*"))
        known = f"there are {', '.join(begun)}" if begun else "none has a name"
        raise CourseError(
            f"No class is called {class_name()} ({known}). It begins with "
            f"make release CLASS={class_name()}"
        )
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        for path in (folder, *folder.glob("gradebook.db*")):
            if not folder.stat().st_mode & stat.S_ISGID:
                path.chmod(path.stat().st_mode & 0o700)
    return folder


def _may_be_folder(path: Path) -> bool:
    """Return True for a folder, or a path that cannot be examined: reading it then raises the error."""
    try:
        return path.is_dir()
    except OSError:
        return True


@dataclass(frozen=True)
class Course:
    """The folder that holds `nbgrader_config.py` and the lessons in solutions/.

    nbgrader's settings name the class's folders. They are read at the first request for a folder.
    After changing directories in the settings, make another Course.
    """

    root: Path

    @classmethod
    def here(cls, begin: bool = False) -> Course:
        """Return the course in the current folder, where nbgrader also looks for it.

        `begin` creates the folder of a new class.

        Raises
        ------
        CourseError
            If there is no course, or the environment names a class that does not exist yet.
        """
        root = Path.cwd()
        if not (root / CONFIG).is_file():
            raise CourseError(f"There is no {CONFIG} in {root}: run this in the course's folder.")
        folder = class_folder(root)
        written = folder if folder.exists() else root
        if not os.access(written, os.W_OK | os.X_OK):
            raise CourseError(
                f"You may not write in {written}: run this as the course's owner, or in a clone of "
                "your own."
            )
        if begin:
            folder.mkdir(mode=0o700, exist_ok=True)
        private_class_folder(root)
        return cls(root)

    @staticmethod
    def command(name: str, lesson: str = "", **options: str) -> str:
        """Return the `make` command for the chosen class, as messages show it."""
        values = {"LESSON": lesson, **options, "CLASS": class_name()}
        return " ".join(
            ["make", name, *(f"{key}={value}" for key, value in values.items() if value)]
        )

    @property
    def lessons(self) -> list[str]:
        """The names of all lessons, in order."""
        return sorted(path.stem for path in (self.root / "solutions").glob("[0-9][0-9]_*.md"))

    def require(self, lesson: str) -> str:
        """Return the name of the lesson that is called so or, of all lessons, begins so.

        Raises
        ------
        CourseError
            If there is none, or several begin so. The text has the names that may be meant.
        """
        lessons = self.lessons
        if lesson in lessons:
            return lesson
        if (renamed := RENAMED.get(lesson)) in lessons:
            folders = self.shown(self.submission(lesson, "STUDENT"))
            raise CourseError(
                f"{lesson} is now {renamed}: rename the folders {folders} to {renamed} and grade "
                f"{renamed}. Grades given for {lesson} stay in the gradebook."
            )
        near = [name for name in lessons if name.startswith(lesson)]
        if len(near) == 1:
            return near[0]
        near = near or difflib.get_close_matches(lesson, lessons, n=2, cutoff=0.6)
        if near:
            raise CourseError(f"There is no lesson {lesson!r}. Did you mean {' or '.join(near)}?")
        known = f"There are: {', '.join(lessons)}." if lessons else "solutions/ is empty."
        raise CourseError(f"There is no lesson {lesson!r}. {known}")

    def written(self, lesson: str) -> Path:
        """Return the path of the lesson as written by hand."""
        return self.root / "solutions" / f"{lesson}.md"

    @cached_property
    def _folders(self) -> CourseDirectory:
        return self._coursedir()

    def _coursedir(self) -> CourseDirectory:
        from nbgrader.coursedir import CourseDirectory

        return CourseDirectory(config=self._settings())

    def _settings(self) -> Config:
        from traitlets.config import PyFileConfigLoader

        return PyFileConfigLoader(CONFIG, path=str(self.root)).load_config()

    def _folder(self, step: str, student: str, lesson: str) -> Path:
        return Path(self._folders.format_path(step, student, lesson))

    def source(self, lesson: str) -> Path:
        """Return the path of the instructor's version: answers, hidden checks, nbgrader's metadata."""
        folder = self._folder(self._folders.source_directory, NOBODY, lesson)
        return folder / f"{lesson}.ipynb"

    def source_digest(self, lesson: str) -> Path:
        """Return the path of the digest of the instructor's version that `make release` last wrote."""
        return self._class_folder / f"{lesson}.source"

    def released(self, lesson: str) -> Path:
        """Return the path of the learners' version."""
        folder = self._folder(self._folders.release_directory, NOBODY, lesson)
        return folder / f"{lesson}.ipynb"

    def submitted(self, lesson: str) -> list[str]:
        """Return the names of the students who handed in something for the lesson.

        Raises
        ------
        CourseError
            If nbgrader's directory_structure has no folder named after the student.
        """
        parts = self.submission(lesson, ANY).parts
        if ANY not in parts:
            raise CourseError(
                "c.CourseDirectory.directory_structure needs {student_id} as the whole name of a "
                f"folder; it is {self._folders.directory_structure!r}."
            )
        place = parts.index(ANY)
        try:
            folders = list(Path(*parts[:place]).iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []
        below = parts[place + 1 :]
        return sorted(folder.name for folder in folders if _may_be_folder(folder.joinpath(*below)))

    @staticmethod
    def problem_with_name(student: str) -> str | None:
        """Return why nbgrader cannot handle a student's name, or None."""
        if any(unicodedata.category(character) in ("Cc", "Cs") for character in student):
            return "not graded: its folder's name is no readable text; rename it"
        if set(student) & set(FOR_PATTERNS):
            return f"not graded: its folder's name has one of {FOR_PATTERNS} in it; rename it"
        if student != student.strip():
            return "not graded: its folder's name begins or ends with a space; rename it"
        return None

    def submission(self, lesson: str, student: str) -> Path:
        """Return the folder that a student handed in."""
        return self._folder(self._folders.submitted_directory, student, lesson)

    def downloaded(self, lesson: str) -> Path:
        """Return the folder of an instructor's downloads that are to be collected."""
        return self._class_folder / "downloaded" / lesson / "archive"

    def not_collected(self, lesson: str) -> dict[str, str]:
        """Return, by student, why a submission was not collected."""
        path = self._class_folder / f"{lesson}.refused"
        return dict(json.loads(path.read_bytes())) if path.is_file() else {}

    def note_not_collected(self, lesson: str, reasons: dict[str, str | None]) -> None:
        """Save these reasons for the table of marks; None means that it was collected after all."""
        known = self.not_collected(lesson).items()
        kept = {student: why for student, why in known if student not in reasons}
        kept |= {student: why for student, why in reasons.items() if why is not None}
        self._class_folder.mkdir(mode=0o700, exist_ok=True)
        (self._class_folder / f"{lesson}.refused").write_text(json.dumps(kept), encoding="utf-8")

    def collected(self, lesson: str) -> dict[str, list[str]]:
        """Return, by student, notes on what was collected: late, or which of several notebooks."""
        path = self._class_folder / f"{lesson}.collected"
        return dict(json.loads(path.read_bytes())) if path.is_file() else {}

    def note_collected(self, lesson: str, notes: dict[str, list[str]]) -> None:
        """Save these notes for the table of marks, replacing earlier notes on these students."""
        self._class_folder.mkdir(mode=0o700, exist_ok=True)
        kept = {student: own for student, own in (self.collected(lesson) | notes).items() if own}
        (self._class_folder / f"{lesson}.collected").write_text(json.dumps(kept), encoding="utf-8")

    def autograded(self, lesson: str, student: str) -> Path:
        """Return the path of a submission's notebook after it was run and graded."""
        folder = self._folder(self._folders.autograded_directory, student, lesson)
        return folder / f"{lesson}.ipynb"

    def feedback(self, lesson: str, student: str) -> Path:
        """Return the path of the feedback page for a student."""
        folder = self._folder(self._folders.feedback_directory, student, lesson)
        return folder / f"{lesson}.html"

    @property
    def feedback_folder(self) -> Path:
        """The folder of all feedback pages."""
        return self.root / self._folders.feedback_directory

    def shown(self, path: Path) -> str:
        """Return a path as messages show it: relative to the course's folder, if it is inside."""
        return str(path.relative_to(self.root) if path.is_relative_to(self.root) else path)

    @property
    def _class_folder(self) -> Path:
        """The class's folder, for files that nbgrader has no folder for."""
        return class_folder(self.root)

    @property
    def roster(self) -> Path:
        """The instructor's list of students."""
        return self._class_folder / "students.csv"

    def earlier(self, lesson: str) -> Path:
        """Return the folder of earlier hand-ins that a later one has replaced."""
        return self._class_folder / "earlier" / lesson

    @property
    def returned(self) -> Path:
        """The folder of files that go back to a learning platform."""
        return self._class_folder / "returned"

    def report(self, lesson: str) -> Path:
        """Return the path of the page that shows who is stuck on what."""
        return self._class_folder / "reports" / f"{lesson}.html"

    def log(self, lesson: str) -> Path:
        """Return the path of nbgrader's log from the last grading of the lesson."""
        return self._class_folder / f"{lesson}.log"

    def journal(self, lesson: str) -> Path:
        """Return the path of the journal, which records what each grade was made from."""
        return self._class_folder / f"{lesson}.journal"

    @property
    def backups(self) -> Path:
        """The folder for backups of the gradebook."""
        return self._class_folder / "backups"

    def nbgrader(self) -> NbGraderAPI:
        """Return nbgrader, configured for this course."""
        from nbgrader.apps.api import NbGraderAPI

        return NbGraderAPI(config=self._settings())

    def gradebook(self) -> Gradebook:
        """Open the gradebook, for use in a `with` statement."""
        from nbgrader.api import Gradebook

        folders = self._coursedir()
        return Gradebook(folders.db_url, folders.course_id or UNNAMED)
