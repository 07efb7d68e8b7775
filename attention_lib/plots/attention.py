"""Draw the figures of lesson 05: tables, masks, maps and mixtures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike, NDArray

from attention_lib.plots import drawing
from attention_lib.plots.style import (
    BLUE,
    CYCLE,
    GRAY,
    GRID,
    INK,
    PAPER,
    PURPLE,
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
    "mask_patterns",
    "memory_of_a_table",
    "number_tables",
    "one_query",
    "rows_or_nan",
    "soft_lookup",
]


@lesson_style
def number_tables(
    tables: Mapping[str, ArrayLike],
    rows: Sequence[str],
    columns: Mapping[str, Sequence[str]] | None = None,
) -> LessonFigure:
    """Draw arrays with the same rows side by side, with their shapes.

    `columns` maps a table to the names of its columns. The columns of other tables are numbered
    components.
    """
    tables = {name: np.asarray(table, float) for name, table in tables.items()}
    columns = columns or {}
    said = "; ".join(
        f"{name}{f' (columns {drawing.words(columns[name])})' if name in columns else ''} "
        f"{'; '.join(f'{row} {drawing.numbers(line)}' for row, line in zip(rows, t, strict=True))}"
        for name, t in tables.items()
    )
    figure, axes = new_figure(
        f"Tables of numbers side by side, one row a word: {said}.",
        height=1.15 + 0.5 * len(rows),
        panels=len(tables),
        width_ratios=[max(table.shape[1], 2) for table in tables.values()],
    )
    for axis, (name, table) in zip(axes, tables.items(), strict=True):
        drawing.number_grid(axis, table, drawing.number)
        top = max(1.0, np.abs(table).max())
        axis.images[0].set(cmap=drawing.SIGNED_COLORS, clim=(-top, top))
        axis.set_title(f"{name} {table.shape}")
        heads = columns.get(name, [str(place) for place in range(table.shape[1])])
        if name not in columns:
            axis.set_xlabel("component")
        elif len(heads) > 1:
            axis.set_xlabel("key")
        drawing.name_cells(axis, rows, heads)
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
    """Draw boolean masks as grids of allowed and forbidden cells; `texts` replaces these labels."""
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
        panels=len(masks),
    )
    for axis, (name, mask) in zip(axes, masks.items(), strict=True):
        for (row, column), allowed in np.ndenumerate(mask):
            text = str(bool(allowed)) if texts is None else np.asarray(texts)[row, column]
            drawing.cell(axis, row, column, text, SKY if allowed else GRAY)
        drawing.grid_axes(axis, rows, columns)
        axis.set(title=name, xlabel=column_label, ylabel="")
    axes[0].set_ylabel(row_label)
    colors = {"True: allowed": SKY, "False: forbidden": GRAY}
    drawing.legend_below(figure, drawing.swatches(colors, alpha=0.3, edgecolor="none"))
    return figure


@lesson_style
def mask_patterns(masks: Mapping[str, ArrayLike], row: int) -> LessonFigure:
    """Draw boolean masks (L, S) as small grids without labels, with one row of each framed."""
    masks = {name: np.asarray(mask, bool) for name, mask in masks.items()}
    said = "; ".join(
        f"{name} {int(mask.sum())} of {mask.size}, in row {row} the keys "
        f"{drawing.words([str(key) for key in np.flatnonzero(mask[row])])}"
        for name, mask in masks.items()
    )
    figure, axes = new_figure(
        f"Grids of allowed and forbidden cells, row {row} framed. Allowed are, {said}.",
        height=2.5,
        panels=len(masks),
    )
    colors = ListedColormap([GRID, SKY])
    for axis, (name, mask) in zip(axes, masks.items(), strict=True):
        length, width = mask.shape
        axis.imshow(mask, cmap=colors, vmin=0, vmax=1)
        axis.set_xticks(np.arange(width + 1) - 0.5, minor=True)
        axis.set_yticks(np.arange(length + 1) - 0.5, minor=True)
        axis.grid(which="minor", color=PAPER, linewidth=1.5)
        axis.add_patch(
            Rectangle((-0.5, row - 0.5), width, 1, fill=False, edgecolor=VERMILLION, linewidth=2.5)
        )
        axis.set_xticks(range(width))
        axis.set_yticks(range(length))
        axis.tick_params(which="both", length=0)
        axis.spines[:].set_visible(False)
        axis.set(title=name, xlabel="key")
    axes[0].set_ylabel("query")
    named = {"allowed": SKY, "forbidden": GRID}
    drawing.legend_below(figure, drawing.swatches(named, edgecolor="none"))
    return figure


@lesson_style
def memory_of_a_table(lengths: ArrayLike, peaks: ArrayLike, table: ArrayLike) -> LessonFigure:
    """Draw peak memory against the length, with the bytes of one table of scores."""
    lengths = np.asarray(lengths)
    measured, one = np.divide(peaks, 2**20), np.divide(table, 2**20)
    figure, axis = new_figure(
        f"A rising line on logarithmic axes: from {lengths[0]:,} to {lengths[-1]:,} words, peak memory "
        f"grows {measured[-1] / measured[0]:.3g}-fold, to {measured[-1]:.3g} MiB. Below it, dashed, "
        f"one table of scores, up to {one[-1]:.3g} MiB.",
        height=2.8,
    )
    axis.plot(lengths, measured, "o-", color=BLUE, label="measured")
    axis.plot(lengths, one, "--", color=INK, linewidth=1.4, label="one table, L × L")
    drawing.logarithmic(axis, lengths, base=2)
    axis.set_yscale("log")
    axis.set(xlabel="words, L = S", ylabel="peak memory (MiB)")
    axis.grid()
    axis.legend(loc="upper left")
    return figure


@lesson_style
def attention_maps(
    maps: Mapping[str, ArrayLike],
    queries: Sequence[str],
    keys: Sequence[str],
    label: str = "attention weight",
    row_label: str = "query",
    column_label: str = "key",
    allowed: Mapping[str, ArrayLike] | None = None,
) -> LessonFigure:
    """Draw several (L, S) arrays as heat maps side by side, on one color scale.

    `allowed` maps a heat map to its boolean mask. Forbidden cells are gray, without a number.
    """
    maps = {name: np.asarray(values) for name, values in maps.items()}
    allowed = {
        name: np.broadcast_to(mask, maps[name].shape) for name, mask in (allowed or {}).items()
    }
    said = ". ".join(
        f"{name}: "
        + "; ".join(f"{q} {drawing.numbers(row)}" for q, row in zip(queries, values, strict=True))
        for name, values in maps.items()
    )
    figure, axes = new_figure(
        f"Heat maps of the {label}. Rows, {row_label}: {drawing.words(queries)}. "
        f"Columns, {column_label}: {drawing.words(keys)}. {said}."
        + (f" Forbidden cells are gray, in {drawing.words(list(allowed))}." if allowed else ""),
        height=(1.3 if allowed else 0.9) + 0.55 * len(queries),
        panels=len(maps),
    )
    top = max(1.0, *(values.max() for values in maps.values()))
    for axis, (name, values) in zip(axes, maps.items(), strict=True):
        image = drawing.weight_cells(axis, values, top)
        for row, column in np.argwhere(~allowed.get(name, np.ones(values.shape, bool))):
            _cover(axis, int(row), int(column), values.shape[1])
        drawing.name_cells(axis, queries, keys)
        if len(keys) > 5:
            axis.tick_params(axis="x", rotation=90)  # next to each other they would touch
        axis.set(title=name, xlabel=column_label)
        axis.spines[:].set(visible=True, color=GRAY, linewidth=1)  # shows where white cells end
    axes[0].set_ylabel(row_label)
    figure.get_layout_engine().set(wspace=0.08)
    figure.colorbar(image, ax=list(axes), label=label, pad=0.02).outline.set_visible(False)
    if allowed:
        gray = drawing.swatches({"forbidden": GRAY}, alpha=0.3, edgecolor="none")
        drawing.legend_below(figure, gray)
    return figure


def _cover(axes: Any, row: int, column: int, width: int) -> None:
    """Replace the number of a forbidden cell by the cell of `mask_grids`."""
    axes.texts[row * width + column].set_text("")
    drawing.cell(axes, row, column, "–", GRAY)


@lesson_style
def one_query(
    row: int,
    scores: ArrayLike,
    weights: ArrayLike,
    values: ArrayLike,
    outputs: ArrayLike,
    words: Sequence[str],
) -> LessonFigure:
    """Draw one query's scores and weights, and its mixture of the values in the plane.

    `scores` and `weights` are (L, S), `values` (S, 2) and `outputs` (L, 2). A score of ``-inf`` is
    forbidden.
    """
    scores, weights = np.asarray(scores, float), np.asarray(weights)
    values, outputs = np.asarray(values), np.asarray(outputs)
    seen = np.isfinite(scores[row])
    hidden = [word for word, ok in zip(words, seen, strict=True) if not ok]
    figure, (left, middle, plane) = new_figure(
        f"{words[row]} listens: bars of its scores {drawing.numbers(np.where(seen, scores[row], -np.inf))} "
        f"and weights {drawing.numbers(weights[row])} for the keys {drawing.words(words)}"
        + (f", {drawing.words(hidden)} forbidden" if hidden else "")
        + f"; in the plane its mixture lies at ({drawing.numbers(outputs[row])}), beside the values "
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
    left.set_ylim(drawing.room_for_numbers(np.append(scores[np.isfinite(scores)], 1.0)))
    middle.set(title="weights", ylabel="weight", ylim=(0, 1.15))
    for panel in (left, middle):
        panel.set_xlabel("key")
    plane.fill(*values.T, facecolor=SKY, alpha=0.2, edgecolor=SKY)
    for place, value in enumerate(values):
        size = 4 + 22 * np.sqrt(weights[row, place])
        plane.plot(*value, "o", color=CYCLE[place], markersize=size, alpha=0.8)
    plane.plot(*outputs[row], "D", color=INK, markersize=8)
    drawing.note_on_paper(
        plane, "output", outputs[row], (-10, 8), ha="right", weight="bold", zorder=5
    )
    _names_around(plane, values, words, 14)
    plane.set(title=f"◆ the output of {words[row]}")
    plane.set(xlabel="first component", ylabel="second component")
    low, high = np.minimum(values.min(axis=0), 0), np.maximum(values.max(axis=0), 0)
    room = 0.4 * (high - low)  # the same for every query; the origin is the output without keys
    plane.set(
        xlim=(low[0] - room[0], high[0] + room[0]), ylim=(low[1] - room[1], high[1] + room[1])
    )
    plane.grid()
    return figure


@lesson_style
def rows_or_nan(rows: Mapping[str, ArrayLike], keys: Sequence[str], label: str) -> LessonFigure:
    """Draw named rows of weights as bars, one panel for each row; write NaN as text."""
    rows = {name: np.asarray(row, float) for name, row in rows.items()}
    said = "; ".join(f"{name} {drawing.listed(row, '.3g')}" for name, row in rows.items())
    figure, panels = new_figure(
        f"Bar charts of the {label} for the keys {drawing.words(keys)}: {said}.",
        height=2.5,
        panels=len(rows),
    )
    for panel, (name, row) in zip(panels, rows.items(), strict=True):
        drawing.bars(panel, np.nan_to_num(row), keys)
        for text, weight in zip(panel.texts, row, strict=True):
            if np.isnan(weight):
                text.set(text="nan", color=VERMILLION)
        panel.set(title=name, xlabel="key", ylim=(0, 1.15))
    panels[0].set_ylabel(label)
    return figure


@lesson_style
def bounded_mixtures(
    values: ArrayLike,
    names: Sequence[str],
    outputs: Mapping[str, ArrayLike],
    factors: ArrayLike,
    reach: Mapping[str, ArrayLike],
) -> LessonFigure:
    """Draw the outputs (N, 2) of several ways of mixing, and their size as queries grow.

    Each way in `outputs` has a panel of its own. `reach` maps a way to the largest output component
    for each of the `factors`.
    """
    values, factors = np.asarray(values), np.asarray(factors, float)
    said = "; ".join(
        f"{name} the largest component goes from {drawing.number(way[0])} to {drawing.number(way[-1])}"
        for name, way in reach.items()
    )
    figure, (*planes, growth) = new_figure(
        f"The triangle of the values of {drawing.words(names)} at {drawing.points(values)}, with many "
        f"outputs of {', and again with those of '.join(outputs)}, {_extent(outputs)}. On the right, "
        f"as queries grow {factors[-1] / factors[0]:g}-fold, {said}.",
        height=3.2,
        ncols=len(outputs) + 1,
    )
    everything = np.concatenate([values, *outputs.values()])
    low, high = everything.min(axis=0), everything.max(axis=0)
    room = np.array([0.3, 0.12]) * (high - low)  # the names beside the values need more width
    looks = dict(zip(reach, _LOOKS, strict=False))
    for plane, (name, points) in zip(planes, outputs.items(), strict=True):
        color, mark = looks[name]
        plane.fill(*values.T, facecolor=SKY, alpha=0.25, edgecolor=SKY)
        plane.plot(*np.asarray(points).T, mark, color=color, markersize=4, mew=1.0)
        plane.plot(*values.T, "o", color=INK, markersize=5)
        _names_around(plane, values, names, 9)
        plane.set(title=f"outputs of {name}", xlabel="first component")
        plane.set_xlim(low[0] - room[0], high[0] + room[0])
        plane.set_ylim(low[1] - room[1], high[1] + room[1])
        plane.grid()
    planes[0].set_ylabel("second component")
    for name, way in reach.items():
        color, mark = looks[name]
        growth.plot(factors, way, mark, color=color, linestyle="-", markersize=6, label=name)
    growth.set(xscale="log", yscale="log", title="how far they reach")
    growth.set(xlabel="factor on the queries", ylabel="largest output component")
    growth.set_ylim(min(np.min(way) for way in reach.values()) / 2, None)
    growth.grid()
    growth.legend(loc="upper left")
    return figure


_LOOKS = ((BLUE, "."), (VERMILLION, "x"), (PURPLE, "^"))


def _extent(outputs: Mapping[str, ArrayLike]) -> str:
    """Describe the range of the outputs' components."""
    everything = np.concatenate([np.ravel(points) for points in outputs.values()])
    return f"between {drawing.number(everything.min())} and {drawing.number(everything.max())}"


