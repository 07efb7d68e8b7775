"""A submission to run, and the results of a run: the values that a batch and its workers exchange."""

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
    files: dict[str, bytes]  # its other files, by path
    seed: int  # of the hidden cases
    without_sandbox: bool = False
    private: tuple[str, ...] = ()  # folders and files that it must not see, in any place
    cell_seconds: float = field(default_factory=lambda: limits.CELL_SECONDS)
    seconds: float = field(default_factory=lambda: limits.SUBMISSION_WALL_SECONDS)  # for all runs
    answers: dict[str, str] = field(default_factory=dict)  # model answers that others depend on
    forbidden_costs: bool = False  # whether a reported forbidden call costs the points


@dataclass
class Ran:
    """What running a submission showed, cell by cell."""

    outputs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # by cell id
    counts: dict[str, int] = field(default_factory=dict)  # the order in which cells were run
    stops: list[str] = field(default_factory=list)  # why the student's process ended, in sentences
    waited: bool = False  # marks were lost, and something to a limit of wall-clock time
    overdue: bool = False  # such a limit stopped something: no further rerun

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Ran:
        """Read what another machine has sent; raise ValueError if it is anything else."""
        try:
            outputs = {
                str(id): [_valid_output(one) for one in data["outputs"][id]]
                for id in data["outputs"]
            }
            counts = {str(id): int(data["counts"][id]) for id in data["counts"]}
            stops = [str(sentence) for sentence in data["stops"]]
            waited, overdue = data["waited"] is True, data["overdue"] is True
            return cls(outputs, counts, stops, waited, overdue)
        except (KeyError, TypeError, nbformat.ValidationError) as problem:
            raise ValueError(f"not the result of a run: {type(problem).__name__}") from None


def _valid_output(output: Any) -> dict[str, Any]:
    nbformat.validate(output, ref="output", version=4)
    return output
