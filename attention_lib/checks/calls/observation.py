"""Record what one call of an answer did, as data that can be sent between processes."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field
from typing import Any


class Unreachable(BaseException):
    """The process of an answer has ended; the text says why."""


@dataclass
class Observation:
    """The result, the error and the side effects of one call."""

    value: Any = None
    error: BaseException | None = None
    # Those of the learner's code, from the error.
    frames: list[traceback.FrameSummary] = field(default_factory=list)
    explanation: str = ""  # of a time-out, or of an error in another process
    is_quoted: bool = False  # the explanation comes from the submission's process
    out_of_time: bool = False
    waited: bool = False  # out of time, with less CPU time than the limit
    refused_call: bool = False  # the answer's signature does not take the arguments
    warnings: list[str] = field(default_factory=list)
    printed: str = ""
    changed: list[str] = field(default_factory=list)  # arguments, by position or by name
    read_again: bool = False  # a Stream was read again after its end
    forbidden: str = ""  # the forbidden function that was called


def explanation_of(seen: Observation) -> str:
    """Return the explanation, in quotes if it comes from the submission's process."""
    if seen.explanation and seen.is_quoted:
        return f'Its own process says: "{seen.explanation}"'
    return seen.explanation


def of_a_stub(seen: Observation) -> bool:
    """Tell whether a call ended in a stub's `raise NotImplementedError`."""
    return isinstance(seen.error, NotImplementedError) and not seen.forbidden
