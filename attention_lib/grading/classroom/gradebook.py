"""Back up the gradebook, write grades, and read what it holds for a lesson."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import logging
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attention_lib.grading import limits
from attention_lib.grading.classroom.course import CourseError

if TYPE_CHECKING:
    from nbformat import NotebookNode
    from nbgrader.api import Gradebook

log = logging.getLogger(__name__)

COPY = "gradebook-%Y-%m-%d-%H%M%S-%f.db"
SQLITE_WAIT_SECONDS = 5.0  # to wait for a lock, unless the URL sets a timeout; sqlite3's default


@dataclass
class Standing:
    """What the gradebook holds about one student and one lesson."""

    points: dict[str, float | None] = field(default_factory=dict)  # None: not yet marked by a human
    automatic: dict[str, float | None] = field(default_factory=dict)  # what the grader gave
    settled: list[str] = field(default_factory=list)  # cells marked by hand
    in_doubt: list[str] = field(default_factory=list)  # exercises marked for an earlier answer
    above: list[str] = field(default_factory=list)  # marked by hand above the points
    extension: timedelta = timedelta()  # of the due date, for this student
    late: timedelta = timedelta()
    penalty: float = 0.0  # for being late
    marks: str = ""  # a digest of all marks shown on the feedback page


def prepare_to_write(url: str, copies: Path) -> Path | None:
    """Back up the gradebook, let others read it while it is written, and return the backup's path.

    Return None if the gradebook does not exist yet, or is not a file: a database server does both
    in its own way.

    Raises
    ------
    CourseError
        If the gradebook cannot be read and written.
    """
    from sqlalchemy.engine import make_url

    address = make_url(url)
    if address.get_backend_name() != "sqlite" or not address.database:
        return None
    path = Path(address.database)
    if not path.is_file():
        return None
    seconds = float(str(address.query.get("timeout", SQLITE_WAIT_SECONDS)))
    copies.mkdir(parents=True, exist_ok=True)
    copy = _next_copy(copies)
    unfinished = copy.with_suffix(".unfinished")
    try:
        with (
            contextlib.closing(sqlite3.connect(path, timeout=seconds)) as source,
            contextlib.closing(sqlite3.connect(unfinished)) as target,
        ):
            source.execute("PRAGMA journal_mode = WAL")  # readers do not block; kept in the file
            source.backup(target)
    except sqlite3.Error as problem:
        unfinished.unlink(missing_ok=True)
        raise CourseError(
            f"The gradebook {path} cannot be copied and written: {problem}."
        ) from None
    unfinished.rename(copy)
    for old in _superseded(_copies_in(copies)):
        old.unlink()
    return copy


def _copies_in(folder: Path) -> list[tuple[datetime, Path]]:
    """Return the backups that `prepare_to_write` made, oldest first, each with its time."""
    found = []
    for path in folder.glob("gradebook-*.db"):
        with contextlib.suppress(ValueError):  # another file's name
            found.append((datetime.strptime(path.name, COPY), path))
    return sorted(found)


def _next_copy(folder: Path) -> Path:
    """Return a name later than all others, even if the clock has been set back."""
    times = [time + timedelta(microseconds=1) for time, _ in _copies_in(folder)]
    return folder / max([datetime.now(), *times]).strftime(COPY)


def _superseded(copies: list[tuple[datetime, Path]]) -> list[Path]:
    """Return all backups but the newest ones and the last of each day.

    If the clock was wrong, the day in a name is wrong; so the file's own day also counts.
    """
    last_of_day = {
        (time.date(), date.fromtimestamp(path.stat().st_mtime)): path for time, path in copies
    }
    kept = {*last_of_day.values(), *(path for _, path in copies[-limits.BACKUPS :])}
    return [path for _, path in copies if path not in kept]


@functools.cache
def reopened(url: str) -> Gradebook:
    """Return a gradebook for use in a `with` statement, as often as this process needs it.

    After it is closed it connects again and keeps its compiled queries: compiling a query takes
    four times as long as running it.
    """
    from nbgrader.api import Gradebook

    return Gradebook(url)


def bring_hidden_checks(gradebook: Gradebook, lesson: str, notebook: NotebookNode) -> None:
    """Put the hidden checks, which a release leaves out, into a submission's check cells."""
    source = {cell.name: cell for cell in gradebook.find_notebook(lesson, lesson).source_cells}
    for cell in notebook.cells:
        marks = cell.metadata.get("nbgrader", {})
        kept = source.get(marks.get("grade_id"))
        if kept is not None:
            marks["checksum"] = kept.checksum
            if kept.locked:
                cell.source = kept.source


