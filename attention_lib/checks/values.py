"""Judging an answer that is a value: numbers worked out by hand."""

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
    expected = np.asarray(exercise.reference, float)
    try:
        entries = np.asarray(answer, object)
    except ValueError:  # arrays whose shapes do not fit together
        entries = np.array(None)
    fits = entries.shape == expected.shape
    got = np.array([_number(entry) for entry in entries]) if fits else np.array(np.nan)
    if np.isnan(got).any():
        found = f"it is {described(answer)}"
        if fits:
            found = f"{repr(entries[np.argmax(np.isnan(got))])[:40]} is none"
        sentence = (
            f"{exercise.name} should be {expected.size} numbers, such as [0.1, 0.2, 0.7]; {found}."
        )
        return Report(exercise, "wrong", sentence)
    if (np.abs(got - expected) <= exercise.tolerance).all():
        return Report(exercise, "right", "Right.", case_count=1)
    for mistake in exercise.mistakes:
        if any(
            np.abs(got - variant).max() <= 2 * exercise.tolerance for variant in mistake.variants
        ):
            return Report(exercise, "wrong", mistake.sentence, mistake=mistake.id)
    wrong = np.abs(got - expected) > exercise.tolerance
    spot = int(np.argmax(wrong))
    sentence = f"Number {spot + 1} of {exercise.name}, {got[spot]:g}, is not right to 3 decimals."
    if wrong.all():
        sentence = f"None of the {expected.size} numbers of {exercise.name} is right to 3 decimals."
    return Report(exercise, "wrong", sentence + _wrong_sum(got, expected, exercise.tolerance))


def _wrong_sum(got: NDArray, expected: NDArray, tolerance: float) -> str:
    """Say that numbers which should sum to 1 do not; empty if they do, or need not."""
    total, room = float(got.sum()), got.size * tolerance
    if abs(expected.sum() - 1) > 1e-9 or abs(total - 1) <= room:
        return ""
    return (
        f" They sum to {total:.4g}, and weights sum to 1: divide each exponential by the sum of all "
        f"{got.size}."
    )


def _number(entry: Any) -> float:
    """Return an entry of a value as a number: NaN for one that is none."""
    if isinstance(entry, (str, bytes)):
        return math.nan
    try:
        return float(entry)
    except (TypeError, ValueError, OverflowError):
        return math.nan
