"""A course folder: its lessons, and the folders of its class as nbgrader's settings name them."""

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
CLASS = "NBGRADER_CLASS"  # environment variable: the name of a class beside the one without a name
CLASS_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
FOR_PATTERNS = "*?[]"  # nbgrader reads these as a pattern, and would find other folders too
ANY = "*"  # in place of a student's name: all of them
UNNAMED = "default_course"  # nbgrader's name for a course without an id
LATE_MARK = "late, as the platform marks it"  # among the notes on what was collected
NOBODY = "."  # in place of a student's name: the folders that belong to none


class CourseError(Exception):
    """Something an author or an instructor has to change; its text is the sentence to read."""


def class_name() -> str:
    """Return the name of the class that the environment chooses; empty for the one without.

    Raises
    ------
    CourseError
        If it cannot be part of a folder's name.
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
    """Return the folder of the chosen class, which others who use the machine cannot read.

    The one without a name is made if need be. A folder that is shared with a group, by its setgid
    bit, stays so. Students of a hub may find the course read-only.

    Raises
    ------
    CourseError
        If a class of that name has not begun.
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
    """Tell whether a path is a folder, or cannot be looked at: who reads it then says why."""
    try:
        return path.is_dir()
    except OSError:
        return True


@dataclass(frozen=True)
class Course:
    """The folder that holds `nbgrader_config.py` and the lessons in solutions/.

    nbgrader's settings say where the class's folders lie. These are read when the first folder is
    asked for: after a change of directories, make another Course.
    """

    root: Path

    @classmethod
    def here(cls, begin: bool = False) -> Course:
        """Return the course in the current folder, where nbgrader looks for it too.

        `begin` makes the folder of a class that has not begun.

        Raises
        ------
        CourseError
            If there is none, or the environment chooses a class that has not begun.
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
        """Return the command for the chosen class, as messages name it."""
        values = {"LESSON": lesson, **options, "CLASS": class_name()}
        return " ".join(
            ["make", name, *(f"{key}={value}" for key, value in values.items() if value)]
        )

    @property
    def lessons(self) -> list[str]:
        """The names of all lessons, in order."""
        return sorted(path.stem for path in (self.root / "solutions").glob("[0-9][0-9]_*.md"))

    def require(self, lesson: str) -> str:
        """Return the lesson's name, or say which ones there are."""
        lessons = self.lessons
        if lesson in lessons:
            return lesson
        if (renamed := RENAMED.get(lesson)) in lessons:
            folders = self.shown(self.submission(lesson, "STUDENT"))
            raise CourseError(
                f"{lesson} is now {renamed}: rename the folders {folders} to {renamed} and grade "
                f"{renamed}. Grades given for {lesson} stay in the gradebook."
            )
        near = difflib.get_close_matches(lesson, lessons, n=2, cutoff=0.6)
        if near:
            raise CourseError(f"There is no lesson {lesson!r}. Did you mean {' or '.join(near)}?")
        known = f"There are: {', '.join(lessons)}." if lessons else "solutions/ is empty."
        raise CourseError(f"There is no lesson {lesson!r}. {known}")

    def written(self, lesson: str) -> Path:
        """The lesson as written by hand."""
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
        """The instructor's version: answers, hidden checks, nbgrader's metadata."""
        folder = self._folder(self._folders.source_directory, NOBODY, lesson)
        return folder / f"{lesson}.ipynb"

    def source_digest(self, lesson: str) -> Path:
        """The digest of the instructor's version as `make release` last wrote it."""
        return self._own / f"{lesson}.source"

    def released(self, lesson: str) -> Path:
        """The learners' version."""
        folder = self._folder(self._folders.release_directory, NOBODY, lesson)
        return folder / f"{lesson}.ipynb"

    def submitted(self, lesson: str) -> list[str]:
        """The names of the students who handed in something for the lesson.

        Raises
        ------
        CourseError
            If nbgrader's directory_structure gives no folder the name of its student.
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
        """Return why nbgrader cannot have a student of that name, or None."""
        if any(unicodedata.category(character) in ("Cc", "Cs") for character in student):
            return "not graded: its folder's name is no readable text; rename it"
        if set(student) & set(FOR_PATTERNS):
            return f"not graded: its folder's name has one of {FOR_PATTERNS} in it; rename it"
        if student != student.strip():
            return "not graded: its folder's name begins or ends with a space; rename it"
        return None

    def submission(self, lesson: str, student: str) -> Path:
        """The folder that a student handed in."""
        return self._folder(self._folders.submitted_directory, student, lesson)

    def downloaded(self, lesson: str) -> Path:
        """The folder of what an instructor downloaded, to be collected."""
        return self._own / "downloaded" / lesson / "archive"

    def not_collected(self, lesson: str) -> dict[str, str]:
        """Return, by student, why what was handed in was not collected."""
        path = self._own / f"{lesson}.refused"
        return dict(json.loads(path.read_bytes())) if path.is_file() else {}

    def note_not_collected(self, lesson: str, reasons: dict[str, str | None]) -> None:
        """Keep these reasons for the table of marks; None: it was collected after all."""
        known = self.not_collected(lesson).items()
        kept = {student: why for student, why in known if student not in reasons}
        kept |= {student: why for student, why in reasons.items() if why is not None}
        self._own.mkdir(mode=0o700, exist_ok=True)
        (self._own / f"{lesson}.refused").write_text(json.dumps(kept), encoding="utf-8")

    def collected(self, lesson: str) -> dict[str, list[str]]:
        """Return, by student, notes on what was collected: late, or which of several notebooks."""
        path = self._own / f"{lesson}.collected"
        return dict(json.loads(path.read_bytes())) if path.is_file() else {}

    def note_collected(self, lesson: str, notes: dict[str, list[str]]) -> None:
        """Keep these notes for the table of marks, in place of earlier ones on these students."""
        self._own.mkdir(mode=0o700, exist_ok=True)
        kept = {student: own for student, own in (self.collected(lesson) | notes).items() if own}
        (self._own / f"{lesson}.collected").write_text(json.dumps(kept), encoding="utf-8")

    def autograded(self, lesson: str, student: str) -> Path:
        """A submission as it was run and graded."""
        folder = self._folder(self._folders.autograded_directory, student, lesson)
        return folder / f"{lesson}.ipynb"

    def feedback(self, lesson: str, student: str) -> Path:
        """The page that a student gets back."""
        folder = self._folder(self._folders.feedback_directory, student, lesson)
        return folder / f"{lesson}.html"

    @property
    def feedback_folder(self) -> Path:
        """The folder of all pages that students get back."""
        return self.root / self._folders.feedback_directory

    def shown(self, path: Path) -> str:
        """A path as messages show it: from the course's folder on, if it lies there."""
        return str(path.relative_to(self.root) if path.is_relative_to(self.root) else path)

    @property
    def _own(self) -> Path:
        """The folder for what nbgrader has no place for."""
        return class_folder(self.root)

    @property
    def roster(self) -> Path:
        """The list of students, written by the instructor."""
        return self._own / "students.csv"

    def earlier(self, lesson: str) -> Path:
        """The folder of hand-ins in whose place a later one was collected."""
        return self._own / "earlier" / lesson

    @property
    def returned(self) -> Path:
        """The folder of what goes back into a learning platform."""
        return self._own / "returned"

    def report(self, lesson: str) -> Path:
        """The page that says who is stuck on what."""
        return self._own / "reports" / f"{lesson}.html"

    def log(self, lesson: str) -> Path:
        """What nbgrader said when the lesson was last graded."""
        return self._own / f"{lesson}.log"

    def journal(self, lesson: str) -> Path:
        """What has been graded from what."""
        return self._own / f"{lesson}.journal"

    @property
    def backups(self) -> Path:
        """The folder for copies of the gradebook."""
        return self._own / "backups"

    def nbgrader(self) -> NbGraderAPI:
        """Return nbgrader, configured for this course."""
        from nbgrader.apps.api import NbGraderAPI

        return NbGraderAPI(config=self._settings())

    def gradebook(self) -> Gradebook:
        """Open the gradebook; to be used in a `with` statement."""
        from nbgrader.api import Gradebook

        folders = self._coursedir()
        return Gradebook(folders.db_url, folders.course_id or UNNAMED)
