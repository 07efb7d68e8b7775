"""Run a submission's cells in the sandbox; judge its check cells from outside."""

from __future__ import annotations

import atexit
import copy
import functools
import json
import os
import re
import secrets
import threading
import time
from typing import Any

import nbformat
import numpy as np
from nbformat import NotebookNode
from nbformat.v4 import new_output

from attention_lib.commands import SEED_VARIABLE
from attention_lib.exercises import EXERCISES
from attention_lib.grading import limits
from attention_lib.grading.inside.outputs import CUT, Outputs
from attention_lib.grading.intake.bindings import bound_names, definitions
from attention_lib.grading.intake.rebuild import ADDED
from attention_lib.grading.intake.submission import problem_of
from attention_lib.grading.judge.built_on import (
    OURS,
    built_on,
    right_exercises,
    right_with_ours,
    second_chances,
    with_model_answers,
)
from attention_lib.grading.judge.checking import (
    NOT_CHECKED,
    STOPPED,
    check_answer,
    check_name,
    checked_exercise,
    error_output,
    verdict_of,
)
from attention_lib.grading.judge.missing import why_missing, why_unattempted
from attention_lib.grading.judge.own_tests import is_own_test, scored
from attention_lib.grading.judge.task import Ran, Task
from attention_lib.grading.sandbox.errors import SessionEnded
from attention_lib.grading.sandbox.host import Sandbox
from attention_lib.grading.sandbox.session import Session
from attention_lib.grading.sandbox.unprotected import Unprotected

MISSING_NAME = ("NameError", "KeyError")  # raised by code that needs a name from another cell
TIMEOUT = "CellTimeout"  # the error shown in a cell that ran too long
_IMPORTED = re.compile(r"^(?:import|from) ([\w.]+)", re.MULTILINE)  # modules, to start with


def draw_seed() -> int:
    """Draw the seed of a batch's hidden cases; feedback shows these cases to students who print them."""
    return int(os.environ.get(SEED_VARIABLE) or secrets.randbits(32))


# A worker's sandbox serves one submission after the other, of one lesson at a time.
_sandboxes: dict[tuple[str, bool], Sandbox | Unprotected] = {}
_one_at_a_time = threading.Lock()  # checking captures this process's stdout


def run_notebook(task: Task) -> Ran:
    """Run a submission in its own process, and check its answers from this one.

    Of the lesson's own cells, only those tagged `setup` are run. After a NameError, the submission
    is rerun with all of them. If an answer fails and depends on another one that failed, it is
    rerun with the model answer for that one. Of this rerun, only the result *right* is used; other
    cells that were stopped, or that ended Python, are left out. A teacher's own tests run last. All
    runs share one deadline, before which RERUN_SHARE of the time is kept for the model answers.

    Raises
    ------
    NoSandbox
        If there is no sandbox, and the task needs one.
    """
    notebook = nbformat.v4.reads(task.notebook)  # without validating it again
    if problem_of(notebook):
        return Ran()  # there is nothing of the student's to run
    code = [one for one in notebook.cells if one.cell_type == "code" and not check_name(one)]
    everything = {cell.id for cell in code}
    cells = {cell.id for cell in code if _is_setup(cell) or _is_the_students(cell)}
    with _one_at_a_time:
        _sandbox_for(task, notebook)  # started here: this time is not the submission's
        deadline = time.monotonic() + task.seconds
        first = deadline - limits.RERUN_SHARE * task.seconds if task.answers else deadline
        ran = _run_and_check(notebook, cells, task, first)
        if ran.overdue or ran.stops:
            everything = cells
        elif cells < everything and _misses_a_name(notebook.cells, ran):
            cells = everything
            ran = _run_and_check(notebook, cells, task, first)
        _give_second_chances(notebook, cells, task, deadline, ran)
        if any(map(is_own_test, notebook.cells)):
            _run_own_tests(notebook, cells, everything, task, deadline, ran)
    ran.waited = ran.waited and marks_lost(notebook, ran)
    return ran


