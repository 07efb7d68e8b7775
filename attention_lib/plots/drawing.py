"""Draw the parts that figures of several lessons share: cells, bars, labels, legends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import NullLocator
from numpy.typing import ArrayLike, NDArray

from attention_lib.plots.style import CYCLE, GRAY, INK, ORANGE, PAPER, SKY, WEIGHT_COLORS

Weigh = Callable[[NDArray], ArrayLike]  # scores (n,) to weights (n,)


def weight_cells(axes: Any, values: NDArray, top: float) -> Any:
    """Draw an array as numbered cells, with colors for 0 to `top`."""
    image = axes.imshow(values, cmap=WEIGHT_COLORS, vmin=0, vmax=top, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        color = PAPER if value > 0.85 * top else INK
        axes.text(column, row, number(value), ha="center", va="center", color=color)
    return image


def bars(axes: Any, heights: NDArray, names: Sequence[str]) -> None:
    bars = axes.bar(range(len(heights)), heights, color=CYCLE[: len(heights)], width=0.7)
    axes.bar_label(bars, [share(height) for height in heights], padding=2, fontsize=9)
    axes.axhline(0, color=GRAY, linewidth=0.8)
    axes.set_xticks(range(len(heights)), names)
    axes.tick_params(axis="x", length=0)


def room_for_numbers(heights: NDArray) -> tuple[float, float]:
    """Return axis limits that leave room for the number at the end of each bar."""
    low, high = min(0.0, heights.min()), max(0.0, heights.max())
    room = 0.2 * (high - low)
    return (low - room if low < 0 else 0.0), high + room


def cell(axes: Any, row: int, column: int, text: str, color: str) -> None:
    axes.add_patch(
        Rectangle((column - 0.46, row - 0.43), 0.92, 0.86, facecolor=color, alpha=0.3, linewidth=0)
    )
    axes.text(column, row, text, ha="center", va="center")


def grid_axes(axes: Any, rows: Sequence[str], columns: Sequence[str]) -> None:
    axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    axes.set(xlabel="key", ylabel="query")
    name_cells(axes, rows, columns)


def name_cells(axes: Any, rows: Sequence[str], columns: Sequence[str]) -> None:
    """Label the rows and columns of a table of cells, and remove its frame."""
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def note(axes: Any, text: str, point: ArrayLike, offset: ArrayLike, **look: Any) -> None:
    """Write a text beside a point, at an offset in points (1/72 inch)."""
    axes.annotate(text, point, offset, textcoords="offset points", **look)


def note_on_paper(axes: Any, text: str, point: ArrayLike, offset: ArrayLike, **look: Any) -> None:
    """Write a text like `note`, on a background that keeps it readable above lines."""
    box = {"boxstyle": "round,pad=0.1", "facecolor": PAPER, "alpha": 0.8, "linewidth": 0}
    note(axes, text, point, offset, bbox=box, **look)


def logarithmic(axes: Any, ticks: ArrayLike, base: float = 10) -> None:
    """Make the x axis logarithmic, with only these ticks."""
    axes.set_xscale("log", base=base)
    axes.set_xticks(ticks, [f"{tick:,.10g}" for tick in np.asarray(ticks)])
    axes.xaxis.set_minor_locator(NullLocator())


def number(value: float) -> str:
    """Format a number with at most three decimals and a typographic minus sign."""
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("-", "−")


def numbers(values: NDArray) -> str:
    return ", ".join(number(value) for value in values)


def share(value: float) -> str:
    """Format a number like `number`, without calling a small weight 0."""
    return "<0.001" if 0 < value < 0.0005 else number(value)


def shares(values: NDArray) -> str:
    return ", ".join(share(value) for value in values)


def points(points: NDArray) -> str:
    return ", ".join(f"({numbers(point)})" for point in points)


def words(names: Sequence[str]) -> str:
    return ", ".join(names)


PALE_COLORS = LinearSegmentedColormap.from_list("pale", [PAPER, SKY])  # light enough for dark text


def number_grid(
    axis: Any, values: ArrayLike, text: Callable[[Any], str] = "{:g}".format, **limits: float
) -> None:
    """Draw a table of numbers as colored cells; masked cells have no number."""
    values = np.ma.asarray(values)
    axis.imshow(values, cmap=PALE_COLORS, aspect="auto", **limits)
    for row, column in np.argwhere(~np.ma.getmaskarray(values)):
        axis.text(column, row, text(values[row, column]), ha="center", va="center")
    axis.spines[:].set_visible(False)


def short(weight: float) -> str:
    return f"{weight:.0e}" if 0 < weight < 0.001 else f"{weight:.3g}"


def typeset(name: str) -> str:
    """Replace √d_k by mathematical notation, for text in a figure."""
    return name.replace("√d_k", r"$\sqrt{d_k}$")


def listed(values: ArrayLike, form: str = "g") -> str:
    return "[" + ", ".join(f"{value:{form}}" for value in np.asarray(values).tolist()) + "]"


def arrow(axes: Any, end: NDArray, color: str, width: float) -> None:
    shape = {"linewidth": width, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 14}
    shape["joinstyle"] = "miter"  # a rounded tip would not reach the point
    pointer(axes, (0, 0), end, color, **shape)


def pointer(axes: Any, start: ArrayLike, end: ArrayLike, color: str, **shape: Any) -> None:
    """Draw an arrow from one point to another."""
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": color, **shape})


def lines(colors: Mapping[str, str], **look: Any) -> list[Line2D]:
    """Make legend handles: a line in its color for each name."""
    return [Line2D([], [], color=color, label=name, **look) for name, color in colors.items()]


def swatches(colors: Mapping[str, str], **look: Any) -> list[Patch]:
    """Make legend handles: a rectangle in its color for each name."""
    return [
        Patch(**{"facecolor": color, "edgecolor": color, "label": name, **look})
        for name, color in colors.items()
    ]


def legend_below(figure: Figure, handles: Sequence[Any], columns: int = 0) -> None:
    """Add a legend below all panels, by default in one row."""
    figure.legend(handles=handles, loc="outside lower center", ncols=columns or len(handles))


SIGNED_COLORS = LinearSegmentedColormap.from_list("signed", [ORANGE, PAPER, SKY])  # light, too
