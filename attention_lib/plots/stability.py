"""Draw the figures of lesson 02: overflow, shifts, masks and halves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, MultipleLocator, NullLocator
from numpy.typing import ArrayLike

from attention_lib.plots import drawing
from attention_lib.plots.style import (
    BLUE,
    CYCLE,
    GRAY,
    GRID,
    INK,
    ORANGE,
    SKY,
    VERMILLION,
    LessonFigure,
    lesson_style,
    new_figure,
)

__all__ = [
    "errors_by_weight",
    "exponential_cliffs",
    "losses_by_row",
    "masked_rows",
    "merged_halves",
    "reach_of_a_maximum",
    "shifted_scores",
    "soft_maximum",
    "two_softmaxes",
]


@lesson_style
def exponential_cliffs(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]], ends: Mapping[str, float]
) -> LessonFigure:
    """Draw e^x in each dtype, up to its overflow.

    `curves` maps a dtype's name to x and e^x in that dtype, `ends` maps it to the last x with a finite
    e^x.
    """
    said = ", ".join(f"{name} at {end:.1f}" for name, end in ends.items())
    figure, axis = new_figure(
        "The exponential on a logarithmic axis, a straight line with a stop for each dtype, where it "
        f"reaches the largest number of its dtype: {said}.",
        height=3.4,
    )
    widths = np.linspace(9, 2, len(curves))
    for (name, (x, y)), color, width in zip(curves.items(), CYCLE, widths, strict=False):
        x, y = np.asarray(x, float), np.asarray(y, float)
        finite = np.isfinite(y)
        top = ends[name] * np.log10(np.e)  # the axis counts powers of ten
        line, powers = np.append(x[finite], ends[name]), np.append(np.log10(y[finite]), top)
        axis.plot(line, powers, color=color, linewidth=width, solid_capstyle="butt", zorder=2)
        axis.plot(ends[name], top, "o", color=VERMILLION, markersize=7, zorder=3)
        text = f"{name}: x = {ends[name]:.1f}, largest number {float(np.finfo(name).max):.3g}"
        last = ends[name] == max(ends.values())
        side = {"ha": "right"} if last else {"ha": "left"}
        drawing.note(axis, text, (ends[name], top), (-30 if last else 26, 0), va="center", **side)
    longest = max(ends.values())
    axis.set(xlim=(0, 1.06 * longest), ylim=(-12, 1.06 * longest * np.log10(np.e)))
    axis.set(xlabel="x", ylabel="$e^x$ (logarithmic)")
    axis.yaxis.set_major_locator(MultipleLocator(100))
    axis.yaxis.set_major_formatter(lambda power, _position: f"$10^{{{power:.0f}}}$")
    return figure


@lesson_style
def shifted_scores(
    scores: ArrayLike,
    weights: Mapping[float, ArrayLike],
    tokens: Sequence[str],
    zero_below: float,
    end: float,
) -> LessonFigure:
    """Draw one row of scores under several shifts, a number line for each.

    `weights` maps a shift to the resulting weights. The exponential is 0 below `zero_below` and infinite
    above `end`.
    """
    scores, shifts = np.asarray(scores), list(weights)
    figure, axis = new_figure(
        f"The scores {drawing.listed(scores)} on number lines, shifted to the left by "
        f"{drawing.listed(shifts)}: the exponentials are infinite where the scores lie too far right, "
        "all 0 where they lie too far left, and usable where the largest score is at 0.",
        height=0.62 * len(shifts) + 1.0,
    )
    lowest, highest = scores.min() - max(shifts), scores.max() - min(shifts)
    left, right = lowest - 0.1 * (highest - lowest), highest + 0.1 * (highest - lowest)
    axis.axvspan(end, right, color=VERMILLION, alpha=0.15, linewidth=0)
    axis.axvspan(left, zero_below, color=GRID, alpha=0.8, linewidth=0)
    axis.axvline(0, color=GRAY, linewidth=1)
    marks = dict(zip(tokens, "os^", strict=True))
    for row, (shift, reached) in enumerate(weights.items()):
        moved = scores - scores.dtype.type(shift)
        axis.axhline(row, color=GRID, linewidth=1)
        for place, (token, mark) in enumerate(marks.items()):
            lift = 0.2 * np.sum(moved[:place] == moved[place])  # equal scores are stacked
            axis.plot(
                moved[place],
                row - lift,
                mark,
                color=CYCLE[place],
                markersize=8,
                label=token if row == 0 else None,
            )
        axis.annotate(
            drawing.listed(reached, ".3g"),
            (1.02, row),
            xycoords=("axes fraction", "data"),
            va="center",
            annotation_clip=False,
        )
    axis.annotate(
        "weights", (1.02, -0.75), xycoords=("axes fraction", "data"), va="center", color=GRAY
    )
    axis.text((left + zero_below) / 2, -0.75, "$e^x$ is 0", va="center", ha="center")
    axis.text((end + right) / 2, -0.75, "$e^x$ is inf", va="center", ha="center", color=VERMILLION)
    axis.set(xlim=(left, right), ylim=(len(shifts) - 0.5, -1.1), xlabel="score − shift")
    axis.set_yticks(range(len(shifts)), [f"shift {shift:g}" for shift in shifts])
    axis.tick_params(axis="y", length=0)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=len(tokens))
    return figure


@lesson_style
def reach_of_a_maximum(rows: Mapping[str, ArrayLike], reach: float) -> LessonFigure:
    """Draw which exponentials stay above 0 with one maximum for all rows, and with one for each.

    A score more than `reach` below the maximum has the exponential 0.
    """
    scores = [np.asarray(row, float) for row in rows.values()]
    overall = max(row.max() for row in scores)
    figure, axes = new_figure(
        f"Two rows of scores on number lines: the maximum of both rows, {overall:g}, reaches "
        "only the scores just below it and leaves a whole row at 0; each row's own maximum "
        "reaches at least one score of the row.",
        height=2.6,
        ncols=2,
        sharey=True,
        sharex=True,
    )
    own = [row.max() for row in scores]
    titles = ("one maximum for all rows", "each row's own maximum")
    for axis, title, maxima in zip(axes, titles, ([overall] * len(scores), own), strict=True):
        lowest, highest = min(row.min() for row in scores), max(own)
        limits = (min(lowest, min(own) - reach) - 20, highest + 20)
        mark = 0.04 * (limits[1] - limits[0])  # about the width of a dot
        for place, (row, maximum) in enumerate(zip(scores, maxima, strict=True)):
            axis.barh(place, reach, left=maximum - reach, height=0.56, color=SKY, alpha=0.45)
            axis.plot([maximum] * 2, [place - 0.28, place + 0.28], color=BLUE)
            lost = row < maximum - reach
            # Scores that would overlap are stacked.
            near = [np.sum(np.abs(row[:i] - score) < mark) for i, score in enumerate(row)]
            heights = place + 0.18 - 0.18 * np.array(near)
            axis.plot(row[~lost], heights[~lost], "o", color=BLUE, markersize=7)
            axis.plot(row[lost], heights[lost], "x", color=VERMILLION, markersize=7, mew=2)
        axis.set(title=title, xlabel="score", xlim=limits, ylim=(len(scores) - 0.4, -0.6))
        axis.tick_params(axis="y", length=0)
    axes[0].set_yticks(range(len(scores)), list(rows))
    handles = [
        Line2D([], [], color=BLUE, label="the maximum subtracted"),
        Line2D([], [], color=BLUE, marker="o", linestyle="", label="exponential above 0"),
        Line2D([], [], color=VERMILLION, marker="x", mew=2, linestyle="", label="exponential 0"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


@lesson_style
def two_softmaxes(
    tokens: Sequence[str], scores: ArrayLike, answers: Mapping[str, ArrayLike]
) -> LessonFigure:
    """Draw the weights of one row by two ways to compute softmax; write NaN as text."""
    scores = np.asarray(scores)
    said = "; ".join(f"{name} gives {drawing.listed(row, '.3g')}" for name, row in answers.items())
    figure, axes = new_figure(
        f"Attention weights for the scores {drawing.listed(scores)} in {scores.dtype}: {said}.",
        height=2.5,
        panels=len(answers),
    )
    for axis, (name, weights) in zip(axes, answers.items(), strict=True):
        weights = np.asarray(weights, float)
        axis.bar(range(len(weights)), np.nan_to_num(weights), color=BLUE, width=0.6)
        for place, weight in enumerate(weights):
            color = VERMILLION if np.isnan(weight) else INK
            axis.text(
                place, np.nan_to_num(weight) + 0.02, drawing.short(weight), ha="center", color=color
            )
        labels = [f"{token}\n{score:g}" for token, score in zip(tokens, scores, strict=True)]
        axis.set_xticks(range(len(weights)), labels)
        axis.set(title=f"{name}, {scores.dtype}", ylim=(0, 1.12))
        axis.set_xlabel("word and its score")
    axes[0].set_ylabel("weight")
    return figure


@lesson_style
def errors_by_weight(weights: ArrayLike, errors: Mapping[str, ArrayLike]) -> LessonFigure:
    """Draw each method's errors, in units in the last place, against the weight."""
    weights = np.asarray(weights, float).ravel()
    by_method = {method: np.asarray(values, float).ravel() for method, values in errors.items()}
    large = weights > 1e-6
    said = "; ".join(
        f"{method} at most {values[large].max():.2g} above 1e-6, {values.max():.2g} in all"
        for method, values in by_method.items()
    )
    figure, axes = new_figure(
        "Dots, one a weight, at its size and at its error in units in the last place, one panel a "
        f"method. {said}.",
        height=3.3,
        panels=len(by_method),
    )
    for axis, (method, values) in zip(axes, by_method.items(), strict=True):
        axis.plot(weights[~large], values[~large], ".", color=GRAY, markersize=2)
        axis.plot(weights[large], values[large], ".", color=BLUE, markersize=3)
        axis.axhline(0.5, color=INK, linewidth=1, linestyle="--")
        axis.axvspan(1e-6, 2, color=SKY, alpha=0.25, linewidth=0)
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(FixedLocator([1e-30, 1e-20, 1e-10, 1]))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set(title=method, xlabel="weight (logarithmic)", xlim=(weights.min() / 2, 2))
    axes[0].set_ylabel("error (ulp)")
    axes[0].set_ylim(0, 1.05 * max(values.max() for values in by_method.values()))
    return figure


