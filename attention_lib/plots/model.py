"""Draw the figures of lesson 09: heads at a glance, what faults cost, and measures in lines."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.ticker import NullLocator
from numpy.typing import ArrayLike

from attention_lib.plots import drawing
from attention_lib.plots.style import (
    CYCLE,
    GRAY,
    GRID,
    SKY,
    VERMILLION,
    WEIGHT_COLORS,
    LessonFigure,
    lesson_style,
    new_figure,
)

LETTERS = 60  # of a text beside its bar

__all__ = ["gate", "heads_at_a_glance", "losses_by_fault", "measures_by_size"]


@lesson_style
def gate(z: ArrayLike, lines: Mapping[str, ArrayLike]) -> LessonFigure:
    """Draw what gates let through, as lines over the gate's number z."""
    z = np.asarray(z)
    said = "; ".join(
        f"{name} from {np.asarray(line)[0]:.2f} to {np.asarray(line)[-1]:.2f}, lowest "
        f"{np.min(line):.2f}"
        for name, line in lines.items()
    )
    figure, axes = new_figure(f"Lines over z from {z[0]:g} to {z[-1]:g}: {said}.", height=2.6)
    looks = zip(lines.items(), CYCLE, ("-", "--", ":"), strict=False)
    for (name, line), color, style in looks:
        axes.plot(z, line, style, color=color, label=name)
    axes.axhline(0, color=GRAY, linewidth=0.8)
    axes.set(xlabel="z", ylabel="what passes", ylim=(-1, 6))
    axes.legend()
    return figure


@lesson_style
def heads_at_a_glance(measures: Mapping[str, ArrayLike]) -> LessonFigure:
    """Draw measures of all heads of a model, each a map with a row a layer and a column a head.

    `measures` maps the name of a measure to an array (layers, heads) of numbers from 0 to 1. The largest
    head of each is framed.
    """
    tables = {name: np.asarray(table, float) for name, table in measures.items()}
    largest = {
        name: np.unravel_index(table.argmax(), table.shape) for name, table in tables.items()
    }
    said = "; ".join(
        f"{name}: mean {table.mean():.2f}, largest {table.max():.2f} in layer {largest[name][0]}, "
        f"head {largest[name][1]}"
        for name, table in tables.items()
    )
    layers, heads = next(iter(tables.values())).shape
    figure, panels = new_figure(
        f"Maps of {layers} layers by {heads} heads. {said}.", height=4.6, panels=len(tables)
    )
    for panel, (name, table) in zip(panels, tables.items(), strict=True):
        image = panel.imshow(table, cmap=WEIGHT_COLORS, vmin=0, vmax=1, aspect="auto")
        row, column = largest[name]
        panel.plot(column, row, "s", color=VERMILLION, markersize=11, markerfacecolor="none")
        panel.set_title(name, fontsize=10)
        panel.set(xlabel="head")
        panel.set_xticks(range(heads))
        panel.spines[:].set_visible(False)
        panel.tick_params(length=0)
    panels[0].set(ylabel="layer")
    panels[0].set_yticks(range(0, layers, 5))
    bar = figure.colorbar(image, ax=panels, label="share of the weight", shrink=0.75)
    bar.outline.set_visible(False)
    return figure


@lesson_style
def losses_by_fault(
    losses: Mapping[str, float], texts: Mapping[str, str], right: str
) -> LessonFigure:
    """Draw the loss of a model with each fault as a bar, and beside it what the model writes."""
    ordered = sorted(losses.items(), key=lambda item: item[1])
    said = "; ".join(f"{name} {loss:.2f}, {texts[name]!r}" for name, loss in ordered)
    figure, axes = new_figure(
        f"Bars of the loss in nats a word, by fault, from the lowest, and what each model writes: {said}.",
        height=0.8 + 0.27 * len(losses),
    )
    values = [loss for _, loss in ordered]
    colors = [GRID if name == right else SKY for name, _ in ordered]
    axes.barh(range(len(values)), values, color=colors, height=0.8)
    axes.axvline(losses[right], color=GRAY, linewidth=1, linestyle=":")
    for row, (name, loss) in enumerate(ordered):
        shown = " ".join(texts[name].split())[:LETTERS]
        axes.text(0.1, row, f"{loss:.2f}   {shown}", va="center", fontsize=8)
    axes.set_yticks(range(len(values)), [name for name, _ in ordered])
    axes.tick_params(axis="y", length=0)
    axes.set(xlabel="loss (nats a word)", xlim=(0, 1.02 * max(values)))
    axes.set(ylim=(len(values) - 0.4, -0.6))
    return figure


@lesson_style
def measures_by_size(
    sizes: ArrayLike,
    lines: Mapping[str, ArrayLike],
    size: str,
    measure: str,
    levels: Mapping[str, float] | None = None,
) -> LessonFigure:
    """Draw measures as lines over sizes on a logarithmic axis, and levels as dotted lines.

    `size` and `measure` name the axes, with units.
    """
    sizes = np.asarray(sizes)
    said = "; ".join(
        f"{name} from {np.asarray(line)[0]:.3g} to {np.asarray(line)[-1]:.3g}"
        for name, line in lines.items()
    )
    marked = "".join(f"; {name} {level:.3g}" for name, level in (levels or {}).items())
    figure, axes = new_figure(
        f"Lines of the {measure} for a {size} from {sizes[0]:,} to {sizes[-1]:,}: {said}{marked}.",
        height=3.2,
    )
    looks = zip(lines.items(), CYCLE, "os^D", strict=False)
    for (name, line), color, mark in looks:
        axes.plot(sizes, line, mark + "-", color=color, label=name)
    for name, level in (levels or {}).items():
        axes.axhline(level, color=GRAY, linewidth=1, linestyle=":")
        drawing.note(axes, name, (sizes[0], level), (0, 4), fontsize=9)
    drawing.logarithmic(axes, sizes)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set(xlabel=size, ylabel=measure, ylim=(0, None))
    axes.grid()
    axes.legend()
    return figure
