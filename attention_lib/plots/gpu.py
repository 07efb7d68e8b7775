"""Draw the figures of lesson 10: clocks, errors, costs, and what a tile is handed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import LogLocator, NullLocator

from attention_lib.plots import drawing
from attention_lib.plots.style import (
    BLUE,
    CYCLE,
    GRAY,
    GREEN,
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
    "cost_by_length",
    "errors_by_dtype",
    "inside_a_gpu",
    "limit_and_stop",
    "measured_speeds",
    "published_speeds",
    "tile_budget",
    "timeline",
    "two_clocks",
]


@lesson_style
def two_clocks(launch: float, work: float, calls: int = 3) -> LessonFigure:
    """Draw a computer that hands work to a device, and when a clock would be read.

    `launch` is the milliseconds to hand one piece over, `work` those to do it.
    """
    handed, done = launch * calls, launch + work * calls
    alt = (
        f"Two lanes against time. The computer hands over {calls} pieces of work within "
        f"{handed:.3g} ms; the device works on them until {done:.3g} ms. A clock read without "
        f"waiting shows {handed:.3g} ms, a clock read after synchronizing {done:.3g} ms."
    )
    figure, axes = new_figure(alt, height=2.6)
    for call in range(calls):
        axes.barh(1, launch, left=launch * call, height=0.5, color=SKY)
        left = launch + work * call
        axes.barh(0, work, left=left, height=0.5, color=ORANGE)
        axes.text(left + work / 2, 0, f"call {call + 1}", ha="center", va="center")
    for moment, words, side in (
        (handed, "read here, the clock tells how long handing over took", "left"),
        (done, "read here, after synchronizing, how long the work took", "right"),
    ):
        axes.axvline(moment, color=VERMILLION, linestyle="--", linewidth=1.5)
        gap = 5 if side == "left" else -5
        place = (moment, 1.62 if side == "left" else 0.52)
        drawing.note(axes, words, place, (gap, 0), ha=side, va="center", fontsize=9)
    axes.set_yticks([0, 1], ["the device\nworks", "the computer\nhands over"])
    axes.set(xlabel="time (ms)", ylim=(-0.4, 1.95), xlim=(0, done * 1.03))
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return figure


@lesson_style
def timeline(lanes: Mapping[str, Sequence[tuple[float, str]]]) -> LessonFigure:
    """Draw lanes of steps over time: pairs ``(start, label)``, each step of length 1."""
    said = "; ".join(
        f"{name}: " + ", ".join(f"{what} from {start:g}" for start, what in steps)
        for name, steps in lanes.items()
    )
    figure, axes = new_figure(
        f"Lanes against time, in steps. {said}.", height=0.8 + 0.5 * len(lanes)
    )
    kinds = dict.fromkeys(what for steps in lanes.values() for _, what in steps)
    colors = dict(zip(kinds, (GREEN, ORANGE, SKY), strict=False))
    for place, steps in enumerate(lanes.values()):
        for start, what in steps:
            axes.barh(place, 1, left=start, height=0.6, color=colors[what], edgecolor=PAPER)
    axes.set_yticks(range(len(lanes)), list(lanes))
    axes.set(xlabel="time, in steps", ylim=(len(lanes) - 0.5, -0.5))
    axes.tick_params(axis="y", length=0)
    drawing.legend_below(figure, drawing.swatches(colors))
    return figure


@lesson_style
def errors_by_dtype(
    errors: Mapping[str, Mapping[str, float]], steps: Mapping[str, float]
) -> LessonFigure:
    """Draw the error of each variant in each dtype, with the dtype's epsilon.

    `errors` maps a dtype to the errors of the variants, `steps` maps a dtype to its epsilon.
    """
    said = "; ".join(
        f"{dtype} (step {steps[dtype]:.1e}): "
        + ", ".join(f"{name} {error:.1e}" for name, error in row.items())
        for dtype, row in errors.items()
    )
    names = list(dict.fromkeys(name for row in errors.values() for name in row))
    figure, axes = new_figure(
        f"Errors of each way to compute attention, by dtype, on a logarithmic scale. {said}.",
        height=0.55 + 0.62 * len(errors) + 0.22 * len(names),
    )
    looks = list(zip(names, CYCLE * 2, "osD^vPX*" * 2, strict=False))
    for level, (dtype, row) in enumerate(errors.items()):
        axes.plot([steps[dtype]] * 2, [level - 0.42, level + 0.42], color=INK, linewidth=1.5)
        for place, (name, color, mark) in enumerate(looks):
            if name in row:
                shift = (place + 0.5) / len(names) - 0.5
                axes.plot(
                    max(row[name], 1e-18), level + 0.7 * shift, mark, color=color, markersize=7
                )
    handles = [
        Line2D([], [], marker=mark, linestyle="", color=color, label=name)
        for name, color, mark in looks
    ]
    handles.append(Line2D([], [], color=INK, linewidth=1.5, label="one step of the dtype at 1"))
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    axes.set_xscale("log")
    axes.set_yticks(range(len(errors)), list(errors))
    axes.set_ylim(len(errors) - 0.5, -0.5)
    axes.set_xlabel("largest error, relative to scores and values (logarithmic)")
    axes.grid(axis="x")
    return figure


@lesson_style
def cost_by_length(
    costs: Mapping[str, Sequence[tuple[float, float, float, float | None]]], title: str
) -> LessonFigure:
    """Draw the cost of each variant against the length: time, speed and memory.

    `costs` maps a name to rows ``(length, milliseconds, tflops, bytes or None)``.
    """
    said = "; ".join(
        f"{name} at {rows[-1][0]:,.0f} tokens {rows[-1][1]:.3g} ms and {rows[-1][2]:.3g} TFLOP/s"
        + (f" with {rows[-1][3] / 2**20:.3g} MiB" if rows[-1][3] is not None else "")
        for name, rows in costs.items()
        if rows
    )
    figure, panels = new_figure(
        f"Three panels against the length, {title}: time, speed and memory. {said}.",
        height=3.9,
        ncols=3,
        sharex=True,
    )
    labels = ("milliseconds", "TFLOP/s", "MiB beyond the inputs")
    for panel, label in zip(panels, labels, strict=True):
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.set_ylabel(label)
        panel.set_xlabel("tokens")
        panel.grid()
        panel.xaxis.set_major_formatter(lambda value, _position: _thousands(value))
        panel.yaxis.set_major_formatter(lambda value, _position: f"{value:,g}")
        panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        panel.yaxis.set_minor_locator(NullLocator())
    looks = zip(costs.items(), CYCLE * 2, "osD^vPX*" * 2, ("-", "--", ":", "-.") * 4, strict=False)
    for (name, rows), color, mark, line in looks:  # dashes show a line below
        style = {"color": color, "marker": mark, "markersize": 5, "label": name, "linestyle": line}
        lengths = [row[0] for row in rows]
        panels[0].plot(lengths, [row[1] for row in rows], **style)
        panels[1].plot(lengths, [row[2] for row in rows], **style)
        kept = [(row[0], row[3] / 2**20) for row in rows if row[3]]
        panels[2].plot(*zip(*kept, strict=True), **style) if kept else None
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3)
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    return figure


def _thousands(value: float) -> str:
    return f"{value / 1024:g}k" if value >= 1024 else f"{value:g}"


@lesson_style
def measured_speeds(
    by_length: Mapping[str, Mapping[str, Sequence[tuple[int, float]]]],
    by_tile: Mapping[tuple[int, int], Mapping[int, float]],
    title: str,
) -> LessonFigure:
    """Draw TFLOP/s against the length, with a panel for each direction, and by tile and warps.

    `by_length` maps a direction, such as "forward", to variants and their ``(length, tflops)``.
    `by_tile` maps ``(rows, keys)`` to numbers of warps and their speeds. It may be empty.
    """
    curves = "; ".join(
        f"{direction}, {name}: {points[-1][1]:.3g} at {points[-1][0]:,} tokens"
        for direction, variants in by_length.items()
        for name, points in variants.items()
    )
    bars = "; ".join(
        f"{rows} × {keys} with {warps} warps {speed:.3g}"
        for (rows, keys), speeds in by_tile.items()
        for warps, speed in speeds.items()
    )
    panels = [*by_length, *(["our kernel's tiles"] if by_tile else [])]
    figure, axes = new_figure(
        f"TFLOP/s, {title}, in {len(panels)} panels: {'; '.join(filter(None, (curves, bars)))}.",
        height=4.2,
        panels=len(panels),
        sharey=False,
    )
    names = dict.fromkeys(name for variants in by_length.values() for name in variants)
    looks = dict(zip(names, zip(CYCLE * 2, "osD^vPX*" * 2, strict=False), strict=False))
    for panel, (direction, variants) in zip(axes, by_length.items(), strict=False):
        for name, points in variants.items():
            color, mark = looks[name]
            panel.plot(*zip(*points, strict=True), color=color, marker=mark, markersize=5)
        panel.set_xscale("log", base=2)
        panel.xaxis.set_major_formatter(lambda value, _position: _thousands(value))
        panel.set(xlabel="tokens", ylim=(0, None))
        panel.set_title(direction, fontsize=10)
        panel.grid()
    handles = [
        Line2D([], [], marker=mark, color=color, label=name)
        for name, (color, mark) in looks.items()
    ]
    if by_tile:
        handles += _bars_of_tiles(axes[-1], by_tile)
    axes[0].set_ylabel("TFLOP/s")
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    figure.suptitle(title, fontsize=10, x=0.01, ha="left")
    return figure


def _bars_of_tiles(
    panel: Axes, by_tile: Mapping[tuple[int, int], Mapping[int, float]]
) -> list[Patch]:
    """Draw a bar for each tile and number of warps; return the legend's handles."""
    numbers = sorted({warps for speeds in by_tile.values() for warps in speeds})
    colors = dict(zip(numbers, (SKY, ORANGE, GREEN), strict=False))
    width = 0.8 / len(numbers)
    for place, speeds in enumerate(by_tile.values()):
        for warps, speed in speeds.items():
            shift = (numbers.index(warps) - (len(numbers) - 1) / 2) * width
            panel.barh(place + shift, speed, width, color=colors[warps])
    panel.set_yticks(range(len(by_tile)), [f"{rows} × {keys}" for rows, keys in by_tile])
    panel.set_ylim(len(by_tile) - 0.5, -0.5)
    panel.set(xlabel="TFLOP/s", ylabel="rows × keys")
    panel.set_title("our kernel's tiles", fontsize=10)
    return drawing.swatches({f"{warps} warps": color for warps, color in colors.items()})