@lesson_style
def soft_maximum(x: ArrayLike, values: ArrayLike) -> LessonFigure:
    """Draw the log-sum-exp of the row [x, 0] and its maximum."""
    x, values = np.asarray(x, float), np.asarray(values, float)
    hard = np.maximum(x, 0)
    widest = np.argmax(values - hard)
    figure, axis = new_figure(
        "The log-sum-exp of the row [x, 0] is a smooth curve just above its maximum, which has "
        f"a corner at 0; the two lie furthest apart there, by {values[widest] - hard[widest]:.3f}.",
        height=2.9,
    )
    axis.plot(x, hard, color=ORANGE, linestyle="--", label="largest score of [x, 0]")
    axis.plot(x, values, color=BLUE, label="log-sum-exp of [x, 0]")
    drawing.note(
        axis,
        f"{values[widest] - hard[widest]:.3f} apart",
        (x[widest], (values[widest] + hard[widest]) / 2),
        (-50, 32),
        ha="right",
        arrowprops={"arrowstyle": "-", "color": GRAY},
    )
    axis.set(xlabel="x, the score that moves", ylabel="value")
    axis.legend(loc="upper left")
    return figure


@lesson_style
def losses_by_row(
    scores: ArrayLike, targets: ArrayLike, losses: ArrayLike, classes: Sequence[str]
) -> LessonFigure:
    """Draw each example's scores with the right class framed, and its loss beside them."""
    scores, targets, losses = np.asarray(scores), np.asarray(targets), np.asarray(losses)
    figure, (grid, bars) = new_figure(
        f"A table of scores with the right word of each row framed, and beside each row its "
        f"loss as a bar: {drawing.listed(losses, '.3g')}; their mean, {losses.mean():.3g}, is marked.",
        height=2.6,
        ncols=2,
        sharey=True,
        width_ratios=(1, 1.3),
    )
    drawing.number_grid(grid, scores)
    for row, target in enumerate(targets):
        grid.add_patch(
            Rectangle((target - 0.47, row - 0.45), 0.94, 0.9, fill=False, ec=VERMILLION, lw=2.5)
        )
    drawing.name_cells(grid, [f"example {row}" for row in range(len(targets))], classes)
    grid.set_title("scores, the right word framed")
    bars.barh(range(len(losses)), losses, height=0.6, color=BLUE)
    for row, loss in enumerate(losses):
        bars.text(loss + 0.01 * losses.max(), row, f" {loss:.3g}", va="center")
    bars.axvline(losses.mean(), color=ORANGE, linestyle="--")
    title = f"loss of each example; mean {losses.mean():.3g} dashed"
    bars.set(title=title, xlabel="−log weight of the right word (nats)")
    bars.set_xlim(0, 1.18 * losses.max())
    bars.tick_params(axis="y", length=0)
    return figure


