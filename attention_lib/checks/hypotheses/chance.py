"""Decide whether the numbers that an answer shares with a mistake are more than a coincidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from attention_lib.checks.calls.tensors import as_numbers
from attention_lib.checks.compare.comparing import Comparison


def leaves(value: Any) -> Iterator[Any]:
    """Yield all arrays of a nested result, even if there are too few or too many."""
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from leaves(item)
    else:
        yield as_numbers(value)


def is_finite_somewhere(one: Comparison) -> bool:
    """Tell whether a result holds any number other than NaN and infinity."""
    return any(np.isfinite(array).any() for array in leaves(one.seen.value))


def numbers_in(one: Comparison, part: int) -> set[str]:
    """Return the distinct wrong numbers of a result as text; for booleans, the wrong places."""
    value, off = one.seen.value, None
    if one.parts:
        value, off = one.parts[part].value, one.parts[part].off
    arrays = [np.asarray(array) for array in leaves(value)]
    if off is not None:
        (array,) = arrays
        arrays = [np.argwhere(off).sum(axis=-1) + 2.0 if array.dtype == bool else array[off]]
    # Many mistakes give 0, 1, NaN or infinity. 50 numbers of an array are enough.
    arrays = [array[np.isfinite(array) & (np.abs(array) > 1e-8)] for array in arrays]
    return {f"{number:.6g}" for array in arrays for number in array[:50].tolist()} - {"1", "-1"}


def is_telling(wrong: Sequence[Comparison]) -> bool:
    """Tell whether there are enough calls and distinct wrong numbers to prove a fault."""
    numbers = set[str]()
    for one in wrong:
        for part in range(len(one.parts or (None,))):
            numbers |= numbers_in(one, part)
    return len(wrong) > 1 and len(numbers) > 1
