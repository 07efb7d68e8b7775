"""Write grades or feedback for an LMS: `python -m attention_lib.grading.export grades canvas`."""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

from attention_lib.grading.classroom.course import Course, CourseError
from attention_lib.grading.collect.archives import NotCollected
from attention_lib.grading.export.feedback_archive import pack_feedback
from attention_lib.grading.export.grades import FORMATS
from attention_lib.grading.terminal import printable


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    try:
        course = Course.here()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # SQLAlchemy warns about nbgrader's queries
            if options.what == "grades":
                _write_grades(course, options.format)
            else:
                _write_feedback(course, course.require(options.lesson), options.export)
    except CourseError as problem:
        print(problem, file=sys.stderr)
        return 1
    except NotCollected as why:
        print(f"No feedback is packed for {options.export}: {why}.", file=sys.stderr)
        return 1
    return 0


def _write_grades(course: Course, format_name: str) -> None:
    """Run one of the plugins as `nbgrader export` does."""
    if format_name not in FORMATS:
        raise CourseError(
            f"Grades are written for {' or '.join(FORMATS)}, not for {format_name!r}."
        )
    target = course.returned / f"grades-{format_name}.csv"
    plugin = FORMATS[format_name](config=course.nbgrader().config, to=str(target))
    with course.gradebook() as gradebook:
        plugin.export(gradebook)


def _write_feedback(course: Course, lesson: str, export: Path) -> None:
    target = course.returned / f"feedback-{lesson}.zip"
    count, without = pack_feedback(course, lesson, export, target)
    for sentence in [*without, f"{course.shown(target)} has {count} pages."]:
        print(printable(sentence))


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="export", description=__doc__)
    commands = parser.add_subparsers(dest="what", required=True)
    grades = commands.add_parser("grades", help="a CSV file with the grades of all lessons")
    grades.add_argument("format", metavar="FORMAT", help=" or ".join(FORMATS))
    feedback = commands.add_parser("feedback", help="a zip archive with the pages of a lesson")
    feedback.add_argument("lesson", metavar="LESSON", help="such as 01_softmax")
    feedback.add_argument(
        "export", metavar="EXPORT", type=Path, help="what was collected: a zip archive or a folder"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
