"""Hold the verdict on an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from attention_lib.checks.compare.comparing import Comparison
from attention_lib.checks.exercise import Exercise

BESIDES = "Besides: "  # before each finding but the first
Outcome = Literal["right", "wrong", "error", "unattempted"]


@dataclass(frozen=True)
class Report:
    """The verdict on an answer: what is wrong, and the comparison that shows it."""

    exercise: Exercise
    outcome: Outcome
    sentence: str  # the fault and its rule, and all other findings
    comparison: Comparison | None = None
    case_count: int = 0  # for a right answer, the number of cases
    mistake: str = ""  # the id of the recognized mistake
    advice: tuple[str, ...] = ()  # for a right answer: what it should still do differently
    edit: str = ""  # the change of source that makes results right; folded in the panel
    parts: tuple[str, ...] = ()  # of the sentence, one for each finding
    kind: str = ""  # what is wrong, as a key: reports with the same kind have the same fault
    errors: tuple[str, ...] = ()  # the names of the errors that ended calls
    lines: tuple[int, ...] = ()  # of the answer's source, named by the findings
    awaits: str = ""  # the function that an answer calls, and that is not written yet


def sentences(first: str, second: str) -> str:
    """Join two sentences, with a full stop after the first if it has no ending, as a colon is one."""
    if not first or not second:
        return first or second
    return f"{first} {second}" if first[-1] in ".?!:" else f"{first}. {second}"