def _give_second_chances(
    notebook: NotebookNode, cells: set[str], task: Task, deadline: float, ran: Ran
) -> None:
    """Rerun failed exercises with model answers for those they depend on; note which are right."""
    groups = second_chances(notebook, ran.outputs, task.answers)
    for count, (ours, names) in enumerate(groups.items()):
        share = (deadline - time.monotonic()) / (len(groups) - count)
        if share <= 0:
            return
        changed = with_model_answers(notebook, {n: task.answers[n] for n in ours}, names)
        with_ours = cells | {cell.id for cell in changed.cells if cell.id.startswith(OURS)}
        for cell in _code_of_the_student(notebook):
            if bound_names(cell.source) & {*names}:  # the failed answer may have stopped it
                with_ours.add(cell.id)
        again = _run_and_check(changed, with_ours, task, time.monotonic() + share)
        right = set(right_exercises(changed, again.outputs))
        for cell in notebook.cells:
            if (name := checked_exercise(cell)) in right:
                ran.outputs[cell.id] = right_with_ours(str(name), ours)
        ran.waited |= again.waited


def _run_own_tests(
    notebook: NotebookNode,
    cells: set[str],
    everything: set[str],
    task: Task,
    deadline: float,
    ran: Ran,
) -> None:
    """Run a teacher's own tests at their places; add their outputs to those of the earlier run.

    They run in a process of their own, in which nothing is checked. Only the outputs of test cells
    are taken from it. So tests cost no other points, and an answer that reads hidden tests cannot
    print them in another cell.
    """
    tests = [cell for cell in notebook.cells if is_own_test(cell)]
    ids = {cell.id for cell in tests}
    without_checks = copy.copy(notebook)
    without_checks.cells = [cell for cell in notebook.cells if not checked_exercise(cell)]
    own = _run_and_check(without_checks, cells | ids, task, deadline)
    if cells < everything and not own.overdue and _misses_a_name(tests, own):
        own = _run_and_check(without_checks, everything | ids, task, deadline)
    for cell in tests:
        if cell.id in own.outputs:
            ran.outputs[cell.id] = scored(cell, own.outputs[cell.id])
            ran.counts[cell.id] = len(ran.counts) + 1
    ran.stops += [stop for stop in own.stops if stop not in ran.stops]
    ran.waited |= own.waited


def _run_and_check(notebook: NotebookNode, to_run: set[str], task: Task, deadline: float) -> Ran:
    """Run cells and check answers; if Python ends, start again without the cell that ended it.

    Cells that did not end, or that ended Python, are taken out of `to_run`.
    """
    ran = Ran()
    again: set[str] = set()  # cells that have been rerun or checked again
    while True:
        session = _sandbox_for(task, notebook).open(task.files, deadline)
        try:
            _run_cells(notebook, to_run, session, task, ran)
            if not session.ended:
                _check_again(notebook, to_run, again, session, task, ran)
        finally:
            session.close()
        ran.waited |= session.waited
        ran.overdue |= session.overdue
        if not session.ended or time.monotonic() >= deadline:
            return ran


def marks_lost(notebook: NotebookNode, ran: Ran) -> bool:
    """Tell whether a check did not run, or did not find a right answer."""
    checks = [ran.outputs.get(cell.id) for cell in notebook.cells if check_name(cell)]
    return any(not outputs or _is_wrong(outputs) for outputs in checks)


def _is_wrong(outputs: list[dict[str, Any]]) -> bool:
    return bool(outputs) and outputs[-1]["output_type"] == "error"


def _is_attempted(check: NotebookNode, ran: Ran) -> bool:
    """Tell whether a check found an answer to judge, and all names that it needs."""
    output = ran.outputs[check.id][0]
    is_there = (
        verdict_of(output).get("outcome") != "unattempted" and output.get("ename") != "NameError"
    )
    return is_there and not _misses_a_name([check], ran)


def _misses_a_name(cells: list[NotebookNode], ran: Ran) -> bool:
    """Tell whether a student's cell or answer failed because of a missing name."""
    for cell in cells:
        for output in ran.outputs.get(cell.id, []):
            if checked_exercise(cell):
                if any(name in MISSING_NAME for name in verdict_of(output).get("errors", ())):
                    return True
            elif output["output_type"] == "error" and output["ename"] in MISSING_NAME:
                return True
    return False


def _sandbox_for(task: Task, notebook: NotebookNode) -> Sandbox | Unprotected:
    """Return the sandbox for a lesson's submissions; start it at the first request."""
    key = task.lesson, task.without_sandbox
    sandbox = _sandboxes.get(key)
    if sandbox is None or not sandbox.alive:
        _close_sandboxes()
        setup = "\n".join(cell.source for cell in notebook.cells if _is_setup(cell))
        modules = sorted({*_IMPORTED.findall(setup)})
        sandbox = (
            Unprotected(task.lesson)
            if task.without_sandbox
            else Sandbox(task.lesson, modules, task.private)
        )
        _sandboxes[key] = sandbox
    return sandbox


