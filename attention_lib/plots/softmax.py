"""Draw the figures of lesson 01: from scores to attention weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attention_lib.plots import drawing
from attention_lib.plots.drawing import Weigh
from attention_lib.plots.style import (
    BLUE,
    CYCLE,
    GRAY,
    GRID,
    INK,
    PAPER,
    SKY,
    VERMILLION,
    WEIGHT_COLORS,
    LessonFigure,
    lesson_style,
    new_figure,
)

__all__ = [
    "attention_map",
    "equal_steps",
    "factors_on_a_line",
    "groups_along_axes",
    "maps_of_heads",
    "mixtures",
    "rows_compared",
    "rows_over_sums",
    "scores_beside_weights",
    "sharpness",
    "shift_and_scale",
]


@lesson_style
def attention_map(
    values: ArrayLike, queries: Sequence[str], keys: Sequence[str], label: str = "attention weight"
) -> LessonFigure:
    """Draw an (L, S) array as a heat map with numbers, one row for each query."""
    values = np.asarray(values)
    rows = "; ".join(
        f"{name} {drawing.numbers(row)}" for name, row in zip(queries, values, strict=True)
    )
    alt = f"Heat map of the {label}, one row a query, for the keys {drawing.words(keys)}. {rows}."
    figure, axes = new_figure(alt, height=max(2.9, 0.9 + 0.75 * len(queries)))
    image = drawing.weight_cells(axes, values, max(1.0, values.max()))
    drawing.name_cells(axes, queries, keys)
    axes.set(xlabel="key: the word listened to", ylabel="query: the word that listens")
    figure.colorbar(image, label=label).outline.set_visible(False)
    return figure


@lesson_style
def scores_beside_weights(
    scores: ArrayLike,
    weights: ArrayLike,
    rows: Sequence[str],
    keys: Sequence[str],
    weight_label: str = "weight",
) -> LessonFigure:
    """Draw each row's scores above its weights, both (L, S), as bars with numbers."""
    scores, weights = np.asarray(scores), np.asarray(weights)
    columns = "; ".join(
        f"{name}: {drawing.numbers(row)} become {drawing.shares(weights[i])}"
        for i, (name, row) in enumerate(zip(rows, scores, strict=True))
    )
    alt = (
        f"Bar charts, the scores above and below them the {weight_label}, "
        f"for the keys {drawing.words(keys)}. {columns}."
    )
    figure, axes = new_figure(alt, height=4.2, nrows=2, ncols=len(rows), squeeze=False)
    bounded = weights.min() >= 0 and weights.max() <= 1
    for column, name in enumerate(rows):
        above, below = axes[:, column]
        drawing.bars(above, scores[column], keys)
        above.set(title=name, ylim=drawing.room_for_numbers(scores))
        above.tick_params(labelbottom=False)
        drawing.bars(below, weights[column], keys)
        below.set(
            xlabel="key: the word listened to",
            ylim=(0, 1.15) if bounded else drawing.room_for_numbers(weights[column]),
        )
    axes[0, 0].set_ylabel("score")
    axes[1, 0].set_ylabel(weight_label)
    return figure


@lesson_style
def rows_over_sums(matrix: ArrayLike, rows: Sequence[str], columns: Sequence[str]) -> LessonFigure:
    """Draw which sum each entry of a square matrix is divided by, with and without `keepdims`."""
    matrix = np.asarray(matrix)
    sums, size = matrix.sum(axis=-1), len(matrix)
    alt = (
        f"Two grids of the same {size} by {size} scores. On the left every row is divided by its "
        f"own sum, {drawing.numbers(sums)} from top to bottom. On the right, without keepdims, the same "
        "sums lie along the columns, so every column is divided by another row's sum."
    )
    figure, panels = new_figure(alt, height=2.7, ncols=2)
    titles = (f"keepdims=True: sums ({size}, 1)", f"without: sums ({size},)")
    for panel, title, along_rows in zip(panels, titles, (True, False), strict=True):
        for row, column in np.ndindex(matrix.shape):
            source = row if along_rows else column
            drawing.cell(
                panel, row, column, f"{matrix[row, column]:g} ÷ {sums[source]:g}", CYCLE[source]
            )
        drawing.grid_axes(panel, rows, columns)
        panel.set_title(title)
    return figure


