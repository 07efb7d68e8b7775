"""Arrange a graded notebook for its feedback page: a summary of exercises, lesson text folded."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode, from_dict
from nbgrader.api import SubmittedAssignment
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import GetGrades
from nbgrader.utils import is_grade, is_solution, is_task
from traitlets import Bool

from attention_lib.grading import limits
from attention_lib.grading.classroom.course import LATE_MARK, Course
from attention_lib.grading.classroom.gradebook import reopened
from attention_lib.grading.intake.submission import note_on_all, problem_of
from attention_lib.grading.judge.checking import verdict_of
from attention_lib.grading.lesson.markdown import title_of
from attention_lib.grading.terminal import first_few, printable, shown_name

EXERCISE_HEADING = re.compile(r"^#+ Exercise: ", re.MULTILINE)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
ANSWER_IDS = ("added-", "earlier-")  # id prefixes of cells that are not the lesson's
NOT_ATTEMPTED = "Not attempted."
NO_RESPONSE = "No response."  # nbgrader's own comment on such an answer
PAGE_DATA = "feedback_page"  # key in a cell's metadata, or a page's resources, for the template


class ReadGrades(GetGrades):
    """nbgrader's GetGrades, which also distinguishes a mark of zero from an answer nobody has read."""

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        place = resources["nbgrader"]
        with reopened(place["db_url"]) as gradebook:
            work = gradebook.find_submission_notebook(
                place["notebook"], place["assignment"], place["student"]
            )
            _ = [*work.notebook.grade_cells, *work.notebook.solution_cells]  # names, all at once
            grades = {grade.name: grade for grade in work.grades}
            comments = {comment.name: comment.comment for comment in work.comments}
            for cell in nb.cells:
                _show_grade(cell, grades, comments)
            penalty = work.late_submission_penalty or 0
            place["score"], place["max_score"] = work.score - penalty, work.max_score
            place["late_penalty"] = penalty
            place["late"] = self._is_late(work.assignment, place)
            place["name"] = _name_of(work.student)
            place["time"] = self._time_of(work.assignment.timestamp, place)
        return nb, resources

    def _is_late(self, work: SubmittedAssignment, place: dict[str, Any]) -> bool:
        """Tell whether a hand-in is late, by its time or as the platform marks it."""
        course = Course(Path(CourseDirectory(config=self.config).root))
        notes = course.collected(place["assignment"]).get(place["student"], [])
        return work.total_seconds_late > 0 or (LATE_MARK in notes and not work.extension)

    def _time_of(self, handed_in: datetime | None, place: dict[str, Any]) -> str:
        """Return when a notebook was handed in or, if unknown, when its file was last changed."""
        if handed_in is not None:
            return f"handed in {handed_in:%Y-%m-%d %H:%M} UTC"
        course = CourseDirectory(config=self.config)
        submitted = course.submitted_directory, place["student"], place["assignment"]
        folder = Path(course.format_path(*submitted))
        try:
            seconds = max(file.lstat().st_mtime for file in folder.glob("*.ipynb"))
            return f"collected {datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
        except (OSError, OverflowError, ValueError):  # no file, or a time that no calendar has
            return ""


def _name_of(student: Any) -> str:
    """Return a student's name with the id of the folders."""
    full = " ".join(part for part in (student.first_name, student.last_name) if part)
    return f"{shown_name(full)} ({shown_name(student.id)})" if full else shown_name(student.id)


def _show_grade(cell: NotebookNode, grades: dict[str, Any], comments: dict[str, str]) -> None:
    """Write a cell's grade and comment where nbgrader's template and the summary read them."""
    mark = cell.metadata.get("nbgrader", {})
    if is_solution(cell) or is_task(cell):
        said = comments[mark["grade_id"]]
        mark["comment"] = None if said == NO_RESPONSE else said
    if is_grade(cell) or is_task(cell):
        grade = grades[mark["grade_id"]]
        mark["score"], mark["points"] = grade.score, grade.max_score
        is_blank = grade.auto_score == 0 and grade.manual_score is None
        mark["blank"] = is_solution(cell) and is_blank  # graded without a check, and unchanged
        mark["unmarked"] = grade.auto_score is None and grade.manual_score is None
        mark["in_doubt"] = grade.manual_score is not None and bool(grade.needs_manual_grade)


class ArrangeFeedback(Preprocessor):
    """Leave exercises and the student's cells open, fold the rest, and list the exercises.

    It runs after the grades have been read.
    """

    enabled = Bool(True).tag(config=True)

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        is_ungraded = problem_of(nb) is not None
        resources["note_on_all"] = note_on_all(nb)
        cells, folded = _split(nb.cells)
        for place, (cell, is_folded) in enumerate(zip(cells, folded, strict=True)):
            neighbors = folded[place - 1 : place], folded[place + 1 : place + 2]
            cell.metadata[PAGE_DATA] = {
                "of_lesson": _is_of_the_lesson(cell),
                "opens": is_folded and neighbors[0] != [True],
                "closes": is_folded and neighbors[1] != [True],
            }
        _title_stretches(cells, folded)
        nb.cells = cells
        graded = [cell for cell in cells if _is_graded(cell)]
        if is_ungraded:  # the note says why, once
            for cell in graded:
                if cell.cell_type == "code":
                    cell.outputs = []
        resources[PAGE_DATA] = [_summary_row(cell, is_ungraded) for cell in graded]
        resources["stopped_cells"] = _stopped_cells(cells)
        resources["lesson_title"] = title_of(nb)
        return nb, resources


