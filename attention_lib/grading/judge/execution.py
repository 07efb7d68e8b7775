"""Running a submission: its cells in the sandbox, its checks here, on a stand-in for each answer."""

from __future__ import annotations

import atexit
import dataclasses
import functools
import hashlib
import importlib
import json
import os
import secrets
import threading
from dataclasses import dataclass, field
from typing import Any

import nbformat
import numpy as np
from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Bool, Float

from attention_lib.checks.exercise import Exercise
from attention_lib.checks.judging import GRADER, HIDDEN_NUMBERS, judge
from attention_lib.checks.panel import as_html, as_text, headline
from attention_lib.checks.verdict import Report
from attention_lib.exercises import EXERCISES
from attention_lib.grading.inside.outputs import CUT, Outputs
from attention_lib.grading.intake.submission import FILES, problem_of
from attention_lib.grading.judge.needed import imports, needed_cells
from attention_lib.grading.judge.stand_in import StandIn
from attention_lib.grading.sandbox.errors import SessionEnded
from attention_lib.grading.sandbox.host import Sandbox, missing_protection
from attention_lib.grading.sandbox.session import Session
from attention_lib.grading.sandbox.unprotected import Unprotected

SEED = "ATTENTION_LIB_SEED"
CELL_SECONDS = 60.0
MOST_SENT = 8_000_000  # bytes in which a student's process says what one cell has shown
MOST_SHOWN = 20_000_000  # and those that all of a submission's cells show together
STOPPED = "PythonStopped"  # the error shown in the cell that ended the student's process
TIMEOUT = "CellTimeout"
UNPROTECTED = (
    "Students' code is run WITHOUT A SANDBOX (c.ExecuteSubmission.without_sandbox = True): it may "
    "read, change and delete whatever you may."
)


@dataclass(frozen=True)
class Task:
    """A submission to be run, by value."""

    lesson: str
    notebook: str  # what `rebuild` made of it, as JSON
    files: dict[str, bytes]  # what the student handed in besides, by path
    seed: int  # of the hidden cases
    without_sandbox: bool = False
    cell_seconds: float = CELL_SECONDS


@dataclass(frozen=True)
class Ran:
    """What running a submission showed, cell by cell."""

    digest: str  # of the notebook
    outputs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # by cell id
    counts: dict[str, int] = field(default_factory=dict)  # the order in which cells were run


# What has been run already, by the notebook's digest: a batch leaves it here.
ready: dict[str, Ran] = {}


@functools.cache
def seed_of_this_run() -> int:
    """Return the seed of the hidden cases: one for all submissions that a process grades."""
    return int(os.environ.get(SEED) or secrets.randbits(32))


def digest_of(notebook: NotebookNode) -> str:
    """Return what tells one student's code from another's: ids and texts of all but the checks."""
    texts = [[cell.id, cell.source] for cell in notebook.cells if _is_code(cell)]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


_sandboxes: dict[tuple[str, bool], Sandbox | Unprotected] = {}
_one_at_a_time = threading.Lock()  # checking captures what this process prints


def run_notebook(task: Task) -> Ran:
    """Run a submission in a process of its own, and check its answers from this one.

    Raises
    ------
    NoSandbox
        If there is none, and the task does not do without.
    """
    notebook = nbformat.reads(task.notebook, as_version=4)
    ran = Ran(digest_of(notebook))
    if problem_of(notebook):
        return ran  # there is nothing of the student's to run
    with _one_at_a_time:
        cells = _cells_to_run(notebook)
        session = _sandbox(task, cells).open(task.files)
        try:
            _run_cells(notebook, cells, session, task, ran)
        finally:
            session.close()
    return ran