@lesson_style
def masked_rows(
    scores: ArrayLike,
    mask: ArrayLike,
    weights: ArrayLike,
    queries: Sequence[str],
    keys: Sequence[str],
) -> LessonFigure:
    """Draw scores, their mask, and the weights."""
    scores, mask, weights = np.asarray(scores), np.asarray(mask), np.asarray(weights)
    empty = [query for query, row in zip(queries, mask, strict=True) if not row.any()]
    figure, axes = new_figure(
        f"Three tables, {len(queries)} queries by {len(keys)} keys: the scores, the mask with "
        f"{np.sum(~mask)} entries forbidden, and the weights, 0 wherever the mask forbids; "
        f"the row of {' and '.join(empty) or 'no query'} is all zeros.",
        height=2.7,
        ncols=3,
        sharey=True,
    )
    forbidden = np.ma.masked_where(~mask, scores)
    drawing.number_grid(axes[0], forbidden)
    drawing.number_grid(
        axes[1], np.ma.masked_where(~mask, np.zeros(mask.shape)), text=lambda _: "True"
    )
    drawing.number_grid(
        axes[2], np.ma.masked_where(~mask, weights), "{:.2f}".format, vmin=0, vmax=1
    )
    for (row, column), score in np.ndenumerate(scores):
        if not mask[row, column]:
            below = (f"{score:g}", "False", f"{weights[row, column]:g}")
            for axis, text in zip(axes, below, strict=True):
                axis.text(column, row, text, ha="center", va="center")
    for axis, title in zip(axes, ("scores", "mask", "weights"), strict=True):
        axis.set_title(title)
        axis.set_facecolor(GRID)  # the color of forbidden entries
        drawing.name_cells(axis, queries, keys)
        axis.set_xlabel("key")
    axes[0].set_ylabel("query")
    return figure


