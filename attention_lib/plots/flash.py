"""Draw the figures of lesson 07: blocks, tiles, memory and the roofline."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator, NullLocator
from numpy.typing import ArrayLike

from attention_lib.plots import drawing
from attention_lib.plots.style import (
    BLUE,
    GRAY,
    GREEN,
    GRID,
    INK,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    LessonFigure,
    lesson_style,
    new_figure,
)

__all__ = [
    "causal_tiles",
    "memory_by_length",
    "one_pass",
    "roofline",
    "tile_by_tile",
    "way_back_through_a_tile",
]


@lesson_style
def one_pass(
    blocks: Sequence[ArrayLike], exponentials: Sequence[ArrayLike], read: int
) -> LessonFigure:
    """Draw a row of scores (n,) in blocks, with its maximum and total after `read` blocks.

    `exponentials` holds, for each block, e^(score - maximum) for all scores up to its end.
    Below each block that has been read, a bar shows the total: what is left of the previous total,
    and what the block adds. A dotted outline shows a previous total that a new maximum has shrunk.
    """
    blocks = [np.asarray(block, float) for block in blocks]
    row, ends = np.concatenate(blocks), np.cumsum([0, *map(len, blocks)])
    maxima = [row[:end].max() for end in ends[1:]]
    kept = [np.sum(terms[:start]) for start, terms in zip(ends[:-1], exponentials, strict=True)]
    totals = [np.sum(terms) for terms in exponentials]
    said = "; ".join(
        f"after block {i + 1} the maximum is {maxima[i]:g} and the total {totals[i]:.3f}"
        for i in range(read)
    )
    figure, (above, below) = new_figure(
        f"A row of {len(row)} scores in {len(blocks)} blocks, {read} of them read: {said}.",
        height=4.2,
        nrows=2,
        sharex=True,
        height_ratios=(1, 1),
    )
    for i, (start, end) in enumerate(itertools.pairwise(ends)):
        color = BLUE if i < read - 1 else ORANGE if i == read - 1 else GRID
        above.bar(np.arange(start, end), row[start:end], 0.7, color=color)
        for place in range(start, end):
            drawing.note(above, f"{row[place]:g}", (place, row[place]), (0, 3), ha="center")
        if start:
            for axis in (above, below):
                axis.axvline(start - 0.5, color=GRAY, linewidth=1, linestyle=":")
        if i >= read:
            continue
        above.plot([start - 0.5, end - 0.5], [maxima[i]] * 2, color=VERMILLION)
        middle = (start + end - 1) / 2
        below.bar(middle, kept[i], 0.7, color=BLUE)
        below.bar(middle, totals[i] - kept[i], 0.7, bottom=kept[i], color=ORANGE)
        note = f"{totals[i]:.3f}"
        if i and maxima[i] > maxima[i - 1]:
            below.bar(middle, totals[i - 1], 0.7, fill=False, ec=GRAY, linestyle=":", lw=1.2)
            note += f"\nbefore × {kept[i] / totals[i - 1]:.3f}"
        height = max(totals[i], totals[i - 1] if i else 0)
        below.text(middle, height, note, ha="center", va="bottom")
    above.set(ylabel="score", ylim=(min(0, row.min()), 1.3 * row.max()))
    above.tick_params(axis="x", length=0)
    below.set(xlabel="block", ylabel="total", ylim=(0, 1.7 * max(totals)))
    below.set_xlim(-0.6, len(row) - 0.4)
    names = [f"block {i + 1}" for i in range(len(blocks))]
    below.set_xticks((ends[:-1] + ends[1:] - 1) / 2, names)
    handles = [
        Line2D([], [], color=VERMILLION, label="maximum so far"),
        Rectangle((0, 0), 1, 1, color=BLUE, label="what is left of the total before"),
        Rectangle((0, 0), 1, 1, color=ORANGE, label="what this block adds"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


@lesson_style
def tile_by_tile(
    scores: ArrayLike,
    values: ArrayLike,
    exponentials: ArrayLike,
    outputs: ArrayLike,
    block_size: int,
    step: int,
    queries: Sequence[str],
) -> LessonFigure:
    """Draw scores (L, S) and values (S,) after `step` blocks of keys, and what each query keeps.

    `exponentials` are e^(score - maximum) for the scores read so far, with the maximum of each row.
    `outputs` (L,) are the sums so far, before division. Only the current block's scores are shown.
    """
    scores, values = np.asarray(scores, float), np.asarray(values, float)
    exponentials, output = np.asarray(exponentials, float), np.asarray(outputs, float)
    length, keys = scores.shape
    start, stop = max(0, step - 1) * block_size, min(step * block_size, keys)
    maximum, total = scores[:, :stop].max(axis=1, initial=-np.inf), exponentials.sum(axis=1)
    # The largest exponential before this block was 1. Its value now is the correction factor.
    old = exponentials[:, :start].max(axis=1, initial=0.0)
    factors = [f"{factor:.3f}" if step else "–" for factor in old]
    said = "; ".join(
        f"{name}: maximum {_short_or_infinite(maximum[i])}, factor {factors[i]}, "
        f"total {total[i]:.3f}, "
        f"sum {output[i]:.3f}"
        for i, name in enumerate(queries)
    )
    figure, (grid, kept) = new_figure(
        f"A grid of {length} queries by {keys} keys in blocks of {block_size}, {step} blocks read. "
        f"Only the scores of the last block read are shown. {said}.",
        height=0.55 * length + 1.5,
        ncols=2,
        sharey=True,
        width_ratios=(keys, 6.2),
    )
    for row, column in np.ndindex(length, keys):
        here, gone = start <= column < stop, column < start
        corner = (column - 0.46, row - 0.43)
        if here:
            grid.add_patch(Rectangle(corner, 0.92, 0.86, facecolor=ORANGE, alpha=0.35, lw=0))
            grid.text(column, row, f"{scores[row, column]:.1f}", ha="center", va="center")
        elif gone:
            grid.add_patch(Rectangle(corner, 0.92, 0.86, facecolor=GRID, lw=0))
        else:
            grid.add_patch(Rectangle(corner, 0.92, 0.86, fill=False, edgecolor=GRID, lw=1))
    for place in range(block_size, keys, block_size):
        grid.axvline(place - 0.5, color=GRAY, linewidth=1, linestyle=":")
    grid.set(xlim=(-0.5, keys - 0.5), ylim=(length - 0.5, -0.5), xlabel="value of each key")
    drawing.name_cells(grid, queries, [f"{value:g}" for value in values])
    what = f"block {step} of {-(-keys // block_size)}" if step else "before the first block"
    grid.set_title(f"scores: {what}")
    columns = {
        "maximum": [_short_or_infinite(entry) for entry in maximum],
        "factor\nfor old": factors,
        "total": [f"{entry:.3f}" for entry in total],
        "sum": [f"{entry:.3f}" for entry in output],
        "sum\n÷ total": [f"{entry:.3f}" for entry in output / np.where(total, total, np.nan)],
    }
    for place, entries in enumerate(columns.values()):
        for row, text in enumerate(entries):
            text = "–" if text == "nan" else text
            color = BLUE if place == 4 else VERMILLION if place == 1 else INK
            kept.text(place, row, text, ha="center", va="center", color=color)
    kept.set(xlim=(-0.5, 4.5), title="kept for each query")
    drawing.name_cells(kept, queries, list(columns))
    return figure


@lesson_style
def causal_tiles(length: int, block_size: int) -> LessonFigure:
    """Draw which blocks of causal attention are computed, masked or skipped."""
    starts = range(0, length, block_size)
    count = len(starts)
    computed = count * (count + 1) // 2
    # Rows of a tile times the keys up to its end.
    scores = sum(min(block_size, length - i) * min(i + block_size, length) for i in starts)
    figure, axis = new_figure(
        f"A square of {count} by {count} blocks for {length} tokens. The blocks below the diagonal "
        f"are computed, the {count} on it are computed and masked, those above are left out: "
        f"{computed} of {count**2} blocks, {scores / length**2:.0%} of the scores.",
        height=3.6,
    )
    for i, j in itertools.product(starts, starts):
        sides = min(block_size, length - j), min(block_size, length - i)
        look = {"facecolor": BLUE if j < i else ORANGE, "alpha": 0.5}
        if j > i:
            look = {"fill": False}
        axis.add_patch(Rectangle((j, i), *sides, edgecolor=GRAY, linewidth=0.6, **look))
    axis.plot([0, length], [0, length], color=INK, linewidth=1)
    axis.set(xlim=(0, length), ylim=(length, 0), aspect="equal", xlabel="key", ylabel="query")
    axis.set_title(
        f"blocks of {block_size}: {computed:,} of {count**2:,} tiles computed, "
        f"{scores / length**2:.0%} of the scores"
    )
    axis.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axis.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    handles = [
        Rectangle((0, 0), 1, 1, facecolor=BLUE, alpha=0.5, label="the past: computed"),
        Rectangle((0, 0), 1, 1, facecolor=ORANGE, alpha=0.5, label="the diagonal: masked"),
        Rectangle((0, 0), 1, 1, fill=False, edgecolor=GRAY, label="the future: left out"),
    ]
    axis.legend(handles=handles, loc="center left", bbox_to_anchor=(1.05, 0.5))
    return figure


@lesson_style
def memory_by_length(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]], xlabel: str, ylabel: str
) -> LessonFigure:
    """Draw bytes against lengths on logarithmic axes; each curve has its own lengths."""
    curves = {
        name: (np.asarray(lengths), np.asarray(sizes, float))
        for name, (lengths, sizes) in curves.items()
    }
    said = "; ".join(
        f"{name} from {_bytes(sizes[0])} at {lengths[0]:,} to {_bytes(sizes[-1])} at "
        f"{lengths[-1]:,}"
        for name, (lengths, sizes) in curves.items()
    )
    figure, axis = new_figure(
        f"Lines of {ylabel} against {xlabel} on logarithmic axes: {said}.", height=3.4
    )
    looks = zip(curves.items(), (VERMILLION, BLUE, GREEN), "os^", strict=False)
    for (name, (lengths, sizes)), color, mark in looks:
        axis.plot(lengths, sizes, mark + "-", color=color, label=name)
        drawing.note(axis, _bytes(sizes[-1]), (lengths[-1], sizes[-1]), (8, 0), va="center")
    every = np.unique(np.concatenate([lengths for lengths, _ in curves.values()]))
    axis.set_xscale("log", base=2)
    axis.set_yscale("log", base=2)
    step = -(-len(every) // 8)  # more than eight labels would overlap
    labels = [
        "" if (len(every) - 1 - place) % step else f"{length:,}"
        for place, length in enumerate(every)
    ]
    axis.set_xticks(every, labels)
    axis.yaxis.set_major_formatter(lambda value, _position: _bytes(value))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set(xlabel=xlabel, ylabel=ylabel, xlim=(None, every[-1] * 1.9))
    axis.grid()
    axis.legend(loc="upper left")
    return figure


@lesson_style
def roofline(
    peak: float,
    bandwidth: float,
    points: Mapping[str, tuple[float, float]],
    tera: bool = False,
) -> LessonFigure:
    """Draw a machine's roofline, and the speed of programs below it.

    `points` maps a name to its operations per byte and the operations per second that it reaches.
    With `tera` the axis counts TFLOP/s, and otherwise billions of operations.
    """
    size, unit = (1e12, "TFLOP/s") if tera else (1e9, "billion operations per second")
    ridge = peak / bandwidth
    said = "; ".join(
        f"{name} at {x:.3g} operations a byte reaches {y / size:.3g} of at most "
        f"{min(peak, bandwidth * x) / size:.3g} {unit}"
        for name, (x, y) in points.items()
    )
    figure, axis = new_figure(
        f"A slanting line that meets a level one at {ridge:.3g} operations a byte. {said}.",
        height=4.0 + 0.1 * len(points),
    )
    everywhere = [x for x, _ in points.values()]
    reach = np.array([min(1.0, *everywhere) / 2, max(2 * ridge, *everywhere) * 4])
    fine = np.geomspace(*reach, 200)
    axis.plot(fine, np.minimum(peak, bandwidth * fine) / size, color=INK, label="the roof")
    axis.axvline(ridge, color=GRAY, linewidth=1, linestyle=":")
    axis.annotate("waiting for memory", (ridge, 0), (-6, 5), ha="right", **_BY_THE_AXIS)
    axis.annotate("busy computing", (ridge, 0), (6, 5), ha="left", **_BY_THE_AXIS)
    for (name, (x, y)), color, mark in zip(
        points.items(),
        itertools.cycle((VERMILLION, BLUE, GREEN, ORANGE, PURPLE, SKY)),
        itertools.cycle("os^DvPX*"),
        strict=False,
    ):
        axis.plot(x, y / size, mark, color=color, markersize=9, label=name)
        shared = [other for place, other in points.values() if place == x]
        if y == min(shared):  # only one line to the roof for points above each other
            top = min(peak, bandwidth * x)
            line_color = color if len(shared) == 1 else GRAY
            ends = [y / size, top / size]
            axis.plot([x, x], ends, color=line_color, linewidth=1, linestyle="--", zorder=1)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.xaxis.set_major_formatter(lambda value, _position: f"{value:,g}")
    axis.yaxis.set_major_formatter(lambda value, _position: f"{value:,.8g}")
    lowest = min(peak / 8, *(y for _, y in points.values()))
    axis.set(xlim=reach, ylim=(lowest / (2.5 * size), 2 * peak / size))
    axis.set(xlabel="operations per byte moved", ylabel=unit)
    axis.grid()
    figure.legend(loc="outside lower center", ncols=2)
    return figure


@lesson_style
def way_back_through_a_tile() -> LessonFigure:
    """Draw which arrays a tile of the backward pass reads, forms and adds to."""
    figure, axis = new_figure(
        "Three columns. Left, what goes in: for each query Q, dO, the log-sum-exp λ and D; for the "
        "block of keys K and V. Middle, what is formed in the tile, L by block, and let go: the "
        "scores E from Q and K; the weights P from E and λ; dP from dO and V; dE from P, dP and D. "
        "Right, what comes out: dV of the block from P; dQ, which each block adds to, and dK of the "
        "block from dE.",
        height=3.9,
    )
    arrays = {
        "Q": (0.6, 3.5, "$Q$   (L, d_k)"),
        "K": (0.6, 2.7, "$K$   (block, d_k)"),
        "l": (0.6, 1.9, r"$\lambda$   (L,)"),
        "V": (0.6, 1.1, "$V$   (block, d_v)"),
        "dO": (0.6, 0.3, "$dO$   (L, d_v)"),
        "D": (0.6, -0.5, "$D$   (L,)"),
        "E": (3.1, 3.1, "$E$   (L, block)"),
        "P": (3.1, 2.1, "$P$   (L, block)"),
        "dP": (3.1, 0.9, "$dP$   (L, block)"),
        "dE": (3.1, -0.3, "$dE$   (L, block)"),
        "dV": (5.6, 2.1, "$dV$   (block, d_v)"),
        "dQ": (5.6, 0.3, "$dQ$   (L, d_k), grows"),
        "dK": (5.6, -0.7, "$dK$   (block, d_k)"),
    }
    look = {"facecolor": ORANGE, "alpha": 0.18, "edgecolor": "none"}
    axis.add_patch(Rectangle((2.05, -0.85), 2.1, 4.5, **look))
    for name, (x, y, text) in arrays.items():
        color = BLUE if name in ("l", "D") else INK
        axis.text(x, y, text, ha="center", va="center", color=color)
    shape = {"shrinkA": 0, "shrinkB": 0}
    across = ("Q E", "K E", "l P", "V dP", "dO dP", "D dE", "P dV", "dE dQ", "dE dK")
    for pair in across:
        start, end = pair.split()
        (x0, y0, _), (x1, y1, _) = arrays[start], arrays[end]
        gaps = (0.95, 0.85) if x0 < 1 else (0.85, 1.05)
        drawing.pointer(axis, (x0 + gaps[0], y0), (x1 - gaps[1], y1), GRAY, **shape)
    for start, end, bend in (("E", "P", 0), ("dP", "dE", 0), ("P", "dE", -0.45)):
        (x0, y0, _), (x1, y1, _) = arrays[start], arrays[end]
        side = 0.72 if bend else 0
        look = {**shape, "connectionstyle": f"arc3,rad={bend}"}
        drawing.pointer(axis, (x0 + side, y0 - 0.22), (x1 + side, y1 + 0.22), GRAY, **look)
    titles = {0.6: "goes in", 3.1: "formed in the tile,\nthen let go", 5.6: "comes out"}
    for x, text in titles.items():
        axis.text(x, 4.15, text, ha="center", va="center", color=GRAY)
    axis.set(xlim=(-0.6, 6.9), ylim=(-1, 4.5))
    axis.set_axis_off()
    return figure


_BY_THE_AXIS = {
    "xycoords": ("data", "axes fraction"),
    "textcoords": "offset points",
    "color": GRAY,
}


def _bytes(size: float) -> str:
    """Format a number of bytes with a unit: 96 KiB, 1.5 GiB."""
    unit = min(4, max(0, int(np.log2(max(size, 1)) // 10)))
    return f"{size / 1024**unit:.3g} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB')[unit]}"


def _short_or_infinite(value: float) -> str:
    return "−∞" if value == -np.inf else f"{value:.1f}"
