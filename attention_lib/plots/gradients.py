"""Draw the figures of lesson 04: derivatives, their errors and their sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullLocator
from numpy.typing import ArrayLike

from attention_lib.plots import drawing
from attention_lib.plots.drawing import SIGNED_COLORS, Weigh
from attention_lib.plots.style import (
    BLUE,
    CYCLE,
    GRAY,
    GRID,
    INK,
    PAPER,
    VERMILLION,
    LessonFigure,
    lesson_style,
    new_figure,
)

__all__ = [
    "backward_path",
    "error_valleys",
    "gradient_lines",
    "gradients_by_keys",
    "jacobian_map",
    "loss_gradient",
    "pulls_on_scores",
    "query_step",
    "shares_of_the_first",
    "weights_along_score",
]


@lesson_style
def weights_along_score(
    scores: ArrayLike, moving: int, slopes: ArrayLike, weigh: Weigh, keys: Sequence[str]
) -> LessonFigure:
    """Draw all weights as one of the scores (n,) moves, with tangents at its current value."""
    scores, slopes = np.asarray(scores, float), np.asarray(slopes)
    here, weights = scores[moving], np.asarray(weigh(scores))
    said = ", ".join(
        f"{key} {'rises' if slope > 0 else 'falls'} with slope {drawing.number(slope)}"
        for key, slope in zip(keys, slopes, strict=True)
    )
    figure, axis = new_figure(
        f"Lines of the weights as the score of {keys[moving]} moves, and a short tangent on each "
        f"at its present score of {drawing.number(here)}: {said}.",
        height=3.4,
    )
    along = np.linspace(here - 4, here + 4, 161)
    rows = np.tile(scores, (len(along), 1))
    rows[:, moving] = along
    lines = np.array([weigh(row) for row in rows])
    # Equal weights share a line.
    places = {weight: place for place, weight in enumerate(weights.round(12))}
    for weight, place in places.items():
        together = [
            key for key, other in zip(keys, weights.round(12), strict=True) if other == weight
        ]
        axis.plot(along, lines[:, place], color=CYCLE[place], label=" and ".join(together))
        tangent = weights[place] + slopes[place] * np.array([-0.8, 0.8])
        axis.plot([here - 0.8, here + 0.8], tangent, color=INK, linewidth=1.5)
        axis.plot(here, weights[place], "o", color=CYCLE[place], markeredgecolor=INK)
        drawing.note(
            axis,
            f"slope {drawing.number(slopes[place])}",
            (here + 0.8, tangent[1]),
            (9, -16 if slopes[place] > 0 else 7),
        )
    axis.axvline(here, color=GRAY, linewidth=1, linestyle="--", zorder=0)
    axis.set(xlabel=f"score of {keys[moving]}", ylabel="weight", ylim=(0, 1))
    axis.legend(loc="upper left")
    return figure


@lesson_style
def jacobian_map(weights: ArrayLike, jacobian: ArrayLike, keys: Sequence[str]) -> LessonFigure:
    """Draw a row of weights (n,) beside their derivatives (n, n) by every score."""
    weights, jacobian = np.asarray(weights), np.asarray(jacobian)
    rows = "; ".join(
        f"weight of {key} {drawing.numbers(row)}" for key, row in zip(keys, jacobian, strict=True)
    )
    figure, (bars, grid) = new_figure(
        f"Bars of the weights of {drawing.words(keys)}: {drawing.numbers(weights)}. Beside them a table of "
        f"derivatives, one row a weight and one column a score. {rows}.",
        height=3.0,
        ncols=2,
        width_ratios=(2, 3),
    )
    drawing.bars(bars, weights, keys)
    for bar in bars.patches:
        bar.set_facecolor(GRAY)  # in the table, blue and orange mean rises and falls
    bars.set(title="weights", ylabel="weight", ylim=(0, 1.15))
    drawing.number_grid(grid, jacobian, drawing.number, vmin=-0.25, vmax=0.25)
    grid.images[0].set_cmap(SIGNED_COLORS)
    drawing.name_cells(grid, keys, keys)
    grid.set(title="∂ weight / ∂ score", xlabel="the score that moves", ylabel="the weight")
    return figure


@lesson_style
def error_valleys(steps: ArrayLike, errors: Mapping[str, ArrayLike]) -> LessonFigure:
    """Draw errors against the step on logarithmic axes, with each minimum marked."""
    steps = np.asarray(steps, float)
    best = {name: int(np.argmin(values)) for name, values in errors.items()}
    said = "; ".join(
        f"{name}: at best {errors[name][place]:.0e}, at a step of {steps[place]:.0e}"
        for name, place in best.items()
    )
    figure, axis = new_figure(
        "Errors against the step on logarithmic axes, each line a V: they fall as the step "
        f"shrinks, then rise again. {said}.",
        height=3.6,
    )
    for (name, values), color in zip(errors.items(), CYCLE, strict=False):
        place = best[name]
        axis.loglog(steps, values, color=color, label=name)
        axis.plot(steps[place], values[place], "o", color=color, markersize=8)
        drawing.note(
            axis, f"{values[place]:.0e}", (steps[place], values[place]), (-4, 14), ha="center"
        )
    everything = np.concatenate([*errors.values()])
    axis.set(xlabel="step", ylabel="error of the slope", ylim=(everything.min() / 50, None))
    axis.text(0.03, 0.06, "← rounding", transform=axis.transAxes, color=GRAY)
    axis.text(0.97, 0.06, "the curve bends →", transform=axis.transAxes, color=GRAY, ha="right")
    axis.legend(loc="upper center")
    axis.grid()
    return figure


@lesson_style
def pulls_on_scores(
    weights: ArrayLike, grad_weights: ArrayLike, grad_scores: ArrayLike, keys: Sequence[str]
) -> LessonFigure:
    """Draw the weights' gradients from their weighted mean, and the scores' gradients."""
    weights, gradient, result = (np.asarray(a) for a in (weights, grad_weights, grad_scores))
    mean = np.average(gradient, weights=weights)
    figure, (before, after) = new_figure(
        f"On the left the gradients of the weights of {drawing.words(keys)}, {drawing.numbers(gradient)}, as "
        f"lengths from their weighted mean, {drawing.number(mean)}. On the right the gradients of the "
        f"scores: {drawing.numbers(result)}.",
        height=3.1,
        ncols=2,
    )
    before.axhline(mean, color=INK, linestyle="--", linewidth=1.2)
    for place, value in enumerate(gradient):
        before.plot([place, place], [mean, value], color=CYCLE[place], linewidth=3)
        before.plot(place, value, "o", color=CYCLE[place], markersize=8)
    span = np.ptp([*gradient, mean]) or 1.0
    labels = [
        f"{key}\nweight {drawing.number(weight)}" for key, weight in zip(keys, weights, strict=True)
    ]
    before.set_xticks(range(len(keys)), labels)
    before.set(
        title="gradients of the weights",
        xlabel=f"dashed: their weighted mean, {drawing.number(mean)}",
        ylabel="gradient",
        xlim=(-0.5, len(keys) - 0.4),
        ylim=(min(mean, gradient.min()) - 0.15 * span, max(mean, gradient.max()) + 0.15 * span),
    )
    before.tick_params(axis="x", length=0)
    drawing.bars(after, result, keys)
    after.set(title="gradients of the scores", ylim=drawing.room_for_numbers(result))
    return figure


@lesson_style
def loss_gradient(
    weights: ArrayLike, targets: ArrayLike, gradient: ArrayLike, classes: Sequence[str]
) -> LessonFigure:
    """Draw each example's weights with the right class framed, and the gradient beside them."""
    weights, targets, gradient = np.asarray(weights), np.asarray(targets), np.asarray(gradient)
    rows = "; ".join(
        f"example {i}, right class {classes[target]}: {drawing.numbers(row)}"
        for i, (target, row) in enumerate(zip(targets, gradient, strict=True))
    )
    figure, panels = new_figure(
        "Two tables, one row an example: the weights, and the gradient of the loss, the mean over "
        f"{len(weights)} examples, negative at the right class alone. The gradient is, {rows}.",
        height=0.55 * len(weights) + 1.0,
        ncols=2,
        sharey=True,
    )
    drawing.number_grid(panels[0], weights, drawing.number, vmin=0, vmax=1)
    drawing.number_grid(
        panels[1], gradient, drawing.number, vmin=-1 / len(weights), vmax=1 / len(weights)
    )
    panels[1].images[0].set_cmap(SIGNED_COLORS)
    titles = ("weights", f"gradient of the loss, the mean of {len(weights)}")
    for panel, title in zip(panels, titles, strict=True):
        for row, target in enumerate(targets):
            frame = (target - 0.47, row - 0.45)
            panel.add_patch(Rectangle(frame, 0.94, 0.9, fill=False, ec=INK, lw=2))
        panel.set(title=title, xlabel="class")
        drawing.name_cells(panel, [f"example {row}" for row in range(len(targets))], classes)
    return figure


