"""The verdict on an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from attention_lib.checks.comparing import Comparison
from attention_lib.checks.exercise import Exercise

Outcome = Literal["right", "wrong", "error", "unattempted"]


@dataclass(frozen=True)
class Report:
    """The verdict on an answer: what is wrong, and the comparison that shows it."""

    exercise: Exercise
    outcome: Outcome
    sentence: str  # the fault, and its rule: said at once
    comparison: Comparison | None = None
    case_count: int = 0  # of a right answer, how many cases it was tried on
    mistake: str = ""  # the id of the known mistake that was recognized
    advice: tuple[str, ...] = ()  # for a right answer: what it should do otherwise all the same
    edit: str = ""  # the change of source that makes results right: shown when asked


def sentences(first: str, second: str) -> str:
    """Join two sentences, the first of which may lack its full stop."""
    ended = first if not second or first.endswith((".", "?", "!")) else f"{first}."
    return f"{ended} {second}".rstrip()
