"""Hold one thing that is wrong with an answer, as data that a resolver can rank and join."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from attention_lib.checks.compare.comparing import Comparison, is_spoiled
from attention_lib.checks.verdict import Outcome

Label = Literal[
    "known",
    "pair",
    "edit",  # makes every result right
    "part",  # an edit that makes some results right
    "line",  # of the source, misleading
    "error",
    "raises",  # not the error that the contract requires
    "result",
    "forbidden",
    "reread",
    "changed",
    "warns",
    "dtype",
    "measured",
]
Way = tuple[str, int]
Explains = Callable[[Comparison], bool]  # of a failing call: whether it needs no further finding


def nothing(_: Comparison) -> bool:
    return False


def everything(_: Comparison) -> bool:
    return True


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: what it is, and where it shows.

    Parameters
    ----------
    label
        The kind of finding.
    text
        The fault and its rule, in whole sentences.
    evidence
        A call in which it shows.
    explains
        Tells whether a failing call needs no further finding.
    opening
        What is observed. It precedes the text, once for all findings that share it.
    id, edit
        The known mistake, and the change of source that makes results right.
    topics, lines
        What the text is about, and the lines of source that it names. Two findings that share one
        probably have the same fault.
    """

    label: Label
    text: str
    evidence: Comparison | None = None
    explains: Explains = nothing
    opening: str = ""
    id: str = ""
    edit: str = ""
    topics: frozenset[str] = frozenset()
    lines: frozenset[int] = frozenset()
    outcome: Outcome = "wrong"


def way_of(one: Comparison) -> Way | None:
    """Return the way in which a call fails, to compare with other calls, or None if it does not fail."""
    if not one.failed:
        return None
    if one.trial.case.raises:
        return "raises", 0
    if one.stopped:
        return "stopped", 0
    if is_spoiled(one):
        return "spoiled", 0
    if one.parts and any(part.off is None for part in one.parts):
        got, right = one.seen.value, getattr(one.trial.expected, "values", None)
        more = got.ndim - right.ndim if hasattr(got, "ndim") and right is not None else 0
        return "shape", int(np.sign(more))
    return ("numbers" if one.wrong_in_numbers else "dtype"), 0
