"""The figures of lesson 03: scores by size, entropy and temperature."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, MultipleLocator, NullLocator, PercentFormatter
from numpy.typing import ArrayLike, NDArray

from attention_lib.plots import drawing
from attention_lib.plots.style import (
    BLUE,
    CYCLE,
    GRAY,
    GRID,
    INK,
    ORANGE,
    PAPER,
    PURPLE,
    SKY,
    VERMILLION,
    LessonFigure,
    lesson_style,
    new_figure,
)

__all__ = [
    "attention_by_keys",
    "bounded_scores",
    "cap_curve",
    "entropy_target",
    "growth_with_size",
    "histograms_by_size",
    "lines_by_size",
    "one_row_at_size",
    "queries_and_keys",
    "rare_scores",
    "rows_with_entropy",
    "sampling_weights",
    "tempered",
]

Measure = Callable[[NDArray], ArrayLike]  # weights (n,) to one number
_RAW, _SCALED = VERMILLION, BLUE  # scores as they are, scores divided by the root of d_k


@lesson_style
def queries_and_keys(query: ArrayLike, key: ArrayLike, names: Sequence[str]) -> LessonFigure:
    """Draw two-dimensional queries and keys (n, 2) as arrows, one panel a query.

    A dotted line drops from the end of each key onto the direction of the query.
    """
    query, key = np.asarray(query, float), np.asarray(key, float)
    figure, panels = new_figure(
        f"Arrows from the origin, one panel for each query. The keys of {drawing.words(names)} end at "
        f"{drawing.points(key)}, the same in every panel; the queries end at {drawing.points(query)}. "
        "Dotted lines drop from the end of each key, at a right angle, onto the line through the query.",
        height=3.5,
        ncols=len(query),
        sharey=True,
    )
    far = 1.15 * max(np.abs(query).max(), np.abs(key).max())
    for panel, one, name in zip(panels, query, names, strict=True):
        for column, arrow in enumerate(key):
            drawing.arrow(panel, arrow, CYCLE[column], 5.0)
        drawing.arrow(panel, one, INK, 1.2)  # thin, so that a key below it is seen
        panel.axline((0, 0), one, color=GRAY, linewidth=0.8, zorder=0)
        for arrow in key:
            foot = (arrow @ one) / (one @ one) * one
            panel.plot(*zip(arrow, foot, strict=True), ":", color=INK, linewidth=1.2, zorder=5)
            panel.plot(*foot, "o", color=INK, markeredgecolor=PAPER, markersize=5, zorder=6)
        panel.axhline(0, color=GRID, linewidth=0.8)
        panel.axvline(0, color=GRID, linewidth=0.8)
        panel.set(title=f"query of {name}", xlabel="first component", aspect="equal")
        panel.set(xlim=(-0.3, far), ylim=(-0.3, far), xticks=range(3), yticks=range(3))
    panels[0].set_ylabel("second component")
    handles = [Line2D([], [], color=INK, linewidth=1.2, label="the query")]
    handles += [
        Line2D([], [], color=CYCLE[column], linewidth=5, label=f"key of {name}")
        for column, name in enumerate(names)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
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
        axes.annotate(label, (sizes[-1], line[-1]), (8, 0), textcoords="offset points", va="center")
    _logarithmic_sizes(axes, sizes)
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _position: f"{value:,g}")
    axes.set(ylabel="variance, standard deviation", xlim=(sizes[0] / 1.4, sizes[-1] * 2))
    axes.grid()
    axes.legend(loc="upper left")
    return figure


@lesson_style
def rare_scores(scores: ArrayLike, deviation: float, told: Sequence[float]) -> LessonFigure:
    """Draw a histogram of scores on a logarithmic axis, with the scores one has been told of."""
    scores = np.asarray(scores).ravel()
    largest = np.abs(scores).max()
    figure, axes = new_figure(
        f"Histogram of {scores.size:,} scores on a logarithmic axis. Most lie within "
        f"{deviation:g} of 0, the largest is {largest:.1f} in size, and dashed lines at "
        f"{drawing.listed(told)} on either side stand clear of them all.",
        height=3.2,
    )
    reach = 1.12 * max(told)
    axes.hist(scores, np.arange(-reach, reach + 1, 2), color=SKY, edgecolor=PAPER)
    axes.axvspan(-deviation, deviation, color=BLUE, alpha=0.15, linewidth=0)
    axes.set_yscale("log")
    top = axes.get_ylim()[1] * 6
    axes.text(0, top / 2.5, f"±{deviation:g}", ha="center", va="center", color=BLUE)
    for score in told:
        for place in (-score, score):
            axes.axvline(place, color=VERMILLION, linestyle="--", linewidth=1.2)
    axes.set(xlabel="score", ylabel="how many (logarithmic)", ylim=(0.6, top), xlim=(-reach, reach))
    axes.xaxis.set_major_locator(MultipleLocator(10))
    axes.xaxis.set_major_formatter(lambda value, _position: drawing.number(value))
    return figure


@lesson_style
def histograms_by_size(
    sizes: Sequence[int],
    scores: Mapping[str, Sequence[ArrayLike]],
    largest: Mapping[str, Sequence[ArrayLike]],
) -> LessonFigure:
    """Draw, for each d_k, histograms of scores above those of the largest weight of a row.

    `scores` and `largest` map the two ways, as they are and scaled, to one array for each d_k.
    """
    said = "; ".join(
        f"{way}: standard deviations {drawing.listed([np.std(one) for one in scores[way]], '.3g')}, "
        f"median largest weights {drawing.listed([np.median(one) for one in largest[way]], '.2f')}"
        for way in scores
    )
    figure, panels = new_figure(
        f"Histograms of scores above histograms of each row's largest weight, for d_k "
        f"{drawing.listed(sizes)}. {said}.",
        height=4.4,
        nrows=2,
        ncols=len(sizes),
        sharey="row",
    )
    for column, size in enumerate(sizes):
        above, below = panels[:, column]
        reach = 1.02 * max(np.abs(one[column]).max() for one in scores.values())
        for way, color in zip(scores, (_RAW, _SCALED), strict=True):
            values = np.ravel(scores[way][column])
            _outline(above, values, np.linspace(-reach, reach, 61), color)
            _outline(below, np.ravel(largest[way][column]), np.linspace(0, 1, 26), color)
        above.set(title=f"$d_k$ = {size:,}", xlabel="score")
        below.set(xlabel="largest weight")
        below.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    for panel, of_what in zip(panels[:, 0], ("scores", "rows"), strict=True):
        panel.set_ylabel(f"share of the {of_what}")
        panel.yaxis.set_major_locator(MaxNLocator(4))
        panel.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    figure.legend(
        handles=[
            Line2D([], [], color=color, linewidth=5, label=drawing.typeset(way))
            for way, color in zip(scores, (_RAW, _SCALED), strict=True)
        ],
        loc="outside lower center",
        ncols=2,
    )
    return figure


@lesson_style
def one_row_at_size(
    size: int, scores: Mapping[str, ArrayLike], weights: Mapping[str, ArrayLike]
) -> LessonFigure:
    """Draw one row's scores on a line, and the weights they get: as they are, and scaled."""
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
    """Draw rows of weights side by side, each with its entropy and the number it is worth."""
    said = "; ".join(
        f"{name}: {drawing.numbers(np.asarray(row))} with entropy {value:.2f}"
        for (name, row), value in zip(rows.items(), entropies, strict=True)
    )
    figure, panels = new_figure(
        f"Bars of weights for the keys {drawing.words(keys)}, from sharp to flat. {said}.",
        height=2.8,
        ncols=len(rows),
        sharey=True,
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
    """Draw a measure of the weights against d_k, as they are and scaled, below its limit."""
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
    axes.annotate(limit_name, (sizes[0], limit), (0, 4), textcoords="offset points", color=INK)
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
    """Draw the weights at one temperature, beside their entropy at every temperature."""
    scores = np.asarray(scores, float)
    weights = np.asarray(weigh(scores, temperature))
    reached = float(measure(weights))
    figure, (now, course) = new_figure(
        f"At the temperature {temperature:g} the scores {drawing.numbers(scores)} get the weights "
        f"{drawing.numbers(weights)}, with entropy {reached:.2f}. Beside them a rising curve, the "
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
    """Draw entropy against temperature with a target, and what was tried on either side."""
    temperatures, entropies = np.asarray(temperatures), np.asarray(entropies)
    trials = ", ".join(f"{value:.2f} at {t:g}" for t, value in tried.items())
    figure, axes = new_figure(
        "A curve of the entropy that never falls as the temperature rises, crossing the dashed "
        f"target of {target:g} once. Marked are the entropies {trials}.",
        height=3.1,
    )
    below = temperatures[entropies < target]
    axes.axvspan(temperatures[0], below[-1], color=SKY, alpha=0.25, linewidth=0)
    axes.axvspan(below[-1], temperatures[-1], color=ORANGE, alpha=0.2, linewidth=0)
    _entropy_curve(axes, temperatures, entropies)
    axes.axhline(target, color=VERMILLION, linestyle="--", linewidth=1.2)
    for temperature, value in tried.items():
        axes.plot(temperature, value, "o", color=INK, markersize=8)
        right = value < target  # the answer lies to the right, so the words stand on the left
        axes.annotate(
            f"T = {temperature:g}:\ntoo {'sharp, go higher' if right else 'flat, go lower'}",
            (temperature, value),
            (-10, 6) if right else (10, -8),
            textcoords="offset points",
            ha="right" if right else "left",
            va="bottom" if right else "top",
        )
    axes.annotate(
        f"target {target:g}",
        (temperatures[-1], target),
        (-4, 4),
        textcoords="offset points",
        ha="right",
        color=VERMILLION,
    )
    axes.set(xlim=(temperatures[0], temperatures[-1]), ylim=(0, None))
    return figure


@lesson_style
def cap_curve(scores: ArrayLike, capped: ArrayLike, cap: float) -> LessonFigure:
    """Draw a soft cap beside the line of unchanged scores."""
    scores, capped = np.asarray(scores, float), np.asarray(capped, float)
    figure, axes = new_figure(
        f"A curve through the origin that follows the diagonal for small scores and bends "
        f"toward −{cap:g} on the left and {cap:g} on the right, never crossing either.",
        height=3.1,
    )
    axes.plot(scores, scores, color=GRAY, linewidth=1, linestyle=":", label="unchanged")
    axes.plot(scores, capped, color=BLUE, label=f"capped at {cap:g}")
    for bound in (-cap, cap):
        axes.axhline(bound, color=VERMILLION, linestyle="--", linewidth=1)
    axes.set(xlabel="score", ylabel="score after the cap", ylim=(-1.5 * cap, 1.5 * cap))
    axes.set_yticks([-cap, 0, cap])
    axes.yaxis.set_major_formatter(lambda value, _position: drawing.number(value))
    axes.xaxis.set_major_formatter(lambda value, _position: drawing.number(value))
    axes.legend(loc="center right")
    return figure


@lesson_style
def attention_by_keys(
    counts: ArrayLike,
    entropies: Mapping[str, ArrayLike],
    shares: Mapping[str, ArrayLike],
) -> LessonFigure:
    """Draw the entropy of random rows, and the weight of the one key that fits, against S.

    `entropies` and `shares` have the same keys, the names of the ways to scale.
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
    for way, color, mark in zip(shares, (BLUE, ORANGE), "os", strict=False):
        look = {"color": color, "marker": mark, "markersize": 5}
        left.plot(counts, entropies[way], label=drawing.typeset(way), **look)
        right.plot(counts, shares[way], **look)
    left.set(ylabel="mean entropy (nats)", ylim=(0, 1.05 * np.log(counts[-1])))
    right.set(ylabel="weight of the key that fits", ylim=(0, 1.05))
    right.set_yticks([0, 0.25, 0.5, 0.75, 1])
    for panel in (left, right):
        panel.set_xscale("log", base=4)
        panel.set_xticks(counts[::2], [f"{count:,g}" for count in counts[::2]])
        panel.xaxis.set_minor_locator(NullLocator())
        panel.set_xlabel("S, the number of keys")
    figure.legend(loc="outside lower center", ncols=3)
    return figure


@lesson_style
def sampling_weights(words: Sequence[str], weights: Mapping[float, ArrayLike]) -> LessonFigure:
    """Draw the probabilities of the next word, one panel a temperature."""
    said = "; ".join(
        f"temperature {temperature:g}: {drawing.numbers(np.asarray(row))}"
        for temperature, row in weights.items()
    )
    figure, panels = new_figure(
        f"Bars of the probability of each next word, {drawing.words(words)}. {said}.",
        height=2.8,
        ncols=len(weights),
        sharey=True,
    )
    for panel, (temperature, row) in zip(panels, weights.items(), strict=True):
        drawing.bars(panel, np.asarray(row), words)
        panel.set(title=f"T = {temperature:g}", ylim=(0, 1.1), xlabel="next word")
        panel.tick_params(axis="x", labelsize=8)
    panels[0].set_ylabel("probability")
    return figure


@lesson_style
def bounded_scores(
    factors: ArrayLike,
    largest: Mapping[str, ArrayLike],
    sizes: ArrayLike,
    entropies: Mapping[str, ArrayLike],
    limit: float,
) -> LessonFigure:
    """Draw the largest score as components grow, beside the entropy of normalized rows by d_k."""
    factors, sizes = np.asarray(factors, float), np.asarray(sizes, float)
    scores = "; ".join(
        f"{way}: largest score {np.asarray(values)[-1]:.3g}" for way, values in largest.items()
    )
    rows = "; ".join(
        f"{which}: from {np.asarray(values)[0]:.2f} to {np.asarray(values)[-1]:.2f}"
        for which, values in entropies.items()
    )
    figure, (left, right) = new_figure(
        f"On the left the largest score as components grow {factors[-1]:g}-fold; at the end, "
        f"{scores}. On the right the entropy of rows with query/key normalization, for d_k from "
        f"{sizes[0]:g} to {sizes[-1]:g}. {rows}.",
        height=3.8,
        ncols=2,
    )
    for (way, values), color, mark in zip(largest.items(), CYCLE, "osD^", strict=False):
        left.plot(
            factors, values, marker=mark, markersize=5, color=color, label=drawing.typeset(way)
        )
    left.set_yscale("log")
    left.yaxis.set_major_formatter(lambda value, _position: f"{value:,g}")
    left.set(ylabel="largest score (logarithmic)")
    left.set_xscale("log")
    left.set_xticks(factors, [f"{factor:g}" for factor in factors])
    left.xaxis.set_minor_locator(NullLocator())
    left.set(xlabel="standard deviation of the components")
    for (which, values), color, mark in zip(entropies.items(), (SKY, PURPLE), "v^", strict=False):
        right.plot(sizes, values, marker=mark, markersize=5, color=color, label=which)
    right.axhline(limit, color=GRAY, linestyle="--", linewidth=1)
    right.text(sizes[0], 1.02 * limit, "equal weights", fontsize=9)
    right.set(ylabel="mean entropy (nats)", ylim=(0, 1.15 * limit))
    right.set_title("normalized queries and keys", fontsize=10)
    left.set_title("$d_k$ = 64", fontsize=10)
    _logarithmic_sizes(right, sizes)
    for panel in (left, right):
        panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22))
    return figure


def _outline(axes: Any, values: NDArray, edges: NDArray, color: str) -> None:
    """Draw a filled histogram of shares; the edges reach beyond all values."""
    shares = np.full(len(values), 1 / len(values))
    axes.hist(values, edges, weights=shares, histtype="stepfilled", alpha=0.3, color=color)
    axes.hist(values, edges, weights=shares, histtype="step", color=color)


def _logarithmic_sizes(axes: Any, sizes: NDArray) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [f"{size:,g}" for size in sizes])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("$d_k$, the components of a vector")


def _entropy_curve(axes: Any, temperatures: NDArray, entropies: Any) -> None:
    axes.plot(temperatures, np.asarray(entropies), color=BLUE)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _position: f"{value:g}")
    axes.set(xlabel="temperature (logarithmic)", ylabel="entropy (nats)")
