"""Relations between a wrong result and the right one: a factor, a transpose, one row alone.

Each relation is a small function that yields what holds on one call. A sentence is said only when
it holds on every wrong call, and when enough numbers show it.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attention_lib.checks.calls.tensors import as_numbers
from attention_lib.checks.cases import SLACK
from attention_lib.checks.comparing import Comparison, differing
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.regions import region_clauses, visible_places
from attention_lib.checks.sizes import CONSTANTS, Named, named_numbers

ENOUGH = 2  # numbers that show a relation, beyond those that fix its constants


@dataclass(frozen=True)
class Pair:
    """One wrong array beside the right one, and the arguments of the call by name."""

    got: NDArray[np.float64]
    right: NDArray[np.float64]
    allowed: Any
    precision: Any
    arguments: dict[str, Any]

    @property
    def fits(self) -> bool:
        return self.got.shape == self.right.shape

    @property
    def off(self) -> NDArray[np.bool_]:
        """Mark the wrong entries."""
        return differing(self.got, self.right, self.allowed)

    @property
    def telling(self) -> int:
        """Count the different wrong numbers, leaving out those that prove little."""
        wrong = self.got[self.off] if self.fits else self.got
        return len(_numbers(wrong) - {"1", "-1"})

    def is_now(self, other: NDArray) -> bool:
        """Tell whether the result equals `other`, to a twentieth of what is wrong with it."""
        if other.shape != self.got.shape or not other.size:
            return False
        with np.errstate(all="ignore"):
            size = np.abs(np.where(np.isfinite(other), other, 0.0))
            rounding = 8 * SLACK * float(self.precision.eps) * size
            distance = np.abs(self.got - other)
            if self.fits:
                rounding = rounding + self.allowed
                error = np.abs(self.got - self.right)
                rounding = np.where(self.off, np.minimum(rounding, error / 20), rounding)
            same = (self.got == other) | (np.isnan(self.got) & np.isnan(other))
            return bool(((distance <= rounding) | same).all())


class Holds(NamedTuple):
    """What holds on one call. Relations of several calls are the same if their labels are."""

    label: tuple[Any, ...]
    clause: str  # what the learner reads, without a capital and a full stop
    shown_by: int  # how many numbers show it; 0 where it could not be otherwise
    name: str = ""  # of the size that a factor or an offset is


Relation = Callable[[Pair], Iterator[Holds]]


@dataclass(frozen=True)
class Related:
    """How wrong results come from the right ones."""

    sentence: str
    tells_where: bool = False  # it says which entries are wrong, and not why


def related(
    exercise: Exercise, failing: Sequence[Comparison], right: Sequence[Comparison] = ()
) -> Related | None:
    """Find how the results of the wrong calls come from the right ones.

    A place is no explanation if a result of a right call has it too, and nothing is wrong there.
    """
    exchanged = _exchanged_parts(failing)
    if exchanged:
        return Related(exchanged)
    wrong_parts = [_parts(exercise, comparison) for comparison in failing]
    if not wrong_parts or not all(wrong_parts):
        return None
    first, *others = dict.fromkeys(itertools.chain.from_iterable(wrong_parts))
    refuted = {
        ("region", label)
        for one in right
        for part in one.parts or ()
        if part.name == first
        for label in visible_places(part.expected.values.shape)
    }
    for relation in RELATIONS:
        holds = _holds_on_all(relation, _pairs(wrong_parts, first), refuted)
        if not holds:
            continue
        same = [
            other.label == holds.label
            for which in others
            if (other := _holds_on_all(relation, _pairs(wrong_parts, which)))
        ]
        everywhere = not first or (others and len(same) == len(others) and all(same))
        clause = holds.clause if everywhere else f"in {first}, {holds.clause}"
        return Related(f"{clause[0].upper()}{clause[1:]}.", relation in TELL_WHERE)
    return None


def _pairs(wrong_parts: Sequence[dict[str, Pair]], which: str) -> list[Pair]:
    return [parts[which] for parts in wrong_parts if which in parts]


def _holds_on_all(
    relation: Relation, pairs: Sequence[Pair], refuted: Collection[tuple[Any, ...]] = ()
) -> Holds | None:
    with np.errstate(all="ignore"):
        first = [one for one in relation(pairs[0]) if one.label not in refuted]
        others: list[dict[tuple[Any, ...], Holds]] = []
        for pair in pairs[1:]:
            others.append({one.label: one for one in relation(pair)})
            first = [one for one in first if one.label in others[-1]]
            if not first:
                return None
    shown = [
        one
        for one in first
        if one.shown_by + sum(other[one.label].shown_by for other in others) >= ENOUGH
    ]
    return _with_rivals(shown) if shown else None


def _with_rivals(shown: Sequence[Holds]) -> Holds:
    """Name the other sizes that are the same number in all of these calls, beside the first."""
    first = shown[0]
    kinds = {_kind_of_size(first.name): first.name}
    for one in shown[1:]:
        if one.name in CONSTANTS or (_is_unlikely(one.name) and not _is_unlikely(first.name)):
            continue
        if one.name and one.label[0] == first.label[0] and one.label[2:] == first.label[2:]:
            kinds.setdefault(_kind_of_size(one.name), one.name)
    names = list(kinds.values())
    if not first.name or len(names) == 1:
        return first
    named = f" is {first.name}"
    both = f"{named}, and here {_listed(names[1:3])} too"
    return first._replace(clause=first.clause.replace(named, both, 1))


def _kind_of_size(name: str) -> str:
    """Leave out whose axis a size is: those of query and key are mostly the same."""
    return re.sub(r"\w+\.shape", "shape", name)


def _parts(exercise: Exercise, comparison: Comparison) -> dict[str, Pair]:
    """Return the wrong arrays of a result, by what a learner calls each of several."""
    arguments = exercise.arguments_of(comparison.trial.case)
    pairs = {}
    for part in comparison.parts or ():
        got = part.numbers
        if got is None:
            return {}
        right = np.asarray(part.expected.values, np.float64)
        precision = comparison.trial.precision
        pair = Pair(got.astype(np.float64), right, part.allowed, precision, arguments)
        if part.is_wrong:
            pairs[part.name] = pair
    return pairs


def _exchanged_parts(failing: Sequence[Comparison]) -> str:
    """Say in which order the parts of a pair or more would be right."""
    order: tuple[int, ...] | None = None
    for comparison in failing:
        parts = comparison.parts or ()
        if len(parts) < 2 or any(part.name.startswith("part") for part in parts):
            return ""
        in_place = tuple(range(len(parts)))
        fits = [
            places
            for places in itertools.permutations(in_place)
            if places != in_place
            and order in (None, places)
            and not any(
                replace(part, value=parts[place].value).is_wrong
                for place, part in zip(places, parts, strict=True)
            )
        ]
        if len(fits) != 1:
            return ""
        (order,) = fits
    if order is None:
        return ""
    return (
        "The results are right, but stand in another order: return "
        f"{_listed([f'your result {place + 1}' for place in order])}, in this order."
    )


# What a relation is built from


def _distinct(values: NDArray) -> int:
    """Count the different numbers other than 0 and infinity, up to rounding."""
    return len(_numbers(values))


def _numbers(values: NDArray) -> set[str]:
    finite = values[np.isfinite(values) & (values != 0)]
    return {f"{number:.5g}" for number in finite.ravel()[:200]}


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _subject(pair: Pair) -> str:
    return "every number is" if pair.right.size > 1 else "the number is"


def _largest(values: NDArray) -> tuple[int, ...]:
    size = np.where(np.isfinite(values), np.abs(values), -1.0)
    return tuple(int(i) for i in np.unravel_index(np.argmax(size), size.shape))


# Relations, the most telling first


def _opposite_sign(pair: Pair) -> Iterator[Holds]:
    if pair.fits and pair.is_now(-pair.right):
        yield Holds(
            ("sign",),
            f"{_subject(pair)} right but for its sign: it is negative where it should "
            "be positive, or the reverse",
            _distinct(pair.right),
        )


def _constant_factor(pair: Pair) -> Iterator[Holds]:
    if not pair.fits or not pair.right.size:
        return
    spot = _largest(pair.right)
    factor = float(pair.got[spot] / pair.right[spot])
    if not math.isfinite(factor) or abs(abs(factor) - 1) < 1e-3 or factor == 0:
        return
    if not pair.is_now(factor * pair.right):
        return
    size = abs(factor) if abs(factor) > 1 else 1 / abs(factor)
    much = "large" if abs(factor) > 1 else "small"
    what = f"{_subject(pair)} {size:.4g} times too {much}"
    if factor < 0:
        what += ", and has the wrong sign"
    shown_by = _distinct(pair.right)
    for times, value in ((True, abs(factor)), (False, 1 / abs(factor))):
        for named in _that_are(value, pair):
            remedy = "divide by it once" if times else "multiply by it once"
            text = f"; {value:.4g} is {named.text}: {remedy}"
            if plain := named.text == f"{value:.4g}":
                few = "many" if times else "few"
                text = f": look for a factor of {named.text} too {few}"
            name = "" if plain else named.text
            yield Holds(("factor", named.text, times, factor < 0), what + text, shown_by, name)
    yield Holds(("factor", f"{factor:.5g}"), what, shown_by - 1)


def _constant_offset(pair: Pair) -> Iterator[Holds]:
    if not pair.fits or not pair.right.size:
        return
    spot = _largest(pair.right)
    offset = float(pair.got[spot] - pair.right[spot])
    if not math.isfinite(offset) or not pair.is_now(pair.right + offset):
        return
    much = "large" if offset > 0 else "small"
    what = f"{_subject(pair)} {abs(offset):.4g} too {much}"
    remedy = "subtract it" if much == "large" else "add it"
    shown_by = _distinct(pair.right)
    for named in _that_are(abs(offset), pair):
        plain = named.text == f"{abs(offset):.4g}"
        text = "" if plain else f"; that is {named.text}: {remedy}"
        yield Holds(
            ("offset", named.text, much), what + text, shown_by, "" if plain else named.text
        )
    yield Holds(("offset", f"{offset:.5g}"), what, shown_by - 1)


def _that_are(size: float, pair: Pair) -> Iterator[Named]:
    """Find the numbers of a call, and known ones, that equal this one."""
    tolerance = max(1e-9, 1000 * float(pair.precision.eps))
    equal = [
        named
        for named in named_numbers(pair.arguments)
        if abs(named.value - size) <= tolerance * size
    ]
    yield from sorted(equal, key=lambda named: _is_unlikely(named.text))


def _is_unlikely(name: str) -> bool:
    """Tell whether a size is one that a right result does not depend on."""
    return "block_size" in name or name.endswith(".size")


def _elementwise(pair: Pair) -> Iterator[Holds]:
    if not pair.fits:
        return
    for text, function in ELEMENTWISE.items():
        other = function(pair.right)
        if pair.is_now(other):
            yield Holds((text,), text, pair.telling)


ELEMENTWISE: dict[str, Callable[[NDArray], NDArray]] = {
    "every number is the square root of the right one": np.sqrt,
    "every number is cut to a whole one: an array of integers holds no fractions, so make a float "
    "array": np.trunc,
}


def _rounded(pair: Pair) -> Iterator[Holds]:
    if not pair.fits:
        return
    for decimals in range(13):
        other = np.round(pair.right, decimals)
        if pair.is_now(other):
            yield Holds(
                ("rounded", decimals),
                f"{_subject(pair)} rounded to {decimals} decimals: leave out the rounding",
                pair.telling,
            )


def _few_digits(pair: Pair) -> Iterator[Holds]:
    if not pair.fits or not np.isfinite(pair.got).all() or float(pair.precision.eps) > 1e-10:
        return
    off = pair.off
    if not pair.right[off].all():
        return
    relative = float((np.abs(pair.got - pair.right)[off] / np.abs(pair.right[off])).max())
    eps = float(np.finfo(np.float32).eps)
    held_by_float32 = bool((pair.got.astype(np.float32) == pair.got).all())
    if relative <= 64 * eps and held_by_float32 and _distinct(pair.got):
        yield Holds(
            ("float32",),
            f"{_subject(pair)} right to the 7 digits of float32, and a float32 number: compute in "
            "float64, without np.float32 or dtype=np.float32",
            ENOUGH,
        )
    if relative <= 1e-5:
        yield Holds(
            ("few digits",),
            f"{_subject(pair)} right to some {min(14, int(-math.log10(relative)))} digits, where "
            "float64 has 15: look for a constant with few digits, for a small number that is added "
            "(such as 1e-9), and for float32 or rounding on the way",
            ENOUGH,
        )


def _another_order(pair: Pair) -> Iterator[Holds]:
    """Look for axes exchanged, reversed or rolled, with the shape that this leads to."""
    right, got = pair.right, pair.got
    varied = min(_distinct(right), pair.telling)
    if not pair.fits and right.size == got.size and pair.is_now(right.reshape(got.shape)):
        yield Holds(
            ("shape",),
            f"the numbers are right, and only the shape is not: {_shape_advice(pair)}",
            varied,
        )
    if right.ndim > 4 or varied < 3:
        return
    axes = range(-right.ndim, 0)
    for one, other in itertools.combinations(axes, 2):
        if pair.is_now(np.swapaxes(right, one, other)):
            yield Holds(
                ("swapped", one, other),
                f"the numbers are right, but axes {one} and {other} are exchanged",
                varied,
            )
    for axis in axes:
        where = f"along axis {axis}"
        if right.shape[axis] > 1 and pair.is_now(np.flip(right, axis)):
            yield Holds(("reversed", axis), f"the numbers are right, but reversed {where}", varied)
        for by in (1, -1):
            if right.shape[axis] > 2 and pair.is_now(np.roll(right, by, axis)):
                to = "later" if by == 1 else "earlier"
                yield Holds(
                    ("rolled", axis, by),
                    f"the numbers are right, but each stands one place {to} {where} than it should",
                    varied,
                )
    if pair.fits:
        mirrored = np.swapaxes(right, -1, -2) if right.ndim > 1 else right
        if right.ndim > 1 and pair.is_now(mirrored.reshape(right.shape)):
            yield Holds(
                ("reshaped",),
                "the right numbers are there, but reshape has put them in other places: it exchanges "
                "no axes",
                varied,
            )


def _shape_advice(pair: Pair) -> str:
    got, right = pair.got.shape, pair.right.shape
    if len(got) == 1:
        for name, value in pair.arguments.items():
            if np.shape(as_numbers(value)) == right:
                return f"they come in one flat row, and should have the shape of {name}"
    if [size for size in got if size != 1] == [size for size in right if size != 1]:
        if len(got) > len(right):
            return "look for keepdims=True or a [None] too many"
        if len(got) < len(right):
            return "axes of length 1 are missing"
    return "look at where axes are joined or cut"


def _one_number(pair: Pair) -> Iterator[Holds]:
    if pair.got.size < 3 or not pair.fits:
        return
    first = float(pair.got.flat[0])
    if math.isfinite(first) and (pair.got == first).all() and _distinct(pair.right) > 1:
        text = f"every number is {first:.4g}"
        advice = ": is the array that you return ever filled?" if first == 0 else ""
        yield Holds(("one number", f"{first:.5g}"), text + advice, 1)


def _region(pair: Pair) -> Iterator[Holds]:
    if pair.fits:
        for label, clause, shown_by in region_clauses(pair.off):
            yield Holds(("region", label), clause, shown_by)


RELATIONS: tuple[Relation, ...] = (
    _opposite_sign,
    _constant_factor,
    _constant_offset,
    _elementwise,
    _rounded,
    _few_digits,
    _another_order,
    _one_number,
    _region,
)
TELL_WHERE = (_one_number, _region)  # but not what to change
