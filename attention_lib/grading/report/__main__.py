"""Say who is stuck on what in a lesson: `python -m attention_lib.grading.report LESSON`."""

from __future__ import annotations

import argparse
import sys
import warnings

from attention_lib.grading.classroom.course import Course, CourseError
from attention_lib.grading.report.findings import read_class
from attention_lib.grading.report.text import as_text
from attention_lib.grading.report.writing import write_report


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="report", description=__doc__)
    parser.add_argument("lesson", metavar="LESSON", help="such as 01_softmax")
    name = parser.parse_args(arguments).lesson
    try:
        course = Course.here()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # nbgrader's way with its database, of no use here
            report = read_class(course, course.require(name))
    except CourseError as problem:
        print(problem, file=sys.stderr)
        return 1
    page = write_report(course, report)
    print(as_text(report))
    print(
        f"\nThe whole report is in {course.shown(page)}, each answer in {page.stem}.csv beside it."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
