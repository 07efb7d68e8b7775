"""Draw the figures of lesson 08: the loss, the maps of two layers, and the effect of changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike, NDArray

from attention_lib.plots import drawing
from attention_lib.plots.style import (
    CYCLE,
    GRAY,
    GREEN,
    GRID,
    SKY,
    VERMILLION,
    WEIGHT_COLORS,
    LessonFigure,
    lesson_style,
    new_figure,
)

__all__ = [
    "hand_set_maps",
    "layer_maps",
    "loss_and_heads",
    "replaced_maps",
    "steps_to_learn",
]

MARKS = "osD^vP"
SMOOTHED = 11  # steps in a moving average

Cells = Sequence[tuple[int, int]]  # (query, key)


@lesson_style
def hand_set_maps(
    maps: Mapping[str, ArrayLike], words: Sequence[str], frames: Mapping[str, Cells]
) -> LessonFigure:
    """Draw small attention maps with their numbers, side by side.

    `frames[name]` lists the cells (query, key) of that map that get a frame.
    """
    alt = _maps_in_words(maps, words, frames)
    figure, panels = new_figure(alt, height=3.2, panels=len(maps), sharey=False)
    for panel, (name, weights) in zip(panels, maps.items(), strict=True):
        drawing.weight_cells(panel, np.asarray(weights, float), 1.0)
        _frame(panel, frames.get(name, ()))
        _name_places(panel, name, words)
    return figure


@lesson_style
def layer_maps(
    maps: Mapping[str, ArrayLike],
    words: Sequence[str],
    frames: Mapping[str, Cells],
    title: str = "",
) -> LessonFigure:
    """Draw the attention maps of a model's layers side by side, without numbers.

    `frames` is as in `hand_set_maps`. `title` names the model or the step.
    """
    alt = _maps_in_words(maps, words, frames)
    figure, panels = new_figure(
        f"{title}: {alt}" if title else alt, height=3.5, panels=len(maps), sharey=False
    )
    for panel, (name, weights) in zip(panels, maps.items(), strict=True):
        image = panel.imshow(np.asarray(weights, float), cmap=WEIGHT_COLORS, vmin=0, vmax=1)
        _frame(panel, frames.get(name, ()))
        _name_places(panel, name, words)
    bar = figure.colorbar(image, ax=panels, label="attention weight", shrink=0.75)
    bar.outline.set_visible(False)
    if title:
        figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    return figure


def _name_places(panel: Any, name: str, words: Sequence[str]) -> None:
    panel.set_title(name, fontsize=10)
    panel.set(xlabel="key", ylabel="query")
    drawing.name_cells(panel, words, words)


def _frame(panel: Any, cells: Cells) -> None:
    for query, key in cells:
        look = {"fill": False, "edgecolor": VERMILLION, "linewidth": 1.2}
        panel.add_patch(Rectangle((key - 0.5, query - 0.5), 1, 1, **look))


def _maps_in_words(
    maps: Mapping[str, ArrayLike], words: Sequence[str], frames: Mapping[str, Cells]
) -> str:
    parts = []
    for name, weights in maps.items():
        framed = frames.get(name, ())
        mean = np.mean([np.asarray(weights)[cell] for cell in framed]) if framed else 0.0
        parts.append(f"{name}, mean weight of the {len(framed)} framed cells {mean:.2f}")
    return f"Attention maps over the words {' '.join(words)}. {'; '.join(parts)}."


@lesson_style
def loss_and_heads(
    losses: Mapping[str, ArrayLike],
    steps: Sequence[int],
    heads: Mapping[str, ArrayLike],
    levels: Mapping[str, float],
) -> LessonFigure:
    """Draw the loss of several runs, and below it measures of the heads over the same steps.

    `losses` maps a run to the loss at every step from 1. Single steps are drawn faintly, below their
    means over `SMOOTHED` steps. `heads` maps a measure to a number from 0 to 1 at each of `steps`.
    `levels` maps names to losses that are marked with a line.
    """
    ends = "; ".join(
        f"{name} from {np.asarray(run)[0]:.2f} to {np.mean(np.asarray(run)[-20:]):.2f}"
        for name, run in losses.items()
    )
    grown = "; ".join(
        f"{name} from {np.asarray(values)[0]:.2f} to {np.asarray(values)[-1]:.2f}, "
        f"past one half at step {_first_above(steps, values)}"
        for name, values in heads.items()
    )
    figure, (above, below) = new_figure(
        f"Two panels on one time axis, the training steps. Loss: {ends}. Heads: {grown}.",
        height=5.0,
        nrows=2,
        sharex=True,
        height_ratios=(3, 2),
    )
    for (name, run), color, dashes in zip(losses.items(), CYCLE, ("-", "--", "-."), strict=False):
        above.plot(np.arange(1, np.size(run) + 1), run, color=color, linewidth=0.8, alpha=0.25)
        above.plot(*_smooth(run), dashes, color=color, linewidth=1.6, label=name)
    last = max(len(run) for run in losses.values())
    for name, level in levels.items():
        above.axhline(level, color=GRAY, linewidth=1, linestyle=":")
        drawing.note(above, name, (last, level), (0, -11), ha="right", fontsize=9)
    above.set(ylabel="loss (nats a word)", ylim=(0, None))
    above.legend(loc="lower left")
    looks = zip((GREEN, SKY, VERMILLION), "osD", strict=True)
    for (name, values), (color, mark) in zip(heads.items(), looks, strict=False):
        below.plot(steps, values, color=color, marker=mark, markersize=3.5, label=name)
    below.set(ylabel="attention weight", xlabel="training step", ylim=(-0.03, 1.03))
    below.legend(loc="upper left")
    for panel in (above, below):
        panel.grid()
    return figure


def _smooth(run: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return steps, and the mean loss of the `SMOOTHED` steps around each."""
    losses = np.asarray(run, np.float64)
    width = min(SMOOTHED, losses.size)
    means = np.convolve(losses, np.full(width, 1 / width), mode="valid")
    return np.arange(len(means)) + (width + 1) / 2, means


