"""Draw the figures of lesson 03: scores by size, entropy and temperature."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import MultipleLocator
from numpy.typing import ArrayLike, NDArray

from attention_lib.plots import drawing
from attention_lib.plots.style import (
    BLUE,
    CYCLE,
    GRAY,
    GREEN,
    GRID,
    INK,
    ORANGE,
    PAPER,
    SKY,
    VERMILLION,
    LessonFigure,
    lesson_style,
    new_figure,
)

__all__ = [
    "attention_by_keys",
    "bounded_scores",
    "entropies_by_head",
    "entropy_target",
    "growth_with_size",
    "lines_by_size",
    "one_row_at_size",
    "queries_and_keys",
    "rare_scores",
    "rows_with_entropy",
    "sampling_weights",
    "tempered",
    "weights_triangle",
]

Measure = Callable[[NDArray], ArrayLike]  # from weights (n,) to one number
_RAW, _SCALED = VERMILLION, BLUE  # scores, and scores divided by √d_k


@lesson_style
def queries_and_keys(query: ArrayLike, key: ArrayLike, names: Sequence[str]) -> LessonFigure:
    """Draw two-dimensional queries and keys (n, 2) as arrows, a panel for each query.

    A dotted line projects the end of each key onto the direction of the query, to a dot of its color.
    """
    query, key = np.asarray(query, float), np.asarray(key, float)
    figure, panels = new_figure(
        f"Arrows from the origin, one panel for each query. The keys of {drawing.words(names)} end at "
        f"{drawing.points(key)}, the same in every panel; the queries end at {drawing.points(query)}. "
        "Dotted lines drop from the end of each key, at a right angle, onto the line through the query.",
        height=3.5,
        panels=len(query),
    )
    far = 1.15 * max(np.abs(query).max(), np.abs(key).max())
    for panel, one, name in zip(panels, query, names, strict=True):
        drawing.arrow(panel, one, GRID, 11.0)  # wide, to be visible below a key
        for column, arrow in enumerate(key):
            drawing.arrow(panel, arrow, CYCLE[column], 3.0)
        panel.axline((0, 0), one, color=GRAY, linewidth=0.8, zorder=0)
        feet = key @ one[:, None] / (one @ one) * one  # (n, 2)
        for place, (arrow, foot, color) in enumerate(zip(key, feet, CYCLE, strict=False)):
            below = int(np.sum(np.all(np.isclose(feet[:place], foot), axis=1)))
            panel.plot(*zip(arrow, foot, strict=True), ":", color=INK, linewidth=1.2, zorder=5)
            # Dots that coincide lie inside each other.
            look = {"color": color, "markeredgecolor": INK, "markersize": 10 - 5 * below}
            panel.plot(*foot, "o", zorder=6 + below, **look)
        panel.axhline(0, color=GRID, linewidth=0.8)
        panel.axvline(0, color=GRID, linewidth=0.8)
        panel.set(title=f"query of {name}", xlabel="first component", aspect="equal")
        panel.set(xlim=(-0.3, far), ylim=(-0.3, far), xticks=range(3), yticks=range(3))
    panels[0].set_ylabel("second component")
    colors = dict(zip((f"key of {name}" for name in names), CYCLE, strict=False))
    handles = drawing.lines({"the query": GRID}, linewidth=11)
    drawing.legend_below(figure, handles + drawing.lines(colors, linewidth=3))
    return figure


@lesson_style
def growth_with_size(sizes: ArrayLike, variances: ArrayLike, deviations: ArrayLike) -> LessonFigure:
    """Draw measured variances and standard deviations against d_k on logarithmic axes."""
    sizes = np.asarray(sizes, float)
    measured = {
        "variance": (np.asarray(variances), "o", sizes, "$d_k$"),
        "standard deviation": (np.asarray(deviations), "s", np.sqrt(sizes), r"$\sqrt{d_k}$"),
    }
    said = "; ".join(
        f"the {name} grows from {values[0]:.3g} to {values[-1]:.3g}"
        for name, (values, *_) in measured.items()
    )
    figure, axes = new_figure(
        f"Two straight lines on logarithmic axes, d_k from {sizes[0]:g} to {sizes[-1]:g}: {said}.",
        height=3.4,
    )
    for color, (name, (values, mark, line, label)) in zip(
        (ORANGE, BLUE), measured.items(), strict=False
    ):
        axes.plot(sizes, line, color=color, linewidth=1)
        axes.plot(sizes, values, mark, color=color, markersize=7, label=f"measured {name}")
        drawing.note(axes, label, (sizes[-1], line[-1]), (8, 0), va="center")
    _logarithmic_sizes(axes, sizes)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _position: f"{value:,g}")
    axes.set(ylabel="variance, standard deviation", xlim=(sizes[0] / 1.4, sizes[-1] * 2))
    axes.grid()
    axes.legend(loc="upper left")
    return figure


@lesson_style
def rare_scores(
    scores: Mapping[str, ArrayLike], deviation: float, told: Sequence[float]
) -> LessonFigure:
    """Draw histograms of scores on a logarithmic axis, with scores that are often claimed."""
    samples = {name: np.asarray(sample, float).ravel() for name, sample in scores.items()}
    said = "; ".join(
        f"{name}, {sample.size:,} scores, the largest {np.abs(sample).max():.1f} in size, "
        f"{np.mean(np.abs(sample) > min(told)):.0%} beyond {min(told):g}"
        for name, sample in samples.items()
    )
    figure, axes = new_figure(
        f"Histograms of scores on a logarithmic axis: {said}. A band marks {deviation:g} on either "
        f"side of 0, and dashed lines {drawing.listed(told)}.",
        height=3.4,
    )
    low = min(-1.12 * max(told), *(sample.min() for sample in samples.values()))
    high = max(1.12 * max(told), *(sample.max() for sample in samples.values()))
    edges = np.arange(low, high + 4, 4)
    for (name, sample), color in zip(samples.items(), (SKY, ORANGE), strict=False):
        shares = np.full(sample.size, 1 / sample.size)
        look = {"color": color, "alpha": 0.5, "label": name, "histtype": "stepfilled"}
        axes.hist(sample, edges, weights=shares, **look)
    axes.axvspan(-deviation, deviation, color=BLUE, alpha=0.15, linewidth=0)
    axes.set_yscale("log")
    top = axes.get_ylim()[1] * 6
    axes.text(0, top / 2.5, f"±{deviation:g}", ha="center", va="center", color=BLUE)
    for score in told:
        for place in (-score, score):
            axes.axvline(place, color=VERMILLION, linestyle="--", linewidth=1.2)
    axes.set(xlabel="score (dashed: as claimed)", ylabel="share (logarithmic)", ylim=(5e-7, top))
    axes.set_xlim(low, high)
    axes.xaxis.set_major_locator(MultipleLocator(50))
    axes.xaxis.set_major_formatter(lambda value, _position: drawing.number(value))
    axes.legend(loc="upper left")
    return figure


@lesson_style
def entropies_by_head(
    heads: Mapping[str, ArrayLike], random: Mapping[str, float], limit: float
) -> LessonFigure:
    """Draw each head's mean entropy, unscaled and scaled, with that of random rows dashed."""
    said = "; ".join(
        f"{way}, heads {drawing.listed(values, '.2f')}, random rows {random[way]:.2f}"
        for way, values in heads.items()
    )
    figure, axes = new_figure(
        f"Dots of the mean entropy of each head of a trained layer, with that of random rows as a "
        f"dashed line: {said}. Equal weights would have {limit:.2f}.",
        height=3.2,
    )
    for (way, values), color, mark in zip(heads.items(), (_RAW, _SCALED), "os", strict=True):
        places, label = np.arange(len(np.asarray(values))), drawing.typeset(way)
        axes.plot(places, values, mark, color=color, markersize=8, label=f"trained, {label}")
        axes.axhline(random[way], color=color, linestyle="--", label=f"random, {label}")
    axes.axhline(limit, color=GRAY, linewidth=1, label="equal weights")
    axes.set(xlabel="head", ylabel="mean entropy (nats)", ylim=(0, 1.08 * limit))
    axes.set_xticks(places)
    figure.legend(loc="outside lower center", ncols=3)
    return figure


