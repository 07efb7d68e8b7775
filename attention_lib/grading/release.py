"""Make the learners' notebooks: `python -m attention_lib.grading.release [LESSON ...]`."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from sqlalchemy.engine import make_url

from attention_lib.exercises import EXERCISES
from attention_lib.grading.classroom.changed_cells import change_cells
from attention_lib.grading.classroom.course import Course, CourseError, class_folder
from attention_lib.grading.classroom.gradebook import prepare_to_write
from attention_lib.grading.lesson.markdown import read_lesson
from attention_lib.grading.terminal import shown_name


def release(
    course: Course,
    lessons: list[str],
    into_gradebook: bool = True,
    *,
    changed_points: bool = False,
    changed_exercises: bool = False,
    overwrite: bool = False,
) -> list[str]:
    """Write classroom/source/ and, with nbgrader's generate_assignment, notebooks/.

    All refusals come before anything is written. Without `into_gradebook` no gradebook is read or
    made, for an author who has no class. `overwrite` replaces a notebook in classroom/source/ that
    was edited there.

    In a lesson that has been handed in, `changed_points` lets the points of exercises change; marks
    stay as they are. `changed_exercises` also lets exercises be added and removed. Marks of the
    other exercises stay as they are, and a backup of the gradebook has those of the removed ones.

    Return a sentence or two for each lesson that has changed in this way.
    """
    sources = {lesson: read_lesson(course.written(lesson), EXERCISES) for lesson in lessons}
    changes: dict[str, Changes] = {}
    for lesson, source in sources.items():
        if not overwrite:
            _refuse_to_lose_edits(course, lesson, source)
        found = find_changes(course, lesson, source) if into_gradebook else None
        if found:
            _refuse_to_upset_grades(course, found, changed_points, changed_exercises)
            changes[lesson] = found
    with tempfile.TemporaryDirectory() as folder:
        nbgrader = course.nbgrader()
        if not into_gradebook:  # nbgrader needs one
            nbgrader.coursedir.db_url = f"sqlite+pysqlite:///{folder}/gradebook.db"
        for lesson, source in sources.items():
            if lesson in changes and changes[lesson].of_exercises:
                prepare_to_write(nbgrader.coursedir.db_url, course.backups)
                with course.gradebook() as gradebook:
                    change_cells(gradebook, lesson, source)
            _write_source(course, lesson, source)
            with _other_files_kept(course.released(lesson).parent):
                result = nbgrader.generate_assignment(lesson)
            if not result["success"]:
                problem = result["error"].strip().splitlines()[-1]
                raise CourseError(
                    f"nbgrader could not release {lesson}: {problem}\n{result.get('log', '')}"
                )
    return [_note_on_marks(course, found) for found in changes.values()]


def release_once(course: Course, lesson: str) -> None:
    """Release a lesson that has no notebooks or is not in the gradebook yet."""
    if not _is_released(course, lesson):
        release(course, [course.require(lesson)])


def _is_released(course: Course, lesson: str) -> bool:
    from nbgrader.api import MissingEntry

    if not (course.source(lesson).is_file() and course.released(lesson).is_file()):
        return False
    with course.gradebook() as gradebook:
        try:
            gradebook.find_notebook(lesson, lesson)
        except MissingEntry:
            return False
    return True


@contextlib.contextmanager
def _other_files_kept(folder: Path) -> Iterator[None]:
    """Let nbgrader replace a folder, which it deletes first, and put back all files it does not write."""
    if not folder.is_dir():
        yield
        return
    before = Path(tempfile.mkdtemp(prefix=".before-release-", dir=folder.parent)) / folder.name
    folder.rename(before)
    try:
        yield
    finally:
        _put_back(before, folder)
        shutil.rmtree(before.parent)  # not reached if a file could not be put back


def _put_back(before: Path, folder: Path) -> None:
    """Move the files of the old folder into the new one, or raise CourseError."""
    problems = []
    for path in sorted(before.rglob("*")):
        place = folder / path.relative_to(before)
        if (path.is_symlink() or path.is_file()) and not os.path.lexists(place):
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                path.rename(place)
            except OSError as problem:
                problems.append(f"{path} ({problem.strerror})")
    if problems:
        raise CourseError(
            f"Not all files that were in {folder} could be put back there: move {', '.join(problems)}."
        )


def _write_source(course: Course, lesson: str, source: NotebookNode) -> None:
    """Write the source notebook, and its digest, by which the next release detects edits."""
    path, digest_file = course.source(lesson), course.source_digest(lesson)
    content = _as_bytes(source)
    for file in (path, digest_file):
        file.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    digest_file.write_text(f"{hashlib.sha256(content).hexdigest()}\n", encoding="utf-8")


def _as_bytes(source: NotebookNode) -> bytes:
    return f"{nbformat.writes(source).rstrip()}\n".encode()


def _refuse_to_lose_edits(course: Course, lesson: str, source: NotebookNode) -> None:
    """Refuse to replace a source notebook that was edited after it was written."""
    path, note = course.source(lesson), course.source_digest(lesson)
    if not path.is_file():
        return
    content = path.read_bytes()
    written = note.read_text(encoding="utf-8").strip() if note.is_file() else ""
    if content == _as_bytes(source) or hashlib.sha256(content).hexdigest() == written:
        return
    why = (
        "was edited after make release had written it"
        if written
        else "differs from the lesson, and nothing says that make release has written it"
    )
    raise CourseError(
        f"{course.shown(path)} {why}. Make the change in {course.shown(course.written(lesson))}, or "
        f"replace the notebook with {course.command('release', lesson, OVERWRITE='1')}."
    )


def _has_gradebook(course: Course) -> bool:
    """Tell whether this course has a class: a gradebook, or the address of a database for one."""
    url = make_url(course.nbgrader().coursedir.db_url)
    return not url.drivername.startswith("sqlite") or Path(str(url.database)).exists()


@dataclass
class Changes:
    """The points of a handed-in lesson's exercises, before and after the release."""

    lesson: str
    before: dict[str, float]  # points by the name of the graded cell
    after: dict[str, float]
    by_hand: list[tuple[str, str, float]] = field(default_factory=list)  # cell, student, mark

    @property
    def of_exercises(self) -> bool:
        """Whether exercises have been added or removed."""
        return self.before.keys() != self.after.keys()

    @property
    def above(self) -> list[str]:
        """Descriptions of the marks given by hand that are above the new points."""
        return [
            f"{shown_name(student)} has {mark:g} in {name.removeprefix('check_')}"
            for name, student, mark in self.by_hand
            if name in self.after and mark > self.after[name] != self.before.get(name)
        ]

    @property
    def lost(self) -> list[str]:
        """Descriptions of the marks given by hand for removed exercises."""
        return [
            f"{shown_name(student)}'s {mark:g} in {name.removeprefix('check_')}"
            for name, student, mark in self.by_hand
            if name not in self.after
        ]

    def __str__(self) -> str:
        return "; ".join(
            f"{name.removeprefix('check_')}: {_points_text(self.before.get(name))}, "
            f"now {_points_text(self.after.get(name))}"
            for name in {**self.before, **self.after}
            if self.before.get(name) != self.after.get(name)
        )


