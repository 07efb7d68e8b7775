"""Collect what was downloaded for a lesson: `python -m attention_lib.grading.collect LESSON`."""

from __future__ import annotations

import argparse
import sys

from attention_lib.grading.classroom.course import Course, CourseError
from attention_lib.grading.collect.archives import NotCollected
from attention_lib.grading.collect.collecting import collect
from attention_lib.grading.intake.folder import NotTaken
from attention_lib.grading.terminal import printable


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="collect", description=__doc__)
    parser.add_argument("lesson", metavar="LESSON", help="such as 01_softmax")
    options = parser.parse_args(arguments)
    try:
        course = Course.here()
        lesson = course.require(options.lesson)
        result = collect(course, lesson)
    except NotTaken as reason:
        folder = course.shown(course.downloaded(lesson))
        print(f"Nothing is collected: {folder} is {reason}.", file=sys.stderr)
        return 1
    except (CourseError, NotCollected) as problem:
        print(problem, file=sys.stderr)
        return 1
    for sentence in [*result.collected, *result.refused]:
        print(printable(sentence))
    return 1 if result.refused else 0


if __name__ == "__main__":
    sys.exit(main())