def _first_above(steps: Sequence[int], values: ArrayLike) -> str:
    past = np.flatnonzero(np.asarray(values) > 0.5)
    return str(steps[past[0]]) if past.size else "none"


@lesson_style
def replaced_maps(
    measured: Mapping[str, Sequence[float]], label: str, levels: Mapping[str, float]
) -> LessonFigure:
    """Draw what is measured after each change: a dot for each start, a bar for the mean.

    `levels` maps names to numbers that are marked with a line.
    """
    said = "; ".join(f"{name} {drawing.numbers(values)}" for name, values in measured.items())
    figure, axes = new_figure(
        f"The {label} after each change, one dot a start, a bar for their mean: {said}. "
        f"Lines mark {drawing.numbers(levels.values())}.",
        height=1.1 + 0.42 * len(measured),
    )
    for name, level in levels.items():
        axes.axvline(level, color=GRAY, linewidth=1, linestyle=":")
        drawing.note(axes, name, (level, -0.5), (2, 3), ha="center", fontsize=9)
    for row, values in enumerate(measured.values()):
        axes.plot([0, np.mean(values)], [row, row], color=GRID, linewidth=5, solid_capstyle="butt")
        for start, value in enumerate(values):
            # Dots in a row are spread a little, so that equal ones can be counted.
            shift = 0.18 * (start - (len(values) - 1) / 2)
            axes.plot(value, row + shift, MARKS[start], color=CYCLE[start + 2], markersize=5)
    axes.set_yticks(range(len(measured)), list(measured))
    axes.set(xlim=(0, None), ylim=(len(measured) - 0.5, -0.5), xlabel=label)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    count = max(len(values) for values in measured.values())
    mean = Line2D([], [], color=GRID, linewidth=5, solid_capstyle="butt", label="mean")
    handles = [*_start_marks(count), mean]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def _start_marks(count: int) -> list[Line2D]:
    return [
        Line2D([], [], linestyle="", marker=MARKS[n], color=CYCLE[n + 2], label=f"start {n}")
        for n in range(count)
    ]


@lesson_style
def steps_to_learn(trials: Mapping[str, Mapping[str, Sequence[float]]], limit: int) -> LessonFigure:
    """Draw how many steps several ways of training take to reach a goal, a dot for each start.

    `trials` maps the name of a panel to ways, and each way to steps. Infinity means that the goal was
    not reached in `limit` steps. It is drawn as a hollow mark beyond the limit.
    """
    said = "; ".join(
        f"{panel}, {way}: "
        + ", ".join(f"{step:g}" if step <= limit else f"not by {limit}" for step in steps)
        for panel, ways in trials.items()
        for way, steps in ways.items()
    )
    names = list(dict.fromkeys(way for ways in trials.values() for way in ways))
    figure, panels = new_figure(
        f"Training steps until half of the words are right, one mark a start. {said}.",
        height=1.4 + 0.42 * len(names),
        panels=len(trials),
    )
    later = 1.12 * limit
    for panel, (title, ways) in zip(panels, trials.items(), strict=True):
        for way, steps in ways.items():
            for start, step in enumerate(steps):
                # Marks in a row are spread as in `replaced_maps`.
                row = names.index(way) + 0.2 * (start - (len(steps) - 1) / 2)
                color = CYCLE[start + 2]
                panel.plot(
                    min(step, later),
                    row,
                    MARKS[start],
                    color=color,
                    markerfacecolor=color if step <= limit else "none",
                    markersize=5.5,
                    markeredgewidth=1.4,
                )
        panel.axvline(1.06 * limit, color=GRAY, linewidth=1, linestyle=":")
        panel.set_title(title, fontsize=10)
        panel.set(xlim=(0, 1.2 * limit), ylim=(len(names) - 0.5, -0.5), xlabel="training step")
        ticks = np.linspace(0, limit, 6 if len(trials) < 3 else 4)
        panel.set_xticks([*ticks, later], [*(f"{tick:g}" for tick in ticks[:-1]), "", "later"])
        panel.set_yticks(range(len(names)), names)
        panel.tick_params(axis="y", length=0)
        panel.grid(axis="x")
    count = max(len(steps) for ways in trials.values() for steps in ways.values())
    figure.legend(handles=_start_marks(count), loc="outside lower center", ncols=count)
    return figure
