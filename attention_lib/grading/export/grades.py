"""Write grades as CSV files that Canvas and Moodle import: plugins of `nbgrader export`.

A cell is empty if there is no grade: nothing was handed in, it is not graded yet, or an answer
has to be marked by hand. The platform's own rules say what an empty cell counts.
"""

from __future__ import annotations

import contextlib
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbgrader.api import Gradebook
from nbgrader.coursedir import CourseDirectory
from nbgrader.plugins import ExportPlugin

from attention_lib.grading.classroom.course import Course, CourseError
from attention_lib.grading.classroom.gradebook import Standing, read_standings
from attention_lib.grading.classroom.roster import Student, class_list
from attention_lib.grading.intake.submission import problem_of
from attention_lib.grading.report.findings import points_of_lesson
from attention_lib.grading.spreadsheet import as_text_cell, csv_text
from attention_lib.grading.terminal import printable, shown_name

CANVAS_COLUMNS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")


@dataclass
class Grades:
    """The grades of a class, for the lessons in which somebody was graded."""

    students: list[Student]
    most: dict[str, float]  # points by lesson
    totals: dict[str, dict[str, float | None]]  # by lesson and student; None: not yet marked
    strangers: list[str]  # graded, but not in the class
    unread: list[str] = field(default_factory=list)  # sentences on hand-ins that are not notebooks

    def cell(self, student: Student, lesson: str, excused: str = "") -> str:
        """Return the text of a student's cell for a lesson."""
        if lesson in student.excused:
            return excused
        total = self.totals[lesson].get(student.id)
        return "" if total is None else f"{total:.10g}"


def read_grades(
    course: Course, gradebook: Gradebook | None = None, lessons: Sequence[str] = ()
) -> Grades:
    """Read the grades of the given lessons, or of all, in which somebody was graded.

    Raises
    ------
    CourseError
        If nobody was graded in any, or the roster cannot be read.
    """
    opened = course.gradebook() if gradebook is None else contextlib.nullcontext(gradebook)
    with opened as gradebook:
        students = class_list(course, gradebook)
        standings = {one: read_standings(gradebook, one) for one in lessons or course.lessons}
    totals = {
        lesson: {
            name: _total_points(standing)
            for name, standing in by_student.items()
            if course.autograded(lesson, name).is_file()
        }
        for lesson, by_student in standings.items()
    }
    totals = {lesson: by_student for lesson, by_student in totals.items() if by_student}
    refused = [
        f"{shown_name(name)} has no grade for {lesson}: what was handed in was not collected, since {why}."
        for lesson, by_student in totals.items()
        for name, why in course.not_collected(lesson).items()
        if name not in by_student
    ]
    if not totals:
        raise CourseError(
            f"Nobody has been graded for any lesson yet: {course.command('grade')} does that."
        )
    known = {student.id for student in students}
    graded = {name for by_student in totals.values() for name in by_student}
    most = {lesson: sum(points_of_lesson(course, lesson).values()) for lesson in totals}
    return Grades(
        students, most, totals, sorted(graded - known), refused + unread_zeros(course, totals)
    )


def unread_zeros(course: Course, totals: dict[str, dict[str, float | None]]) -> list[str]:
    """Return a sentence on each student with 0 points for a hand-in that is no lesson notebook."""
    sentences = []
    for lesson, by_student in totals.items():
        for name in (name for name, total in by_student.items() if not total):
            path = course.autograded(lesson, name)
            try:
                problem = problem_of(nbformat.from_dict(json.loads(path.read_bytes())))
            except (ValueError, AttributeError, TypeError):  # edited by hand, for example
                again = course.command("grade", lesson, AGAIN="1")
                sentences.append(f"{course.shown(path)} cannot be read; {again} makes it anew.")
                continue
            if problem:
                why = f"since the hand-in could not be graded: {problem}"
                sentences.append(f"{shown_name(name)} has 0 for {lesson}, {why}.")
    return sentences


def _total_points(standing: Standing) -> float | None:
    """Return a student's points, or None if an answer still has to be marked by hand."""
    points = list(standing.points.values())
    if standing.in_doubt or None in points:
        return None
    return sum(one for one in points if one is not None) - standing.penalty