@lesson_style
def groups_along_axes(shape: tuple[int, int]) -> LessonFigure:
    """Color the entries of a matrix by their sum, along axis 0 and along axis 1."""
    rows, columns = shape
    alt = (
        f"Two grids of {rows} by {columns} cells. With axis=0 each column has one color, "
        f"{columns} sums in all; with axis=1 each row has one color, {rows} sums in all."
    )
    figure, panels = new_figure(alt, height=2.2, ncols=2)
    for axis, panel in enumerate(panels):
        for index in np.ndindex(shape):
            drawing.cell(panel, *index, f"[{index[0]}, {index[1]}]", CYCLE[index[1 - axis]])
        drawing.grid_axes(
            panel, [str(row) for row in range(rows)], [str(c) for c in range(columns)]
        )
        kept = (1, columns) if axis == 0 else (rows, 1)
        panel.set(title=f"axis={axis}: sums {kept}", xlabel="axis 1", ylabel="axis 0")
    return figure


@lesson_style
def equal_steps(
    function: Callable[[NDArray], ArrayLike], steps: ArrayLike, label: str
) -> LessonFigure:
    """Draw a function, with the factors between its values at equally spaced scores."""
    steps = np.asarray(steps, dtype=float)
    heights = np.asarray(function(steps))
    factors = heights[1:] / heights[:-1]
    alt = (
        f"A rising curve, always above zero. At the scores {drawing.numbers(steps)} its heights are "
        f"{drawing.numbers(heights)}: from each to the next the factor is {drawing.numbers(factors)}."
    )
    figure, axes = new_figure(alt, height=3.4)
    fine = np.linspace(steps[0] - 1, steps[-1] + 0.15, 200)
    axes.plot(fine, function(fine))
    axes.plot(steps, heights, "o", color=INK)
    for left, low, high, factor in zip(steps[:-1], heights, heights[1:], factors, strict=False):
        right = left + (steps[1] - steps[0])
        axes.plot([left, right, right], [low, low, high], color=VERMILLION, linewidth=1.2)
        drawing.note(
            axes,
            f"× {factor:.2f}",
            (right, (low + high) / 2),
            (6, 0),
            color=VERMILLION,
            va="center",
            fontsize=9,
        )
    axes.axhline(0, color=GRAY, linewidth=0.8)
    axes.set(xlabel="score s", ylabel=label, xticks=np.unique(np.round(fine)))
    return figure


@lesson_style
def factors_on_a_line(
    leads: Mapping[float, str],
    factors: Sequence[str],
    steps: Mapping[str, Sequence[tuple[float, float]]],
) -> LessonFigure:
    """Draw how many times as large a weight is that leads by so much, on a number line.

    `leads` names each lead, and `steps` maps the factor of a step to its starts and ends.
    """
    said = "; ".join(
        f"{name} belongs to {factor}" for name, factor in zip(leads.values(), factors, strict=True)
    )
    jumps = "; ".join(f"{name} takes {len(pairs)} steps" for name, pairs in steps.items())
    figure, axes = new_figure(
        f"A number line of leads between two scores, with the factor between the weights below: {said}. "
        f"Arrows lead from one to the next: {jumps}.",
        height=2.1,
    )
    places = list(leads)
    axes.plot([places[0], places[-1]], [0, 0], color=GRAY, linewidth=1)
    axes.plot(places, np.zeros(len(places)), "o", color=INK, markersize=7)
    for place, factor in zip(places, factors, strict=True):
        drawing.note(axes, factor, (place, 0), (0, -10), ha="center", va="top", fontsize=13)
    for (name, pairs), color in zip(steps.items(), (BLUE, VERMILLION), strict=False):
        for start, end in pairs:
            bend = {"connectionstyle": "arc3,rad=-0.35", "shrinkA": 5, "shrinkB": 5}
            drawing.pointer(axes, (start, 0), (end, 0), color, **bend)
            inside = end - start < 1  # below its own arrow, where a longer one lies above
            height = 0.13 if inside else 0.31
            axes.text(
                (start + end) / 2,
                height,
                name,
                color=color,
                ha="center",
                va=("bottom", "top")[inside],
            )
    axes.set(xlim=(places[0] - 0.15, places[-1] + 0.15), ylim=(-0.35, 0.5), yticks=[])
    axes.set_xticks(places, leads.values())
    axes.set_xlabel("lead: one score minus the other")
    axes.set_ylabel("factor")
    axes.spines["left"].set_visible(False)
    return figure


