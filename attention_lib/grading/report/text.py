"""Write a class's report as text for a terminal."""

from __future__ import annotations

import shutil
import textwrap

from attention_lib.grading.report.findings import NOT_CHECKED, ClassReport, Finding
from attention_lib.grading.terminal import printable, shown_name

WORDS = {"error": "stopped by an error", "unattempted": "not attempted"}  # for outcomes
MEANINGS = {
    "right": "every number is right",
    "wrong": "the check says why",
    "error": "the answer, or the cell that defines it, ended in an error",
    "unattempted": "the answer is as it was given out, or calls one that is",
    NOT_CHECKED: "the check came to no verdict",
}
NOT_RIGHT = tuple(MEANINGS)[1:]
SIGNS = (
    "In the table of points, ? waits to be marked by hand, - is not handed in or not graded, "
    "0 is wrong or not attempted. Behind a mark, ? asks to look at it again."
)
MOST_GROUPS = 5  # of one exercise; the page has them all
MOST_CHARACTERS = 160  # of a check's message


def as_text(report: ClassReport) -> str:
    """Return who is stuck on what: for each exercise the most frequent findings first."""
    width = max(shutil.get_terminal_size((100, 0)).columns, 60)
    lines = [attendance(report)]
    for exercise in report.worth:
        outcomes = report.outcomes(exercise)
        if not outcomes or outcomes["right"] == outcomes.total():
            continue
        lines += ["", f"{exercise}: {counts(report, exercise)}"]
        groups = report.groups(exercise)
        for finding, students in groups[:MOST_GROUPS]:
            text = f"{len(students):4}  {short(finding)} ({' '.join(map(shown_name, students))})"
            lines += textwrap.wrap(text, width, subsequent_indent=" " * 6)
        if len(groups) > MOST_GROUPS:
            lines.append(f"      and {len(groups) - MOST_GROUPS} more kinds, on the page")
    return "\n".join([*lines, *_legend(report)])


def _legend(report: ClassReport) -> list[str]:
    """Return a legend of the outcomes that occur in the report."""
    found = {outcome for exercise in report.worth for outcome in report.outcomes(exercise)}
    words = [f"{WORDS.get(one, one)}: {MEANINGS[one]}" for one in NOT_RIGHT if one in found]
    return ["", f"({'; '.join(words)})"] if words else []


def attendance(report: ClassReport) -> str:
    """Return one line that says who is there and who is not."""
    parts = [f"{report.lesson}: {len(report.standings)} graded"]
    for words, students in attention_needed(report).items():
        names = ", ".join(map(shown_name, students))
        parts.append(f"{len(students)} {words} ({names})")
    return "; ".join(parts) + "."


def attention_needed(report: ClassReport) -> dict[str, list[str]]:
    """Return by reason the students who may lack a grade, are late, or have no answer that ran."""
    groups = {"late": report.late, "without an answer that ran": report.never_ran}
    return {words: students for words, students in {**report.away, **groups}.items() if students}


def counts(report: ClassReport, exercise: str) -> str:
    """Return how many answers were right, and what the others were."""
    outcomes = report.outcomes(exercise)
    words = [f"{outcomes['right']} right"]
    words += [
        f"{count} {WORDS.get(outcome, outcome)}"
        for outcome in NOT_RIGHT
        if (count := outcomes[outcome])
    ]
    return ", ".join(words)


def short(finding: Finding) -> str:
    """Return a finding on a line or two, after the id of its mistake if it has one."""
    sentence = textwrap.shorten(said(finding), MOST_CHARACTERS, placeholder=" ...")
    return f"{finding.mistake}, {sentence}" if finding.mistake else sentence


def said(finding: Finding) -> str:
    """Return a finding's sentence; for an unchanged answer, only that it was not attempted."""
    # An answer that calls a stub was attempted; its sentence names the stub.
    if finding.outcome == "unattempted" and not finding.awaits:
        return WORDS["unattempted"]
    return printable(finding.sentence)
