"""Collect what was downloaded for a lesson: `python -m attention_lib.grading.collect LESSON`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from attention_lib.grading.classroom.course import Course, CourseError
from attention_lib.grading.collect.archives import NotCollected
from attention_lib.grading.collect.collecting import collect, collect_export
from attention_lib.grading.intake.folder import NotTaken
from attention_lib.grading.intake.timestamps import parse_time, time_problem
from attention_lib.grading.terminal import printable


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="collect", description=__doc__)
    parser.add_argument("lesson", metavar="LESSON", help="such as 01_softmax")
    parser.add_argument(
        "--from",
        dest="export",
        type=Path,
        metavar="EXPORT",
        help="the submissions of a class as Moodle or Canvas exports them: a zip archive or a folder",
    )
    parser.add_argument(
        "--again", action="store_true", help="set aside another notebook that was collected before"
    )
    parser.add_argument(
        "--late", metavar="TIME", help="when late hand-ins came, such as 2026-12-01 17:30 UTC"
    )
    options = parser.parse_args(arguments)
    try:
        course = Course.here()
        lesson = course.require(options.lesson)
        why = time_problem(parse_time(options.late)) if options.late else None
        if why:
            raise CourseError(f"LATE={options.late!r} {why}: write it as 2026-12-01 17:30 UTC.")
    except CourseError as problem:
        print(problem, file=sys.stderr)
        return 1
    place = options.export or course.downloaded(lesson)
    try:
        if options.export:
            result = collect_export(course, lesson, options.export, options.again, options.late)
        else:
            result = collect(course, lesson, again=options.again)
    except NotTaken as reason:
        print(f"Nothing is collected: {course.shown(place)} is {reason}.", file=sys.stderr)
        return 1
    except NotCollected as reason:
        print(f"Nothing is collected from {course.shown(place)}: {reason}.", file=sys.stderr)
        return 1
    except CourseError as problem:
        print(problem, file=sys.stderr)
        return 1
    for sentence in [*result.collected, *result.refused, *result.missing]:
        print(printable(sentence))
    print(f"{len(result.collected)} collected, {len(result.refused)} not.")
    return 0 if result.collected or not result.refused else 1


if __name__ == "__main__":
    sys.exit(main())