@lesson_style
def maps_of_heads(maps: Mapping[str, ArrayLike], names: Sequence[str]) -> LessonFigure:
    """Draw causal (L, L) weights of several heads side by side; NaN marks what is not heard.

    Weights below 0.1 have a color and no number.
    """
    arrays = {head: np.asarray(weights, float) for head, weights in maps.items()}
    strongest = {
        head: ", ".join(
            f"{name} listens most to {names[int(np.nanargmax(row))]} at place "
            f"{int(np.nanargmax(row)) + 1} ({np.nanmax(row):.2f})"
            for name, row in zip(names, weights, strict=True)
        )
        for head, weights in arrays.items()
    }
    said = ". ".join(f"{head}: {line}" for head, line in strongest.items())
    figure, panels = new_figure(
        f"Heat maps of attention weights, one row for each listening word of {' '.join(names)}, "
        f"with the words after it left out. {said}.",
        height=max(2.6, 1.2 + 0.33 * len(names)),
        panels=len(arrays),
    )
    for panel, (head, weights) in zip(panels, arrays.items(), strict=True):
        image = panel.imshow(weights, cmap=WEIGHT_COLORS, vmin=0, vmax=1, aspect="auto")
        for (row, column), weight in np.ndenumerate(weights):
            if weight >= 0.1:
                color = PAPER if weight > 0.6 else INK
                look = {"ha": "center", "va": "center", "fontsize": 8, "color": color}
                panel.text(column, row, f"{weight:.2f}", **look)
        panel.set_facecolor(GRID)  # the color of words that come later
        drawing.name_cells(panel, names, names)
        panel.tick_params(axis="x", labelrotation=45)
        panel.set(title=head, xlabel="key: the word listened to")
    panels[0].set_ylabel("query: the word that listens")
    figure.colorbar(image, ax=list(panels), label="attention weight").outline.set_visible(False)
    return figure


@lesson_style
def rows_compared(rows: dict[str, ArrayLike], keys: Sequence[str], label: str) -> LessonFigure:
    """Draw named rows of numbers side by side, a panel for each row, on one scale."""
    rows = {name: np.asarray(row) for name, row in rows.items()}
    parts = "; ".join(f"{name} {drawing.numbers(row)}" for name, row in rows.items())
    alt = f"Bar charts of the {label} for the keys {drawing.words(keys)}: {parts}."
    figure, panels = new_figure(alt, height=2.6, panels=len(rows))
    for panel, (name, row) in zip(panels, rows.items(), strict=True):
        drawing.bars(panel, row, keys)
        panel.set(title=name, xlabel="key: the word listened to")
    panels[0].set(ylabel=label, ylim=drawing.room_for_numbers(np.array([*rows.values()])))
    return figure


@lesson_style
def shift_and_scale(
    scores: ArrayLike, methods: dict[str, Weigh], keys: Sequence[str]
) -> LessonFigure:
    """Draw each method's weights as all scores are shifted, and as they are multiplied."""
    scores = np.asarray(scores, dtype=float)
    names = list(methods)
    changes = {
        "constant added to every score": (np.linspace(0, 10, 101), np.add),
        "factor on every score": (np.linspace(0.25, 4, 101), np.multiply),
    }
    curves = [
        [
            np.array([method(change(scores, c)) for c in amounts])
            for amounts, change in changes.values()
        ]
        for method in methods.values()
    ]
    said = "; ".join(
        f"{name}: {_moves(added)} when a constant is added, {_moves(scaled)} under a factor"
        for name, (added, scaled) in zip(names, curves, strict=True)
    )
    alt = f"Lines of the weights that the scores {drawing.numbers(scores)} get. {said}."
    figure, axes = new_figure(
        alt, height=4.4, nrows=len(methods), ncols=2, sharex="col", sharey=True, squeeze=False
    )
    for row, name in enumerate(names):
        for column, (label, (amounts, _)) in enumerate(changes.items()):
            panel = axes[row, column]
            _weight_lines(panel, amounts, curves[row][column], scores, keys)
            panel.set(ylim=(-0.03, 1), title=name)
            panel.grid(axis="y")
            if row == len(names) - 1:
                panel.set_xlabel(label)
        axes[row, 0].set_ylabel("weight")
    axes[0, 1].legend(loc="upper right")
    return figure