@lesson_style
def soft_lookup(
    places: ArrayLike, entries: ArrayLike, queries: ArrayLike, answers: Mapping[str, ArrayLike]
) -> LessonFigure:
    """Draw stored entries at their places, and the answers of each way of lookup in between."""
    places, entries = np.asarray(places), np.asarray(entries)
    said = "; ".join(
        f"{name} from {drawing.number(np.min(way))} to {drawing.number(np.max(way))}"
        for name, way in answers.items()
    )
    figure, axis = new_figure(
        f"Dots: stored entries {drawing.numbers(entries)} at {drawing.numbers(places)}. Curves of what is "
        f"looked up between them: {said}.",
        height=3.0,
    )
    styles = zip(answers.items(), CYCLE, ("-", "--", "-.", ":"), strict=False)
    for (name, way), color, style in styles:
        axis.plot(queries, way, color=color, linestyle=style, label=name)
    axis.plot(places, entries, "o", color=INK, markersize=7, label="stored")
    axis.set(xlabel="angle of the query, in degrees", ylabel="what is looked up")
    axis.grid()
    figure.legend(loc="outside right upper")
    return figure


def _names_around(axes: Any, points: NDArray, names: Sequence[str], distance: float) -> None:
    """Write each point's name beside it, on the side away from the mean of the points."""
    for point, name, way in zip(points, names, np.sign(points - points.mean(axis=0)), strict=True):
        drawing.note_on_paper(
            axes,
            name,
            point,
            distance * way,
            ha="left" if way[0] > 0 else "right",
            va="center",
            zorder=4,
        )