@lesson_style
def gradient_lines(
    x: ArrayLike,
    curves: Mapping[str, ArrayLike],
    xlabel: str,
    ylabel: str,
    x_base: int | None = None,
    y_scale: str = "log",
    marked: Mapping[float, str] | None = None,
) -> LessonFigure:
    """Draw curves over the same x, on a logarithmic axis if `x_base` is given.

    `marked` maps places on the x axis to what stands there.
    """
    marked = marked or {}
    x = np.asarray(x, float)
    said = "; ".join(
        f"{name}, from {drawing.short(values[0])} to {drawing.short(values[-1])}"
        for name, values in ((name, np.asarray(c, float)) for name, c in curves.items())
    )
    across = xlabel.replace("$", "")
    figure, axis = new_figure(
        f"Lines of {ylabel} against {across}, from {x[0]:g} to {x[-1]:g}: {said}."
        + "".join(f" Marked is {place:g}, {name}." for place, name in marked.items()),
        height=3.4,
    )
    for place, name in marked.items():
        axis.axvline(place, color=GRAY, linewidth=1, linestyle=":", zorder=0)
        axis.text(place, 1.02, name, transform=axis.get_xaxis_transform(), ha="center", color=GRAY)
    looks = zip(curves.items(), CYCLE, ("-", "--", ":", "-."), strict=False)
    for (name, values), color, dashes in looks:
        axis.plot(
            x, values, color=color, linestyle=dashes, linewidth=2.5, label=drawing.typeset(name)
        )
    axis.set_yscale(y_scale)
    if x_base is not None:
        axis.set_xscale("log", base=x_base)
        if x[-1] < 1e6:  # larger numbers are written as powers
            axis.xaxis.set_major_formatter(lambda value, _position: f"{value:,g}")
        axis.xaxis.set_minor_locator(NullLocator())
    axis.set(xlabel=xlabel, ylabel=ylabel)
    axis.grid()
    axis.legend()
    return figure