@lesson_style
def weights_triangle(
    points: ArrayLike, heights: ArrayLike, best: ArrayLike, names: Sequence[str], label: str
) -> LessonFigure:
    """Draw a height above each row of three weights (n, 3), in a triangle, and one row marked."""
    points, heights, best = np.asarray(points), np.asarray(heights), np.asarray(best)
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    top = points[np.argmax(heights)]
    figure, axes = new_figure(
        f"A triangle with a corner for each of {drawing.words(names)}, colored by {label}, from "
        f"{heights.min():.2f} to {heights.max():.2f}. The highest of {len(points):,} points lies at "
        f"the weights {drawing.numbers(top)}; marked are the weights {drawing.shares(best)}.",
        height=3.8,
    )
    hill = axes.tricontourf(*(points @ corners).T, heights, levels=16, cmap="cividis")
    axes.tricontour(*(points @ corners).T, heights, levels=16, colors=PAPER, linewidths=0.4)
    axes.plot(*(top @ corners), "o", markersize=13, markerfacecolor="none", markeredgecolor=INK)
    axes.plot(*(best @ corners), "o", color=VERMILLION, markersize=7)
    offsets = ((-8, -4, "right", "top"), (8, -4, "left", "top"), (0, 8, "center", "bottom"))
    for name, corner, (right, up, across, along) in zip(names, corners, offsets, strict=True):
        drawing.note(axes, name, corner, (right, up), ha=across, va=along)
    handles = [
        Line2D([], [], color=VERMILLION, marker="o", linestyle="", label="softmax"),
        Line2D([], [], color=INK, marker="o", markersize=11, markerfacecolor="none", linestyle=""),
    ]
    handles[1].set_label("highest point")
    drawing.legend_below(figure, handles)
    axes.set(aspect="equal", xlim=(-0.25, 1.25), ylim=(-0.12, 1.0))
    axes.set(xticks=[], yticks=[], xlabel="a point: three weights that add up to 1")
    axes.spines[:].set_visible(False)
    figure.colorbar(hill, label=label).outline.set_visible(False)
    return figure


