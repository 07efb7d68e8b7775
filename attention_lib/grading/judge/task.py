"""A submission to run, and what running it showed: the values a batch and its workers exchange."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from attention_lib.grading import limits


@dataclass(frozen=True)
class Task:
    """A submission to be run, by value."""

    lesson: str
    notebook: str  # the rebuilt notebook, as JSON
    files: dict[str, bytes]  # what lies beside it, by path
    seed: int  # of the hidden cases
    without_sandbox: bool = False
    cell_seconds: float = field(default_factory=lambda: limits.CELL_SECONDS)


@dataclass(frozen=True)
class Ran:
    """What running a submission showed, cell by cell."""

    outputs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # by cell id
    counts: dict[str, int] = field(default_factory=dict)  # the order in which cells were run
    stops: list[str] = field(default_factory=list)  # why the student's process ended, in sentences
