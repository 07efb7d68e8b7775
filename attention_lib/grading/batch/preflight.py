"""Run a lesson's model answers before a batch: nobody is graded unless they get full points."""

from __future__ import annotations

import logging
from typing import Any

import nbformat
from nbformat import NotebookNode

from attention_lib.grading.batch.workers import Call, Reply, Workers
from attention_lib.grading.classroom.course import Course, CourseError
from attention_lib.grading.intake.submission import Submission, files_of
from attention_lib.grading.judge.checking import check_name, checked_exercise, verdict_of
from attention_lib.grading.judge.execution import run_notebook
from attention_lib.grading.judge.own_tests import is_own_test
from attention_lib.grading.judge.task import Ran, Task
from attention_lib.grading.nbgrader_plugins.autograde import ExecuteSubmission
from attention_lib.grading.sandbox.errors import NoSandbox

MOST_SHOWN = 3  # lost exercises, each with its reason
MOST_CHARACTERS = 300  # of an error message that this library did not write
log = logging.getLogger(__name__)


def require_full_points(
    course: Course,
    lesson: str,
    workers: Workers,
    settings: ExecuteSubmission,
    seed: int,
) -> None:
    """Run the released notebook with the model answers of the instructor's version in it.

    Otherwise a sandbox that cannot find a package, or a model answer that was edited and is now
    wrong, would cost the whole class its points, and nobody would learn why.

    Raises
    ------
    CourseError
        If one of the model answers is not judged right.
    """
    source = course.source(lesson)
    notebook = solved_notebook(nbformat.read(course.released(lesson), 4), nbformat.read(source, 4))
    task = settings.task(lesson, notebook, files_of(Submission(), source.parent), seed)
    ran = _run(task, workers)
    if ran.waited:  # points were lost, and a limit of wall-clock time was reached
        ran = _run(task, workers)
    lost = lost_points(notebook, ran)
    if lost:
        more = [f"and {len(lost) - MOST_SHOWN} more"] if len(lost) > MOST_SHOWN else []
        raise CourseError(
            f"The model answers of {lesson} do not get full points on this machine, so nobody was "
            f"graded. They are in {course.shown(source)}. {'; '.join([*lost[:MOST_SHOWN], *more])}."
        )


def _start_of_last_line(text: str) -> str:
    """Return the start of a text's last line; of a traceback, this is the error."""
    return text.strip().splitlines()[-1][:MOST_CHARACTERS]


def solved_notebook(released: NotebookNode, source: NotebookNode) -> NotebookNode:
    """Return the released notebook with the model answers and the hidden tests in it."""
    answers = {
        cell.metadata.nbgrader.grade_id: cell.source
        for cell in source.cells
        if "nbgrader" in cell.metadata
    }
    for cell in released.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.source = answers.get(grade_id, cell.source)
    return released


def _run(task: Task, workers: Workers) -> Ran:
    replies: list[Reply] = []
    workers.ask(Call(run_notebook, (task,), replies.append))
    while not workers.idle:
        workers.wait()
    (reply,) = replies
    if isinstance(reply.error, NoSandbox):
        raise CourseError(str(reply.error))
    if reply.error is not None:
        log.warning("the model answers could not be run", exc_info=reply.error)
        raise CourseError(
            f"The model answers of {task.lesson} could not be run, so nobody was graded: "
            f"{_start_of_last_line(str(reply.error) or type(reply.error).__name__)}"
        )
    return reply.value


def lost_points(notebook: NotebookNode, ran: Ran) -> list[str]:
    """Return the exercises that were not judged right, each with the first error seen."""
    lost = []
    answer: list[dict[str, Any]] = []  # outputs of the model answer's cell
    for cell in notebook.cells:
        outputs = ran.outputs.get(cell.id, [])
        name = check_name(cell)
        if name is None:
            is_answer = cell.metadata.get("nbgrader", {}).get("solution")
            answer = outputs if is_answer else answer
            continue
        if not (checked_exercise(cell) or is_own_test(cell)):
            lost.append(f"{name}: the library has no such exercise any more, so release it anew")
            continue
        verdicts = [verdict_of(output) for output in outputs]
        if "right" not in [verdict.get("outcome") for verdict in verdicts]:
            errors = [o["evalue"] for o in [*answer, *outputs] if o["output_type"] == "error"]
            own = [verdict["sentence"] for verdict in verdicts if verdict.get("own")]
            reason = (own or errors or ran.stops or ["its check was not reached"])[0]
            lost.append(f"{name}: {reason.rstrip('.')}")
    return lost