@lesson_style
def merged_halves(
    left: ArrayLike, right: ArrayLike, own: Sequence[ArrayLike], joined: Sequence[ArrayLike]
) -> LessonFigure:
    """Draw the exponentials of two halves of a row, apart and merged.

    `own` are e^(score - maximum) with the maximum of each half, `joined` with the maximum of both.
    """
    halves = [np.asarray(half, float) for half in (left, right)]
    maxima = [half.max() for half in halves]
    maximum, winner = max(maxima), int(np.argmax(maxima))
    totals, shares = ([float(np.sum(bars)) for bars in pair] for pair in (own, joined))
    factor, total = shares[1 - winner] / totals[1 - winner], sum(shares)
    figure, axes = new_figure(
        f"Bars of exponentials: each half by its own maximum ({maxima[0]:g} and {maxima[1]:g}), "
        f"totals {totals[0]:.3f} and {totals[1]:.3f}; joined under {maximum:g}, one half keeps "
        f"its bars, the other's shrink by a factor of {factor:.3f}, and the total is {total:.3f}.",
        height=3.0,
        ncols=3,
        sharey=True,
        width_ratios=(len(halves[0]), len(halves[1]), sum(map(len, halves))),
    )
    for place, half in enumerate(halves):
        axis = axes[place]
        axis.bar(range(len(half)), own[place], color=CYCLE[place], width=0.7)
        axis.set_xticks(range(len(half)), [f"{score:g}" for score in half])
        axis.set(
            title=f"{('left', 'right')[place]} half\nmaximum {maxima[place]:g}\n"
            f"total {totals[place]:.3f}",
            xlabel="scores",
        )
    start = 0
    for place, half in enumerate(halves):
        at = np.arange(start, start + len(half))
        if place != winner:  # outlines of the bars before they shrink
            axes[2].bar(at, own[place], 0.7, fill=False, ec=GRAY, linestyle=":", linewidth=1.2)
        axes[2].bar(at, joined[place], color=CYCLE[place], width=0.7)
        start += len(half)
    both = np.concatenate(halves)
    axes[2].set_xticks(range(len(both)), [f"{score:g}" for score in both])
    axes[2].set(title=f"joined\nmaximum {maximum:g}\ntotal {total:.3f}", xlabel="scores")
    axes[0].set(ylabel="$e^{\\mathrm{score} - \\mathrm{maximum}}$", ylim=(0, 1.08))
    return figure
