"""Read each student's results in a lesson: marks from the gradebook, findings from graded notebooks."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

import nbformat

from attention_lib.exercises.ids import current_id
from attention_lib.grading.classroom.course import LATE_MARK, Course, CourseError
from attention_lib.grading.classroom.gradebook import Standing, read_standings
from attention_lib.grading.classroom.roster import class_list
from attention_lib.grading.judge.checking import NOT_CHECKED as NO_VERDICT
from attention_lib.grading.judge.checking import verdict_of
from attention_lib.grading.lesson.markdown import title_of
from attention_lib.grading.terminal import printable

NOT_CHECKED = "not checked"  # an outcome in addition to a verdict's: the check gave no verdict


@dataclass(frozen=True)
class Finding:
    """What a check found in one student's answer."""

    outcome: str  # of a verdict, or NOT_CHECKED
    mistake: str = ""  # the id of a known mistake
    sentence: str = ""
    kind: str = ""  # what is wrong, as a key to compare findings
    awaits: str = ""  # the function that an answer calls, and that is not written yet

    @property
    def group(self) -> str:
        """The key of findings of one kind: the mistake's id, or what the check says."""
        return self.mistake or self.kind or self.awaits or self.sentence


def _rank(finding: Finding) -> int:
    return 0 if finding.mistake else 2 if finding.outcome == NOT_CHECKED else 1


@dataclass
class ClassReport:
    """The results of a class in a lesson."""

    lesson: str
    worth: dict[str, float]  # by exercise, in the order of the lesson
    standings: dict[str, Standing]  # by student, of those who were graded
    findings: dict[str, dict[str, Finding]]  # by student and exercise
    away: dict[str, list[str]] = field(default_factory=dict)  # by reason, who may lack a grade
    marked_late: set[str] = field(default_factory=set)  # by the platform that it came from
    names: dict[str, str] = field(default_factory=dict)  # by student, as the roster has them
    title: str = ""  # of the lesson

    def groups(self, exercise: str) -> list[tuple[Finding, list[str]]]:
        """Return groups of students with the same finding in an exercise, without right answers.

        Known mistakes come first, then other findings, then answers that were not checked. In each
        of these, the most frequent finding comes first.
        """
        students = defaultdict(list)
        first: dict[tuple[str, str], Finding] = {}
        for student, findings in self.findings.items():
            finding = findings.get(exercise)
            if finding is not None and finding.outcome != "right":
                key = finding.outcome, finding.group
                first.setdefault(key, finding)
                students[key].append(student)
        ordered = sorted(students, key=lambda key: (_rank(first[key]), -len(students[key]), key))
        return [(first[key], students[key]) for key in ordered]

    def outcomes(self, exercise: str) -> Counter[str]:
        """Count the outcomes of an exercise's check."""
        return Counter(
            findings[exercise].outcome
            for findings in self.findings.values()
            if exercise in findings
        )

    def total(self, student: str) -> float:
        """Return a student's points, minus the penalty for being late."""
        standing = self.standings[student]
        return sum(points or 0.0 for points in standing.points.values()) - standing.penalty

    @property
    def absent(self) -> dict[str, str]:
        """The reason for each student who has not been graded."""
        return {
            student: reason
            for reason, students in self.away.items()
            for student in students
            if student not in self.standings
        }

    @property
    def late(self) -> list[str]:
        return [
            student
            for student, standing in self.standings.items()
            if standing.late or (student in self.marked_late and not standing.extension)
        ]

    @property
    def never_ran(self) -> list[str]:
        """The students none of whose answers could be run."""
        tried = ("right", "wrong")
        return [
            student
            for student, findings in self.findings.items()
            if findings and not any(finding.outcome in tried for finding in findings.values())
        ]


def read_class(course: Course, lesson: str) -> ClassReport:
    """Read the results of a class in a lesson; write nothing.

    Raises
    ------
    CourseError
        If nobody has been graded for the lesson.
    """
    submitted = set(course.submitted(lesson))
    with course.gradebook() as gradebook:
        standings = read_standings(gradebook, lesson)
        students = class_list(course, gradebook)
    graded = {
        name: one for name, one in standings.items() if course.autograded(lesson, name).is_file()
    }
    known = {student.id for student in students}
    strangers = (submitted | graded.keys()) - known if course.roster.is_file() else set()
    submitted -= strangers
    graded = {name: one for name, one in graded.items() if name not in strangers}
    findings, damaged = {}, []
    for student in list(graded):
        try:
            findings[student] = _findings_of_student(course, lesson, student)
        except (ValueError, KeyError, TypeError, AttributeError):  # edited by hand, for example
            damaged.append(student)
            del graded[student]
    if not (graded or strangers):
        raise CourseError(
            f"Nobody has been graded for {lesson} yet: {course.command('grade', lesson)} does that."
        )
    excused = {student.id for student in students if lesson in student.excused}
    absent = known - excused - submitted - graded.keys() - set(damaged)
    refused = absent & course.not_collected(lesson).keys()
    return ClassReport(
        lesson,
        worth=points_of_lesson(course, lesson),
        standings=graded,
        findings=findings,
        away={
            "with an autograded notebook that cannot be read": damaged,
            "not graded yet": sorted(submitted - graded.keys() - set(damaged)),
            f"not in {course.shown(course.roster)}": sorted(strangers),
            "not collected": sorted(refused),
            "handed in nothing": sorted(absent - refused),
            "excused": sorted(excused),
        },
        marked_late={
            name for name, notes in course.collected(lesson).items() if LATE_MARK in notes
        },
        names={student.id: student.full_name for student in students if student.full_name},
        title=title_of(nbformat.read(course.released(lesson), as_version=4)),
    )


def points_of_lesson(course: Course, lesson: str) -> dict[str, float]:
    """Return the released lesson's points by exercise, in the order of the lesson."""
    notebook = nbformat.read(course.released(lesson), as_version=4)
    marks = [cell.metadata.nbgrader for cell in notebook.cells if "nbgrader" in cell.metadata]
    graded = [mark for mark in marks if mark.grade or mark.get("task")]
    return {mark.grade_id.removeprefix("check_"): mark.points for mark in graded}


def _findings_of_student(course: Course, lesson: str, student: str) -> dict[str, Finding]:
    """Read the verdicts in a student's autograded notebook."""
    cells = json.loads(course.autograded(lesson, student).read_bytes())["cells"]
    findings = {}
    for cell in cells:
        marks = cell["metadata"].get("nbgrader", {})
        name = str(marks.get("grade_id", "")).removeprefix("check_")
        if cell["cell_type"] == "code" and marks.get("grade") and not marks.get("solution"):
            findings[name] = _finding_from_outputs(cell["outputs"])
    return findings


def _finding_from_outputs(outputs: list[dict[str, Any]]) -> Finding:
    for output in outputs:
        if verdict := verdict_of(output):
            where = f", at: {verdict['failed']}" if verdict.get("failed") else ""
            sentence = printable(f"{verdict.get('sentence', '')}{where}")
            kind, awaits = str(verdict.get("kind", "")), str(verdict.get("awaits", ""))
            mistake = current_id(verdict.get("mistake", ""))
            return Finding(verdict["outcome"], mistake, sentence, kind, awaits)
    for output in outputs:
        if output["output_type"] == "error":
            outcome = NOT_CHECKED if output.get("ename") == NO_VERDICT else "error"
            return Finding(outcome, "", printable(str(output.get("evalue", ""))))
    return Finding(NOT_CHECKED)