@lesson_style
def sharpness(
    scores: ArrayLike, factor: float, weigh: Weigh, keys: Sequence[str], largest: float = 8.0
) -> LessonFigure:
    """Draw the weights for scores times a factor, beside the weights for all factors."""
    scores = np.asarray(scores, dtype=float)
    weights = np.asarray(weigh(factor * scores))
    alt = (
        f"The scores {drawing.numbers(scores)} times {factor:g} get the weights {drawing.shares(weights)}. "
        f"Beside them, lines of the weights for factors from 0 to {largest:g}: equal at 0, "
        "then drawing apart."
    )
    figure, (now, course) = new_figure(
        alt, ncols=2, sharey=True, gridspec_kw={"width_ratios": [2, 3]}
    )
    drawing.bars(now, weights, keys)
    now.set(
        title=f"factor {factor:g}",
        xlabel="key: the word listened to",
        ylabel="weight",
        ylim=(0, 1.15),
    )
    factors = np.linspace(0, largest, 201)
    lines = np.array([weigh(f * scores) for f in factors])
    _weight_lines(course, factors, lines, scores, keys)
    course.axvline(factor, color=GRAY, linewidth=1, linestyle="--")
    course.set(xlabel="factor on every score")
    course.legend(loc="center right")
    return figure


@lesson_style
def mixtures(
    values: ArrayLike,
    value_names: Sequence[str],
    mixed: ArrayLike,
    mixed_names: Sequence[str],
    weights: ArrayLike,
) -> LessonFigure:
    """Draw value vectors (S, 2) as corners, mixtures (M, 2) as points, weights (M, S) as lines."""
    values, mixed, weights = np.asarray(values), np.asarray(mixed), np.asarray(weights)
    alt = (
        f"Points in a plane. The values of {drawing.words(value_names)} at "
        f"{drawing.points(values)} are the corners of a shaded polygon; the mixtures "
        f"{drawing.words(mixed_names)} lie at {drawing.points(mixed)}, each with lines to the "
        "corners, the thicker the larger the weight, dashed where it is negative."
    )
    figure, axes = new_figure(alt, height=4.4)
    axes.fill(*values.T, facecolor=SKY, alpha=0.2, edgecolor=SKY)
    colors = CYCLE[: len(mixed)]
    for point, row, color in zip(mixed, weights, colors, strict=True):
        for corner, weight in zip(values, row, strict=True):
            axes.plot(
                *np.stack([point, corner]).T,
                color=color,
                alpha=0.6,
                linewidth=4 * abs(weight),
                linestyle="--" if weight < 0 else "-",
                solid_capstyle="butt",
            )
    _named_points(axes, values, value_names, "o", [INK] * len(values), rises=[6])
    _named_points(axes, mixed, mixed_names, "D", colors, rises=[-14, -4, 10])
    axes.set(xlabel="first component", ylabel="second component", aspect="equal")
    axes.margins(0.15)
    axes.grid()
    return figure


def _weight_lines(
    axes: Any, amounts: NDArray, weights: NDArray, scores: NDArray, keys: Sequence[str]
) -> None:
    """Draw the weights (amounts, n) as lines; keys with the same score share a line."""
    for score in dict.fromkeys(scores.tolist()):
        same = np.flatnonzero(scores == score)
        label = f"{drawing.words([keys[i] for i in same])} (score {drawing.number(score)})"
        axes.plot(amounts, weights[:, same[0]], color=CYCLE[same[0]], label=label)


def _named_points(
    axes: Any,
    points: NDArray,
    names: Sequence[str],
    marker: str,
    colors: Sequence[str],
    rises: Sequence[float],
) -> None:
    """Draw points (M, 2) with their names to the right; the names' heights cycle through `rises`."""
    for place, (point, name, color) in enumerate(zip(points, names, colors, strict=True)):
        axes.plot(*point, marker, color=color, markersize=7)
        offset = (8, rises[place % len(rises)])
        drawing.note(axes, name, point, offset, color=INK)


def _moves(curve: NDArray) -> str:
    """Say whether any of the weights (amounts, n) changes."""
    return "nothing moves" if np.ptp(curve, axis=0).max() < 1e-9 else "the weights move"
