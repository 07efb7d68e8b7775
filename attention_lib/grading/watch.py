"""Grade what is handed in while it comes in: `python -m attention_lib.grading.watch LESSON`."""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings

from attention_lib.grading.batch.workers import cores
from attention_lib.grading.classroom.course import Course, CourseError
from attention_lib.grading.grade import Result, grade
from attention_lib.grading.terminal import printable, shown_name

PAUSE_SECONDS = 20.0  # between two looks


def look(course: Course, lesson: str, jobs: int, known: dict[str, Result]) -> dict[str, Result]:
    """Collect from a hub's exchange, grade what is new, and give back the feedback.

    Returns
    -------
    Each student's result, of which those that are not among the known ones have been printed.
    """
    from attention_lib.grading.nbgrader_plugins.exchange import has_inbound

    nbgrader = course.nbgrader()
    has_exchange = has_inbound(nbgrader.coursedir)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SQLAlchemy's, of nbgrader's queries
        if has_exchange:
            _require(nbgrader.collect(lesson), "collect")
        if not course.submitted(lesson):
            return known
        most, results = grade(course, lesson, jobs)
        new = [result for result in results if known.get(result.student) != result]
        if has_exchange and new:
            _require(nbgrader.release_feedback(lesson), "release feedback")
    for result in new:
        points = "not graded" if result.failed else f"{result.total:g} of {sum(most.values()):g}"
        note = f" ({result.note})" if result.note else ""
        name = shown_name(result.student)
        print(printable(f"{time.strftime('%H:%M')} {name}: {points}{note}"), flush=True)
    return {result.student: result for result in results}


def _require(outcome: dict[str, object], what: str) -> None:
    if not outcome["success"]:
        said = str(outcome.get("error") or outcome.get("log")).strip().splitlines()
        raise CourseError(f"nbgrader could not {what}: {said[-1] if said else 'it says no more'}")


def watch(course: Course, lesson: str, jobs: int) -> None:
    """Look again and again, until Ctrl-C."""
    known: dict[str, Result] = {}
    problem = ""
    while True:
        try:
            known = look(course, lesson, jobs, known)
            problem = ""
        except Exception as error:  # which may pass, as a full disk or a locked gradebook does
            if str(error) != problem:
                problem = str(error)
                print(problem, file=sys.stderr, flush=True)
        time.sleep(PAUSE_SECONDS)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="watch", description=__doc__)
    parser.add_argument("lesson", metavar="LESSON", help="such as 01_softmax")
    parser.add_argument("--jobs", type=int, default=cores(), metavar="N", help="processes")
    options = parser.parse_args(arguments)
    try:
        course = Course.here()
        lesson = course.require(options.lesson)
    except CourseError as problem:
        print(problem, file=sys.stderr)
        return 1
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # of each worker: there is one a core
    print(f"Grading {lesson} as it is handed in. Ctrl-C stops; the same command goes on.")
    try:
        watch(course, lesson, options.jobs)
    except KeyboardInterrupt:
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
