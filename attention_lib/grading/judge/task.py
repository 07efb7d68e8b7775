"""A submission to run, and what running it showed: the values a batch and its workers exchange."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import nbformat

from attention_lib.grading import limits


@dataclass(frozen=True)
class Task:
    """A submission to be run, by value."""

    lesson: str
    notebook: str  # the rebuilt notebook, as JSON
    files: dict[str, bytes]  # what lies beside it, by path
    seed: int  # of the hidden cases
    without_sandbox: bool = False
    private: tuple[str, ...] = ()  # folders and files that it must not see, wherever they lie
    cell_seconds: float = field(default_factory=lambda: limits.CELL_SECONDS)
    seconds: float = field(default_factory=lambda: limits.SUBMISSION_WALL_SECONDS)  # for all passes
    answers: dict[str, str] = field(default_factory=dict)  # the model's, where others need them
    forbidden_costs: bool = False  # points, where an answer's process reports a forbidden call


@dataclass(frozen=True)
class Ran:
    """What running a submission showed, cell by cell."""

    outputs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # by cell id
    counts: dict[str, int] = field(default_factory=dict)  # the order in which cells were run
    stops: list[str] = field(default_factory=list)  # why the student's process ended, in sentences
    waited: bool = False  # marks were lost, and something to wall-clock time
    overdue: bool = False  # something was stopped by it: no other pass is made

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Ran:
        """Read what another machine has sent; raise ValueError if it is anything else."""
        try:
            outputs = {
                str(id): [_output(one) for one in data["outputs"][id]] for id in data["outputs"]
            }
            counts = {str(id): int(data["counts"][id]) for id in data["counts"]}
            stops = [str(sentence) for sentence in data["stops"]]
            waited, overdue = data["waited"] is True, data["overdue"] is True
            return cls(outputs, counts, stops, waited, overdue)
        except (KeyError, TypeError, nbformat.ValidationError) as problem:
            raise ValueError(f"not the result of a run: {type(problem).__name__}") from None


def _output(output: Any) -> dict[str, Any]:
    nbformat.validate(output, ref="output", version=4)
    return output
