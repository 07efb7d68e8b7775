"""Write a class's report into its folder: a page, and a CSV file with one line per answer."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

from attention_lib.grading.classroom.course import Course
from attention_lib.grading.classroom.gradebook import Standing
from attention_lib.grading.report.findings import ClassReport, Finding, read_class
from attention_lib.grading.report.page import as_page
from attention_lib.grading.report.text import as_text
from attention_lib.grading.spreadsheet import as_text_cell, csv_text

HEADER = (
    *("lesson", "student", "exercise", "points", "of", "outcome", "mistake", "sentence"),
    *("late", "name"),
)


def show_report(course: Course, lesson: str, in_full: bool = True) -> None:
    """Print who is stuck on what, if `in_full`, and write it as a page and as CSV.

    Raises
    ------
    CourseError
        If nobody has been graded for the lesson.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SQLAlchemy warns about nbgrader's queries
        report = read_class(course, lesson)
    page = write_report(course, report)
    if in_full:
        print(f"{as_text(report)}\n")
    print(f"The whole report is in {course.shown(page)}, each answer in {page.stem}.csv beside it.")


def write_report(course: Course, report: ClassReport) -> Path:
    """Write both files, and return the path of the page."""
    page = course.report(report.lesson)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(as_page(report), encoding="utf-8")
    page.with_suffix(".csv").write_text(as_csv(report), encoding="utf-8", newline="")
    return page


def as_csv(report: ClassReport) -> str:
    """Return one line for each student and exercise; points are empty until someone marks.

    A student without a grade has lines too, with the reason as the outcome.
    """
    late = set(report.late)
    rows: list[Sequence[str]] = [HEADER]
    for student in (*report.standings, *report.absent):
        standing = report.standings.get(student, Standing())
        for exercise, worth in report.worth.items():
            points = standing.points.get(exercise)
            no_finding = Finding(report.absent.get(student, ""))
            finding = report.findings.get(student, {}).get(exercise, no_finding)
            row = (
                *(report.lesson, student, exercise),
                *("" if points is None else f"{points:g}", f"{worth:g}"),
                *(finding.outcome, finding.mistake, finding.sentence),
                *("late" if student in late else "", report.names.get(student, "")),
            )
            rows.append([as_text_cell(cell) for cell in row])
    return csv_text(rows)
