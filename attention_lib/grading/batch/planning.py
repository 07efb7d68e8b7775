"""Plan a batch: who has to be graded, and who only needs a feedback page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from attention_lib.grading.batch.fingerprints import digest
from attention_lib.grading.classroom.course import Course
from attention_lib.grading.classroom.gradebook import Standing
from attention_lib.grading.classroom.journal import Entry


@dataclass
class Plan:
    """The students for whom something is due."""

    to_grade: list[str] = field(default_factory=list)
    to_show: list[str] = field(default_factory=list)  # graded, but without a current page
    refused: dict[str, str] = field(default_factory=dict)  # who cannot be graded at all, and why

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

    A grade is current if it is in the gradebook and was made from the submission as it is now.
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
            if (
                again
                or standing is None
                or entry.work != fingerprint(student)
                or entry.automatic != standing.automatic
            ):
                plan.to_grade.append(student)
                continue
            notes = course.collected(lesson).get(student, [])
            page = page_fingerprint(entry, standing, notes, notebook.read_bytes())
            is_shown = entry.page == page and course.feedback(lesson, student).is_file()
        except Exception:  # the notebook is missing, or this student's turn will report the error
            plan.to_grade.append(student)
            continue
        if not is_shown:
            # The late penalty may depend on points that a human has given in the meantime.
            (plan.to_grade if standing.late else plan.to_show).append(student)
    return plan


def page_fingerprint(entry: Entry, standing: Standing, notes: list[str], graded: bytes) -> str:
    """Return the fingerprint of what a student's feedback page is made from."""
    return digest([entry.work, standing.marks, notes, graded])