def as_canvas(grades: Grades) -> tuple[str, list[str]]:
    """Write Canvas's gradebook CSV; return it, and a sentence about each student left out.

    Canvas finds a student by id, or otherwise by name.
    """
    names = Counter(_canvas_name(student) for student in grades.students)
    rows = [["" for _ in CANVAS_COLUMNS] + [f"{most:g}" for most in grades.most.values()]]
    rows[0][0] = "    Points Possible"  # of each assignment
    sentences = []
    for student in grades.students:
        name = _canvas_name(student)
        if len(student.lms_user_ids) > 1 or not (student.lms_user_ids or names[name] == 1):
            sentences.append(
                f"{student.id} is left out: Canvas needs the student's one id, as lms_user_id, "
                f"to tell {name!r} from others."
            )
            continue
        identity = [*map(as_text_cell, (name, *(student.lms_user_ids or ("",)))), "", "", ""]
        rows.append(identity + [grades.cell(student, one, "EX") for one in grades.most])
    return csv_text([[*CANVAS_COLUMNS, *grades.most], *rows]), sentences


def _canvas_name(student: Student) -> str:
    named = [part for part in (student.last_name, student.first_name) if part]
    return ", ".join(named) or student.id


def as_moodle(grades: Grades) -> tuple[str, list[str]]:
    """Write a CSV file for Moodle's grade import; return it, and a sentence about each student left out.

    Moodle finds a student by email address, and a row without one stops its import.
    """
    rows, sentences = [], []
    for student in grades.students:
        if not student.email:
            sentences.append(
                f"{student.id} is left out: Moodle needs the student's e-mail address."
            )
            continue
        identity = [student.id, student.first_name, student.last_name, student.email]
        rows.append(
            [*map(as_text_cell, identity), *(grades.cell(student, one) for one in grades.most)]
        )
    header = ["ID", "First name", "Last name", "Email address", *grades.most]
    return csv_text([header, *rows]), sentences


class LmsExportPlugin(ExportPlugin):
    """Write a CSV file for an LMS, and print a sentence about each grade that is not in it."""

    as_csv: Callable[[Grades], tuple[str, list[str]]]  # the text, and who is left out of it

    def export(self, gradebook: Gradebook) -> None:
        """Write the file that `to` names, for the requested students and lessons.

        A CourseError, which nbgrader would show as a traceback, ends the command with its sentence.
        """
        course = Course(Path(CourseDirectory(config=self.config).root))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # SQLAlchemy warns about nbgrader's queries
                sentences = self._write(course, gradebook)
        except CourseError as problem:
            sys.exit(printable(str(problem)))
        for sentence in sentences:
            print(printable(sentence))

    def _write(self, course: Course, gradebook: Gradebook) -> list[str]:
        lessons = [course.require(str(name)) for name in self.assignment]
        grades = read_grades(course, gradebook, lessons)
        wanted = set(map(str, self.student))
        if wanted:
            grades.students = [one for one in grades.students if one.id in wanted]
        if unknown := wanted - {student.id for student in grades.students}:
            raise CourseError(f"The class has no student {', '.join(sorted(unknown))}.")
        text, left_out = self.as_csv(grades)
        target = Path(self.to or "grades.csv")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="")
        has = f"{course.shown(target)} has {', '.join(grades.most)}."
        return [*left_out, *_without_grade(course, grades), has]


def _without_grade(course: Course, grades: Grades) -> list[str]:
    """Return a sentence about each grade that is not there, or is nobody's in the class."""
    strangers = [
        f"{shown_name(name)} is left out: not in {course.shown(course.roster)}."
        for name in grades.strangers
    ]
    waiting = [
        f"{lesson}: open for {', '.join(map(shown_name, names))}, until every answer is marked by hand."
        for lesson, totals in grades.totals.items()
        if (names := [name for name, total in totals.items() if total is None])
    ]
    return [*strangers, *waiting, *grades.unread]


class CanvasExportPlugin(LmsExportPlugin):
    """Write a CSV file that Canvas imports into its gradebook."""

    as_csv = staticmethod(as_canvas)


class MoodleExportPlugin(LmsExportPlugin):
    """Write a CSV file that Moodle imports as grades."""

    as_csv = staticmethod(as_moodle)


FORMATS: dict[str, type[LmsExportPlugin]] = {
    "canvas": CanvasExportPlugin,
    "moodle": MoodleExportPlugin,
}