@lesson_style
def gradients_by_keys(
    sizes: ArrayLike, panels: Mapping[str, Mapping[str, ArrayLike]], marked: Sequence[int]
) -> LessonFigure:
    """Draw, for each number of keys, gradients (n,) of two ways against the sizes (n,) of heads.

    At each of the `marked` sizes it says how many times as large the second way's gradient is.
    """
    sizes = np.asarray(sizes)
    places = [int(np.flatnonzero(sizes == mark)[0]) for mark in marked]
    lines = {
        keys: {way: np.asarray(line, float) for way, line in ways.items()}
        for keys, ways in panels.items()
    }
    said = []
    ratios = {}
    for keys, ways in lines.items():
        first, second = ways.values()
        ratios[keys] = [f"{second[place] / first[place]:.2g}" for place in places]
        ends = ", ".join(
            f"{way} from {drawing.short(line[0])} to {drawing.short(line[-1])}"
            for way, line in ways.items()
        )
        times = " and ".join(f"{r} at {m}" for r, m in zip(ratios[keys], marked, strict=True))
        said.append(f"with {keys}, {ends}, the second over the first {times}")
    figure, axes = new_figure(
        f"Lines of the size of a typical query's gradient against d_k, from {sizes[0]:,} to "
        f"{sizes[-1]:,}, on logarithmic axes: {'; '.join(said)}.",
        height=3.9,
        panels=len(lines),
    )
    for axis, (keys, ways) in zip(axes, lines.items(), strict=True):
        looks = zip(ways.items(), CYCLE, ("o-", "s--"), strict=False)
        for (way, line), color, look in looks:
            axis.loglog(sizes, line, look, color=color, markersize=4, label=drawing.typeset(way))
        first, second = ways.values()
        for mark, place in zip(marked, places, strict=True):
            axis.plot([mark, mark], [first[place], second[place]], color=INK, linewidth=2)
        times = [f"at {m}: {r} times" for m, r in zip(marked, ratios[keys], strict=True)]
        axis.text(0.04, 0.05, "\n".join(["without / with", *times]), transform=axis.transAxes)
        axis.set_xscale("log", base=2)
        axis.set_xticks(sizes[::2], [f"{size:,}" for size in sizes[::2]])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set(title=keys, xlabel="$d_k$ (logarithmic)")
        axis.grid()
    axes[0].set_ylabel("typical query's gradient")
    drawing.legend_below(figure, axes[0].get_legend_handles_labels()[0])
    return figure


