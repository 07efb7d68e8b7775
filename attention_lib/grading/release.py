"""Make the learners' notebooks: `python -m attention_lib.grading.release [LESSON ...]`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from sqlalchemy.engine import make_url

from attention_lib.exercises import EXERCISES
from attention_lib.grading.classroom.course import Course, CourseError
from attention_lib.grading.lesson.markdown import read_lesson


def release(course: Course, lessons: list[str], into_gradebook: bool = True) -> None:
    """Write classroom/source/ and, with nbgrader's generate_assignment, notebooks/.

    Grades that exist are left alone; a change that they would not survive is refused before
    anything is written. With `into_gradebook` false no gradebook is read or made, for an author
    who has no class.
    """
    sources = {lesson: read_lesson(course.written(lesson), EXERCISES) for lesson in lessons}
    if into_gradebook:
        for lesson, source in sources.items():
            _refuse_to_upset_grades(course, lesson, source)
    with tempfile.TemporaryDirectory() as folder:
        nbgrader = course.nbgrader()
        if not into_gradebook:  # nbgrader cannot do without one
            nbgrader.coursedir.db_url = f"sqlite+pysqlite:///{folder}/gradebook.db"
        for lesson, source in sources.items():
            _write_source(course.source(lesson), source)
            result = nbgrader.generate_assignment(lesson)
            if not result["success"]:
                problem = result["error"].strip().splitlines()[-1]
                raise CourseError(
                    f"nbgrader could not release {lesson}: {problem}\n{result.get('log', '')}"
                )


def _write_source(path: Path, source: NotebookNode) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write(nbformat.writes(source).rstrip("\n") + "\n")


def _has_gradebook(course: Course) -> bool:
    """Tell whether this course has a class: a gradebook, or the address of a database for one."""
    url = make_url(course.nbgrader().coursedir.db_url)
    return not url.drivername.startswith("sqlite") or Path(str(url.database)).exists()


def _refuse_to_upset_grades(course: Course, lesson: str, source: NotebookNode) -> None:
    """Refuse other exercises, or other points, for a lesson that has been handed in."""
    from nbgrader.api import MissingEntry

    with course.gradebook() as gradebook:
        try:
            assignment = gradebook.find_assignment(lesson)
        except MissingEntry:
            return
        if not assignment.submissions:
            return
        before = {
            cell.name: cell.max_score for book in assignment.notebooks for cell in book.grade_cells
        }
    marks = [cell.metadata.nbgrader for cell in source.cells if "nbgrader" in cell.metadata]
    now = {mark.grade_id: float(mark.points) for mark in marks if mark.grade}
    changes = [
        f"{name.removeprefix('check_')}: {_worth(before.get(name))}, now {_worth(now.get(name))}"
        for name in {**before, **now}
        if before.get(name) != now.get(name)
    ]
    if changes:
        raise CourseError(
            f"{lesson} has been handed in by this class, and its points have changed "
            f"({'; '.join(changes)}): the grades in classroom/ would no longer fit. "
            "Move classroom/ aside to begin a new class, or leave the lesson as it was."
        )


def _worth(points: float | None) -> str:
    return "not there" if points is None else f"{points:g} point{'s' * (points != 1)}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="release", description=__doc__)
    parser.add_argument("lessons", nargs="*", metavar="LESSON", help="such as 01_softmax; or all")
    names = parser.parse_args(arguments).lessons
    try:
        course = Course.here()
        lessons = [course.require(name) for name in names] or course.lessons
        if not lessons:
            raise CourseError("There is no lesson in solutions/.")
        release(course, lessons, into_gradebook=_has_gradebook(course))
    except CourseError as problem:
        print(problem, file=sys.stderr)
        return 1
    for lesson in lessons:
        print(course.released(lesson).relative_to(course.root))
    return 0


if __name__ == "__main__":
    sys.exit(main())
