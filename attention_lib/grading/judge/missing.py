"""Explain why the name of an answer is not bound: the error of the cell that should have bound it."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from nbformat import NotebookNode

from attention_lib.slips import defined_names, fences, near_name

MOST_CHARACTERS = 300  # of an error's own message
PYTHON = f"Python {sys.version_info.major}.{sys.version_info.minor}"
PACKAGES = f"Notebooks are graded with {PYTHON}, NumPy, SciPy and Matplotlib"
_FILE = re.compile(r"\([^()]*, line (\d+)\)")  # IPython's name for a cell

Outputs = Mapping[str, Sequence[Mapping[str, Any]]]  # by cell id


def why_missing(name: str, cells: Sequence[NotebookNode], outputs: Outputs) -> str:
    """Return the reason why no cell of the student's has bound `name`, as the end of a sentence."""
    binding = _binding(name, cells)
    if reason := _reason_from_outputs(binding, outputs):
        return reason
    if any(cell.id not in outputs for cell in binding):
        return "the cell that defines it is below its check, or was not run"
    if binding:
        return "the cell that defines it ran, and the name was not bound, or was deleted"
    answer = [cell.source for cell in cells if _is_answer_cell(cell, name)]
    if other := near_name(name, answer) or next(iter(defined_names(answer)), ""):
        return f"its answer cell defines {other[:60]} instead of {name}"
    if other := near_name(name, [cell.source for cell in cells]):
        return f"a cell defines {other[:60]} instead of {name}"
    return "no cell defines it"


def why_unattempted(name: str, cells: Sequence[NotebookNode], outputs: Outputs) -> str:
    """Return why `name` is still the placeholder although a cell answers it, or "" if none does."""
    if reason := _reason_from_outputs(_binding(name, cells), outputs):
        return reason
    other = near_name(name, [cell.source for cell in cells])
    return other and f"a cell defines {other[:60]} instead of {name}"


def _binding(name: str, cells: Sequence[NotebookNode]) -> list[NotebookNode]:
    binds = re.compile(rf"\b(?:def|class)\s+{name}\b|\b{name}\b[^=\n()]*=(?!=)")
    return [cell for cell in cells if binds.search(cell.source)]


def _reason_from_outputs(binding: Sequence[NotebookNode], outputs: Outputs) -> str:
    """Return the last error of these cells, unless a placeholder raised it, or ""."""
    for cell in reversed(binding):
        for output in reversed(outputs.get(cell.id, [])):
            if output["output_type"] == "error" and output["ename"] != "NotImplementedError":
                return _reason_from_error(str(output["ename"]), str(output["evalue"]), cell.source)
    return ""


def _is_answer_cell(cell: NotebookNode, name: str) -> bool:
    return cell.metadata.get("nbgrader", {}).get("grade_id") == name


def _reason_from_error(kind: str, text: str, source: str) -> str:
    said = " ".join(_FILE.sub(r"(line \1)", text).split())[:MOST_CHARACTERS].rstrip(". ")
    match kind:
        case "SyntaxError" | "IndentationError" | "TabError":
            return f"its cell is not valid in {PYTHON}: {fences(source) or said}"
        case "ModuleNotFoundError":
            return f"its cell stopped with {kind}: {said}. {PACKAGES}"
        case "CellTimeout" | "PythonStopped":
            return f"its cell did not end. {said}"
    return f"its cell stopped with {kind[:60]}: {said}" if said else f"its cell stopped with {kind}"
