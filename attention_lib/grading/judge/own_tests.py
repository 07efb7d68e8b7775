"""Score a teacher's own test cell, plain asserts in nbgrader's form, by the outputs of its run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_output

from attention_lib.exercises import EXERCISES
from attention_lib.grading.judge.checking import check_name, error_output

NUMPY_NUMBER = re.compile(r"np\.\w+\((.*)\)")  # as NumPy 2 shows a number


def is_own_test(cell: NotebookNode) -> bool:
    """Tell whether a cell holds a teacher's own tests, and is not the check of an exercise.

    The check of an exercise that was removed does not count: in a sandbox `check` judges nothing.
    """
    name = check_name(cell)
    of_removed = f'check("{name}"'
    return name is not None and name not in EXERCISES and not cell.source.startswith(of_removed)


def scored(cell: NotebookNode, outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a test cell's outputs in a form from which nbgrader's `determine_grade` finds the score.

    As in nbgrader, an error scores 0, a number as the last value is the score, and anything else
    scores full points. Unlike nbgrader: a score that is not between 0 and the cell's points scores
    0. So does False, for which nbgrader gives full points or stops. NumPy's numbers count as
    numbers. Text on stderr costs nothing.
    """
    points = float(cell.metadata.nbgrader["points"])
    values = [one["data"] for one in outputs if one["output_type"] == "execute_result"]
    shown = [one for one in outputs if one["output_type"] != "execute_result"]
    errors = [one for one in outputs if one["output_type"] == "error"]
    if not errors and values:
        text = NUMPY_NUMBER.sub(r"\1", values[-1].get("text/plain", "").strip())
        score = _score(text, points)
        if not 0 <= score <= points:
            errors = [error_output("Score", f"The last value, {text[:60]}, is no score.")]
            shown += errors
        elif score < points:
            shown.append(new_output("execute_result", data={"text/plain": f"{score}"}))
            return [_verdict_output("wrong", f"{score:g} of {points:g} points."), *shown]
    if not errors:
        return [_verdict_output("right", ""), *shown]
    kind, text = errors[-1]["ename"], errors[-1]["evalue"]
    outcome = {"AssertionError": "wrong", "NotImplementedError": "unattempted"}.get(kind, "error")
    verdict = _verdict_output(outcome, f"{kind}: {text}" if text else kind)
    verdict["metadata"]["attention_lib"]["failed"] = _failed_line(cell, errors[-1])
    return [verdict, *shown]


def _failed_line(cell: NotebookNode, error: Mapping[str, Any]) -> str:
    """Return the line of the test cell at which a traceback begins, or ""."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(error["traceback"]))
    arrow = re.search(r"^-+> *(\d+) ", plain, re.MULTILINE)
    lines = cell.source.splitlines()
    number = int(arrow[1]) if arrow else 0
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def _score(text: str, otherwise: float) -> float:
    try:
        return float(text)
    except ValueError:
        return -1.0 if text == "False" else otherwise


def _verdict_output(outcome: str, sentence: str) -> dict[str, Any]:
    verdict = {"outcome": outcome, "sentence": sentence, "own": True}
    text = sentence or "All tests passed."
    return new_output(
        "display_data", data={"text/plain": text}, metadata={"attention_lib": verdict}
    )
