"""What a check cell is worth: its points only where `check` itself has said right."""

from __future__ import annotations

import re
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.preprocessors import ClearHiddenTests, NbGraderPreprocessor
from traitlets import List

from attention_lib.checks.catalogue import EXERCISES


class Verdict(NbGraderPreprocessor):
    """Leave in each check cell's outputs what makes nbgrader score it as it deserves.

    nbgrader gives full points to a graded cell that shows nothing, none to one that shows
    anything on stderr, and takes a number as the score itself. Here a check cell passes when
    every call of `check` in it has said "right" about its exercise, and fails otherwise.
    """

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict[str, Any], index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        marks = cell.metadata.get("nbgrader", {})
        name = str(marks.get("grade_id", "")).removeprefix("check_")
        if cell.cell_type == "code" and marks.get("grade") and name in EXERCISES:
            judge(cell, name)
        return cell, resources


def judge(cell: NotebookNode, name: str) -> None:
    """Rewrite the outputs of the check cell of exercise `name`, in place."""
    passed = is_right(cell, name)
    outputs = [_harmless(output) for output in cell.outputs]
    # The visible and the hidden check of a right answer say the same; once is enough.
    cell.outputs = [output for i, output in enumerate(outputs) if output not in outputs[:i]]
    if passed:
        return
    errors = [output for output in cell.outputs if output.output_type == "error"]
    for error in errors:  # one line, without the hidden part of the cell around it
        told = error.ename == "CheckFailed"  # what `check` has just shown need not be repeated
        error.traceback = [f"{error.ename}: {'see above.' if told else error.evalue}"]
    if not errors:
        ran = cell.execution_count is not None
        sentence = "The check did not come to a verdict." if ran else "The check could not run."
        cell.outputs.append(
            new_output("error", ename="NotChecked", evalue=sentence, traceback=[sentence])
        )


def is_right(cell: NotebookNode, name: str) -> bool:
    """Tell whether each check in the cell has run and has found exercise `name` right."""
    expected = len(re.findall(r"^check\(", cell.source, re.MULTILINE))
    said = [
        output.metadata.get("attention_lib")
        for output in cell.outputs
        if output.output_type == "display_data"
    ]
    said = [word for word in said if word is not None]
    right = {"exercise": name, "outcome": "right"}
    errors = any(output.output_type == "error" for output in cell.outputs)
    return not errors and expected > 0 and said == [right] * expected


def _harmless(output: NotebookNode) -> NotebookNode:
    """Return an output in a form in which nbgrader does not take it for a score."""
    if output.output_type == "stream":
        return new_output("stream", name="stdout", text=output.text)
    if output.output_type == "execute_result":
        return new_output("display_data", data=output.data, metadata=output.metadata)
    return output


class HideChecks(ClearHiddenTests):
    """nbgrader's ClearHiddenTests, for feedback: it accepts what HTML exporters set."""

    display_data_priority = List(NbGraderPreprocessor.display_data_priority.default()).tag(
        config=True
    )
