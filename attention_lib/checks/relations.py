"""Relate wrong results to the right ones: by a constant factor, or by results in another order.

A sentence must hold on every wrong call, and enough numbers must show it.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attention_lib.checks.cases import SLACK
from attention_lib.checks.comparing import Comparison, differing
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.sizes import CONSTANTS, Named, named_numbers

ENOUGH = 2  # numbers that show a factor, beyond the one that fixes it


@dataclass(frozen=True)
class Pair:
    """One wrong array beside the right one, and the arguments of the call by name."""

    got: NDArray[np.float64]
    right: NDArray[np.float64]
    allowed: Any
    precision: Any
    arguments: dict[str, Any]

    def is_now(self, other: NDArray) -> bool:
        """Tell whether the result equals `other`, but for rounding or a twentieth of its error."""
        size = np.abs(np.where(np.isfinite(other), other, 0.0))
        rounding = 8 * SLACK * float(self.precision.eps) * size + self.allowed
        error = np.abs(self.got - self.right)
        wrong = differing(self.got, self.right, self.allowed)
        rounding = np.where(wrong, np.minimum(rounding, error / 20), rounding)
        same = (self.got == other) | (np.isnan(self.got) & np.isnan(other))
        return bool(((np.abs(self.got - other) <= rounding) | same).all())


class Factor(NamedTuple):
    """A constant factor on one call. Those of several calls are the same if their labels are."""

    label: tuple[Any, ...]
    clause: str  # the sentence, without its capital and full stop
    shown_by: int  # how many numbers show it
    name: str = ""  # the name of the size that it equals


def related(exercise: Exercise, failing: Sequence[Comparison]) -> str:
    """Say how the wrong results differ from the right ones; empty if it is unknown."""
    wrong_parts = [_parts(exercise, comparison) for comparison in failing]
    if not wrong_parts or not all(wrong_parts):
        return ""
    first, *others = dict.fromkeys(itertools.chain.from_iterable(wrong_parts))
    factor = common_factor(_pairs(wrong_parts, first))
    if not factor:
        return ""
    same = [
        other.label == factor.label
        for which in others
        if (other := common_factor(_pairs(wrong_parts, which)))
    ]
    everywhere = not first or (others and len(same) == len(others) and all(same))
    clause = factor.clause if everywhere else f"in {first}, {factor.clause}"
    return f"{clause[0].upper()}{clause[1:]}."


def _pairs(wrong_parts: Sequence[dict[str, Pair]], which: str) -> list[Pair]:
    return [parts[which] for parts in wrong_parts if which in parts]


def common_factor(pairs: Sequence[Pair]) -> Factor | None:
    """Find the factor between wrong and right numbers that all calls have in common."""
    with np.errstate(all="ignore"):
        first, *others = [{one.label: one for one in _factors(pair)} for pair in pairs]
    shown = [
        one
        for label, one in first.items()
        if all(label in other for other in others)
        and one.shown_by + sum(other[label].shown_by for other in others) >= ENOUGH
    ]
    return _with_rivals(shown) if shown else None


def _with_rivals(shown: Sequence[Factor]) -> Factor:
    """Add to the first factor the names of other sizes that are the same number in all calls."""
    first = shown[0]
    kinds = {_kind_of_size(first.name): first.name}
    for one in shown[1:]:
        if one.name in CONSTANTS or (_is_unlikely(one.name) and not _is_unlikely(first.name)):
            continue
        if one.name and one.label[1:] == first.label[1:]:
            kinds.setdefault(_kind_of_size(one.name), one.name)
    names = list(kinds.values())
    if not first.name or len(names) == 1:
        return first
    named = f" is {first.name}"
    both = f"{named}, and here {' and '.join(names[1:3])} too"
    return first._replace(clause=first.clause.replace(named, both, 1))


def _kind_of_size(name: str) -> str:
    """Replace the array in the name of a size: query and key mostly have the same sizes."""
    return re.sub(r"\w+\.shape", "shape", name)


def _parts(exercise: Exercise, comparison: Comparison) -> dict[str, Pair]:
    """Return the wrong arrays of a result, by the name of each."""
    arguments = exercise.arguments_of(comparison.trial.case)
    pairs = {}
    for part in comparison.parts or ():
        got = part.numbers
        if got is None:
            return {}
        if part.is_wrong:
            right = np.asarray(part.expected.values, np.float64)
            sizes = part.allowed, comparison.trial.precision, arguments
            pairs[part.name] = Pair(got.astype(np.float64), right, *sizes)
    return pairs


def _distinct(values: NDArray) -> int:
    """Count the different numbers other than 0 and infinity, up to rounding."""
    finite = values[np.isfinite(values) & (values != 0)]
    return len({f"{number:.5g}" for number in finite.ravel()[:200]})


def _largest(values: NDArray) -> tuple[int, ...]:
    size = np.where(np.isfinite(values), np.abs(values), -1.0)
    return tuple(int(i) for i in np.unravel_index(np.argmax(size), size.shape))


def _factors(pair: Pair) -> Iterator[Factor]:
    """Yield the constant factor between two arrays, first by the names of sizes that it equals."""
    if pair.got.shape != pair.right.shape or not pair.right.size:
        return
    spot = _largest(pair.right)
    factor, shown_by = float(pair.got[spot] / pair.right[spot]), _distinct(pair.right)
    if not math.isfinite(factor) or factor == 0 or not pair.is_now(factor * pair.right):
        return
    subject = "every number is" if pair.right.size > 1 else "the number is"
    if abs(abs(factor) - 1) < 1e-3:
        if pair.is_now(-pair.right):
            what = (
                "right but for its sign: it is negative where it should be positive, or the reverse"
            )
            yield Factor(("sign",), f"{subject} {what}", shown_by)
        return
    size = abs(factor) if abs(factor) > 1 else 1 / abs(factor)
    much = "large" if abs(factor) > 1 else "small"
    what = f"{subject} {size:.4g} times too {much}"
    if factor < 0:
        what += ", and has the wrong sign"
    for times, value in ((True, abs(factor)), (False, 1 / abs(factor))):
        for named in _that_are(value, pair):
            remedy = "divide by it once" if times else "multiply by it once"
            text = f"; {value:.4g} is {named.text}: {remedy}"
            if plain := named.text == f"{value:.4g}":
                few = "many" if times else "few"
                text = f": look for a factor of {named.text} too {few}"
            name = "" if plain else named.text
            yield Factor((named.text, times, factor < 0), what + text, shown_by, name)
    yield Factor((f"{factor:.5g}",), what, shown_by - 1)


def _that_are(size: float, pair: Pair) -> Iterator[Named]:
    """Find the sizes of a call and the constants that equal a number."""
    tolerance = max(1e-9, 1000 * float(pair.precision.eps))
    equal = [
        named
        for named in named_numbers(pair.arguments)
        if abs(named.value - size) <= tolerance * size
    ]
    yield from sorted(equal, key=lambda named: _is_unlikely(named.text))


def _is_unlikely(name: str) -> bool:
    """Tell whether a size is one that right results do not depend on."""
    return "block_size" in name or name.endswith(".size")