def _split(cells: list[NotebookNode]) -> tuple[list[NotebookNode], list[bool]]:
    """Return the cells, split where an exercise begins inside one, and which of them are folded."""
    pieces: list[NotebookNode] = []
    folded: list[bool] = []
    in_statement = False  # between an exercise's heading and its graded cell
    for cell in cells:
        if not _is_of_the_lesson(cell):
            pieces.append(cell)
            folded.append(False)
            in_statement = in_statement and not _is_graded(cell)
            continue
        start = EXERCISE_HEADING.search(cell.source) if cell.cell_type == "markdown" else None
        if start is None:
            pieces.append(cell)
            folded.append(not in_statement)
            continue
        before = cell.source[: start.start()]
        if before.strip():
            pieces.append(from_dict({**cell, "source": before, "id": f"before-{len(pieces)}"}))
            folded.append(not in_statement)
        pieces.append(from_dict({**cell, "source": cell.source[start.start() :]}))
        folded.append(False)
        in_statement = True
    return pieces, folded


def _is_of_the_lesson(cell: NotebookNode) -> bool:
    """Tell whether a cell is only to be read: not an answer, check, setup, or student's cell."""
    marks = cell.metadata.get("nbgrader", {})
    if marks.get("grade") or marks.get("solution") or "setup" in cell.metadata.get("tags", []):
        return False
    cell_id = str(cell.get("id", ""))
    return not cell_id.startswith(ANSWER_IDS) and "attention_lib" not in cell.metadata


def _is_graded(cell: NotebookNode) -> bool:
    marks = cell.metadata.get("nbgrader", {})
    return bool(marks.get("grade") or marks.get("task"))


def _stopped_cells(cells: list[NotebookNode]) -> str:
    """Return the names of the student's cells that stopped with an error."""
    return first_few(
        [
            f"{cell.metadata.get('nbgrader', {}).get('grade_id', 'another cell')} "
            f"({printable(errors[-1].ename)[:40]})"  # a stop adds its error after the cell's own
            for cell in cells
            if cell.cell_type == "code" and not _is_graded(cell)
            if (errors := [one for one in cell.outputs if one.output_type == "error"])
            and errors[-1].ename != "NotImplementedError"  # a placeholder raises it
        ],
        5,
    )


def _title_stretches(cells: list[NotebookNode], folded: list[bool]) -> None:
    """Name each folded stretch of cells after its first heading."""
    first: NotebookNode | None = None
    for cell, is_folded in zip(cells, folded, strict=True):
        if not is_folded:
            continue
        if cell.metadata[PAGE_DATA]["opens"]:
            first = cell
        heading = HEADING.search(cell.source) if cell.cell_type == "markdown" else None
        if heading and first is not None:
            first.metadata[PAGE_DATA].setdefault("heading", heading[1].replace("`", ""))


def _summary_row(cell: NotebookNode, is_ungraded: bool) -> dict[str, Any]:
    """Return the summary's row of one exercise."""
    marks = cell.metadata.nbgrader
    is_unmarked = bool(marks.get("unmarked"))
    sentence = NOT_ATTEMPTED if marks.get("blank") else printable(_check_message(cell))
    if is_ungraded:
        sentence = "Not graded."
    elif is_unmarked:
        sentence = "This answer waits to be read."
    elif marks.get("in_doubt"):
        sentence = f"{sentence} This mark will be looked at again.".lstrip()
    return {
        "name": marks.grade_id.removeprefix("check_"),
        "anchor": marks.grade_id,
        "sentence": _shortened(sentence),
        "comment": "" if is_unmarked else _shortened(marks.get("comment") or ""),
        "score": marks.get("score") or 0.0,
        "points": marks.get("points") or 0.0,
        "unmarked": is_unmarked,
    }


def _shortened(text: str) -> str:
    most = limits.SUMMARY_CHARACTERS
    return text if len(text) <= most else f"{text[:most]}…"


def _check_message(cell: NotebookNode) -> str:
    """Return the check's message; check cells have only the grader's outputs."""
    if cell.cell_type != "code" or cell.metadata.nbgrader.get("solution"):
        return ""
    for output in cell.outputs:
        if verdict := verdict_of(output):
            if verdict["outcome"] == "right":
                ours = " and ".join(verdict.get("ours", ()))
                return f"Right, with ours in place of your {ours}." if ours else "Right."
            if verdict["outcome"] == "unattempted" and not verdict.get("awaits"):
                return NOT_ATTEMPTED
            return str(verdict.get("sentence") or verdict["outcome"])
    errors = [output.evalue for output in cell.outputs if output.output_type == "error"]
    return errors[0] if errors else ""