@atexit.register
def _close_sandboxes() -> None:
    for sandbox in _sandboxes.values():
        sandbox.close()
    _sandboxes.clear()


def _run_cells(
    notebook: NotebookNode, to_run: set[str], session: Session, task: Task, ran: Ran
) -> None:
    answer = ""
    bytes_left, outputs_left = limits.ALL_OUTPUT_BYTES, limits.ALL_OUTPUTS
    for cell in notebook.cells:
        name = checked_exercise(cell)
        if name and cell.id not in ran.outputs:
            outputs = _check(name, notebook, session, task, ran)
        elif cell.id in to_run:
            try:
                outputs = run_source(cell.source, session, session.at_most(task.cell_seconds))
            except SessionEnded as problem:
                ran.stops.append(f"{problem} The cells below were run without it.")
                outputs = [error_output(STOPPED, ran.stops[-1])]
            if any(output.get("ename") == TIMEOUT for output in outputs):
                to_run.discard(cell.id)
            if not _is_the_students(cell) and not is_own_test(cell):
                outputs = [output for output in outputs if not _is_a_failure(output)]
        else:
            continue
        text = _as_text(outputs)
        bytes_left -= len(text)
        outputs_left -= len(outputs)
        fits = min(bytes_left, outputs_left) > 0
        ran.outputs.setdefault(cell.id, json.loads(text) if fits or name else _cut_notice())
        ran.counts.setdefault(cell.id, len(ran.counts) + 1)
        if cell.metadata.get("nbgrader", {}).get("solution"):
            answer = cell.id  # of the next check
        if session.ended:
            to_run.discard(answer if name else cell.id)
            break


def _as_text(outputs: list[dict[str, Any]]) -> bytes:
    """Write outputs as JSON without lone surrogates, which files cannot hold."""
    return json.dumps(outputs, ensure_ascii=False).encode("utf-8", "replace")


def _check_again(
    notebook: NotebookNode,
    to_run: set[str],
    again: set[str],
    session: Session,
    task: Task,
    ran: Ran,
) -> None:
    """Check wrong answers again, after the cells below their checks have run.

    This is done if a student's cell below the check defines the answer, or one that it depends on,
    and if a name was missing. An answer that was right at its own check stays right. `again` grows
    with each cell, so that code that ends Python is not tried a third time.
    """
    checks = [cell.id for cell in notebook.cells if checked_exercise(cell)]
    if not any(_is_wrong(ran.outputs.get(check, [])) for check in checks):
        return
    own = [cell for cell in notebook.cells if cell.id in to_run and _is_the_students(cell)]
    bound = _define_again(own, again, session, task, ran)
    for cell in _to_check_again(notebook, own, bound, ran):
        if cell.id in again or session.ended:
            continue
        again.add(cell.id)
        outputs = _check(str(checked_exercise(cell)), notebook, session, task, ran)
        attempted = _is_attempted(cell, ran)
        if attempted and not _is_wrong(outputs):
            outputs[0]["metadata"]["attention_lib"]["below"] = True
        if not attempted or not _is_wrong(outputs):
            ran.outputs[cell.id] = json.loads(_as_text(outputs))


def _define_again(
    own: list[NotebookNode], again: set[str], session: Session, task: Task, ran: Ran
) -> set[str]:
    """Rerun the definitions in the first cell that stopped and in all later ones; return their names.

    A cell stops at a name that is defined below it, or at a function that is withheld here. What it
    defines further down did exist when the student checked it.
    """
    bound: set[str] = set()
    stopped = False
    for cell in own:
        fails = any(map(_is_a_failure, ran.outputs.get(cell.id, [])))
        stopped = stopped or (fails and bool(bound_names(cell.source)))
        if not stopped or cell.id in again:
            continue
        for statement in definitions(cell.source)[: limits.DEFINITIONS_AGAIN]:
            try:
                outputs = run_source(statement, session, session.at_most(task.cell_seconds))
            except SessionEnded:
                again.add(cell.id)
                return bound
            if any(output.get("ename") == TIMEOUT for output in outputs):
                again.add(cell.id)
                break
            bound |= bound_names(statement)
    return bound


