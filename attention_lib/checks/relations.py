"""Relate wrong results to the right ones by a constant factor, and name what it equals.

A sentence must hold on every wrong call, and enough numbers must show it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from attention_lib.checks.cases import SLACK
from attention_lib.checks.comparing import Comparison, Part, differing
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.sizes import Named, named_numbers

ENOUGH = 3  # different numbers that show a factor


def related(exercise: Exercise, failing: Sequence[Comparison]) -> str:
    """Say by which factor the wrong results differ from the right ones; empty if by none."""
    wrong = [[(one, part) for part in one.parts or () if part.is_wrong] for one in failing]
    if not wrong or not all(wrong):
        return ""
    with np.errstate(all="ignore"):
        clauses = {
            name: _clause(
                exercise, [pair for parts in wrong for pair in parts if pair[1].name == name]
            )
            for name in dict.fromkeys(part.name for parts in wrong for _, part in parts)
        }
    (name, clause), *others = clauses.items()
    if not clause:
        return ""
    is_whole = not name or (others and all(other == clause for _, other in others))
    text = clause if is_whole else f"in {name}, {clause}"
    return f"{text[0].upper()}{text[1:]}."


def _clause(exercise: Exercise, found: Sequence[tuple[Comparison, Part]]) -> str:
    """Say which factor all of these arrays have; empty if none, or too few numbers show it."""
    factors = [factor for one, part in found if (factor := _factor(one, part))]
    if len(factors) < len(found) or sum(_distinct(part) for _, part in found) < ENOUGH:
        return ""
    first, subject = factors[0], "every number is"
    if np.size(found[0][1].value) == 1:
        subject = "the number is"
    if all(factor == -1.0 for factor in factors):
        return f"{subject} right but for its sign: it is negative where it should be positive, or the reverse"
    size, much = max(abs(first), 1 / abs(first)), "large" if abs(first) > 1 else "small"
    what = f"{subject} {size:.4g} times too {much}{', and has the wrong sign' if first < 0 else ''}"
    for power, remedy in ((1, "divide"), (-1, "multiply")):
        named, *others = [
            dict(_that_are(abs(factor) ** power, exercise, one))
            for factor, (one, _) in zip(factors, found, strict=True)
        ]
        common = [text for text in named if all(text in other for other in others)]
        if common:
            text = min(common, key=_is_unlikely)
            value = f"{named[text]:.4g}"
            return (
                f"{what}: {remedy} by it once"
                if text == value
                else f"{what}; {value} is {text}: {remedy} by it once"
            )
    return what if len({f"{factor:.5g}" for factor in factors}) == 1 else ""


def _factor(one: Comparison, part: Part) -> float | None:
    """Return the factor between an array and the right one; None if it is not constant, or 1."""
    got, off, right = part.numbers, part.off, np.asarray(part.expected.values, np.float64)
    if got is None or off is None or not right.size:
        return None
    size = np.where(np.isfinite(right), np.abs(right), -1.0)
    spot = np.unravel_index(np.argmax(size), size.shape)
    factor = float(got[spot] / right[spot])
    if not math.isfinite(factor) or factor == 0 or abs(factor - 1) < 1e-3:
        return None
    scaled = factor * right
    rounding = 8 * SLACK * float(one.trial.precision.eps) * np.abs(scaled) + part.allowed
    rounding = np.where(off, np.minimum(rounding, np.abs(got - right) / 20), rounding)
    if differing(got, scaled, rounding).any():
        return None
    return -1.0 if abs(factor + 1) < 1e-3 else factor


def _distinct(part: Part) -> int:
    """Count the different numbers other than 0 and infinity, up to rounding."""
    values = np.asarray(part.expected.values, np.float64).ravel()
    return len({f"{x:.5g}" for x in values[np.isfinite(values) & (values != 0)][:200]})


def _that_are(size: float, exercise: Exercise, one: Comparison) -> Iterator[Named]:
    """Find the sizes of a call and the constants that equal a number."""
    tolerance = max(1e-9, 1000 * float(one.trial.precision.eps))
    for named in named_numbers(exercise.arguments_of(one.trial.case)):
        if abs(named.value - size) <= tolerance * size:
            yield named


def _is_unlikely(name: str) -> bool:
    """Tell whether a size is one that right results do not depend on."""
    return "block_size" in name or name.endswith(".size")
