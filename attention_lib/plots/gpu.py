"""The figures of lesson 09: clocks, errors, costs, and tiles of a launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullLocator

from attention_lib.plots.style import (
    CYCLE,
    GRAY,
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
    "tiles_of_a_launch",
    "two_clocks",
]


@lesson_style
def two_clocks(launch: float, work: float, calls: int = 3) -> LessonFigure:
    """Draw a computer that hands work to a device, and when a clock would be read.

    `launch` and `work` are milliseconds: to hand one piece over, and to do it.
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
        axes.annotate(
            words, place, (gap, 0), textcoords="offset points", ha=side, va="center", fontsize=9
        )
    axes.set_yticks([0, 1], ["the device\nworks", "the computer\nhands over"])
    axes.set(xlabel="time (ms)", ylim=(-0.4, 1.95), xlim=(0, done * 1.03))
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return figure


@lesson_style
def errors_by_dtype(
    errors: Mapping[str, Mapping[str, float]], steps: Mapping[str, float]
) -> LessonFigure:
    """Draw the error of each variant in each dtype, beside the dtype's own step at 1.

    `errors` maps a dtype to the errors of the variants, `steps` a dtype to its epsilon.
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
    axes.set_xlabel("largest error, relative to the largest output (logarithmic)")
    axes.grid(axis="x")
    return figure


@lesson_style
def cost_by_length(
    costs: Mapping[str, Sequence[tuple[float, float, float, float | None]]], title: str
) -> LessonFigure:
    """Draw what each variant costs against the length: time, speed and memory.

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
        panel.yaxis.set_minor_locator(NullLocator())
    for (name, rows), color, mark in zip(costs.items(), CYCLE * 2, "osD^vPX*" * 2, strict=False):
        style = {"color": color, "marker": mark, "markersize": 5, "label": name}
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
def tiles_of_a_launch(length: int, rows: int, block: int) -> LessonFigure:
    """Draw which blocks of keys the tiles of a causal launch take, with and without a mask."""
    tiles, blocks = -(-length // rows), -(-length // block)
    count = {"no mask": 0, "masked": 0, "never computed": 0}
    kinds = {}
    for tile, number in np.ndindex(tiles, blocks):
        first, last = number * block, number * block + block - 1
        kind = "masked"
        if last <= tile * rows:
            kind = "no mask"
        elif first > min(tile * rows + rows, length) - 1:
            kind = "never computed"
        kinds[tile, number] = kind
        count[kind] += 1
    said = ", ".join(f"{number} {kind}" for kind, number in count.items())
    figure, axes = new_figure(
        f"A grid of {tiles} tiles of queries by {blocks} blocks of keys for {length} tokens under "
        f"a causal mask: {said}.",
        height=3.4,
    )
    colors = {"no mask": SKY, "masked": ORANGE, "never computed": PAPER}
    for (tile, number), kind in kinds.items():
        corner = (number * block - 0.5, tile * rows - 0.5)
        look = {"facecolor": colors[kind], "edgecolor": GRAY, "linewidth": 0.8}
        axes.add_patch(Rectangle(corner, block, rows, **look))
    diagonal = np.arange(length)
    axes.plot(diagonal, diagonal, color=INK, linewidth=1.2)
    axes.set(
        xlim=(-0.5, blocks * block - 0.5),
        ylim=(tiles * rows - 0.5, -0.5),
        xlabel=f"keys, in blocks of {block}",
        ylabel=f"queries, in tiles of {rows}",
        aspect="equal",
    )
    handles = [
        Rectangle((0, 0), 1, 1, facecolor=color, edgecolor=GRAY, label=kind)
        for kind, color in colors.items()
    ]
    handles.append(Line2D([], [], color=INK, linewidth=1.2, label="last key a query may see"))
    axes.legend(handles=handles, loc="center left", bbox_to_anchor=(1.02, 0.5))
    return figure
