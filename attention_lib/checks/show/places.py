"""Show where a result is wrong: in words, and as two maps side by side."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SMALLEST_MAP, LARGEST_MAP = 3, 32  # rows or columns
CELL = 9  # pixels


def places(wrong: NDArray[np.bool_]) -> str:
    """Return how many entries are wrong, and which few rows, columns or items contain all of them."""
    count = int(wrong.sum())
    if wrong.ndim == 0 or count == 0:
        return ""
    if wrong.all():
        return f"all {wrong.size} entries" if wrong.size > 1 else "the only entry"
    parts = []
    for axis in range(wrong.ndim):
        others = tuple(one for one in range(wrong.ndim) if one != axis)
        indices = np.flatnonzero(wrong.any(axis=others))
        if len(indices) < wrong.shape[axis] and len(indices) <= 6:
            parts.append(f"{_axis_name(axis, wrong.ndim, len(indices))} {_list_in_words(indices)}")
    within = f", all in {' and '.join(parts)}, counted from 0" if parts else ""
    return f"{count} of {wrong.size} entries{within}"


def _axis_name(axis: int, ndim: int, count: int) -> str:
    if axis == ndim - 1:
        name = "column" if ndim > 1 else "place"
    elif axis == ndim - 2:
        name = "row"
    else:
        return f"axis {axis} at"
    return name + "s" * (count != 1)


def _list_in_words(indices: NDArray[Any]) -> str:
    texts = [str(int(index)) for index in indices]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


@dataclass(frozen=True)
class Maps:
    """Maps of the learner's numbers and of the right ones, as one SVG with its text alternative."""

    svg: str
    text: str


def maps_of(got: NDArray[Any], right: NDArray[Any], wrong: NDArray[np.bool_]) -> Maps | None:
    """Draw the first matrix with a wrong entry, next to the right one.

    Return None if the matrix is too small or too large for a map, or no entry is right.
    """
    rows, columns = right.shape[-2:] if right.ndim > 1 else (0, 0)
    if not all(SMALLEST_MAP <= length <= LARGEST_MAP for length in (rows, columns)):
        return None
    if not wrong.any() or wrong.all():
        return None
    index = tuple(int(i) for i in np.argwhere(wrong)[0][:-2])
    yours, true, marks = got[index], right[index], wrong[index]
    finite = true[np.isfinite(true)].astype(float)
    if not finite.size:
        return None
    low, high = float(finite.min()), float(finite.max())
    which = f" at {list(index)}" if index else ""
    text = (
        f"Two maps of the matrix{which}, {rows} rows by {columns} columns, yours and the right one; "
        f"wrong are {places(marks)}."
    )
    width, height = 2 * columns * CELL + 3 * CELL, rows * CELL + 2
    body = _cells(yours, low, high, 0, marks) + _cells(
        true, low, high, (columns + 3) * CELL, np.zeros_like(marks)
    )
    svg = (
        f'<svg role="img" aria-label="{html.escape(text)}" width="{width + 2}" height="{height}" '
        f'viewBox="-1 -1 {width + 2} {height}" style="color:inherit">{body}</svg>'
    )
    return Maps(svg, text)


def _cells(
    matrix: NDArray[Any], low: float, high: float, left: float, marks: NDArray[np.bool_]
) -> str:
    cells = []
    for (row, column), entry in np.ndenumerate(matrix.astype(float)):
        share = (entry - low) / (high - low) if high > low else float(entry != low)
        shade = 0.06 + 0.84 * min(max(share, 0.0), 1.0) if np.isfinite(share) else 0.0
        outline = ' stroke="#D55E00" stroke-width="1.5"' if marks[row, column] else ""
        cells.append(
            f'<rect x="{left + column * CELL}" y="{row * CELL}" width="{CELL - 1}" '
            f'height="{CELL - 1}" fill="currentColor" fill-opacity="{shade:.2f}"{outline}/>'
        )
    return "".join(cells)
