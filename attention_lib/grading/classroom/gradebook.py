"""The gradebook around a batch: copied before it, safe to read during it, and read as a whole."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from attention_lib.grading.classroom.course import CourseError

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

COPIES = 10  # that are kept
SECONDS = 60  # to wait for whoever is writing
COPIED = "gradebook-*.db"


@dataclass
class Standing:
    """What the gradebook holds about one student and one lesson."""

    points: dict[str, float | None] = field(default_factory=dict)  # None waits for a human
    automatic: dict[str, float | None] = field(default_factory=dict)  # what the grader gave
    settled: list[str] = field(default_factory=list)  # marked by hand
    in_doubt: list[str] = field(default_factory=list)  # marked by hand, but for an earlier answer
    late: timedelta = timedelta()
    penalty: float = 0.0  # for being late
    marks: str = ""  # a digest of all that a feedback page shows of it


def prepare_to_write(url: str, copies: Path) -> Path | None:
    """Copy the gradebook, and let others read it while it is written.

    Returns
    -------
    The copy; None where the gradebook is not a file or not there yet. A database server has its
    own ways to do both.

    Raises
    ------
    CourseError
        If the gradebook cannot be read and written.
    """
    path = _file_of(url)
    if path is None or not path.is_file():
        return None
    copies.mkdir(parents=True, exist_ok=True)
    copy = copies / f"gradebook-{datetime.now():%Y-%m-%d-%H%M%S-%f}.db"
    unfinished = copy.with_suffix(".unfinished")
    try:
        with (
            contextlib.closing(sqlite3.connect(path, timeout=SECONDS)) as source,
            contextlib.closing(sqlite3.connect(unfinished)) as target,
        ):
            source.execute("PRAGMA journal_mode = WAL")  # lasts: it is kept in the file
            source.backup(target)
    except sqlite3.Error as problem:
        unfinished.unlink(missing_ok=True)
        raise CourseError(
            f"The gradebook {path} cannot be copied and written: {problem}."
        ) from None
    unfinished.rename(copy)
    for old in sorted(copies.glob(COPIED))[:-COPIES]:
        old.unlink()
    return copy


def _file_of(url: str) -> Path | None:
    from sqlalchemy.engine import make_url

    address = make_url(url)
    if address.get_backend_name() != "sqlite" or not address.database:
        return None
    return Path(address.database)


def read_standings(
    gradebook: Gradebook, lesson: str, student: str | None = None
) -> dict[str, Standing]:
    """Return what each student has for a lesson, or one has, in a few queries for them all."""
    from nbgrader.api import Assignment, BaseCell, Comment, Grade
    from nbgrader.api import SubmittedAssignment as Work
    from nbgrader.api import SubmittedNotebook as Notebook
    from sqlalchemy import select

    def about(*columns):
        chosen = select(Work.student_id, *columns).select_from(Work)
        chosen = chosen.join(Assignment, Assignment.id == Work.assignment_id)
        chosen = chosen.join(Notebook, Notebook.assignment_id == Work.id)
        chosen = chosen.where(Assignment.name == lesson)
        return chosen if student is None else chosen.where(Work.student_id == student)

    standings: dict[str, Standing] = {}
    shown: dict[str, list] = {}
    lateness = about(
        Notebook.late_submission_penalty, Work.timestamp, Assignment.duedate, Work.extension
    )
    for who, penalty, time, due, extension in gradebook.db.execute(
        lateness.order_by(Work.student_id)
    ):
        late = time - due - (extension or timedelta()) if time and due else timedelta()
        standings[who] = Standing(late=max(late, timedelta()), penalty=penalty or 0.0)
        shown[who] = [penalty]
    grades = about(
        BaseCell.name,
        Grade.auto_score,
        Grade.manual_score,
        Grade.extra_credit,
        Grade.score,
        Grade.needs_manual_grade,
    )
    grades = grades.join(Grade, Grade.notebook_id == Notebook.id)
    grades = grades.join(BaseCell, BaseCell.id == Grade.cell_id).order_by(BaseCell.name)
    for who, name, automatic, manual, extra, score, doubt in gradebook.db.execute(grades):
        waits = automatic is None and manual is None
        if manual is not None:
            (standings[who].in_doubt if doubt else standings[who].settled).append(name)
        standings[who].automatic[name] = automatic
        standings[who].points[name.removeprefix("check_")] = None if waits else score
        shown[who].append([name, automatic, manual, extra])
    comments = about(BaseCell.name, Comment.comment)
    comments = comments.join(Comment, Comment.notebook_id == Notebook.id)
    comments = comments.join(BaseCell, BaseCell.id == Comment.cell_id).order_by(BaseCell.name)
    for who, name, comment in gradebook.db.execute(comments):
        shown[who].append([name, comment])
    for who, marks in shown.items():
        standings[who].marks = hashlib.sha256(json.dumps(marks).encode()).hexdigest()
    return standings