def _to_check_again(
    notebook: NotebookNode, own: list[NotebookNode], bound: set[str], ran: Ran
) -> list[NotebookNode]:
    found: list[NotebookNode] = []
    ids = {cell.id for cell in own}
    below = set(bound)  # names that are bound after a check
    for cell in reversed(notebook.cells):
        name = checked_exercise(cell)
        if cell.id in ids:
            below |= bound_names(cell.source)
        elif name and _is_wrong(ran.outputs.get(cell.id, [])):
            needed = {name, *built_on(name)}
            if below & needed or (below and _misses_a_name([cell], ran)):
                found.insert(0, cell)
    return found


def _check(
    name: str, notebook: NotebookNode, session: Session, task: Task, ran: Ran
) -> list[dict[str, Any]]:
    cells = _code_of_the_student(notebook)
    why = functools.partial(why_missing, name, cells, ran.outputs)
    outputs = check_answer(EXERCISES[name], session, task.seed, why, task.forbidden_costs)
    ran.stops += [output["evalue"] for output in outputs if _is_a_stop(output)]
    verdict = verdict_of(outputs[0])
    if verdict.get("outcome") == "unattempted" and not verdict.get("awaits"):
        reason = why_unattempted(name, cells, ran.outputs)
        if reason:
            return [error_output("NameError", f"{name} has no answer: {reason}.")]
    return outputs


def _code_of_the_student(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code" and _is_the_students(cell)]


def _is_the_students(cell: NotebookNode) -> bool:
    return cell.id.startswith(ADDED) or bool(cell.metadata.get("nbgrader", {}).get("solution"))


def _is_setup(cell: NotebookNode) -> bool:
    """Tell whether a cell is the lesson's own code, and answers depend on it."""
    may_be_the_students = _is_the_students(cell) or cell.id.startswith("earlier-")
    is_tagged = cell.cell_type == "code" and "setup" in cell.metadata.get("tags", [])
    return is_tagged and not may_be_the_students


def _is_a_failure(output: dict[str, Any]) -> bool:
    """Tell whether an output is an error that stopped nothing.

    A cell of the lesson fails if it calls a withheld function, which is not the student's fault.
    """
    return output["output_type"] == "error" and output["ename"] not in (STOPPED, TIMEOUT)


def _is_a_stop(output: dict[str, Any]) -> bool:
    """Tell whether a check was stopped. Its error name is trusted, unlike those of a student's cells."""
    return output["output_type"] == "error" and output["ename"] == STOPPED


def run_source(source: str, session: Session, seconds: float) -> list[dict[str, Any]]:
    """Run one of the student's cells, and return its outputs."""
    reply = session.ask({"do": "run", "source": source}, seconds)
    outputs = _valid_outputs(reply.get("outputs"))
    if reply.get("interrupted"):
        sentence = f"This cell was still running after {seconds:.3g} seconds and was stopped."
        outputs.append(error_output(TIMEOUT, sentence))
    return outputs


def _valid_outputs(sent: Any) -> list[dict[str, Any]]:
    """Return the valid outputs among what a student's process sent for a cell."""
    if not isinstance(sent, np.ndarray) or sent.dtype != np.uint8:
        return []
    if sent.nbytes > limits.CELL_OUTPUT_BYTES:
        return _cut_notice()
    try:
        parsed = json.loads(sent.tobytes())
    except (ValueError, RecursionError):
        return []
    outputs = Outputs()
    for output in _items(parsed):
        match output:
            case {"output_type": "stream", "text": str(text)}:
                outputs.write("stdout", text)
            case {"output_type": "error", "ename": str(name), "evalue": str(text)}:
                lines = [line for line in _items(output.get("traceback")) if isinstance(line, str)]
                outputs.error(name, text, lines)
            case {"output_type": "display_data", "data": dict(bundle)}:
                outputs.display(bundle)
            case {"output_type": "execute_result", "data": dict(bundle)}:
                outputs.display(bundle, count=0)  # pages show the count that the grader kept
    return outputs.shown


def _cut_notice() -> list[dict[str, Any]]:
    return [new_output("stream", text=CUT)]


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def put_into(notebook: NotebookNode, ran: Ran) -> None:
    """Put the outputs into the notebook's cells; a check that did not run has failed."""
    problem = problem_of(notebook)
    why_not = f"Not graded: {problem}." if problem else "The check could not run."
    for cell in notebook.cells:
        if cell.cell_type == "code":
            outputs = ran.outputs.get(cell.id, [])
            if check_name(cell) and not outputs:  # nbgrader would give such a cell full points
                outputs = [error_output(NOT_CHECKED, why_not)]
            cell.outputs = [nbformat.from_dict(output) for output in outputs]
            cell.execution_count = ran.counts.get(cell.id)
