"""Grade what was handed in for a lesson: `python -m attention_lib.grading.grade LESSON`."""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat

from attention_lib.grading.course import Course, CourseError
from attention_lib.grading.execution import STOPPED
from attention_lib.grading.intake import problem_of
from attention_lib.grading.release import release

if TYPE_CHECKING:
    from nbgrader.apps.api import NbGraderAPI


@dataclass
class Result:
    """What a student has for a lesson."""

    student: str
    points: dict[str, float | None] = field(default_factory=dict)  # None waits for a human
    note: str = ""
    failed: bool = False

    @property
    def total(self) -> float:
        return sum(points or 0 for points in self.points.values())


def grade(course: Course, lesson: str) -> tuple[dict[str, float], list[Result]]:
    """Autograde all that was handed in for a lesson and write the feedback.

    Returns
    -------
    most, results
        The points that each exercise is worth, and each student's.

    Raises
    ------
    CourseError
        If nothing was handed in.
    """
    students = course.submitted(lesson)
    if not students:
        raise CourseError(
            f"Nothing has been handed in for {lesson}: "
            f"there is no classroom/submitted/STUDENT/{lesson}/{lesson}.ipynb."
        )
    if not _is_released(course, lesson):
        release(course, [lesson])
    nbgrader = course.nbgrader()
    log = _log_path(course, lesson)
    log.write_text("", encoding="utf-8")
    results = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nbgrader's way with its database, of no use here
        for student in students:
            _show_progress(len(results), len(students))
            results.append(_grade_one(nbgrader, course, lesson, student, log))
    _show_progress(len(results), len(students))
    return _points_of_lesson(course, lesson), results


def _show_progress(done: int, total: int) -> None:
    """Keep whoever sits at a terminal informed."""
    if sys.stderr.isatty():
        end = "\n\n" if done == total else ""
        print(f"\r{done} of {total} graded", end=end, file=sys.stderr, flush=True)


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


def _grade_one(
    nbgrader: NbGraderAPI, course: Course, lesson: str, student: str, log: Path
) -> Result:
    result = Result(student)
    for step in (nbgrader.autograde, nbgrader.generate_feedback):
        outcome = step(lesson, student)
        with log.open("a", encoding="utf-8") as file:
            file.write(f"== {student}\n{outcome.get('log', '')}{outcome.get('error', '')}\n")
        if "KeyboardInterrupt" in outcome.get("error", ""):
            raise KeyboardInterrupt  # which nbgrader takes for one more failure
        if not outcome["success"]:
            result.failed = True
            result.note = _why(course, lesson, student, log)
            return result
    _read_points(course, lesson, result)
    _read_note(course, lesson, result)
    return result


def _why(course: Course, lesson: str, student: str, log: Path) -> str:
    folder = course.root / "classroom" / "submitted" / student / lesson
    if not (folder / f"{lesson}.ipynb").is_file():
        return f"there is no {lesson}.ipynb in the folder"
    return f"could not be graded; {log.relative_to(course.root)} says why"


def _read_points(course: Course, lesson: str, result: Result) -> None:
    with course.gradebook() as gradebook:
        notebook = gradebook.find_submission_notebook(lesson, lesson, result.student)
        for grade in notebook.grades:
            waits = grade.auto_score is None and grade.manual_score is None
            name = grade.cell.name.removeprefix("check_")
            result.points[name] = None if waits else grade.score


def _read_note(course: Course, lesson: str, result: Result) -> None:
    notebook = nbformat.read(course.autograded(lesson, result.student), as_version=4)
    notes = []
    problem = problem_of(notebook)
    if problem:
        notes.append(f"nothing to grade: {problem}")
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error" and output.ename == STOPPED:
                notes.append(output.evalue)
    waiting = [name for name, points in result.points.items() if points is None]
    if waiting:
        notes.append(f"{', '.join(waiting)} waits for a human")
    result.note = "; ".join(notes)


def _points_of_lesson(course: Course, lesson: str) -> dict[str, float]:
    """Return what each exercise is worth, in the order of the lesson."""
    notebook = nbformat.read(course.released(lesson), as_version=4)
    marks = [cell.metadata.nbgrader for cell in notebook.cells if "nbgrader" in cell.metadata]
    return {mark.grade_id.removeprefix("check_"): mark.points for mark in marks if mark.grade}


def table(most: dict[str, float], results: list[Result]) -> str:
    """Write the results as a table, one line a student."""
    rows = [["student", *most, "total", "note"], ["", *(f"of {p:g}" for p in most.values())]]
    rows[1] += [f"of {sum(most.values()):g}", ""]
    for result in results:
        points = ["-" if result.failed else _number(result.points.get(name)) for name in most]
        total = "-" if result.failed else f"{result.total:g}"
        rows.append([result.student, *points, total, result.note])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            text.ljust(width) if column in (0, len(widths) - 1) else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _number(points: float | None) -> str:
    return "?" if points is None else f"{points:g}"


def _log_path(course: Course, lesson: str) -> Path:
    return course.root / "classroom" / f"{lesson}.log"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="grade", description=__doc__)
    parser.add_argument("lesson", metavar="LESSON", help="such as 01_softmax")
    name = parser.parse_args(arguments).lesson
    try:
        course = Course.here()
        lesson = course.require(name)
        most, results = grade(course, lesson)
    except CourseError as problem:
        print(problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped. What was graded so far is in the gradebook.", file=sys.stderr)
        return 130
    print(table(most, results))
    print(
        "\nFeedback is in classroom/feedback, the log in "
        f"{_log_path(course, lesson).relative_to(course.root)}. "
        "Grade by hand in JupyterLab: Nbgrader > Formgrader."
    )
    return 1 if any(result.failed for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
