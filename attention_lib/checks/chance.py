"""Tell whether numbers that an answer shares with a mistake are more than a coincidence."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from attention_lib.checks.calls.case import Case
from attention_lib.checks.calls.tensors import as_numbers
from attention_lib.checks.comparing import Comparison
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.sizes import sizes


def leaves(value: Any) -> Iterator[Any]:
    """Yield all arrays of a nested result, even if it has too few or too many."""
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from leaves(item)
    else:
        yield as_numbers(value)


def numbers_in(one: Comparison, part: int) -> set[str]:
    """Return the distinct wrong numbers of a result as text; for booleans, the wrong places."""
    value, off = one.seen.value, None
    if one.parts:
        value, off = one.parts[part].value, one.parts[part].off
    arrays = [np.asarray(array) for array in leaves(value)]
    if off is not None:
        (array,) = arrays
        arrays = [np.argwhere(off).sum(axis=-1) + 2.0 if array.dtype == bool else array[off]]
    # Many mistakes give 0, 1, NaN or infinity. 50 numbers of an array show enough.
    arrays = [array[np.isfinite(array) & (np.abs(array) > 1e-8)] for array in arrays]
    return {f"{number:.6g}" for array in arrays for number in array[:50].tolist()} - {"1", "-1"}


def is_telling(wrong: Sequence[Comparison]) -> bool:
    """Tell whether several calls and several distinct wrong numbers show a fault."""
    numbers = set[str]()
    for one in wrong:
        for part in range(len(one.parts or (None,))):
            numbers |= numbers_in(one, part)
    return len(wrong) > 1 and len(numbers) > 1


def has_different_axes(exercise: Exercise, case: Case) -> bool:
    """Tell whether all axes of each array differ in length, and none has length 1.

    Learned matrices are left out, as most layers have square ones.
    """
    shapes = [
        np.shape(value)
        for name, argument in exercise.arguments_of(case).items()
        if not name.startswith("w_")
        for value in leaves(argument)
    ]
    return all(len(set(shape)) == len(shape) and 1 not in shape for shape in shapes)


def share_a_size(
    exercise: Exercise, explained: Sequence[Comparison], others: Sequence[Comparison]
) -> bool:
    """Tell whether a size, or a difference of sizes of at most 1, is common to these calls alone.

    Then a fault may fit by chance. Where d_k is 4, √d_k and 2 are the same number.
    """
    common = set.intersection(*(_sizes_in(exercise, one) for one in explained))
    return bool(common - set().union(*(_sizes_in(exercise, one) for one in others)))


def _sizes_in(exercise: Exercise, one: Comparison) -> set[tuple[str, float]]:
    named = dict(sizes(exercise.arguments_of(one.trial.case)))
    neighbors = {
        (f"{first} - {second}", named[first] - named[second])
        for first, second in itertools.combinations(named, 2)
        if abs(named[first] - named[second]) <= 1
    }
    return {*named.items(), *neighbors}
