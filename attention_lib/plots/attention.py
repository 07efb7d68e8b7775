"""The figures of lesson 05: tables, masks, maps and mixtures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike, NDArray

from attention_lib.plots import drawing
from attention_lib.plots.style import (
    BLUE,
    CYCLE,
    GRAY,
    INK,
    PAPER,
    SKY,
    VERMILLION,
    LessonFigure,
    lesson_style,
    new_figure,
)

__all__ = [
    "attention_maps",
    "bounded_mixtures",
    "mask_grids",
    "number_tables",
    "one_query",
    "rows_or_nan",
]


@lesson_style
def number_tables(tables: Mapping[str, ArrayLike], rows: Sequence[str]) -> LessonFigure:
    """Draw arrays of the same rows side by side, from left to right, with their shapes."""
    tables = {name: np.asarray(table, float) for name, table in tables.items()}
    said = "; ".join(
        f"{name} {'; '.join(f'{row} {drawing.numbers(line)}' for row, line in zip(rows, t, strict=True))}"
        for name, t in tables.items()
    )
    figure, axes = new_figure(
        f"Tables of numbers side by side, one row a word: {said}.",
        height=0.75 + 0.5 * len(rows),
        ncols=len(tables),
        sharey=True,
        width_ratios=[max(table.shape[1], 2) for table in tables.values()],
        squeeze=False,
    )
    for axis, (name, table) in zip(axes[0], tables.items(), strict=True):
        drawing.number_grid(axis, table, drawing.number, vmin=0, vmax=max(1.0, np.abs(table).max()))
        axis.set_title(f"{name} {table.shape}")
        axis.set_xticks([])
        axis.set_yticks(range(len(rows)), rows)
        axis.tick_params(length=0)
    return figure


@lesson_style
def mask_grids(
    masks: Mapping[str, ArrayLike],
    rows: Sequence[str],
    columns: Sequence[str],
    row_label: str = "query",
    column_label: str = "key",
    texts: ArrayLike | None = None,
) -> LessonFigure:
    """Draw boolean masks as grids of allowed and forbidden cells; `texts` replaces the words."""
    masks = {name: np.asarray(mask, bool) for name, mask in masks.items()}
    said = "; ".join(
        f"{name}: "
        + ", ".join(
            f"{row} {drawing.words([c for c, ok in zip(columns, line, strict=True) if ok]) or 'nothing'}"
            for row, line in zip(rows, mask, strict=True)
        )
        for name, mask in masks.items()
    )
    figure, axes = new_figure(
        f"Grids of allowed and forbidden cells. Allowed are, {said}.",
        height=1.1 + 0.45 * len(rows),
        ncols=len(masks),
        sharey=True,
        squeeze=False,
    )
    for axis, (name, mask) in zip(axes[0], masks.items(), strict=True):
        for (row, column), allowed in np.ndenumerate(mask):
            text = str(bool(allowed)) if texts is None else np.asarray(texts)[row, column]
            drawing.cell(axis, row, column, text, SKY if allowed else GRAY)
        drawing.grid_axes(axis, rows, columns)
        axis.set(title=name, xlabel=column_label, ylabel="")
    axes[0, 0].set_ylabel(row_label)
    figure.legend(
        handles=[
            Rectangle((0, 0), 1, 1, facecolor=SKY, alpha=0.3, label="True: allowed"),
            Rectangle((0, 0), 1, 1, facecolor=GRAY, alpha=0.3, label="False: forbidden"),
        ],
        loc="outside lower center",
        ncols=2,
    )
    return figure


@lesson_style
def attention_maps(
    maps: Mapping[str, ArrayLike],
    queries: Sequence[str],
    keys: Sequence[str],
    label: str = "attention weight",
    row_label: str = "query",
    column_label: str = "key",
) -> LessonFigure:
    """Draw several (L, S) arrays as heat maps side by side, on one scale of color."""
    maps = {name: np.asarray(values) for name, values in maps.items()}
    said = ". ".join(
        f"{name}: "
        + "; ".join(f"{q} {drawing.numbers(row)}" for q, row in zip(queries, values, strict=True))
        for name, values in maps.items()
    )
    figure, axes = new_figure(
        f"Heat maps of the {label}. Rows, {row_label}: {drawing.words(queries)}. "
        f"Columns, {column_label}: {drawing.words(keys)}. {said}.",
        height=0.9 + 0.55 * len(queries),
        ncols=len(maps),
        sharey=True,
        squeeze=False,
    )
    top = max(1.0, *(values.max() for values in maps.values()))
    for axis, (name, values) in zip(axes[0], maps.items(), strict=True):
        image = drawing.weight_cells(axis, values, top)
        axis.set_xticks(range(len(keys)), keys)
        axis.set_yticks(range(len(queries)), queries)
        axis.set(title=name, xlabel=column_label)
        axis.spines[:].set_visible(False)
        axis.tick_params(length=0)
    axes[0, 0].set_ylabel(row_label)
    figure.colorbar(image, ax=list(axes[0]), label=label, pad=0.02).outline.set_visible(False)
    return figure


@lesson_style
def one_query(
    row: int,
    scores: ArrayLike,
    weights: ArrayLike,
    values: ArrayLike,
    outputs: ArrayLike,
    words: Sequence[str],
) -> LessonFigure:
    """Follow one query through attention: its scores, its weights, its mixture in the plane.

    `scores` and `weights` are (L, S), `values` (S, 2) and `outputs` (L, 2); a score of
    ``-inf`` is forbidden.
    """
    scores, weights = np.asarray(scores, float), np.asarray(weights)
    values, outputs = np.asarray(values), np.asarray(outputs)
    seen = np.isfinite(scores[row])
    hidden = [word for word, ok in zip(words, seen, strict=True) if not ok]
    figure, (left, middle, plane) = new_figure(
        f"{words[row]} listens: bars of its scores {drawing.numbers(np.where(seen, scores[row], -np.inf))} "
        f"and weights {drawing.numbers(weights[row])} for the keys {drawing.words(words)}"
        + (f", {drawing.words(hidden)} forbidden" if hidden else "")
        + f"; in the plane its mixture lies at ({drawing.numbers(outputs[row])}), among the values "
        f"{drawing.points(values)}.",
        height=3.1,
        ncols=3,
        width_ratios=(1, 1, 1.35),
    )
    drawing.bars(left, np.where(seen, scores[row], 0.0), words)
    drawing.bars(middle, weights[row], words)
    for panel in (left, middle):
        for place in np.flatnonzero(~seen):
            panel.texts[place].set_text("−inf" if panel is left else "0")
    left.set(title=f"scores of {words[row]}", ylabel="scaled score")
    left.set_ylim(drawing.room_for_numbers(scores[np.isfinite(scores)]))
    middle.set(title="weights", ylabel="weight", ylim=(0, 1.15))
    for panel in (left, middle):
        panel.set_xlabel("key")
    plane.fill(*values.T, facecolor=SKY, alpha=0.2, edgecolor=SKY)
    for place, value in enumerate(values):
        size = 4 + 22 * np.sqrt(weights[row, place])
        plane.plot(*value, "o", color=CYCLE[place], markersize=size, alpha=0.8)
    plane.plot(*outputs[row], "D", color=INK, markersize=8)
    _names_around(plane, values, words, 14)
    plane.set(title=f"what {words[row]} hears: ◆")
    plane.set(xlabel="first component", ylabel="second component")
    plane.margins(0.45)
    plane.grid()
    return figure


@lesson_style
def rows_or_nan(rows: Mapping[str, ArrayLike], keys: Sequence[str], label: str) -> LessonFigure:
    """Draw named rows of weights as bars, one panel a row; NaN is written where it stands."""
    rows = {name: np.asarray(row, float) for name, row in rows.items()}
    said = "; ".join(f"{name} {drawing.listed(row, '.3g')}" for name, row in rows.items())
    figure, panels = new_figure(
        f"Bar charts of the {label} for the keys {drawing.words(keys)}: {said}.",
        height=2.5,
        ncols=len(rows),
        sharey=True,
        squeeze=False,
    )
    for panel, (name, row) in zip(panels[0], rows.items(), strict=True):
        drawing.bars(panel, np.nan_to_num(row), keys)
        for text, weight in zip(panel.texts, row, strict=True):
            if np.isnan(weight):
                text.set(text="nan", color=VERMILLION)
        panel.set(title=name, xlabel="key", ylim=(0, 1.15))
    panels[0, 0].set_ylabel(label)
    return figure


@lesson_style
def bounded_mixtures(
    values: ArrayLike,
    names: Sequence[str],
    outputs: Mapping[str, ArrayLike],
    factors: ArrayLike,
    reach: Mapping[str, ArrayLike],
) -> LessonFigure:
    """Draw two ways' outputs (N, 2) among the values, and how far they reach as scores grow.

    `reach` maps each way to its largest output component for each of the `factors`.
    """
    values, factors = np.asarray(values), np.asarray(factors, float)
    said = "; ".join(
        f"{name} the largest component goes from {drawing.number(way[0])} to {drawing.number(way[-1])}"
        for name, way in reach.items()
    )
    figure, (plane, growth) = new_figure(
        f"On the left the values of {drawing.words(names)} at {drawing.points(values)}, with many outputs "
        f"around them: {' and '.join(outputs)}. On the right, as scores grow "
        f"{factors[-1] / factors[0]:g}-fold, {said}.",
        height=3.6,
        ncols=2,
    )
    low, high = values.min(axis=0), values.max(axis=0)
    plane.fill(*values.T, facecolor=SKY, alpha=0.25, edgecolor=SKY)
    styles = zip(outputs.items(), ((BLUE, "."), (VERMILLION, "x")), strict=True)
    for (name, points), (color, mark) in styles:
        points = np.asarray(points)
        plane.plot(*points.T, mark, color=color, markersize=5, label=name, mew=1.2)
        growth.plot(factors, reach[name], mark, color=color, linestyle="-", markersize=8)
    plane.plot(*values.T, "o", color=INK, markersize=7, label="values")
    _names_around(plane, values, names, 9)
    room = 0.8 * (high - low)
    plane.set(
        xlim=(low[0] - room[0], high[0] + room[0]), ylim=(low[1] - room[1], high[1] + room[1])
    )
    plane.set(xlabel="first component", ylabel="second component", title="outputs")
    figure.legend(*plane.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    growth.set(xscale="log", yscale="log", title="how far they reach")
    growth.set(xlabel="factor on the queries", ylabel="largest output component")
    growth.set_ylim(min(np.min(way) for way in reach.values()) / 2, None)
    growth.grid()
    return figure


def _names_around(axes: Any, points: NDArray, names: Sequence[str], distance: float) -> None:
    """Write each point's name beside it, on the side away from the other points."""
    for point, name, way in zip(points, names, np.sign(points - points.mean(axis=0)), strict=True):
        axes.annotate(
            name,
            point,
            distance * way,
            textcoords="offset points",
            ha="left" if way[0] > 0 else "right",
            va="center",
            bbox={"boxstyle": "round,pad=0.1", "facecolor": PAPER, "alpha": 0.8, "linewidth": 0},
            zorder=4,
        )