def _cells_to_run(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the student's cells, and those of the lesson that they rest on."""
    code = [cell for cell in notebook.cells if _is_code(cell)]
    needed = needed_cells(code, {cell.id for cell in code if _is_the_students(cell)})
    return [cell for cell in code if cell.id in needed]


def _sandbox(task: Task, cells: list[NotebookNode]) -> Sandbox | Unprotected:
    """Return the sandbox for a lesson's submissions, started when it is first asked for."""
    key = task.lesson, task.without_sandbox
    sandbox = _sandboxes.get(key)
    if sandbox is None or not sandbox.alive:
        _close_sandboxes()  # lessons come one after the other
        ours = [cell.source for cell in cells if not _came_in(cell)]
        modules = sorted({module for source in ours for module in imports(source).values()})
        sandbox = (
            Unprotected(task.lesson) if task.without_sandbox else Sandbox(task.lesson, modules)
        )
        _sandboxes[key] = sandbox
    return sandbox


@atexit.register
def _close_sandboxes() -> None:
    for sandbox in _sandboxes.values():
        sandbox.close()
    _sandboxes.clear()


def _run_cells(
    notebook: NotebookNode, cells: list[NotebookNode], session: Session, task: Task, ran: Ran
) -> None:
    to_run, left = {cell.id for cell in cells}, MOST_SHOWN
    for cell in notebook.cells:
        name = checked_exercise(cell)
        if name:
            outputs = check_answer(EXERCISES[name], session, task.seed)
        elif cell.id in to_run and not session.ended:
            outputs = run_source(cell.source, session, task.cell_seconds)
            if not _is_the_students(cell):
                outputs = [output for output in outputs if not _is_a_failure(output)]
        else:
            continue
        text = json.dumps(outputs, ensure_ascii=False).encode("utf-8", "replace")
        left -= len(text)
        # Read again, since a Python text can hold surrogates, which no file takes.
        ran.outputs[cell.id] = json.loads(text) if left > 0 or name else _cut()
        ran.counts[cell.id] = len(ran.counts) + 1


def _is_code(cell: NotebookNode) -> bool:
    return cell.cell_type == "code" and not checked_exercise(cell)


def _is_the_students(cell: NotebookNode) -> bool:
    return cell.id.startswith("added-") or bool(cell.metadata.get("nbgrader", {}).get("solution"))


def _came_in(cell: NotebookNode) -> bool:
    """Tell whether a student could have written the cell, whatever it says of itself."""
    return _is_the_students(cell) or cell.id.startswith("earlier-")


def _is_a_failure(output: dict[str, Any]) -> bool:
    """Tell whether an output is an error that stopped nothing.

    A cell of the lesson fails where it calls what is withheld, for which the student can do
    nothing.
    """
    return output["output_type"] == "error" and output["ename"] not in (STOPPED, TIMEOUT)


def checked_exercise(cell: NotebookNode) -> str | None:
    """Return the exercise that a cell checks, if it is a check cell."""
    marks = cell.metadata.get("nbgrader", {})
    name = str(marks.get("grade_id", "")).removeprefix("check_")
    is_check = cell.cell_type == "code" and marks.get("grade") and not marks.get("solution")
    return name if is_check and name in EXERCISES else None


def run_source(source: str, session: Session, seconds: float) -> list[dict[str, Any]]:
    """Run one cell of the student's, and return its outputs."""
    try:
        reply = session.ask({"do": "run", "source": source}, seconds)
    except SessionEnded as ended:
        return [_error(STOPPED, f"{ended} The cells below could not run.")]
    outputs = _outputs(reply.get("outputs"))
    if reply.get("interrupted"):
        sentence = f"This cell was still running after {seconds:g} seconds and was stopped."
        outputs.append(_error(TIMEOUT, sentence))
    return outputs


def _outputs(sent: Any) -> list[dict[str, Any]]:
    """Read the outputs of a cell: of what a student's process sent, only what is one."""
    try:
        data = np.asarray(sent, np.uint8).tobytes()
        if len(data) > MOST_SENT:
            return _cut()
        listed = json.loads(data)
    except (TypeError, ValueError, RecursionError):
        return []
    outputs = Outputs()
    for one in _list(listed):
        match one:
            case {"output_type": "stream", "text": str(text)}:
                outputs.write("stdout", text)
            case {"output_type": "error", "ename": str(name), "evalue": str(text)}:
                lines = [str(line) for line in _list(one.get("traceback"))]
                outputs.error(name, text, lines)
            case {"output_type": "display_data" | "execute_result", "data": dict(data)}:
                outputs.display(data)
    return outputs.shown


def _cut() -> list[dict[str, Any]]:
    return [new_output("stream", text=CUT)]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def check_answer(exercise: Exercise, session: Session, seed: int) -> list[dict[str, Any]]:
    """Check an answer that lives in a student's process, and return the check cell's outputs."""
    if session.ended:
        return [_error("NotChecked", "The check could not run: Python had ended above.")]
    try:
        found = session.ask({"do": "look", "name": exercise.name}, CELL_SECONDS)
        if found.get("kind") == "nothing":
            why = "its answer cell stopped, or gives it another name"
            return [_error("NameError", f"{exercise.name} is not defined: {why}.")]
        answer = found.get("value")
        if found.get("kind") == "function":
            answer = StandIn(session, exercise.name)
        report = _judged(exercise, answer, seed)
    except SessionEnded as ended:
        return [_error(STOPPED, f"The check of {exercise.name} was broken off. {ended}")]
    except Exception as problem:  # made by replies that no answer of any kind would give
        what = f"what came back makes no sense ({type(problem).__name__})"
        return [_error("NotChecked", f"The check of {exercise.name} came to no verdict: {what}.")]
    said = {"exercise": exercise.name, "outcome": report.outcome, "advice": list(report.advice)}
    panel = {"text/plain": as_text(report), "text/html": as_html(report)}
    outputs = [new_output("display_data", data=panel, metadata={"attention_lib": said})]
    if report.outcome != "right":
        error = new_output("error", ename="CheckFailed", evalue=headline(report))
        outputs.append({**error, "traceback": ["CheckFailed: see above."]})
    return outputs


def _judged(exercise: Exercise, answer: Any, seed: int) -> Report:
    """Judge by the cases that everyone can read, then by some that nobody has seen.

    Of the latter the report shows no numbers but those in its sentence.
    """
    if exercise.accelerated:
        importlib.import_module("torch")  # before a tensor comes in
    report = judge(exercise, answer, seed=0, policy=GRADER)
    if report.outcome != "right" or exercise.kind != "function":
        return report
    hidden = judge(exercise, answer, seed=seed, policy=HIDDEN_NUMBERS)
    if hidden.outcome == "right":
        return report
    sentence = f"With numbers that are not in the notebook: {hidden.sentence}"
    return dataclasses.replace(hidden, sentence=sentence, comparison=None)


def _error(name: str, sentence: str) -> dict[str, Any]:
    return new_output("error", ename=name, evalue=sentence, traceback=[f"{name}: {sentence}"])


def put_into(notebook: NotebookNode, ran: Ran) -> None:
    """Give the notebook's cells what they showed; a check that did not run has failed."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            outputs = ran.outputs.get(cell.id, [])
            if checked_exercise(cell) and not outputs:
                outputs = [_error("NotChecked", "The check could not run.")]
            cell.outputs = [nbformat.from_dict(output) for output in outputs]
            cell.execution_count = ran.counts.get(cell.id)


class ExecuteSubmission(NbGraderPreprocessor):
    """Run a submission and check it, unless a batch has done so already."""

    without_sandbox = Bool(
        False, help="Let students' code do whatever you may do, and warn of it on every run."
    ).tag(config=True)
    cell_seconds = Float(CELL_SECONDS, help="The wall-clock time that one cell may take.").tag(
        config=True
    )

    def preprocess(
        self, nb: NotebookNode, resources: dict[str, Any]
    ) -> tuple[NotebookNode, dict[str, Any]]:
        ran = ready.pop(digest_of(nb), None)
        if ran is None:
            place = resources["nbgrader"]
            if self.without_sandbox:
                self.log.warning(UNPROTECTED)
            elif warning := missing_protection():
                self.log.warning(warning)
            task = Task(
                lesson=place["assignment"],
                notebook=nbformat.writes(nb),
                files=resources.get(FILES, {}),
                seed=seed_of_this_run(),
                without_sandbox=self.without_sandbox,
                cell_seconds=self.cell_seconds,
            )
            ran = run_notebook(task)
        put_into(nb, ran)
        return nb, resources