def find_changes(course: Course, lesson: str, source: NotebookNode) -> Changes | None:
    """Compare a lesson with the version that was handed in; return None if nothing differs."""
    from nbgrader.api import MissingEntry

    with course.gradebook() as gradebook:
        try:
            assignment = gradebook.find_assignment(lesson)
        except MissingEntry:
            return None
        if not assignment.submissions:
            return None
        before = {
            cell.name: cell.max_score for book in assignment.notebooks for cell in book.grade_cells
        }
        by_hand = [
            (grade.name, work.student_id, grade.manual_score)
            for work in assignment.submissions
            for book in work.notebooks
            for grade in book.grades
            if grade.manual_score is not None
        ]
    marks = [cell.metadata.nbgrader for cell in source.cells if "nbgrader" in cell.metadata]
    after = {mark.grade_id: float(mark.points) for mark in marks if mark.grade}
    return None if before == after else Changes(lesson, before, after, by_hand)


def _refuse_to_upset_grades(
    course: Course, changes: Changes, changed_points: bool, changed_exercises: bool
) -> None:
    """Refuse changed exercises or points unless an option allows them."""
    if changed_exercises or (changed_points and not changes.of_exercises):
        return
    option = "CHANGED_EXERCISES" if changes.of_exercises else "CHANGED_POINTS"
    command = course.command("release", changes.lesson, **{option: "1"})
    what = "exercises" if changes.of_exercises else "points"
    raise CourseError(
        f"{changes.lesson} has been handed in by this class, and its {what} have changed ({changes}): "
        "the grades would no longer fit. Leave the lesson as it was, begin a new class with "
        f"make release CLASS=NAME, or change it for this class: {command}, and then make grade. "
        "Marks given by hand stay as they are."
    )


def _note_on_marks(course: Course, changes: Changes) -> str:
    """Return sentences on what happens to marks."""
    what = "exercises" if changes.of_exercises else "points"
    sentences = [
        f"The {what} of {changes.lesson} have changed ({changes}).",
        "Marks given by hand are as they were.",
    ]
    if changes.above:
        sentences.append(f"Look at those above the new points: {', '.join(changes.above)}.")
    if changes.lost:
        copies = course.shown(course.backups)
        sentences.append(
            f"Those of removed exercises are now in the newest copy in {copies} alone: "
            f"{', '.join(changes.lost)}."
        )
    sentences.append(f"Run {course.command('grade', changes.lesson)} for all others.")
    return " ".join(sentences)


def _points_text(points: float | None) -> str:
    return "not there" if points is None else f"{points:g} point{'s' * (points != 1)}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="release", description=__doc__)
    parser.add_argument("lessons", nargs="*", metavar="LESSON", help="such as 01_softmax; or all")
    parser.add_argument(
        "--changed-points", action="store_true", help="let points change in what was handed in"
    )
    parser.add_argument(
        "--changed-exercises", action="store_true", help="let exercises come and go in it as well"
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace notebooks edited in classroom/source/"
    )
    options = parser.parse_args(arguments)
    try:
        course = Course.here(begin=True)
        lessons = [course.require(name) for name in options.lessons] or course.lessons
        if not lessons:
            raise CourseError("There is no lesson in solutions/.")
        notes = release(
            course,
            lessons,
            into_gradebook=_has_gradebook(course),
            changed_points=options.changed_points,
            changed_exercises=options.changed_exercises,
            overwrite=options.overwrite,
        )
    except CourseError as problem:
        print(problem, file=sys.stderr)
        with contextlib.suppress(OSError, CourseError):  # it holds files, or its name is refused
            class_folder(Path.cwd()).rmdir()
        return 1
    for lesson in lessons:
        print(course.released(lesson).relative_to(course.root))
    for note in notes:
        print(note)
    return 0


if __name__ == "__main__":
    sys.exit(main())