@lesson_style
def shares_of_the_first(
    percent: ArrayLike, shares: Mapping[str, ArrayLike], marked: int
) -> LessonFigure:
    """Draw the percentage of a total in its largest parts, with one percentage marked."""
    percent = np.asarray(percent)
    place = int(np.flatnonzero(percent == marked)[0])
    lines = {name: np.asarray(line, float) for name, line in shares.items()}
    said = "; ".join(f"{name} {line[place]:.0f}%" for name, line in lines.items())
    figure, axis = new_figure(
        f"Rising curves of the percentage of all gradient that the first queries have together. "
        f"The first {marked}% have, {said}.",
        height=3.2,
    )
    for (name, line), color, style in zip(lines.items(), CYCLE, ("-", "--"), strict=False):
        axis.plot(percent, line, color=color, linestyle=style, label=drawing.typeset(name))
        axis.plot(marked, line[place], "o", color=color, markersize=8)
        drawing.note(
            axis, f"{line[place]:.0f}%", (marked, line[place]), (10, -4), va="center", weight="bold"
        )
    axis.axvline(marked, color=GRAY, linewidth=1, linestyle=":")
    axis.set(
        xlabel="percent of the queries, largest gradient first",
        ylabel="percent of all gradient",
        ylim=(0, 105),
    )
    axis.grid()
    axis.legend(loc="lower right")
    return figure


@lesson_style
def query_step(
    query: ArrayLike, key: ArrayLike, shares: ArrayLike, keys: Sequence[str]
) -> LessonFigure:
    """Draw what each key (n, 2) adds to a query's step, `shares` (n, 2), and their sum."""
    query, key, shares = (np.asarray(array, float) for array in (query, key, shares))
    step = shares.sum(axis=0)
    figure, (plane, close) = new_figure(
        f"On the left the keys of {drawing.words(keys)} as arrows from the origin to "
        f"{drawing.points(key)}, and the query at {drawing.points([query])}. On the right, larger, what "
        f"each key adds to the query's step against its gradient: {drawing.points(shares)}. The step "
        f"itself is their sum, {drawing.points([step])}.",
        height=3.4,
        ncols=2,
    )
    for place, end in enumerate(key):
        drawing.arrow(plane, end, CYCLE[place], 4.0)
        if shares[place].any():
            drawing.arrow(close, shares[place], CYCLE[place], 4.0)
    drawing.arrow(plane, query, INK, 1.4)
    drawing.arrow(close, step, INK, 1.4)
    for panel, ends in ((plane, [*key, query]), (close, [*shares, step])):
        ends = np.array([*ends, (0.0, 0.0)])
        middle = (ends.max(axis=0) + ends.min(axis=0)) / 2
        reach = 0.6 * np.ptp(ends, axis=0).max()
        panel.axhline(0, color=GRID, linewidth=0.8, zorder=0)
        panel.axvline(0, color=GRID, linewidth=0.8, zorder=0)
        panel.set(
            xlim=(middle[0] - reach, middle[0] + reach),
            ylim=(middle[1] - reach, middle[1] + reach),
            xlabel="first component",
            ylabel="second component",
            aspect="equal",
        )
    plane.set_title("the query and the keys")
    close.set_title("the query's step, against $dQ$")
    colors = dict(zip((f"key of {name}" for name in keys), CYCLE, strict=False))
    handles = drawing.lines({"query, and its step": INK}, linewidth=1.4)
    drawing.legend_below(figure, handles + drawing.lines(colors, linewidth=4))
    return figure


