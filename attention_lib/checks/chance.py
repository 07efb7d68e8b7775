"""When shared numbers are more than a coincidence."""

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
    """Yield the arrays of a result, whether there are as many as there should be or not."""
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from leaves(item)
    else:
        yield as_numbers(value)


def numbers_in(one: Comparison, part: int) -> set[str]:
    """Return the different wrong numbers of a result, as text; of truths, where they are wrong."""
    value, off = one.seen.value, None
    if one.parts:
        value, off = one.parts[part].value, one.parts[part].off
    arrays = [np.asarray(array) for array in leaves(value)]
    if off is not None:
        (array,) = arrays
        arrays = [np.argwhere(off).sum(axis=-1) + 2.0 if array.dtype == bool else array[off]]
    # Many mistakes give 0, 1, NaN or infinity. 50 numbers of an array show as much as all.
    arrays = [array[np.isfinite(array) & (np.abs(array) > 1e-8)] for array in arrays]
    return {f"{number:.6g}" for array in arrays for number in array[:50].tolist()} - {"1", "-1"}


def is_telling(wrong: Sequence[Comparison]) -> bool:
    """Tell whether a fault that explains all of these calls does so by more than chance."""
    numbers = set[str]()
    for one in wrong:
        for part in range(len(one.parts or (None,))):
            numbers |= numbers_in(one, part)
    return len(wrong) > 1 and len(numbers) > 1


def has_different_axes(exercise: Exercise, case: Case) -> bool:
    """Tell whether no array of a call has two axes of the same length, or one of length 1.

    The matrices that a layer learns are square in most layers.
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
    """Tell whether these calls have a size in common, or two neighboring ones, and no other has.

    Where d_k is 4, √d_k and 2 are the same. Where a table has one row more than there are words,
    its last rows are those from row 1 on. Such calls show neither.
    """
    common = set.intersection(*(_sizes_in(exercise, one) for one in explained))
    return bool(common - set().union(*(_sizes_in(exercise, one) for one in others)))


def _sizes_in(exercise: Exercise, one: Comparison) -> set[tuple[str, float]]:
    named = {size.text: size.value for size in sizes(exercise.arguments_of(one.trial.case))}
    plain = [text for text in named if "root" not in text]
    neighbors = {
        (f"{first} - {second}", named[first] - named[second])
        for first, second in itertools.combinations(plain, 2)
        if abs(named[first] - named[second]) <= 1
    }
    return {*named.items(), *neighbors}
