"""Say who is stuck on what in a lesson: `python -m attention_lib.grading.report LESSON`."""

from __future__ import annotations

import argparse
import sys

from attention_lib.grading.classroom.course import Course, CourseError
from attention_lib.grading.report.writing import show_report


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="report", description=__doc__)
    parser.add_argument("lesson", metavar="LESSON", help="such as 01_softmax")
    name = parser.parse_args(arguments).lesson
    try:
        course = Course.here()
        show_report(course, course.require(name))
    except CourseError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
