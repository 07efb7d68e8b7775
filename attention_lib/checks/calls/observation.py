"""What one call of an answer did, as data that can cross between processes."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field
from typing import Any


class Unreachable(BaseException):
    """Raised when the process that an answer lives in is gone; the text says why."""


@dataclass
class Observation:
    """What one call did: plain values, no live objects."""

    value: Any = None
    error: BaseException | None = None
    frames: list[traceback.FrameSummary] = field(default_factory=list)  # the error's, the learner's
    explanation: str = ""  # of the end of the time, or of an error in another process
    is_quoted: bool = False  # the explanation is what a submission's own process says
    out_of_time: bool = False
    waited: bool = False  # and the processor worked less for it than the limit
    refused_call: bool = False  # the call itself failed: the answer takes other arguments
    warnings: list[str] = field(default_factory=list)
    printed: str = ""
    changed: list[str] = field(default_factory=list)  # arguments, by position or by name
    read_again: bool = False  # an argument that can be read once, after its end
    forbidden: str = ""  # the function called that may not do the answer's work


def explanation_of(seen: Observation) -> str:
    """Return the explanation, between quotes where a submission's own process says it."""
    if seen.explanation and seen.is_quoted:
        return f'Its own process says: "{seen.explanation}"'
    return seen.explanation


def of_a_stub(seen: Observation) -> bool:
    """Tell whether a call met nothing but a `raise NotImplementedError`."""
    return isinstance(seen.error, NotImplementedError) and not seen.forbidden