@lesson_style
def limit_and_stop(length: int, rows: int, block: int, tile: int) -> LessonFigure:
    """Draw what one tile of a causal launch hands to the inner loop: start, stop and limit.

    `length` is the number of queries and of keys, `rows` the tile's rows, `block` the keys of a block,
    and `tile` the tile's number.
    """
    own = np.arange(tile * rows, tile * rows + rows)
    limit = np.minimum(own + 1, length)
    unmasked, stop = limit[0] // block * block, limit[-1]
    calls = (
        ("first call, no mask", 0, unmasked, SKY),
        ("second call, masked", unmasked, stop, ORANGE),
    )
    limits = ", ".join(f"row {row} limit {most}" for row, most in zip(own, limit, strict=True))
    figure, axes = new_figure(
        f"Tile {tile}, with rows {own[0]} to {own[-1]}, against {length} keys in blocks of {block}. "
        f"The first call, without a mask, has start 0 and stop {unmasked}. The second, masked, has start "
        f"{unmasked} and stop {stop}. Seen are the keys below limit: {limits}. What lies at stop or "
        "behind it is handed to no call.",
        height=3.3,
    )
    ends = -(-length // block) * block
    for place, row in enumerate(own):
        for key in range(ends):
            color = next((color for *_, first, end, color in calls if first <= key < end), PAPER)
            seen = key < limit[place]
            look = {"facecolor": color if seen else PAPER, "edgecolor": GRAY, "linewidth": 0.5}
            if key < stop and not seen:
                look |= {"hatch": "////"}
            axes.add_patch(Rectangle((key, place), 1, 1, alpha=0.9, **look))
            if place == 0 and key < length:
                axes.text(key + 0.5, 0.5, f"{key}", ha="center", va="center", fontsize=8)
        words = f"row {row}: limit {limit[place]}" + ("" if row < length else ", is not there")
        axes.text(ends + 0.3, place + 0.5, words, va="center", fontsize=8.5)
    for edge in range(0, ends + 1, block):
        axes.plot([edge, edge], [0, rows], color=INK, linewidth=1.6)
    for name, first, end, color in (call for call in calls if call[1] < call[2]):
        axes.plot([first + 0.1, end - 0.1], [-0.3, -0.3], color=color, linewidth=4)
        axes.text((first + end) / 2, -0.55, name, ha="center", va="bottom", fontsize=8.5)
    marks = {0: "start 0", unmasked: f"stop {unmasked}\nstart {unmasked}", stop: f"stop {stop}"}
    for at, words in marks.items():
        axes.plot([at, at], [-0.3, rows + 0.25], color=VERMILLION, linewidth=1.8)
        axes.text(at, rows + 0.35, words, color=VERMILLION, ha="center", va="top", fontsize=9)
    axes.set(xlim=(-0.3, ends + 5), ylim=(rows + 1.3, -1.6), aspect="equal")
    axes.set_axis_off()
    looks = {"seen, no mask": {"facecolor": SKY}, "seen, masked": {"facecolor": ORANGE}}
    looks["masked out"] = {"facecolor": PAPER, "hatch": "////"}
    looks["handed to no call"] = {"facecolor": PAPER}
    handles = [Patch(edgecolor=GRAY, label=name, **look) for name, look in looks.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return figure


@lesson_style
def inside_a_gpu(name: str, chip: Mapping[str, str]) -> LessonFigure:
    """Draw the memories of a GPU, and how the numbers of a tile move between them.

    `chip` maps `memory`, `cache`, `shared memory`, `registers` and `tensor cores` to text on their
    size, and `multiprocessors` to their number.
    """
    said = "; ".join(f"{what}: {words}" for what, words in chip.items())
    figure, axes = new_figure(
        f"A chip, {name}. Memory on the left feeds a cache, the cache feeds the shared memory of a "
        "multiprocessor. Keys and values go from there into the tensor cores; scores, weights, "
        f"output, maximum and total stay in registers; the output goes back to memory. {said}.",
        height=3.9,
    )

    def box(
        x: float, y: float, width: float, height: float, what: str, color: str, note: str
    ) -> None:
        look = {"facecolor": color, "alpha": 0.28, "edgecolor": GRAY, "linewidth": 1}
        axes.add_patch(Rectangle((x, y), width, height, **look))
        words = f"{what}\n{chip[what]}\n\n{note}" if note else f"{what}\n{chip[what]}"
        axes.text(x + width / 2, y + height / 2, words, ha="center", va="center", fontsize=8.5)

    box(0, 0, 2.1, 6, "memory", GRAY, "Q, K, V and O:\nall tokens")
    box(2.7, 0, 1.7, 6, "cache", SKY, "K and V of the\nheads in work")
    look = {"facecolor": "none", "edgecolor": INK, "linewidth": 1.4}
    axes.add_patch(Rectangle((4.9, -0.25), 6.1, 6.9, **look))
    axes.text(
        7.95, 6.3, f"a multiprocessor, one of {chip['multiprocessors']}", ha="center", va="center"
    )
    box(5.2, 0.1, 2.1, 5.7, "shared memory", ORANGE, "the tile's Q,\nthe next blocks\nof K and V")
    box(8.2, 3.7, 2.6, 2.1, "tensor cores", GREEN, "QKᵀ and PV")
    box(
        8.2,
        0.1,
        2.6,
        2.7,
        "registers",
        BLUE,
        "scores, weights,\noutput, maximum,\ntotal of the tile",
    )
    arrows = (
        ((2.1, 4), (2.7, 4)), ((4.4, 4), (5.2, 4)), ((7.3, 4.7), (8.2, 4.7)),
        ((9.1, 3.7), (9.1, 2.8)), ((9.9, 2.8), (9.9, 3.7)), ((8.2, 0.55), (7.3, 0.55)),
        ((5.2, 0.55), (4.4, 0.55)), ((2.7, 0.55), (2.1, 0.55)),
    )  # fmt: skip
    for start, end in arrows:
        drawing.pointer(axes, start, end, INK, lw=1.3)
    axes.set(xlim=(-0.1, 11.1), ylim=(-0.4, 6.8))
    axes.set_axis_off()
    axes.set_title(name, fontsize=10)
    return figure


@lesson_style
def tile_budget(
    rows: int,
    block: int,
    warps: int,
    needs: Mapping[str, tuple[float, float, str]],
    intensity: float,
) -> LessonFigure:
    """Draw the share of each resource that a tile needs.

    `needs` maps a resource to ``(needed, available, unit)``. `intensity` is the number of operations
    for each byte of keys and values.
    """
    parts = [
        f"{what} {needed:,.0f} of {room:,.0f} {unit}"
        for what, (needed, room, unit) in needs.items()
    ]
    fits = all(needed <= room for needed, room, _ in needs.values())
    verdict = "it fits" if fits else "it does not fit"
    figure, axes = new_figure(
        f"A tile of {rows} rows and blocks of {block} keys with {warps} warps needs {'; '.join(parts)}: "
        f"{verdict}. {intensity:,.0f} operations for each byte of keys and values.",
        height=2.3,
    )
    widest = 2.0
    for place, (needed, room, _) in enumerate(needs.values()):
        share = needed / room
        color = BLUE if share <= 1 else VERMILLION
        axes.barh(place, min(share, widest), 0.55, color=color, alpha=0.85)
        if share > widest:  # a bar that is too long is cut off, with its number beside it
            axes.plot(widest, place, ">", color=VERMILLION, markersize=12, clip_on=False)
        axes.text(
            0.02, place - 0.42, parts[place] + (f", {share:.1f} times as much" if share > 1 else ""),
            va="center", ha="left", fontsize=8.5,
        )  # fmt: skip
    axes.axvline(1, color=INK, linewidth=1.5)
    axes.set_xlim(0, widest)
    axes.set_ylim(len(needs) - 0.6, -0.75)
    axes.set_yticks([])
    axes.xaxis.set_major_formatter(lambda value, _position: f"{value:.0%}")
    axes.set_xlabel("share of what there is (an arrow: more than 200%)")
    axes.set_title(
        f"{rows} × {block}, {warps} warps: {verdict}, {intensity:,.0f} operations a byte",
        fontsize=10,
    )
    return figure


@lesson_style
def published_speeds(speeds: Mapping[str, tuple[float, float | None]], title: str) -> LessonFigure:
    """Draw published TFLOP/s without a mask and with a causal one; None if not listed."""
    said = "; ".join(
        f"{name} {full:g} without a mask, "
        + ("causal not listed" if causal is None else f"{causal:g} causal")
        for name, (full, causal) in speeds.items()
    )
    figure, axes = new_figure(f"Bars of TFLOP/s, {title}: {said}.", height=0.9 + 0.55 * len(speeds))
    for place, (full, causal) in enumerate(speeds.values()):
        for value, shift, color in ((full, -0.19, BLUE), (causal, 0.19, ORANGE)):
            if value is None:
                axes.text(4, place + shift, "not listed", va="center", fontsize=8)
                continue
            axes.barh(place + shift, value, 0.36, color=color)
            axes.text(value + 4, place + shift, f"{value:g}", va="center", fontsize=8.5)
    axes.set_yticks(range(len(speeds)), list(speeds))
    axes.set_ylim(len(speeds) - 0.5, -0.5)
    axes.set_xlim(0, 1.12 * max(full for full, _ in speeds.values()))
    axes.set_xlabel("TFLOP/s")
    drawing.legend_below(figure, drawing.swatches({"no mask": BLUE, "causal": ORANGE}))
    axes.set_title(title, fontsize=10)
    return figure