@lesson_style
def one_row_at_size(
    size: int, scores: Mapping[str, ArrayLike], weights: Mapping[str, ArrayLike]
) -> LessonFigure:
    """Draw one row of scores, unscaled and scaled, and its weights."""
    said = "; ".join(
        f"{way}, scores up to {np.max(scores[way]):.3g} in a row give a largest weight of "
        f"{np.max(weights[way]):.2f}"
        for way in scores
    )
    figure, panels = new_figure(
        f"Scores of one query as dots on a line, and bars of its weights, at d_k = {size}. {said}.",
        height=3.4,
        nrows=2,
        ncols=2,
        width_ratios=(3, 2),
    )
    reach = 1.15 * max(np.abs(row).max() for row in scores.values())
    for (line, bars), way, color in zip(panels, scores, (_RAW, _SCALED), strict=True):
        row, shares = np.asarray(scores[way]), np.asarray(weights[way])
        line.axhline(0, color=GRID)
        line.axvline(0, color=GRID)
        line.plot(row, np.zeros_like(row), "o", color=color, alpha=0.8, markersize=8)
        line.set(title=drawing.typeset(way), xlim=(-reach, reach), ylim=(-1, 1), yticks=[])
        line.spines["left"].set_visible(False)
        bars.bar(range(len(shares)), shares, color=color, width=0.8)
        bars.set(ylim=(0, 1.05), xticks=[], ylabel="weight")
        bars.set_title(f"largest weight {shares.max():.2f}")
    panels[1, 0].set_xlabel(f"score, $d_k$ = {size:,}")
    panels[1, 1].set_xlabel(f"the {len(shares)} keys")
    return figure


@lesson_style
def rows_with_entropy(
    rows: Mapping[str, ArrayLike], entropies: Sequence[float], keys: Sequence[str]
) -> LessonFigure:
    """Draw rows of weights side by side, each with its entropy and its perplexity."""
    said = "; ".join(
        f"{name}: {drawing.numbers(np.asarray(row))} with entropy {value:.2f}"
        for (name, row), value in zip(rows.items(), entropies, strict=True)
    )
    figure, panels = new_figure(
        f"Bars of weights for the keys {drawing.words(keys)}, from sharp to flat. {said}.",
        height=2.8,
        panels=len(rows),
    )
    for panel, (name, row), value in zip(panels, rows.items(), entropies, strict=True):
        row = np.asarray(row)
        panel.bar(range(len(row)), row, color=BLUE, width=0.75)
        panel.set(title=name, ylim=(0, 1.05))
        panel.set_xticks(range(len(keys)), keys, fontsize=8)
        panel.tick_params(axis="x", length=0)
        panel.set_xlabel(f"entropy {value + 0:.2f}\nlike {np.exp(value):.2f} words")
    panels[0].set_ylabel("weight")
    return figure


