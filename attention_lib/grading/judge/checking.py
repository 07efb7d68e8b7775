"""Check an answer that is in a sandbox, through a proxy, and make the check cell's outputs."""

from __future__ import annotations

import dataclasses
import importlib
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_output

from attention_lib.checks.exercise import Exercise
from attention_lib.checks.judging import GRADER, HIDDEN_NUMBERS, Policy, judge
from attention_lib.checks.show.panel import as_html, as_text, headline
from attention_lib.checks.verdict import Report
from attention_lib.exercises import EXERCISES
from attention_lib.grading import limits
from attention_lib.grading.inside.wire import Malformed
from attention_lib.grading.judge.stand_in import StandIn, unpack_value
from attention_lib.grading.sandbox.errors import SessionEnded
from attention_lib.grading.sandbox.session import Session

log = logging.getLogger(__name__)

STOPPED = "PythonStopped"  # the error shown in the cell that ended the student's process
NOT_CHECKED = "NotChecked"  # the error of a check without a verdict


def checked_exercise(cell: NotebookNode) -> str | None:
    """Return the exercise that a cell checks, or None if it is not a check cell."""
    name = check_name(cell)
    return name if name in EXERCISES else None


def check_name(cell: NotebookNode) -> str | None:
    """Return the name in a check cell's grade_id, even of an exercise that has been removed since."""
    marks = cell.metadata.get("nbgrader", {})
    is_check = cell.cell_type == "code" and marks.get("grade") and not marks.get("solution")
    return str(marks.get("grade_id", "")).removeprefix("check_") if is_check else None


def verdict_of(output: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the verdict that an output of a check cell carries, or an empty dict."""
    return output.get("metadata", {}).get("attention_lib", {})


def check_answer(
    exercise: Exercise,
    session: Session,
    seed: int,
    why_missing: Callable[[], str],
    forbidden_costs: bool = False,
) -> list[dict[str, Any]]:
    """Check an answer that is in a student's process, and return the check cell's outputs.

    `why_missing` returns why there is no answer, as the end of a sentence. With `forbidden_costs`,
    an answer is wrong if its process reports a forbidden call.
    """
    try:
        seconds = session.at_most(limits.CELL_SECONDS)
        reply = session.ask({"do": "look", "name": exercise.name}, seconds)
        if reply.get("interrupted"):
            sentence = (
                f"{exercise.name} is a value that could not be read in {seconds:.3g} seconds."
            )
            return [error_output("TimeoutError", sentence)]
        if reply.get("kind") == "nothing":
            sentence = f"{exercise.name} is not defined: {why_missing()}."
            return [error_output("NameError", sentence)]
        is_function = reply.get("kind") == "function"
        until = time.monotonic() + session.at_most(limits.CHECK_SECONDS)
        function = StandIn(session, exercise.name, until=until)
        answer = function if is_function else unpack_value(reply)
        policy = dataclasses.replace(GRADER, forbidden_costs=forbidden_costs)
        report = _judge_with_hidden_cases(exercise, answer, seed, policy)
        # A text of invalid characters, such as one in an array, may raise an error only when it is
        # shown.
        panel = {"text/plain": as_text(report), "text/html": as_html(report, pictures=False)}
    except SessionEnded as ended:
        return [error_output(STOPPED, f"The check of {exercise.name} was broken off. {ended}")]
    except Malformed as problem:
        return [
            error_output(
                "TypeError", f"{exercise.name} is a value that cannot be taken ({problem})."
            )
        ]
    except Exception as problem:  # caused by replies that no real answer would give
        log.debug("check of %s failed on the reply", exercise.name, exc_info=True)
        what = f"what came back makes no sense ({type(problem).__name__})"
        return [
            error_output(NOT_CHECKED, f"The check of {exercise.name} came to no verdict: {what}.")
        ]
    verdict = {
        "exercise": exercise.name,
        "outcome": report.outcome,
        "sentence": "" if report.outcome == "right" else report.sentence,
        "mistake": f"{exercise.name}-{report.mistake}" if report.mistake else "",
        "advice": list(report.advice),
        "kind": report.kind,
        "errors": list(report.errors),
        "awaits": report.awaits,
    }
    outputs = [new_output("display_data", data=panel, metadata={"attention_lib": verdict})]
    if report.outcome != "right":
        error = new_output("error", ename="CheckFailed", evalue=headline(report))
        outputs.append({**error, "traceback": ["CheckFailed: see above."]})
    return outputs


def _judge_with_hidden_cases(exercise: Exercise, answer: Any, seed: int, policy: Policy) -> Report:
    """Judge by the cases in the notebook, then by hidden ones.

    A report on hidden cases shows no numbers except in its sentence.
    """
    if exercise.accelerated:
        importlib.import_module("torch")  # before a tensor is deserialized
    report = judge(exercise, answer, seed=0, policy=policy, unseen=seed)
    if report.outcome != "right" or exercise.kind != "function":
        return report
    hidden = judge(exercise, answer, seed=seed, policy=HIDDEN_NUMBERS)
    if hidden.outcome == "right":
        return report
    first, *others = hidden.parts or (hidden.sentence,)
    parts = (f"With numbers that are not in the notebook: {first}", *others)
    return dataclasses.replace(hidden, sentence=" ".join(parts), parts=parts, comparison=None)


def error_output(name: str, sentence: str) -> dict[str, Any]:
    """Return a cell's output that shows an error, without a real traceback."""
    return new_output("error", ename=name, evalue=sentence, traceback=[f"{name}: {sentence}"])
