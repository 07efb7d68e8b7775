"""Courses and classes for the tests: a course folder of its own, and students who hand in."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from attention_lib.exercises import EXERCISES
from attention_lib.grading.classroom.course import CONFIG, Course
from attention_lib.grading.grade import Result, grade
from attention_lib.grading.release import release

ROOT = Path(__file__).parents[2]
LESSONS = Course(ROOT).lessons


def make_course(folder: Path, *lessons: str) -> Course:
    """Copy the course's settings and hand-written lessons into a folder of its own."""
    shutil.copy(ROOT / CONFIG, folder)
    (folder / "solutions").mkdir()
    for lesson in lessons:
        shutil.copy(Course(ROOT).written(lesson), folder / "solutions")
    return Course(folder)


def configure(course: Course, *lines: str) -> None:
    """Add lines to a course's settings."""
    with (course.root / CONFIG).open("a", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def make_lean_course(folder: Path, *lessons: str) -> Course:
    """Make and release a course whose lessons draw no figures: each submission runs faster."""
    course = make_course(folder, *lessons)
    for lesson in lessons:
        path = course.written(lesson)
        path.write_text(without_figures(path.read_text("utf-8")), "utf-8")
    quietly(release, course, list(lessons))
    return course


def without_figures(text: str) -> str:
    """Leave out every plain code cell but the first, which imports what the exercises use."""
    found = 0

    def keep_first(match: re.Match[str]) -> str:
        nonlocal found
        found += 1
        return match.group() if found == 1 else ""

    return re.sub(r"^```python\n.*?^```\n", keep_first, text, flags=re.MULTILINE | re.DOTALL)


def quietly(function, *args):
    """Call nbgrader, whose database code warns, where warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args)


@dataclass
class Classroom:
    """The students of a course, handing in one lesson."""

    course: Course
    lesson: str
    deserved: dict[str, dict[str, float | None]] = field(default_factory=dict)
    results: dict[str, Result] = field(default_factory=dict)
    worth: dict[str, float] = field(default_factory=dict)

    @property
    def exercises(self) -> list:
        return [exercise for exercise in EXERCISES.values() if exercise.lesson == self.lesson]

    @property
    def checked(self) -> list[str]:
        """The names of the exercises that are graded by a check cell."""
        return [exercise.name for exercise in self.exercises if exercise.kind != "written"]

    @property
    def most(self) -> dict[str, float | None]:
        """What the key gets: full points, and None for what waits for a human."""
        return {e.name: None if e.kind == "written" else e.points for e in self.exercises}

    @property
    def full(self) -> float:
        """The points of the key, before a human has read what is in words."""
        return sum(filter(None, self.most.values()))

    @property
    def nothing(self) -> dict[str, float | None]:
        """What the blank release gets."""
        return {exercise.name: 0 for exercise in self.exercises}

    @cached_property
    def _source(self) -> NotebookNode:
        return nbformat.read(self.course.source(self.lesson), as_version=4)

    @cached_property
    def _released(self) -> NotebookNode:
        return nbformat.read(self.course.released(self.lesson), as_version=4)

    def blank(self) -> NotebookNode:
        """Return the notebook as it is given out."""
        return deepcopy(self._released)

    def key(self) -> NotebookNode:
        """Return the notebook with the model answers in it."""
        notebook = self.blank()
        for exercise in self.exercises:
            cell_of(notebook, exercise.name).source = cell_of(self._source, exercise.name).source
        return notebook

    def hand_in(
        self, student: str, notebook: NotebookNode | str | bytes, modules: Iterable[str] = ()
    ) -> None:
        """Put a notebook, or what stands for one, and harmful modules where nbgrader looks."""
        folder = self.course.submission(self.lesson, student)
        folder.mkdir(parents=True)
        if isinstance(notebook, NotebookNode):
            notebook = json.dumps(notebook)  # as it is, which nbformat would not allow
        content = notebook.encode() if isinstance(notebook, str) else notebook
        (folder / f"{self.lesson}.ipynb").write_bytes(content)
        for name in modules:
            (folder / f"{name}.py").write_text("raise SystemExit('this is not the real one')")

    def seat(
        self,
        student: str,
        notebook: NotebookNode | str | bytes,
        deserved: dict[str, float | None],
        modules: Iterable[str] = (),
    ) -> None:
        """Let a student hand in, and note what they deserve."""
        self.hand_in(student, notebook, modules)
        self.deserved[student] = deserved

    def grade(self) -> dict[str, Result]:
        """Grade what lies there, and return each student's result."""
        self.worth, results = quietly(grade, self.course, self.lesson)
        self.results = {result.student: result for result in results}
        return self.results

    def autograded(self, student: str) -> NotebookNode:
        return nbformat.read(self.course.autograded(self.lesson, student), as_version=4)

    def feedback(self, student: str) -> str:
        return self.course.feedback(self.lesson, student).read_text("utf-8")


def cell_of(notebook: NotebookNode, grade_id: str) -> NotebookNode:
    """Return the cell with that grade_id."""
    return next(
        cell
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade_id") == grade_id
    )