@lesson_style
def lines_by_size(
    sizes: ArrayLike, lines: Mapping[str, ArrayLike], label: str, limit: float, limit_name: str
) -> LessonFigure:
    """Draw a measure of the weights against d_k, unscaled and scaled, with its limit."""
    sizes = np.asarray(sizes, float)
    said = "; ".join(
        f"{way} it goes from {np.asarray(values)[0]:.2f} to {np.asarray(values)[-1]:.2f}"
        for way, values in lines.items()
    )
    figure, axes = new_figure(
        f"Lines of the {label} for d_k from {sizes[0]:g} to {sizes[-1]:g}, at most "
        f"{limit:.2f}: {said}.",
        height=3.1,
    )
    for (way, values), color, mark in zip(lines.items(), (_RAW, _SCALED), "os", strict=True):
        axes.plot(sizes, values, mark + "-", color=color, label=drawing.typeset(way))
    axes.axhline(limit, color=GRAY, linestyle="--", linewidth=1)
    drawing.note(axes, limit_name, (sizes[0], limit), (0, 4), color=INK)
    _logarithmic_sizes(axes, sizes)
    axes.set(ylabel=label, ylim=(0, 1.15 * limit))
    axes.legend(loc="center right")
    return figure


@lesson_style
def tempered(
    scores: ArrayLike,
    temperature: float,
    weigh: Callable[[NDArray, float], ArrayLike],
    measure: Measure,
    keys: Sequence[str],
) -> LessonFigure:
    """Draw the weights at one temperature, beside their entropy at all temperatures."""
    scores = np.asarray(scores, float)
    weights = np.asarray(weigh(scores, temperature))
    reached = float(measure(weights))
    figure, (now, course) = new_figure(
        f"At the temperature {temperature:g} the scores {drawing.numbers(scores)} get the weights "
        f"{drawing.shares(weights)}, with entropy {reached:.2f}. Beside them a rising curve, the "
        "entropy against the temperature, with this temperature marked.",
        ncols=2,
        width_ratios=[2, 3],
    )
    drawing.bars(
        now, weights, [f"{key}\n{score:g}" for key, score in zip(keys, scores, strict=True)]
    )
    now.set(title=f"temperature {temperature:g}", xlabel="word and its score", ylabel="weight")
    now.set(ylim=(0, 1.15))
    temperatures = np.geomspace(0.04, 60, 200)
    _entropy_curve(course, temperatures, [measure(weigh(scores, t)) for t in temperatures])
    course.axhline(np.log(len(scores)), color=GRAY, linestyle="--", linewidth=1)
    course.text(0.04, np.log(len(scores)) * 1.02, f"log {len(scores)}", color=INK, va="bottom")
    course.plot(temperature, reached, "o", color=VERMILLION, markersize=9)
    course.set(title=f"entropy {reached:.2f}", ylim=(0, 1.15 * np.log(len(scores))))
    return figure


@lesson_style
def entropy_target(
    temperatures: ArrayLike, entropies: ArrayLike, target: float, tried: Mapping[float, float]
) -> LessonFigure:
    """Draw entropy against temperature, with a target and the temperatures tried."""
    temperatures, entropies = np.asarray(temperatures), np.asarray(entropies)
    trials = ", ".join(f"{value:.2f} at {t:g}" for t, value in tried.items())
    figure, axes = new_figure(
        "A curve of the entropy that never falls as the temperature rises, crossing the dashed "
        f"target of {target:g} once. Marked are the entropies {trials}.",
        height=3.1,
    )
    _entropy_curve(axes, temperatures, entropies)
    axes.axhline(target, color=VERMILLION, linestyle="--", linewidth=1.2)
    for temperature, value in tried.items():
        axes.plot(temperature, value, "o", color=INK, markersize=8)
        drawing.note(
            axes, f"T = {temperature:g}: {value:.2f}", (temperature, value), (10, -8), va="top"
        )
    drawing.note(
        axes,
        f"target {target:g}",
        (temperatures[-1], target),
        (-4, 4),
        ha="right",
        color=VERMILLION,
    )
    axes.set(xlim=(temperatures[0], temperatures[-1]), ylim=(0, None))
    return figure


