"""Make the learners' notebooks: `python -m attention_lib.grading.release [LESSON ...]`."""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from sqlalchemy.engine import make_url

from attention_lib.exercises import EXERCISES
from attention_lib.grading.classroom.course import Course, CourseError
from attention_lib.grading.lesson.markdown import read_lesson


def release(
    course: Course,
    lessons: list[str],
    into_gradebook: bool = True,
    *,
    changed_points: bool = False,
    overwrite: bool = False,
) -> list[str]:
    """Write classroom/source/ and, with nbgrader's generate_assignment, notebooks/.

    What is refused is refused before anything is written.

    Parameters
    ----------
    course, lessons
        Which lessons of which course.
    into_gradebook
        If false no gradebook is read or made, for an author who has no class.
    changed_points
        Let the points of exercises change in a lesson that has been handed in. Marks stay as they
        are.
    overwrite
        Replace a notebook in classroom/source/ that was edited there.

    Returns
    -------
    A sentence for each lesson whose points have changed in this way.
    """
    sources = {lesson: read_lesson(course.written(lesson), EXERCISES) for lesson in lessons}
    notes = []
    for lesson, source in sources.items():
        if not overwrite:
            _refuse_to_lose_edits(course, lesson, source)
        if into_gradebook:
            notes += _refuse_to_upset_grades(course, lesson, source, changed_points)
    with tempfile.TemporaryDirectory() as folder:
        nbgrader = course.nbgrader()
        if not into_gradebook:  # nbgrader cannot do without one
            nbgrader.coursedir.db_url = f"sqlite+pysqlite:///{folder}/gradebook.db"
        for lesson, source in sources.items():
            _write_source(course, lesson, source)
            result = nbgrader.generate_assignment(lesson)
            if not result["success"]:
                problem = result["error"].strip().splitlines()[-1]
                raise CourseError(
                    f"nbgrader could not release {lesson}: {problem}\n{result.get('log', '')}"
                )

    return notes


def _write_source(course: Course, lesson: str, source: NotebookNode) -> None:
    path, content = course.source(lesson), _as_bytes(source)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    note = course.source_digest(lesson)
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(f"{hashlib.sha256(content).hexdigest()}\n", encoding="utf-8")


def _as_bytes(source: NotebookNode) -> bytes:
    return f"{nbformat.writes(source).rstrip()}\n".encode()


def _refuse_to_lose_edits(course: Course, lesson: str, source: NotebookNode) -> None:
    """Refuse to replace a source notebook that is not what was last written there."""
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
        f"replace the notebook with make release LESSON={lesson} OVERWRITE=1."
    )


def _has_gradebook(course: Course) -> bool:
    """Tell whether this course has a class: a gradebook, or the address of a database for one."""
    url = make_url(course.nbgrader().coursedir.db_url)
    return not url.drivername.startswith("sqlite") or Path(str(url.database)).exists()


def _refuse_to_upset_grades(
    course: Course, lesson: str, source: NotebookNode, changed_points: bool
) -> list[str]:
    """Refuse other exercises, or other points, for a lesson that has been handed in.

    With `changed_points` other points are let pass, and a sentence says what becomes of marks.
    """
    from nbgrader.api import MissingEntry

    with course.gradebook() as gradebook:
        try:
            assignment = gradebook.find_assignment(lesson)
        except MissingEntry:
            return []
        if not assignment.submissions:
            return []
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
    now = {mark.grade_id: float(mark.points) for mark in marks if mark.grade}
    changes = "; ".join(
        f"{name.removeprefix('check_')}: {_worth(before.get(name))}, now {_worth(now.get(name))}"
        for name in {**before, **now}
        if before.get(name) != now.get(name)
    )
    if not changes:
        return []
    if changed_points and before.keys() == now.keys():
        above = [
            f"{student} has {mark:g} in {name.removeprefix('check_')}"
            for name, student, mark in by_hand
            if mark > now[name] != before[name]
        ]
        more = f" Look at those above the new points: {', '.join(above)}." if above else ""
        return [
            f"The points of {lesson} have changed ({changes}). Marks given by hand are as they "
            f"were.{more} Run make grade LESSON={lesson} for all others."
        ]
    way_out = (
        f"Or keep the marks given by hand as they are: make release LESSON={lesson} "
        "CHANGED_POINTS=1, and then make grade."
        if before.keys() == now.keys()
        else ""
    )
    raise CourseError(
        f"{lesson} has been handed in by this class, and its points have changed "
        f"({changes}): the grades in classroom/ would no longer fit. "
        f"Move classroom/ aside to begin a new class, or leave the lesson as it was. {way_out}".strip()
    )


def _worth(points: float | None) -> str:
    return "not there" if points is None else f"{points:g} point{'s' * (points != 1)}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="release", description=__doc__)
    parser.add_argument("lessons", nargs="*", metavar="LESSON", help="such as 01_softmax; or all")
    parser.add_argument(
        "--changed-points", action="store_true", help="let points change in what was handed in"
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace notebooks edited in classroom/source/"
    )
    options = parser.parse_args(arguments)
    try:
        course = Course.here()
        lessons = [course.require(name) for name in options.lessons] or course.lessons
        if not lessons:
            raise CourseError("There is no lesson in solutions/.")
        notes = release(
            course,
            lessons,
            into_gradebook=_has_gradebook(course),
            changed_points=options.changed_points,
            overwrite=options.overwrite,
        )
    except CourseError as problem:
        print(problem, file=sys.stderr)
        return 1
    for lesson in lessons:
        print(course.released(lesson).relative_to(course.root))
    for note in notes:
        print(note)
    return 0


if __name__ == "__main__":
    sys.exit(main())