def save_grades(
    gradebook: Gradebook,
    lesson: str,
    student: str,
    notebook: NotebookNode,
    late_penalty: Callable[[str, float, float], float | None],
) -> None:
    """Write grades and comments of a notebook that has been run, all or nothing, as nbgrader does.

    `late_penalty` takes the student, the score and the seconds late, and returns the penalty.

    Raises
    ------
    MissingEntry
        If the gradebook has no entry for one of the notebook's cells.
    """
    from nbgrader.utils import compute_checksum, determine_grade, is_grade, is_solution, is_task

    work = gradebook.find_submission_notebook(lesson, lesson, student)
    _ = [*work.notebook.grade_cells, *work.notebook.solution_cells]  # loads all names at once
    grades = {grade.name: grade for grade in work.grades}
    comments = {comment.name: comment for comment in work.comments}
    try:
        for cell in notebook.cells:
            if is_grade(cell):
                grade = _entry(grades, cell)
                grade.auto_score, _ = determine_grade(cell, log)
                grade.needs_manual_grade = (
                    grade.manual_score is not None or grade.auto_score is None
                )
            if is_solution(cell) or is_task(cell):
                unchanged = cell.metadata.nbgrader.get("checksum") == compute_checksum(cell)
                none = unchanged and not is_task(cell)
                _entry(comments, cell).auto_comment = "No response." if none else None
        gradebook.db.flush()
        gradebook.db.refresh(work, ["score"])  # the database computes it from the grades
        late = work.assignment.total_seconds_late
        penalty = late_penalty(student, work.score, late) if late > 0 else None
        work.late_submission_penalty = penalty and min(max(penalty, 0), work.score)
        gradebook.db.commit()
    except BaseException:
        gradebook.db.rollback()
        raise


def _entry(entries: dict[str, Any], cell: NotebookNode) -> Any:
    from nbgrader.api import MissingEntry

    name = cell.metadata.nbgrader["grade_id"]
    if name not in entries:
        raise MissingEntry(f"The gradebook has no entry for the cell {name!r}")
    return entries[name]


def read_standings(
    gradebook: Gradebook, lesson: str, student: str | None = None
) -> dict[str, Standing]:
    """Return every student's standing in a lesson, or one student's, by three queries in all.

    A student with a row that cannot be read, such as one with an invalid time, has no standing.
    """
    try:
        return _read_standings(gradebook, lesson, student)
    except ValueError as problem:
        log.warning("a row of the gradebook cannot be read for %r: %s", student or lesson, problem)
    if student is not None:
        return {}
    each = (read_standings(gradebook, lesson, one.id) for one in gradebook.students)
    return {name: standing for found in each for name, standing in found.items()}


def _read_standings(
    gradebook: Gradebook, lesson: str, student: str | None
) -> dict[str, Standing]:
    standings: dict[str, Standing] = {}
    shown: dict[str, list[Any]] = {}  # by student, what a feedback page shows
    works, grades, comments = _select_rows(gradebook, lesson, student)
    for name, penalty, time, due, extension, *student_names in works:
        extension = extension or timedelta()
        late = max(time - due - extension, timedelta()) if time and due else timedelta()
        standings[name] = Standing(extension=extension, late=late, penalty=penalty or 0.0)
        shown[name] = [penalty, str(time), *student_names]
    for name, cell, automatic, manual, extra, score, most, doubt in grades:
        if name not in standings:  # the student's own row was deleted
            continue
        standing = standings[name]
        if manual is not None:
            if doubt:
                standing.in_doubt.append(cell.removeprefix("check_"))
            else:
                standing.settled.append(cell)
            if manual > most:
                standing.above.append(cell)
        waits = automatic is None and manual is None
        standing.automatic[cell] = automatic
        standing.points[cell.removeprefix("check_")] = None if waits else score
        shown[name].append([cell, automatic, manual, extra, bool(doubt)])
    for name, cell, comment in comments:
        if name not in standings:
            continue
        shown[name].append([cell, comment])
    for name, marks in shown.items():
        standings[name].marks = hashlib.sha256(json.dumps(marks).encode()).hexdigest()
    return standings


def _select_rows(
    gradebook: Gradebook, lesson: str, student: str | None
) -> tuple[Iterable[Any], Iterable[Any], Iterable[Any]]:
    """Select times and penalties, grades, and comments: rows that begin with the student's name."""
    from nbgrader.api import Assignment, BaseCell, Comment, Grade, Student
    from nbgrader.api import SubmittedAssignment as Work
    from nbgrader.api import SubmittedNotebook as Notebook
    from sqlalchemy import select

    def rows(of: Any, *columns: Any) -> Iterable[Any]:
        query = select(Work.student_id, *columns).select_from(Work)
        query = query.join(Assignment, Assignment.id == Work.assignment_id)
        query = query.join(Notebook, Notebook.assignment_id == Work.id)
        if of is Work:
            query = query.join(Student, Student.id == Work.student_id)
        else:
            query = query.join(of, of.notebook_id == Notebook.id)
            query = query.join(BaseCell, BaseCell.id == of.cell_id)
        query = query.where(Assignment.name == lesson)
        query = query if student is None else query.where(Work.student_id == student)
        return gradebook.db.execute(query.order_by(Work.student_id if of is Work else BaseCell.name))

    times = Work.timestamp, Assignment.duedate, Work.extension
    names = Student.first_name, Student.last_name
    scores = Grade.auto_score, Grade.manual_score, Grade.extra_credit, Grade.score
    return (
        rows(Work, Notebook.late_submission_penalty, *times, *names),
        rows(Grade, BaseCell.name, *scores, Grade.max_score, Grade.needs_manual_grade),
        rows(Comment, BaseCell.name, Comment.comment),
    )
