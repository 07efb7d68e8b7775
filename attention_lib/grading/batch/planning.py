"""Plan a batch: who has to be graded, who only needs a feedback page, and why."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from attention_lib.grading.batch.fingerprints import digest
from attention_lib.grading.classroom.course import Course
from attention_lib.grading.classroom.gradebook import Standing
from attention_lib.grading.classroom.journal import Entry

log = logging.getLogger(__name__)


@dataclass
class Plan:
    """What is due: by student, the reason."""

    to_grade: dict[str, str] = field(default_factory=dict)
    to_show: dict[str, str] = field(default_factory=dict)  # graded, but without a current page
    refused: dict[str, str] = field(default_factory=dict)  # who cannot be graded at all

    def __len__(self) -> int:
        return len(self.to_grade) + len(self.to_show)


def make_plan(
    course: Course,
    lesson: str,
    students: Iterable[str],
    *,
    fingerprint: Callable[[str], str],
    entries: Mapping[str, Entry],
    standings: Mapping[str, Standing],
    again: bool = False,
) -> Plan:
    """Plan what is due for each student; write nothing.

    `fingerprint` returns the fingerprint of a student's submission as it is now. `entries` and
    `standings` are what the journal and the gradebook hold, by student. With `again` everyone is
    graded again.
    """
    plan = Plan()
    for student in students:
        problem = course.problem_with_name(student)
        if problem:
            plan.refused[student] = problem
            continue
        entry, standing = entries.get(student, Entry()), standings.get(student)
        notebook = course.autograded(lesson, student)
        try:
            reason = why_grade(fingerprint(student), entry, standing, notebook.is_file(), again)
            if reason or standing is None:
                plan.to_grade[student] = reason
                continue
            notes = course.collected(lesson).get(student, [])
            page = page_fingerprint(entry, standing, notes, notebook.read_bytes())
            reason = why_show(page, entry, course.feedback(lesson, student).is_file())
        except Exception as error:  # raised and reported again when this student's turn comes
            plan.to_grade[student] = f"it cannot be read ({error})"
            continue
        if reason:
            # The late penalty may depend on points that a human has given in the meantime.
            (plan.to_grade if standing.late else plan.to_show)[student] = reason
    for steps, name in ((plan.to_grade, "grade"), (plan.to_show, "page"), (plan.refused, "none")):
        for student, reason in steps.items():
            log.info("plan for %r: %s (%s)", student, name, reason)
    return plan


def why_grade(
    fingerprint: str,
    entry: Entry,
    standing: Standing | None,
    has_notebook: bool,
    again: bool = False,
) -> str:
    """Return why a submission has to be graded, or "" if its grade is current.

    A grade is current if it is in the gradebook and was made from the submission as it is now,
    whose `fingerprint` is given. `has_notebook` tells whether the autograded notebook exists.
    """
    if again:
        return "everyone is graded again"
    if not entry.work:
        return "not graded yet"
    if entry.work != fingerprint:
        return "the submission, the lesson, the settings or the library have changed"
    if standing is None:
        return "the gradebook holds no grade"
    if entry.automatic != standing.automatic:
        return "the gradebook holds another grade"
    if not has_notebook:
        return "the autograded notebook is missing"
    return ""


def why_show(page: str, entry: Entry, has_page: bool) -> str:
    """Return why a feedback page has to be written, or "" if the existing page is current.

    `page` is the fingerprint of the page as it would be written from the gradebook now.
    """
    if not has_page:
        return "there is no feedback page"
    if entry.page != page:
        return "the marks have changed"
    return ""


def page_fingerprint(entry: Entry, standing: Standing, notes: list[str], graded: bytes) -> str:
    """Return the fingerprint of what a student's feedback page is made from."""
    return digest([entry.work, standing.marks, notes, graded])
