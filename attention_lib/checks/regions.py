"""Regions of a result: the last row, what follows the diagonal, the rows with -inf."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lib.checks.calls.tensors import as_numbers

Region = tuple[str, str, NDArray[np.bool_]]  # label, what the learner reads, the entries


def visible_places(shape: tuple[int, ...]) -> set[str]:
    """Label the places of a result, such as its last row, that do not fill it."""
    return {label for label, _, inside in _by_place(shape) if inside.any() and not inside.all()}


def region_clauses(
    off: NDArray[np.bool_], arguments: dict[str, Any]
) -> Iterator[tuple[str, str, int]]:
    """Yield each region outside which nothing is wrong, and how many entries show it."""
    for label, clause, inside in (
        *_by_content(off.shape, arguments),
        *_by_block(off.shape, arguments),
    ):
        if not (off & ~inside).any():
            yield label, clause, int(min(off.sum(), (~inside).sum()))
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


def _by_block(shape: tuple[int, ...], arguments: dict[str, Any]) -> Iterator[Region]:
    block = arguments.get("block_size")
    if not isinstance(block, int) or len(shape) < 2 or block < 1:
        return
    rows = np.indices(shape)[-2]
    short = shape[-2] - shape[-2] % block
    yield (
        "short block",
        "only the rows of the last block are wrong, which is short where block_size does not "
        "divide their number",
        rows >= short,
    )
    yield "first block", "only the rows of the first block are wrong", rows < block
    yield "later blocks", "only the first block of rows is right", rows >= block


def _by_content(shape: tuple[int, ...], arguments: dict[str, Any]) -> Iterator[Region]:
    for name, argument in arguments.items():
        value = as_numbers(argument)
        if not isinstance(value, np.ndarray) or value.ndim == 0 or value.dtype.kind not in "biuf":
            continue
        for what, marked in _marked(value):
            if not marked.any() or marked.all():
                continue
            yield from _where(name, what, marked, shape)


def _marked(value: NDArray) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    if value.dtype == bool:
        yield "False", ~value
        yield "True", value
        return
    if value.dtype.kind == "f":
        yield "-inf", np.isneginf(value)
        yield "NaN", np.isnan(value)
        with np.errstate(invalid="ignore"):
            yield "above 88 in size", np.isfinite(value) & (np.abs(value) > 88)
    yield "0", value == 0
    yield "below 0", value < 0


def _where(
    name: str, what: str, marked: NDArray[np.bool_], shape: tuple[int, ...]
) -> Iterator[Region]:
    """Yield entries, and rows, of the result that lie where an argument's do."""
    if _fits(marked.shape, shape) and marked.ndim == len(shape):
        yield (
            f"{name} {what}",
            f"only where {name} is {what} is the result wrong",
            np.broadcast_to(marked, shape),
        )
    if marked.ndim < 2:
        return
    for every, rows in (("nothing but", np.all(marked, -1)), ("a", np.any(marked, -1))):
        spread = np.expand_dims(rows, -1)
        if rows.any() and not rows.all():
            for inside in (spread, rows):
                if _fits(inside.shape, shape) and inside.ndim <= len(shape):
                    what_in_row = what if every == "nothing but" else f"entries that are {what}"
                    yield (
                        f"rows {name} {every} {what}",
                        f"only the rows where {name} has {'nothing but ' if every != 'a' else ''}"
                        f"{what_in_row} are wrong",
                        np.broadcast_to(inside, shape),
                    )
                    break


def _fits(inner: tuple[int, ...], outer: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(inner, outer) == outer
    except ValueError:
        return False
