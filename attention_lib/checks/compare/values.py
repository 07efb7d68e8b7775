"""Judge an answer that is a value: numbers worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lib.checks.exercise import Exercise
from attention_lib.checks.verdict import Report
from attention_lib.checks.wording import described


def judge_value(exercise: Exercise, answer: Any) -> Report:
    """Compare numbers with those of the reference, to the exercise's tolerance."""
    shape = np.shape(exercise.reference)
    try:
        entries = np.asarray(answer, object)
    except ValueError:  # ragged arrays
        entries = np.array(None)
    fits = entries.shape == shape
    got = np.array([_number(entry) for entry in entries]) if fits else np.array(np.nan)
    if np.isnan(got).any():
        found = f"it is {described(answer)}"
        if fits:
            found = f"{repr(entries[np.argmax(np.isnan(got))])[:40]} is not a number"
        sentence = f"{exercise.name} should be {math.prod(shape)} numbers, such as [0.1, 0.2, 0.7]; {found}."
        return Report(exercise, "wrong", sentence)
    off = _off(got, exercise.reference, exercise.tolerance)
    if not off.any():
        return Report(exercise, "right", "Right.", case_count=1)
    for mistake in exercise.mistakes:
        if any(
            not _off(got, variant, 2 * exercise.tolerance).any() for variant in mistake.variants
        ):
            return Report(exercise, "wrong", mistake.sentence, mistake=mistake.id)
    spot = int(np.argmax(off))
    sentence = f"Number {spot + 1} of {exercise.name}, {got[spot]:g}, is not right to 3 decimals."
    if off.all():
        sentence = f"None of the {off.size} numbers of {exercise.name} is right to 3 decimals."
    wrong_sum = _wrong_sum(got, exercise.reference, exercise.tolerance)
    return Report(exercise, "wrong", sentence + wrong_sum)


def _off(got: NDArray[np.float64], value: Any, distance: float) -> NDArray[np.bool_]:
    """Mark the numbers further than `distance` from a value."""
    return np.abs(got - np.asarray(value, float)) > distance


def _wrong_sum(got: NDArray, value: Any, tolerance: float) -> str:
    """Return a sentence if numbers should sum to 1 and do not; otherwise ""."""
    total, room = float(got.sum()), got.size * tolerance
    sums_to_one = abs(np.asarray(value, float).sum() - 1) <= 1e-9
    if not sums_to_one or abs(total - 1) <= room:
        return ""
    return f" They sum to {total:.4g}, and weights sum to 1."


def _number(entry: Any) -> float:
    """Convert an entry to a float; NaN if it is not a number."""
    if isinstance(entry, (str, bytes)):
        return math.nan
    try:
        return float(entry)
    except (TypeError, ValueError, OverflowError):
        return math.nan
