"""Make a students' edition: `python -m attention_lib.edition 03_scaling --over 01_softmax,02_stability`."""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Sequence
from pathlib import Path

from attention_lib.edition.making import EditionError, make_edition
from attention_lib.grading.classroom.course import Course, CourseError
from attention_lib.lessons import LESSONS


def graded_lessons(last: str, over: str, today: datetime.date) -> dict[str, str]:
    """Return the lessons up to `last` that are not over, with the day from which on they are.

    `over` lists lessons, each that is over by itself, and each with a date (NAME:2026-12-01) that
    is over from that day on.

    Raises
    ------
    EditionError
        If a name is none of a lesson up to `last`, or a date is none.
    """
    given = LESSONS[: LESSONS.index(last) + 1]
    graded = dict.fromkeys(given, "")
    for entry in filter(None, (part.strip() for part in over.split(","))):
        lesson, _, day = entry.partition(":")
        if lesson not in graded:
            raise EditionError(f"{lesson} in OVER is none of the lessons {', '.join(given)}.")
        try:
            is_over = not day or datetime.date.fromisoformat(day) <= today
        except ValueError:
            raise EditionError(f"{day} in OVER is no date such as 2026-12-01.") from None
        if is_over:
            del graded[lesson]
        else:
            graded[lesson] = day
    return graded


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="edition", description=__doc__)
    parser.add_argument("lesson", help="the last lesson that the class has, such as 03_scaling")
    parser.add_argument(
        "--over", default="", help="lessons whose answers may be seen: 01_softmax,..."
    )
    parser.add_argument(
        "--from", dest="first", default=LESSONS[0], help="the first lesson whose notebook is in it"
    )
    parser.add_argument("--target", type=Path, help="the folder; build/edition/LESSON if not said")
    options = parser.parse_args(arguments)
    try:
        course = Course.here()
        last, first = course.require(options.lesson), course.require(options.first)
        if LESSONS.index(first) > LESSONS.index(last):
            raise EditionError(f"FROM must not come after {last}; it is {first}.")
        graded = graded_lessons(last, options.over, datetime.date.today())
        target = options.target or course.root / "build" / "edition" / last
        make_edition(course, last, graded, target, print, first)
    except (CourseError, EditionError) as problem:
        print(problem, file=sys.stderr)
        return 1
    withheld = f"withholds the answers to {', '.join(graded)}" if graded else "withholds nothing"
    lessons = f"the lessons {first} to {last}" if first != last else f"lesson {last}"
    print(f"{target} has {lessons}, and {withheld}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
