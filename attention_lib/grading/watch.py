"""Grade what is handed in while it comes in: `python -m attention_lib.grading.watch LESSON`."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
import warnings
from dataclasses import replace
from typing import Any

from attention_lib.grading.batch.workers import cores
from attention_lib.grading.classroom.course import Course, CourseError
from attention_lib.grading.grade import Result, grade
from attention_lib.grading.terminal import printable, shown_name

PAUSE_SECONDS = 20.0  # between two looks
_WARNING = re.compile(r"^\[WARNING\] (.*)$", re.MULTILINE)  # in nbgrader's log


def look(course: Course, lesson: str, jobs: int, known: dict[str, Result]) -> dict[str, Result]:
    """Collect from a hub's exchange, grade what is new, and give back the feedback.

    Each student's line is printed and each page released as soon as it is written. Students who
    hand in during this time are graded in the same call.

    Returns
    -------
    Each student's result. Those that differ from `known` have been printed.
    """
    from attention_lib.grading.nbgrader_plugins.exchange import has_inbound

    nbgrader = course.nbgrader()
    has_exchange = has_inbound(nbgrader.coursedir)
    collected = time.monotonic()
    not_released: list[dict[str, Any]] = []

    def look_again() -> bool:
        nonlocal collected
        if time.monotonic() - collected < PAUSE_SECONDS:
            return False
        if has_exchange:
            nbgrader.collect(lesson)  # if it fails, the next look fails too and reports it
        collected = time.monotonic()
        return True

    def tell(result: Result) -> None:
        """Release and print a new result; if it cannot be released, it counts as new next time too."""
        why = course.not_collected(lesson).get(result.student)
        if why:
            result = replace(
                result, note=_joined_notes(result.note, f"something was not collected: {why}")
            )
        if known.get(result.student) == result:
            return
        said = []
        if has_exchange and not result.failed:
            outcome = nbgrader.release_feedback(lesson, result.student)
            if not outcome["success"]:
                not_released.append(outcome)
                return
            said = _WARNING.findall(outcome.get("log", ""))
        known[result.student] = result
        _print(course, lesson, replace(result, note=_joined_notes(result.note, *said)))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SQLAlchemy warns about nbgrader's queries
        if has_exchange:
            _require(nbgrader.collect(lesson), "collect")
        if course.submitted(lesson):
            _, results = grade(course, lesson, jobs, tell=tell, look=look_again)
            for result in results:
                tell(result)
        for student in course.not_collected(lesson):
            if student not in known:
                tell(Result(student, absent=True, failed=True))
    for outcome in not_released:
        _require(outcome, "release feedback")
    return known


def _joined_notes(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def _print(course: Course, lesson: str, result: Result) -> None:
    from attention_lib.grading.report.findings import points_of_lesson

    of = sum(points_of_lesson(course, lesson).values()) if not result.failed else 0
    points = "not graded" if result.failed else f"{result.total:g} of {of:g}"
    note = f" ({result.note})" if result.note else ""
    name = shown_name(result.student)
    print(printable(f"{time.strftime('%H:%M')} {name}: {points}{note}"), flush=True)


def _require(outcome: dict[str, Any], what: str) -> None:
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
        except Exception as error:  # it may pass, like a full disk or a locked gradebook
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
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # per worker: there is one per core
    print(f"Grading {lesson} as it is handed in. Ctrl-C stops; the same command goes on.")
    try:
        watch(course, lesson, options.jobs)
    except KeyboardInterrupt:
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
