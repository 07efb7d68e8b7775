"""Recognizing the known mistake that gives the same numbers as a wrong answer."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from attention_lib.checks.calls.calling import observe
from attention_lib.checks.calls.case import Case
from attention_lib.checks.calls.observation import Observation
from attention_lib.checks.calls.tensors import as_numbers
from attention_lib.checks.calls.timeouts import OutOfTime
from attention_lib.checks.cases import SLACK
from attention_lib.checks.comparing import NUMERIC, Comparison, differing
from attention_lib.checks.exercise import Exercise, Mistake


def recognize(exercise: Exercise, comparisons: Sequence[Comparison]) -> Mistake | None:
    """Find the known mistake whose numbers are the learner's own, on every case.

    One that stops with the same words comes before one that stops with others.
    """
    nearest = None
    for mistake in exercise.mistakes:
        for variant in () if mistake.measured else mistake.variants:
            agreement = _agreement(exercise, variant, comparisons)
            if agreement == "whole":
                return mistake
            if agreement and nearest is None:
                nearest = mistake
    return nearest


def _agreement(
    exercise: Exercise, variant: Any, comparisons: Sequence[Comparison]
) -> Literal["whole", "but for words"] | None:
    """Tell whether a mistake does what the answer did on every case, errors included.

    An error alone proves little, and its words depend on how the answer is written; nor does
    a dtype prove anything. One wrong number at least must be shared.
    """
    shared_a_wrong_number, same_words = False, True
    for comparison in comparisons:
        trial, seen = comparison.trial, comparison.seen
        other = _observed(exercise, variant, trial.case)
        if other is None:
            return None
        asked_for = trial.case.raises or ()  # in words of the learner's own
        if isinstance(other.error, asked_for) and isinstance(seen.error, asked_for):
            continue
        if _kind(other.error) != _kind(seen.error):
            return None
        same_words &= repr(other.error) == repr(seen.error)
        if other.error is None:
            if not _alike(seen.value, other.value, trial.allowed, trial.precision):
                return None
            shared_a_wrong_number |= comparison.wrong_in_numbers
    if not shared_a_wrong_number:
        return None
    return "whole" if same_words else "but for words"


def _observed(exercise: Exercise, variant: Any, case: Case) -> Observation | None:
    """Return what a known mistake does on a case, or None if it runs out of time there."""
    try:
        return _observed_once(exercise, variant, case)
    except OutOfTime:
        return None


@functools.lru_cache(maxsize=2048)
def _observed_once(exercise: Exercise, variant: Any, case: Case) -> Observation:
    """Observe a known mistake; every wrong answer is compared with the same observations.

    Running out of time is raised: on a busy machine it may do so once, and is not cached.
    """
    with np.errstate(all="ignore"):
        seen = observe(exercise.on_cases(variant), case, limit=1.0)
    if seen.out_of_time:
        raise OutOfTime
    return seen


def _kind(error: BaseException | None) -> str:
    return type(error).__name__  # a class of the same name, where it came from another process


def _alike(value: Any, other: Any, allowed: Any, precision: Any) -> bool:
    """Tell whether two results are the same but for rounding, whatever their dtypes."""
    if isinstance(value, (tuple, list)) and isinstance(other, (tuple, list)):
        parts = allowed if isinstance(allowed, tuple) else (allowed,) * len(other)
        return len(value) == len(other) and all(
            map(_alike, value, other, parts, (precision,) * len(other))
        )
    if value is None:
        return other is None
    value, other = as_numbers(value), as_numbers(other)
    if not isinstance(value, NUMERIC) or not isinstance(other, NUMERIC):
        return type(value) is type(other) and value.__hash__ is not None and value == other
    value, other = np.asarray(value), np.asarray(other)
    if (
        value.shape != other.shape
        or value.dtype.kind not in "biuf"
        or other.dtype.kind not in "biuf"
    ):
        return False
    size = np.abs(np.where(np.isfinite(other), other, 0.0))
    rounding = 8 * SLACK * float(precision.eps) * size
    for part in allowed if isinstance(allowed, tuple) else (allowed,):
        if part is not None and _broadcasts(part, other.shape):
            rounding = rounding + part
            break
    both_nan = np.isnan(value) & np.isnan(other)
    return not (differing(value, other, rounding) & ~both_nan).any()


def _broadcasts(array: Any, shape: tuple[int, ...]) -> bool:
    try:
        np.broadcast_to(array, shape)
    except ValueError:
        return False
    return True