@lesson_style
def backward_path(open_steps: Sequence[str] = ()) -> LessonFigure:
    """Draw attention as a chain of arrays, with the gradients of its backward pass.

    The products that lead to `open_steps`, some of "Q", "K" and "V", are not told.
    """
    products = {
        "Q": r"$dQ = \alpha\, dE\, K$",
        "K": r"$dK = \alpha\, dE^\top Q$",
        "E": "$dE$: softmax_vjp",
        "P": r"$dP = dO\, V^\top$",
        "V": r"$dV = P^\top dO$",
    }
    told = {"V": "dV = Pᵀ dO", "Q": "dQ = α dE K", "K": "dK = α dEᵀ Q"}
    for name in open_steps:
        products[name], told[name] = f"$d{name} =$ ?", f"d{name}, which is open"
    figure, axis = new_figure(
        "Attention as a chain of boxes with their shapes. Forward, left to right: Q, L by d_k, "
        "and K, S by d_k, make the scores E, L by S; softmax makes of them the weights P, L by S; "
        "P and V, S by d_v, make the output O, L by d_v. Backward, right to left: dO goes back to "
        f"dP = dO Vᵀ and {told['V']}, dP through softmax_vjp to dE, and dE to {told['Q']} and "
        f"{told['K']}, each in the shape of its array.",
        height=3.7,
    )
    boxes = {
        "Q": (0.0, 2.3, "(L, d_k)"),
        "K": (0.0, -0.3, "(S, d_k)"),
        "E": (2.3, 1.0, "(L, S)"),
        "P": (4.6, 1.0, "(L, S)"),
        "V": (4.6, -1.6, "(S, d_v)"),
        "O": (6.9, 1.0, "(L, d_v)"),
    }
    steps = (("Q", "E"), ("K", "E"), ("E", "P"), ("P", "O"), ("V", "O"))
    labels = {
        "Q": (0.25, 1.1),
        "K": (1.75, -0.25),
        "E": (3.45, 0.5),
        "P": (5.5, 0.5),
        "V": (6.65, -0.75),
    }
    for name, (x, y, shape) in boxes.items():
        frame = {"boxstyle": "round,pad=0.4", "facecolor": PAPER, "edgecolor": INK}
        words = f"$\\bf{{{name}}}$\n{shape}"
        axis.text(x, y, words, ha="center", va="center", bbox=frame, zorder=3)
    for start, end in steps:
        (x0, y0, _), (x1, y1, _) = boxes[start], boxes[end]
        across = np.array([y0 - y1, x1 - x0]) / np.hypot(x1 - x0, y1 - y0)
        for side, color, style in ((0.13, BLUE, "-|>"), (-0.13, VERMILLION, "<|-")):
            dx, dy = side * across
            look = {"arrowstyle": style, "shrinkA": 32, "shrinkB": 32, "linewidth": 1.8}
            drawing.pointer(axis, (x0 + dx, y0 + dy), (x1 + dx, y1 + dy), color, **look)
        axis.text(*labels[start], products[start], color=VERMILLION, ha="center", va="center")
    drawing.pointer(axis, (8.4, 0.87), (6.95, 0.87), VERMILLION, shrinkB=32, linewidth=1.8)
    axis.text(8.0, 0.5, "$dO$", color=VERMILLION, ha="center", va="center")
    forward = (
        (2.3, 1.9, r"$E = \alpha\, Q K^\top$"),
        (4.6, 1.9, r"$P = \mathrm{softmax}(E)$"),
        (6.9, 1.9, "$O = P V$"),
    )
    for x, y, text in forward:
        axis.text(x, y, text, color=BLUE, ha="center", va="center")
    axis.set(xlim=(-0.7, 8.4), ylim=(-2.3, 2.9))
    axis.set_axis_off()
    handles = [
        Line2D([], [], color=BLUE, marker=">", label="forward: the arrays"),
        Line2D([], [], color=VERMILLION, marker="<", label="backward: their gradients"),
    ]
    axis.legend(handles=handles, loc="lower left")
    return figure
