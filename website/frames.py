"""Draw the frames of an interactive figure in advance, for pages that have no kernel."""

from __future__ import annotations

import html
import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from attention_lib import plots
from attention_lib.plots.style import LessonFigure, Slider

NARROWEST_PANEL = 0.2  # of a figure's width
MOST_FRAMES = 72  # of one figure; the values of its sliders are thinned until they fit


class Frames:
    """All frames of an interactive figure as HTML: sliders, and one image for each setting.

    The images follow one another in the order of `itertools.product`. All but the one for the
    starting values are hidden, so a page without scripts shows what the notebook shows first.
    `static/frames.js` shows the sliders and moves between the images.
    """

    def __init__(self, draw: Callable[..., LessonFigure], controls: dict[str, Slider]) -> None:
        values = thinned([list(control.values) for control in controls.values()])
        self._values = [
            with_start(kept, control)
            for kept, control in zip(values, controls.values(), strict=True)
        ]
        self._controls = controls
        self._images = [
            draw(**dict(zip(controls, setting, strict=True)))._repr_html_()
            for setting in itertools.product(*self._values)
        ]

    def _repr_html_(self) -> str:
        starts = [
            values.index(control.start)
            for values, control in zip(self._values, self._controls.values(), strict=True)
        ]
        shape = [len(values) for values in self._values]
        shown = int(np.ravel_multi_index(starts, shape))
        images = [
            image if place == shown else image.replace("<img ", '<img hidden loading="lazy" ', 1)
            for place, image in enumerate(self._images)
        ]
        sliders = [
            _slider(control.label, [f"{value:g}" for value in values], start)
            for control, values, start in zip(
                self._controls.values(), self._values, starts, strict=True
            )
        ]
        return (
            f'<div class="frames"><div class="frames-sliders" hidden>{"".join(sliders)}</div>'
            f"{''.join(images)}</div>"
        )

    def __repr__(self) -> str:
        return f"A figure with {len(self._images)} frames"


def explore(draw: Callable[..., LessonFigure], **controls: Slider) -> Frames:
    """Draw every frame of `draw(name=value, ...)`; takes the place of `plots.explore`."""
    return Frames(draw, controls)


def record() -> None:
    """Prepare this process to draw for a page. The first cell of a built lesson calls it.

    `plots.explore` draws frames, and an image says where it may be cut into panels.
    """
    plots.explore = explore
    as_image = LessonFigure._repr_html_
    LessonFigure._repr_html_ = lambda figure: with_cuts(as_image(figure), cuts(figure))


def with_cuts(image: str, places: Sequence[float]) -> str:
    """Write into an image's tag where `static/panels.js` may cut it, in parts of its width."""
    if not places:
        return image
    listed = ",".join(f"{place:.4f}" for place in places)
    return image.replace("<img ", f'<img data-cuts="{listed}" ', 1)


def cuts(figure: LessonFigure) -> list[float]:
    """Return where a drawn figure has a gap from top to bottom between two panels.

    What is too narrow to be a panel, such as a color bar, stays with its left neighbor. Where one
    part would be twice as wide as another, as below a title in the middle, there is no cut.
    """
    parts = [*figure.axes, *figure.legends, *figure.texts]
    boxes = [part.get_tightbbox() for part in parts if part.get_visible()]
    spans = sorted((box.x0 / figure.bbox.width, box.x1 / figure.bbox.width) for box in boxes if box)
    panels: list[tuple[float, float]] = []
    for start, end in spans:
        if panels and (start < panels[-1][1] or end - start < NARROWEST_PANEL):
            start, last_end = panels.pop()
            end = max(end, last_end)
        panels.append((start, end))
    widths = [end - start for start, end in panels]
    if max(widths) > 2 * min(widths):  # each part is drawn as wide as the screen
        return []
    return [(left[1] + right[0]) / 2 for left, right in itertools.pairwise(panels)]


def thinned(values: Sequence[Sequence[Any]], most: int = MOST_FRAMES) -> list[list[Any]]:
    """Thin the longest lists of values evenly until there are at most `most` combinations."""
    counts = [len(choices) for choices in values]
    while np.prod(counts) > most:
        counts[counts.index(max(counts))] -= 1
    return [
        [choices[round(place)] for place in np.linspace(0, len(choices) - 1, count)]
        for choices, count in zip(values, counts, strict=True)
    ]


def with_start(kept: Sequence[Any], control: Slider) -> list[Any]:
    """Put the starting value in place of the kept value nearest to it, unless it was kept."""
    if control.start in kept:
        return list(kept)
    order = list(control.values)
    places = [order.index(value) for value in kept]
    start = order.index(control.start)
    nearest = min(range(len(places)), key=lambda place: abs(places[place] - start))
    return [*kept[:nearest], control.start, *kept[nearest + 1 :]]


def _slider(label: str, values: list[str], start: int) -> str:
    return (
        f'<label><span>{html.escape(label)}</span><input type="range" min="0" '
        f'max="{len(values) - 1}" value="{start}" aria-valuetext="{html.escape(values[start])}" '
        f'data-values="{html.escape(json.dumps(values))}"><output>{values[start]}</output></label>'
    )