@lesson_style
def attention_by_keys(
    counts: ArrayLike,
    entropies: Mapping[str, ArrayLike],
    shares: Mapping[str, ArrayLike],
) -> LessonFigure:
    """Draw the entropy of random rows, and the weight of the one matching key, against S.

    The keys of `entropies` and `shares` are the names of the ways to scale.
    """
    counts = np.asarray(counts, float)
    spread, fit = (
        "; ".join(
            f"{way}, from {np.asarray(values)[0]:.2f} to {np.asarray(values)[-1]:.2f}"
            for way, values in lines.items()
        )
        for lines in (entropies, shares)
    )
    figure, (left, right) = new_figure(
        f"For {counts[0]:g} to {counts[-1]:g} keys, on the left the mean entropy of random rows "
        f"below the logarithm of the number of keys: {spread}. On the right the weight of the key "
        f"that fits: {fit}.",
        height=3.6,
        ncols=2,
    )
    left.plot(counts, np.log(counts), "--", color=GRAY, linewidth=1.2, label="log S: equal weights")
    for way, color, mark in zip(shares, (BLUE, ORANGE, GREEN), "os^", strict=False):
        look = {"color": color, "marker": mark, "markersize": 5}
        left.plot(counts, entropies[way], label=drawing.typeset(way), **look)
        right.plot(counts, shares[way], **look)
    left.set(ylabel="mean entropy (nats)", ylim=(0, 1.05 * np.log(counts[-1])))
    right.set(ylabel="weight of the key that fits", ylim=(0, 1.05))
    right.set_yticks([0, 0.25, 0.5, 0.75, 1])
    for panel in (left, right):
        drawing.logarithmic(panel, counts[::2], base=4)
        panel.set_xlabel("S, the number of keys")
    figure.legend(loc="outside lower center", ncols=2)
    return figure


@lesson_style
def sampling_weights(words: Sequence[str], weights: Mapping[str, ArrayLike]) -> LessonFigure:
    """Draw the probabilities of the next word, a panel for each setting."""
    rows = {setting: np.asarray(row) for setting, row in weights.items()}
    said = "; ".join(f"{setting}: {drawing.numbers(row)}" for setting, row in rows.items())
    figure, panels = new_figure(
        f"Bars of the probability of each next word, {drawing.words(words)}. {said}.",
        height=1 + 0.2 * len(words),
        panels=len(rows),
        sharex=True,
    )
    places = np.arange(len(words))
    for panel, (setting, row) in zip(panels, rows.items(), strict=True):
        panel.barh(places, row, color=BLUE, height=0.75)
        panel.set(title=setting, xlabel="probability")
        panel.tick_params(axis="y", length=0)
    panels[0].set_yticks(places, words)
    panels[0].set(ylabel="next word", ylim=(len(words) - 0.5, -0.5))
    return figure


@lesson_style
def bounded_scores(
    factors: ArrayLike,
    largest: Mapping[str, ArrayLike],
    entropies: Mapping[str, ArrayLike],
    limit: float,
) -> LessonFigure:
    """Draw the largest score as components grow, beside the mean entropy of the weights."""
    factors = np.asarray(factors, float)
    said = "; ".join(
        f"{way}: largest score {np.asarray(largest[way])[-1]:.3g}, entropy "
        f"{np.asarray(entropies[way])[-1]:.2f}"
        for way in largest
    )
    figure, (left, right) = new_figure(
        f"On the left the largest score, on the right the mean entropy of the weights, as "
        f"components grow {factors[-1]:g}-fold. At the end, {said}.",
        height=3.6,
        ncols=2,
    )
    for way, color, mark in zip(largest, CYCLE, "osD^", strict=False):
        look = {"color": color, "marker": mark, "markersize": 5, "label": drawing.typeset(way)}
        left.plot(factors, largest[way], **look)
        right.plot(factors, entropies[way], **look)
    left.set(yscale="log", ylabel="largest score (logarithmic)")
    left.yaxis.set_major_formatter(lambda value, _position: f"{value:,g}")
    right.axhline(limit, color=GRAY, linestyle="--", linewidth=1)
    right.text(factors[0], 1.02 * limit, "equal weights", fontsize=9)
    right.set(ylabel="mean entropy (nats)", ylim=(0, 1.15 * limit))
    for panel in (left, right):
        drawing.logarithmic(panel, factors)
        panel.set_xlabel("standard deviation of the components")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


def _logarithmic_sizes(axes: Any, sizes: NDArray) -> None:
    drawing.logarithmic(axes, sizes, base=2)
    axes.set_xlabel("$d_k$, the components of a vector")


def _entropy_curve(axes: Any, temperatures: NDArray, entropies: Any) -> None:
    axes.plot(temperatures, np.asarray(entropies), color=BLUE)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _position: f"{value:g}")
    axes.set(xlabel="temperature (logarithmic)", ylabel="entropy (nats)")
