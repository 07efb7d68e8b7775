"""Regions of a result: the last row, or what follows the diagonal."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Region = tuple[str, str, NDArray[np.bool_]]  # label, what the learner reads, the entries


def visible_places(shape: tuple[int, ...]) -> set[str]:
    """Label the places of a result, such as its last row, that do not fill it."""
    return {label for label, _, inside in _by_place(shape) if inside.any() and not inside.all()}


def region_clauses(off: NDArray[np.bool_]) -> Iterator[tuple[str, str, int]]:
    """Yield each region outside which nothing is wrong, and whether its entries show it."""
    for label, clause, inside in _by_place(off.shape):
        outside = off.size - inside.sum()
        # Two calls must show it, each with nearly all of the region wrong: one may by chance.
        if not (off & ~inside).any():
            yield label, clause, int(outside > 1 and 4 * off.sum() >= 3 * inside.sum())


def _by_place(shape: tuple[int, ...]) -> Iterator[Region]:
    if len(shape) > 1:
        rows, columns = np.indices(shape[-2:])
        for label, verb, inside in (
            ("entries after the diagonal, with a larger column than row,", "are", columns > rows),
            ("entries before the diagonal, with a larger row than column,", "are", columns < rows),
            ("the diagonal", "is", columns == rows),
            ("entries off the diagonal", "are", columns != rows),
        ):
            yield (
                label,
                f"only {label} {verb} wrong: all others are right",
                np.broadcast_to(inside, shape),
            )
    for axis in range(-len(shape), 0):
        index = np.indices(shape)[axis]
        unit = {-1: "column" if len(shape) > 1 else "entry", -2: "row"}.get(
            axis, f"item along axis {axis}"
        )
        last = shape[axis] - 1
        yield f"last {axis}", f"only the last {unit} is wrong: all others are right", index == last
        yield f"first {axis}", f"only the first {unit} is wrong: all others are right", index == 0
        if unit == "column":
            continue
        yield (
            f"not first {axis}",
            f"the first {unit} is right, and the others are not",
            index > 0,
        )
        yield (
            f"not last {axis}",
            f"the last {unit} is right, and the others are not",
            index < last,
        )
