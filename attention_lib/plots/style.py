"""Define the style of all figures: palette, width, alt text, sliders."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.image import imsave

from attention_lib.outdated import NotUnderstood

__all__ = ["LessonFigure", "Slider", "explore", "lesson_style", "new_figure"]

# Okabe and Ito's palette, suited to the common kinds of color blindness.
BLUE = "#0072B2"
ORANGE = "#E69F00"
GREEN = "#009E73"
VERMILLION = "#D55E00"
SKY = "#56B4E9"
PURPLE = "#CC79A7"
YELLOW = "#F0E442"
INK = "#222222"
GRAY = "#767676"
GRID = "#DDDDDD"
PAPER = "#FCFCFA"

# In JupyterLab's dark themes a figure is shown with light and dark exchanged and its hues kept. This variable of
# theirs is 0 in light themes and 32 in dark ones; elsewhere it is missing. The site has a rule of its own.
IS_DARK = "min(1, var(--jp-shadow-base-lightness, 0))"
DARK_IN_DARK = f"filter: invert(calc(0.9 * {IS_DARK})) hue-rotate(calc(180deg * {IS_DARK}))"

CYCLE = (BLUE, ORANGE, GREEN, VERMILLION, SKY, PURPLE)
PALETTE = (*CYCLE, YELLOW, INK, GRAY, GRID, PAPER)
WEIGHT_COLORS = LinearSegmentedColormap.from_list("weights", [PAPER, BLUE])  # 0 to 1

WIDTH = 7.0  # inches
PIXELS_PER_INCH = 100  # on the page; images have twice as many for high-resolution screens

STYLE = {
    "axes.axisbelow": True,
    "axes.edgecolor": GRAY,
    "axes.facecolor": PAPER,
    "axes.grid": False,
    "axes.labelcolor": INK,
    "axes.labelsize": 10,
    "axes.prop_cycle": matplotlib.cycler(color=CYCLE),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "figure.constrained_layout.use": True,
    "figure.edgecolor": PAPER,
    "figure.facecolor": PAPER,
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "image.cmap": "cividis",
    "legend.edgecolor": PAPER,
    "legend.facecolor": PAPER,
    "legend.framealpha": 0.9,
    "legend.fontsize": 9,
    "lines.linewidth": 2,
    "mathtext.fontset": "dejavusans",
    "patch.edgecolor": PAPER,
    "text.color": INK,
    "xtick.color": GRAY,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 9,
    "ytick.color": GRAY,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 9,
}

# ipywidgets gives its sliders no name, and reads the place of a value in place of the value.
NAME_SLIDERS = """<img src="" alt="" hidden onerror="
    for (const bar of this.closest('.widget-vbox').querySelectorAll('.noUi-target')) {
        const handle = bar.querySelector('[role=slider]'), slider = bar.closest('.widget-slider');
        const text = (part) => slider.querySelector(part).textContent;
        handle.setAttribute('aria-label', text('label'));
        bar.noUiSlider.on('update', () => handle.setAttribute('aria-valuetext', text('.widget-readout')));
    }">"""
# Hidden while sliders of that class have a kernel: not after a restart, nor where a notebook is opened again.
AFTER_A_RESTART = """<style>
body:has(.{sliders}:not(.jupyter-widgets-disconnected)) #{sliders} {{ display: none }}
</style><p id="{sliders}">To move the slider, run this cell again.</p>"""

lesson_style = matplotlib.rc_context(STYLE)  # decorates every figure function


class LessonFigure(Figure):
    """A Matplotlib figure with alt text, shown in a notebook as an HTML image.

    Only with HTML do JupyterLab, nbconvert and Colab all pass the alt text to a screen reader.
    JupyterLab drops it from PNG outputs.
    """

    alt: str

    @lesson_style
    def _repr_html_(self) -> str:
        png = io.BytesIO()
        dpi, sharp = self.dpi, 2 * PIXELS_PER_INCH
        self.set_dpi(sharp)
        canvas = FigureCanvasAgg(self)
        canvas.draw()  # savefig would draw twice
        self.set_dpi(dpi)
        imsave(png, canvas.buffer_rgba(), format="png", dpi=sharp, metadata={"Software": None})
        data = base64.b64encode(png.getvalue()).decode("ascii")
        width, height = (round(inches * PIXELS_PER_INCH) for inches in self.get_size_inches())
        return (
            f'<img src="data:image/png;base64,{data}" alt="{html.escape(self.alt)}" '
            f'width="{width}" height="{height}" '
            f'style="max-width: 100%; height: auto; {DARK_IN_DARK}">'
        )

    def __repr__(self) -> str:
        return self.alt


def new_figure(
    alt: str, *, height: float = 3.0, panels: int = 0, **subplots: Any
) -> tuple[LessonFigure, Any]:
    """Make a figure of the standard width, and its axes; `subplots` is as in `Figure.subplots`.

    With `panels`, the axes are an array of that many panels side by side with a common y axis. `alt`
    describes the figure. The caller must be decorated with `lesson_style`.
    """
    figure = LessonFigure(figsize=(WIDTH, height))
    figure.alt = alt
    if panels:
        return figure, figure.subplots(1, panels, squeeze=False, **{"sharey": True, **subplots})[0]
    return figure, figure.subplots(**subplots)


@dataclass(frozen=True)
class Slider:
    """A control of `explore`: its possible values, its starting value, and its label."""

    values: Sequence[Any]
    start: Any
    label: str

    def __post_init__(self) -> None:
        if self.start not in list(self.values):
            raise NotUnderstood(
                f"A slider starts at one of its values, and {self.start} is not one."
            )


def explore(draw: Callable[..., LessonFigure], **controls: Slider) -> LessonFigure | None:
    """Show the figure `draw(name=value, ...)` below a slider for each control.

    Without a reader to move sliders (no ipywidgets, no notebook, or one executed by nbconvert or
    nbgrader), return the figure for the starting values.
    """
    figure = draw(**{name: control.start for name, control in controls.items()})
    if not _someone_can_move_a_slider():
        return figure

    import ipywidgets
    from IPython.display import HTML, display

    sliders = {
        name: ipywidgets.SelectionSlider(
            options=[(f"{value:g}", value) for value in control.values],
            value=control.start,
            description=control.label,
            style={"description_width": "initial"},
            layout={"width": f"{WIDTH * PIXELS_PER_INCH:.0f}px", "max_width": "100%"},
        )
        for name, control in controls.items()
    }
    box = ipywidgets.VBox([*sliders.values(), ipywidgets.HTML(NAME_SLIDERS)])
    box.add_class(f"sliders-{box.model_id}")
    display(HTML(AFTER_A_RESTART.format(sliders=f"sliders-{box.model_id}")), box)
    shown = display(figure, display_id=True)

    def redraw(_change: Any) -> None:
        shown.update(draw(**{name: slider.value for name, slider in sliders.items()}))

    for slider in sliders.values():
        slider.observe(redraw, names="value")
    return None


def _someone_can_move_a_slider() -> bool:
    """Tell whether this code runs in a live notebook with ipywidgets.

    A live front end allows input(). nbclient, and so nbconvert and nbgrader, does not.
    """
    try:
        import ipywidgets  # noqa: F401
        from IPython import get_ipython
    except ImportError:
        return False
    kernel = getattr(get_ipython(), "kernel", None)
    if kernel is None:
        return False
    return bool(kernel.get_parent("shell").get("content", {}).get("allow_stdin", False))
