"""Reading a wrong answer for lines that do not do what they seem to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attention_lib.checks.comparing import Comparison
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.source.cell import source_of
from attention_lib.checks.source.patterns import PATTERNS


def read(exercise: Exercise, answer: Any, comparisons: Sequence[Comparison]) -> str:
    """Say which line of a wrong answer does not do what it seems to; empty if none is found.

    An unused argument is named only if every wrong call gives it.
    """
    source = source_of(answer)
    if source is None:
        return ""
    given = given_in_all(exercise, [one for one in comparisons if one.failed])
    return next((text for pattern in PATTERNS if (text := pattern(source, given))), "")


def given_in_all(exercise: Exercise, failing: Sequence[Comparison]) -> set[str]:
    """Name the arguments that each of these calls gives."""
    if not failing or exercise.run is not None:
        return set()
    given = [
        {*exercise.parameters[: len(one.trial.case.args)], *one.trial.case.kwargs}
        for one in failing
    ]
    return set.intersection(*given)
