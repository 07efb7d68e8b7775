"""Draw the figures of lesson 06: heads, groups, positions and caches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from attention_lib.plots import drawing
from attention_lib.plots.style import (
    BLUE,
    CYCLE,
    GRAY,
    GREEN,
    GRID,
    INK,
    ORANGE,
    SKY,
    VERMILLION,
    YELLOW,
    LessonFigure,
    lesson_style,
    new_figure,
)

__all__ = [
    "cache_sizes",
    "clock_hands",
    "errors_by_share",
    "match_by_distance",
    "one_or_two_heads",
    "regrouped",
    "scores_by_distance",
    "scores_by_offset",
    "shared_heads",
    "steps_and_cache",
    "words_a_second",
]

_NEW, _KEPT = ORANGE, SKY  # computed in a step, and read from the cache


@lesson_style
def one_or_two_heads(
    values: ArrayLike,
    names: Sequence[str],
    pairs: Mapping[str, tuple[int, int]],
    mixtures: ArrayLike,
    questions: tuple[str, str],
) -> LessonFigure:
    """Draw one head that mixes two values into one point, beside two heads that keep them apart."""
    values, mixtures = np.asarray(values, float), np.asarray(mixtures, float)
    ends = {text: f"{names[first]} and {names[second]}" for text, (first, second) in pairs.items()}
    said = "; ".join(
        f"{text} mixes {end} into ({drawing.numbers(mixed)})"
        for (text, end), mixed in zip(ends.items(), mixtures, strict=True)
    )
    kept = "; ".join(
        f"{text} keeps {names[first]} for {questions[0]} and {names[second]} for {questions[1]}"
        for text, (first, second) in pairs.items()
    )
    figure, (mixing, slots) = new_figure(
        f"Points in a plane, one a word. On the left one head: {said}. On the right two heads with "
        f"two slots: {kept}.",
        height=3.2,
        ncols=2,
    )
    styles = zip(
        pairs.items(), mixtures, (BLUE, VERMILLION, GREEN), "Ds^", (13, 7, 5), strict=False
    )
    for (text, (first, second)), mixed, color, mark, size in styles:
        mixing.plot(*values[[first, second]].T, color=GRAY, linewidth=1.2)
        mixing.plot(*mixed, mark, color=color, markersize=size, label=text)
    middle = values.mean(axis=0)
    for place, (name, value) in enumerate(zip(names, values, strict=True)):
        mixing.plot(*value, "o", color=CYCLE[place % len(CYCLE)], markersize=9)
        side = "right" if value[0] < middle[0] else "left"
        offset = (-9 if side == "right" else 9, 0)
        drawing.note(mixing, name, value, offset, ha=side, va="center")
    mixing.margins(0.35, 0.15)
    mixing.set(title="one head: one mixture")
    mixing.set(xlabel="first component", ylabel="second component")
    mixing.legend(loc="lower left")
    for row, both in enumerate(pairs.values()):
        for column, place in enumerate(both):
            text = f"{names[place]}\n({drawing.numbers(values[place])})"
            drawing.cell(slots, row, column, text, CYCLE[place % len(CYCLE)])
    drawing.grid_axes(slots, [text.replace(" ", "\n", 1) for text in pairs], questions)
    slots.set(title="two heads: two slots", xlabel="", ylabel="")
    return figure


@lesson_style
def errors_by_share(
    shares: ArrayLike, errors: Mapping[str, ArrayLike], reference: float, reference_name: str
) -> LessonFigure:
    """Draw errors against the share of the weight that one of two words gets."""
    shares = np.asarray(shares, float)
    errors = {name: np.asarray(line, float) for name, line in errors.items()}
    said = "; ".join(
        f"{name} goes from {drawing.number(line[0])} to {drawing.number(line[-1])}"
        for name, line in errors.items()
    )
    together = np.max([*errors.values()], axis=0)
    figure, axes = new_figure(
        f"Lines of the error against the share, from {shares[0]:g} to {shares[-1]:g}: {said}. "
        f"The larger of them is never below {drawing.number(together.min())}; {reference_name} have "
        f"{drawing.number(reference)}.",
        height=3.1,
    )
    for (name, line), color, style in zip(errors.items(), (BLUE, VERMILLION), "-s", strict=False):
        axes.plot(shares, line, color=color, label=name, marker="o" if style == "-" else "s")
    axes.axhline(reference, color=GREEN, linestyle="--", label=reference_name)
    axes.set(
        xlabel=f"share of the weight that goes to {next(iter(errors))}",
        ylabel="error of the best matrix",
    )
    axes.set(ylim=(-0.05, 1.1))
    axes.grid()
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


@lesson_style
def regrouped(whole: ArrayLike, ways: Mapping[str, ArrayLike]) -> LessonFigure:
    """Draw where the entries of an (L, D) array go in (H, L, d) heads, colored by their row.

    Each entry of `whole` and of the arrays in `ways` is ten times its row in `whole` plus its column.
    """
    whole = np.asarray(whole)
    ways = {name: np.asarray(way) for name, way in ways.items()}
    said = "; ".join(
        f"by {name}, "
        + ", ".join(
            f"head {head} holds the words {drawing.listed(np.unique(part // 10))}"
            for head, part in enumerate(way)
        )
        for name, way in ways.items()
    )
    heads = len(next(iter(ways.values())))
    figure, axes = new_figure(
        f"Grids of numbered cells, one color a word, {len(whole)} words: {said}.",
        height=0.9 + 0.42 * len(whole),
        ncols=1 + (1 + heads) * len(ways),
        width_ratios=[whole.shape[1], *[0.6, *[whole.shape[1] / heads] * heads] * len(ways)],
    )
    for spacer in axes[1 :: 1 + heads]:
        spacer.remove()
    axes = [axes[0], *(axis for n, axis in enumerate(axes[1:]) if n % (1 + heads))]
    titles = [f"x {whole.shape}"]
    titles += [
        f"{name}\nhead 0" if head == 0 else f"\nhead {head}"
        for name in ways
        for head in range(heads)
    ]
    parts = [whole, *(part for way in ways.values() for part in way)]
    for axis, title, part in zip(axes, titles, parts, strict=True):
        for (row, column), code in np.ndenumerate(part):
            drawing.cell(axis, row, column, f"{code:02d}", CYCLE[code // 10 % len(CYCLE)])
        drawing.grid_axes(axis, [""] * part.shape[0], [""] * part.shape[1])
        axis.set(title=title, xlabel="", ylabel="")
    axes[0].set(ylabel="word", xlabel="component")
    return figure


@lesson_style
def shared_heads(groupings: Mapping[str, Sequence[int]]) -> LessonFigure:
    """Draw which group of keys and values each query head uses, a panel for each grouping."""
    said = "; ".join(
        f"{name}: the query heads use {drawing.listed(groups)}"
        for name, groups in groupings.items()
    )
    figure, axes = new_figure(
        f"Query heads above, heads of keys and values below, lines between them. {said}.",
        height=2.3,
        panels=len(groupings),
        sharey=False,
    )
    colors = (*CYCLE, YELLOW, GRAY)
    for axis, (name, groups) in zip(axes, groupings.items(), strict=True):
        count = max(groups) + 1
        places = (np.arange(count) + 0.5) * len(groups) / count - 0.5
        for head, group in enumerate(groups):
            color = colors[group % len(colors)]
            axis.plot([head, places[group]], [1, 0], color=color, linewidth=1.4, zorder=1)
            axis.plot(head, 1, "o", color=color, markersize=8)
        for group, place in enumerate(places):
            axis.plot(place, 0, "s", color=colors[group % len(colors)], markersize=11)
        axis.set(title=name, xlim=(-0.7, len(groups) - 0.3), ylim=(-0.3, 1.3))
        axis.set_xticks([])
        axis.set_yticks([0, 1], ["keys,\nvalues", "queries"])
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
    for axis in axes[1:]:
        axis.tick_params(labelleft=False)
    return figure


@lesson_style
def cache_sizes(lengths: ArrayLike, sizes: Mapping[str, ArrayLike]) -> LessonFigure:
    """Draw the size of the cache in GiB against the number of words, on logarithmic axes."""
    lengths = np.asarray(lengths)
    sizes = {name: np.asarray(line, float) / 2**30 for name, line in sizes.items()}
    said = "; ".join(
        f"{name} from {line[0]:.3g} to {line[-1]:.3g} GiB" for name, line in sizes.items()
    )
    figure, axes = new_figure(
        f"Parallel rising lines of the size of the cache, for {lengths[0]:,} to {lengths[-1]:,} "
        f"words: {said}.",
        height=3.1,
    )
    for (name, line), mark in zip(sizes.items(), "os^D", strict=False):
        axes.plot(lengths, line, mark + "-", label=name)
        drawing.note(axes, f"{line[-1]:.3g} GiB", (lengths[-1], line[-1]), (8, 0), va="bottom")
    drawing.logarithmic(axes, lengths, base=2)
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(
        lambda value, _position: f"{value:g} GiB" if value >= 1 else f"{1024 * value:g} MiB"
    )
    axes.set(xlabel="words so far", ylabel="size of the cache")
    axes.set(xlim=(None, lengths[-1] * 1.7))
    axes.grid()
    axes.legend(loc="upper left")
    return figure


@lesson_style
def clock_hands(hands: Mapping[str, ArrayLike], speeds: ArrayLike, title: str = "") -> LessonFigure:
    """Draw pairs of components as hands of dials, a dial for each pair; `hands` are (n, 2)."""
    speeds = np.asarray(speeds, float)
    hands = {name: np.asarray(pairs, float) for name, pairs in hands.items()}
    said = "; ".join(f"{name} {drawing.points(pairs)}" for name, pairs in hands.items())
    figure, dials = new_figure(
        f"Hands on {len(speeds)} dials, one for each pair of components. "
        f"{title + '. ' if title else ''}Ends of the hands: {said}.",
        height=2.75,
        panels=len(speeds),
    )
    reach = max(1.0, *(np.hypot(*pairs.T).max() for pairs in hands.values()))
    around = np.linspace(0, 2 * np.pi, 121)
    for number, (dial, speed) in enumerate(zip(dials, speeds, strict=True)):
        dial.plot(np.cos(around), np.sin(around), color=GRID, linewidth=1.2)
        widths = np.linspace(2.0 + 2.5 * (len(hands) - 1), 2.0, len(hands))
        for pairs, color, width in zip(hands.values(), CYCLE, widths, strict=False):
            drawing.arrow(dial, pairs[number], color, width)  # a wider hand stays visible below
        dial.set(xlim=(-1.1 * reach, 1.1 * reach), ylim=(-1.1 * reach, 1.1 * reach))
        dial.set(aspect="equal", title=f"pair {number}", xlabel=f"{speed:.3g} rad a step")
        dial.set_xticks([])
        dial.set_yticks([])
        dial.spines[:].set_visible(False)
    drawing.legend_below(figure, drawing.lines(dict(zip(hands, CYCLE, strict=False))))
    if title:
        figure.suptitle(title, fontsize=11, color=INK)
    return figure


@lesson_style
def scores_by_offset(tables: Mapping[str, ArrayLike]) -> LessonFigure:
    """Draw (L, L) scores by positions of query and key, and below by their distance."""
    tables = {name: np.asarray(table, float) for name, table in tables.items()}
    said = []
    for name, table in tables.items():
        spread = max(np.ptp(np.diagonal(table, k)) for k in range(1 - len(table), len(table)))
        alike = "equal" if spread < 1e-9 * np.abs(table).max() else "unlike"
        said.append(
            f"{name}, from {drawing.number(table.min())} to {drawing.number(table.max())}: scores of "
            f"one distance are {alike}"
        )
    figure, axes = new_figure(
        "Above, heat maps of scores, one row a query's position, one column a key's; below, the "
        f"same scores as dots against the distance. {'; '.join(said)}.",
        height=5.0,
        nrows=2,
        ncols=len(tables),
        sharey="row",
        height_ratios=(3, 2),
        squeeze=False,
    )
    for (above, below), (name, table) in zip(axes.T, tables.items(), strict=True):
        # Each has its own colors: a shift of all scores hides no pattern, and changes no weight.
        image = above.imshow(table, cmap="cividis")
        bar = figure.colorbar(image, ax=above, orientation="horizontal", label="score", pad=0.02)
        bar.outline.set_visible(False)
        above.set(title=name, xlabel="position of the key")
        rows, columns = np.indices(table.shape)
        below.plot((rows - columns).ravel(), table.ravel(), ".", color=BLUE, markersize=4)
        below.axhline(0, color=GRAY, linewidth=0.8)
        below.set(xlabel="query's position − key's")
    axes[0, 0].set_ylabel("position of the query")
    axes[1, 0].set_ylabel("score")
    return figure


@lesson_style
def scores_by_distance(distances: ArrayLike, scores: Mapping[str, ArrayLike]) -> LessonFigure:
    """Draw the mean score of several heads against the distance of query and key."""
    distances = np.asarray(distances)
    lines = {name: np.asarray(line, float) for name, line in scores.items()}
    said = "; ".join(
        f"{name}, from {drawing.number(line[0])} to {drawing.number(line[-1])}, highest at distance "
        f"{distances[line.argmax()]} with {drawing.number(line.max())}"
        for name, line in lines.items()
    )
    figure, axes = new_figure(
        f"Lines of the mean score against the distance in words, from {distances[0]} to "
        f"{distances[-1]}, one a head: {said}.",
        height=3.3,
    )
    for (name, line), color, mark in zip(lines.items(), CYCLE, "osD^", strict=False):
        axes.plot(distances, line, mark + "-", color=color, markersize=4, label=name)
    axes.set(xlabel="distance in words", ylabel="mean score")
    axes.grid()
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


@lesson_style
def match_by_distance(
    distances: ArrayLike,
    matches: Mapping[str, ArrayLike],
    trained: int,
    lost: Mapping[str, int],
) -> LessonFigure:
    """Draw the score of a key that equals its query against their distance, a line for each base.

    `matches` are shares of the score at distance 0. As neighboring distances differ, the lowest of
    each stretch is drawn. `lost` are the distances at which they first fall to 0. A dotted line marks
    the length `trained`.
    """
    distances = np.asarray(distances)
    matches = {name: np.asarray(line, float) for name, line in matches.items()}
    said = "; ".join(
        f"{name} from {drawing.number(line[0])} to {drawing.number(line[-1])}, at 0 first at "
        f"{lost[name]:,}"
        for name, line in matches.items()
    )
    borders = np.geomspace(distances[0], distances[-1], 200, endpoint=False)
    starts = np.unique(np.searchsorted(distances, borders))
    figure, axes = new_figure(
        "Falling lines of the lowest score of a match in each stretch of distances, as a share of that "
        f"at distance 0, for the distances {distances[0]:,} to {distances[-1]:,} on a logarithmic axis: {said}.",
        height=3.3,
    )
    for (name, line), color in zip(matches.items(), (VERMILLION, BLUE, GREEN), strict=False):
        axes.plot(distances[starts], np.minimum.reduceat(line, starts), color=color, label=name)
        axes.plot(lost[name], 0, "o", color=color, markersize=8, markeredgecolor=INK, zorder=4)
        drawing.note_on_paper(
            axes, f"{lost[name]:,}", (lost[name], 0), (0, -16), ha="center", weight="bold"
        )
    axes.axhline(0, color=GRAY, linewidth=0.8)
    axes.axvline(trained, color=INK, linestyle=":", linewidth=1.2, label="longest in training")
    ticks = 2 ** np.arange(0, np.log2(distances[-1]) + 0.5, 3).astype(int)
    drawing.logarithmic(axes, ticks, base=2)
    axes.set(xlabel="distance in words", ylabel="lowest share of the\nscore at distance 0")
    axes.grid()
    axes.legend(loc="upper right")
    return figure


@lesson_style
def steps_and_cache(words: Sequence[str]) -> LessonFigure:
    """Draw which rows each step of decoding computes, without and with a cache."""
    count = len(words)
    totals = {"everything anew": count * (count + 1) // 2, "with a cache": count}
    said = " and ".join(f"{total} {name}" for name, total in totals.items())
    figure, axes = new_figure(
        f"Two staircases, one row a step of writing {drawing.words(words)}, one column a word. Rows "
        f"computed anew, each of which asks all keys so far: {said}.",
        height=1.2 + 0.42 * count,
        ncols=2,
        sharey=True,
    )
    for axis, (name, total) in zip(axes, totals.items(), strict=True):
        for step, place in np.ndindex(count, count):
            if place > step:
                continue
            new = place == step or name == "everything anew"
            drawing.cell(axis, step, place, "new" if new else "kept", _NEW if new else _KEPT)
        drawing.grid_axes(axis, [f"step {step + 1}" for step in range(count)], words)
        axis.set(title=f"{name}: {total} new rows", xlabel="word", ylabel="")
    return figure


@lesson_style
def words_a_second(
    chats: ArrayLike, rates: Mapping[str, ArrayLike], fits: Mapping[str, int]
) -> LessonFigure:
    """Draw the words per second of all chats against their number, until memory is full."""
    chats = np.asarray(chats)
    lines = {name: np.asarray(line, float)[chats <= fits[name]] for name, line in rates.items()}
    said = "; ".join(
        f"{name} from {line[0]:,.0f} to {line[-1]:,.0f}, where {fits[name]:,} chats fit"
        for name, line in lines.items()
    )
    figure, axes = new_figure(
        f"Rising lines, on logarithmic axes, of the words a second of all chats together, against the "
        f"number of chats, each ending where the memory is full: {said}.",
        height=3.4,
    )
    looks = zip(lines.items(), (VERMILLION, BLUE, GREEN), ("-", "--", "-."), strict=False)
    for (name, line), color, style in looks:
        shown = chats[: len(line)]
        axes.plot(shown, line, style, color=color, label=name)
        axes.plot(shown[-1], line[-1], "X", color=color, markersize=10)
        drawing.note(axes, f"{fits[name]:,} chats fit", (shown[-1], line[-1]), (0, 10), ha="center")
    axes.set(xscale="log", yscale="log", xlabel="chats at once, 4,096 words each")
    axes.set(ylabel="words a second, at most,\nall chats together")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _position: f"{value:,.0f}")
    axes.margins(0.08, 0.12)
    axes.grid()
    axes.legend(loc="upper left")
    return figure
