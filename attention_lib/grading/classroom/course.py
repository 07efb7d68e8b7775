"""A course folder: where its lessons and its class lie, and nbgrader's view of it."""

from __future__ import annotations

import difflib
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from attention_lib.lessons import RENAMED

if TYPE_CHECKING:
    from nbgrader.api import Gradebook
    from nbgrader.apps.api import NbGraderAPI

CONFIG = "nbgrader_config.py"
FOR_PATTERNS = "*?[]"  # in the name of a folder, nbgrader would take these for other names too


class CourseError(Exception):
    """Something an author or an instructor has to change; its text is the sentence to read."""


@dataclass(frozen=True)
class Course:
    """The folder that holds `nbgrader_config.py`, solutions/, notebooks/ and classroom/."""

    root: Path

    @classmethod
    def here(cls) -> Course:
        """Return the course in the current folder, where nbgrader looks for it too."""
        root = Path.cwd()
        if not (root / CONFIG).is_file():
            raise CourseError(f"There is no {CONFIG} in {root}: run this in the course's folder.")
        return cls(root)

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
            raise CourseError(
                f"{lesson} is now {renamed}: rename the folders classroom/submitted/STUDENT/{lesson} "
                f"to {renamed} and grade {renamed}. Grades given for {lesson} stay in the gradebook."
            )
        near = difflib.get_close_matches(lesson, lessons, n=2, cutoff=0.6)
        if near:
            raise CourseError(f"There is no lesson {lesson!r}. Did you mean {' or '.join(near)}?")
        known = f"There are: {', '.join(lessons)}." if lessons else "solutions/ is empty."
        raise CourseError(f"There is no lesson {lesson!r}. {known}")

    def written(self, lesson: str) -> Path:
        """The lesson as written by hand."""
        return self.root / "solutions" / f"{lesson}.md"

    def source(self, lesson: str) -> Path:
        """The instructor's version: answers, hidden checks, nbgrader's metadata."""
        return self.root / "classroom" / "source" / lesson / f"{lesson}.ipynb"

    def released(self, lesson: str) -> Path:
        """The learners' version."""
        return self.root / "notebooks" / lesson / f"{lesson}.ipynb"

    def submitted(self, lesson: str) -> list[str]:
        """The names of the students who handed in something for the lesson."""
        folders = (self.root / "classroom" / "submitted").glob(f"*/{lesson}")
        return sorted(path.parent.name for path in folders if path.is_dir())

    @staticmethod
    def problem_with_name(student: str) -> str | None:
        """Say why nbgrader cannot tell a student of that name from others, if so."""
        if any(unicodedata.category(character) in ("Cc", "Cs") for character in student):
            return "not graded: its folder's name is no readable text; rename it"
        if set(student) & set(FOR_PATTERNS):
            return f"not graded: its folder's name has one of {FOR_PATTERNS} in it; rename it"
        if student != student.strip():
            return "not graded: its folder's name begins or ends with a space; rename it"
        return None

    def submission(self, lesson: str, student: str) -> Path:
        """The folder that a student handed in."""
        return self.root / "classroom" / "submitted" / student / lesson

    def autograded(self, lesson: str, student: str) -> Path:
        """A submission as it was run and graded."""
        return self.root / "classroom" / "autograded" / student / lesson / f"{lesson}.ipynb"

    def feedback(self, lesson: str, student: str) -> Path:
        """The page that a student gets back."""
        return self.root / "classroom" / "feedback" / student / lesson / f"{lesson}.html"

    def log(self, lesson: str) -> Path:
        """What nbgrader said when the lesson was last graded."""
        return self.root / "classroom" / f"{lesson}.log"

    def journal(self, lesson: str) -> Path:
        """What has been graded from what."""
        return self.root / "classroom" / f"{lesson}.journal"

    @property
    def backups(self) -> Path:
        """The folder for copies of the gradebook."""
        return self.root / "classroom" / "backups"

    def nbgrader(self) -> NbGraderAPI:
        """Return nbgrader, configured for this course."""
        from nbgrader.apps.api import NbGraderAPI
        from traitlets.config import PyFileConfigLoader

        return NbGraderAPI(config=PyFileConfigLoader(CONFIG, path=str(self.root)).load_config())

    def gradebook(self) -> Gradebook:
        """Open the gradebook; to be used in a `with` statement."""
        from nbgrader.api import Gradebook

        return Gradebook(self.nbgrader().coursedir.db_url)
