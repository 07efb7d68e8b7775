"""The lessons' figures: one look, alt text on every figure, a slider where one can run.

A figure function takes arrays and callables, knows no lesson's answer, and returns a
`LessonFigure`: a Matplotlib figure that carries its alt text and displays itself as an HTML
image. The figures never touch pyplot, so there is nothing to close and nothing is shown twice.
"""

from __future__ import annotations

import base64
import html
import io
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator, NullLocator
from numpy.typing import ArrayLike, NDArray

# Okabe and Ito's palette, told apart with every common kind of color blindness.
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
PAPER = "#FCFCFA"  # near-white under dark themes too: ink and colors keep their contrast

CYCLE = (BLUE, ORANGE, GREEN, VERMILLION, SKY, PURPLE)
PALETTE = (*CYCLE, YELLOW, INK, GRAY, GRID, PAPER)
WEIGHT_COLORS = LinearSegmentedColormap.from_list("weights", [PAPER, BLUE])  # 0 to 1

WIDTH = 7.0  # inches
PIXELS_PER_INCH = 100  # on the page; drawn at twice that for sharp screens

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

lesson_style = matplotlib.rc_context(STYLE)  # decorates every figure function


class LessonFigure(Figure):
    """A Matplotlib figure with alt text, shown in a notebook as an HTML image.

    HTML because it is the one form in which JupyterLab, nbconvert's pages and Colab all pass
    the alt text on to a screen reader; JupyterLab drops it from plain PNG outputs.
    """

    alt: str

    @lesson_style
    def _repr_html_(self) -> str:
        png = io.BytesIO()
        self.savefig(png, format="png", dpi=2 * PIXELS_PER_INCH, metadata={"Software": None})
        data = base64.b64encode(png.getvalue()).decode("ascii")
        width, height = (round(inches * PIXELS_PER_INCH) for inches in self.get_size_inches())
        return (
            f'<img src="data:image/png;base64,{data}" alt="{html.escape(self.alt)}" '
            f'width="{width}" height="{height}" style="max-width: 100%; height: auto">'
        )

    def __repr__(self) -> str:
        return self.alt


def new_figure(alt: str, *, height: float = 3.0, **subplots: Any) -> tuple[LessonFigure, Any]:
    """Return a figure of the house's width and its axes; `subplots` as in `Figure.subplots`.

    `alt` is one sentence that says what is to be seen. Call it from a function decorated with
    `lesson_style`.
    """
    figure = LessonFigure(figsize=(WIDTH, height))
    figure.alt = alt
    return figure, figure.subplots(**subplots)


@dataclass(frozen=True)
class Slider:
    """One control of `explore`: the values it can take, where it starts, and its label."""

    values: Sequence[Any]
    start: Any
    label: str


def explore(draw: Callable[..., LessonFigure], **controls: Slider) -> LessonFigure | None:
    """Show `draw(name=value, ...)` under a slider for each control, redrawn as it moves.

    Where no slider can run (no ipywidgets, no notebook, or a notebook executed by nbconvert or
    nbgrader), return the figure for the starting values instead.
    """
    figure = draw(**{name: control.start for name, control in controls.items()})
    if not _someone_can_move_a_slider():
        return figure

    import ipywidgets
    from IPython.display import display

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
    display(ipywidgets.VBox(list(sliders.values())))
    shown = display(figure, display_id=True)

    def redraw(_change: Any) -> None:
        shown.update(draw(**{name: slider.value for name, slider in sliders.items()}))

    for slider in sliders.values():
        slider.observe(redraw, names="value")
    return None


def _someone_can_move_a_slider() -> bool:
    """Tell a live notebook from a script and from a notebook executed without a reader.

    A front end with a person before it offers to answer input(); nbclient, and with it
    nbconvert and nbgrader, does not.
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


# --- Lesson 01: softmax ---

Weigh = Callable[[NDArray], ArrayLike]  # scores (n,) to weights (n,)


@lesson_style
def attention_map(
    values: ArrayLike, queries: Sequence[str], keys: Sequence[str], label: str = "attention weight"
) -> LessonFigure:
    """Draw an (L, S) array as a heat map, one row a query, each cell with its number."""
    values = np.asarray(values)
    rows = "; ".join(f"{name} {_numbers(row)}" for name, row in zip(queries, values, strict=True))
    alt = f"Heat map of the {label}, one row a query, for the keys {_words(keys)}. {rows}."
    figure, axes = new_figure(alt, height=max(2.9, 0.9 + 0.75 * len(queries)))
    image = _weight_cells(axes, values, max(1.0, values.max()))
    axes.set_xticks(range(len(keys)), keys)
    axes.set_yticks(range(len(queries)), queries)
    axes.set(xlabel="key: the word listened to", ylabel="query: the word that listens")
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    colorbar = figure.colorbar(image, label=label)
    colorbar.outline.set_visible(False)
    return figure


@lesson_style
def scores_beside_weights(
    scores: ArrayLike,
    weights: ArrayLike,
    rows: Sequence[str],
    keys: Sequence[str],
    weight_label: str = "weight",
) -> LessonFigure:
    """Draw each row's scores above its weights, both (L, S), as bars with their numbers."""
    scores, weights = np.asarray(scores), np.asarray(weights)
    columns = "; ".join(
        f"{name}: {_numbers(row)} become {_numbers(weights[i])}"
        for i, (name, row) in enumerate(zip(rows, scores, strict=True))
    )
    alt = (
        f"Bar charts, the scores above and below them the {weight_label}, "
        f"for the keys {_words(keys)}. {columns}."
    )
    figure, axes = new_figure(alt, height=4.2, nrows=2, ncols=len(rows), squeeze=False)
    bounded = weights.min() >= 0 and weights.max() <= 1
    for column, name in enumerate(rows):
        above, below = axes[:, column]
        _bars(above, scores[column], keys)
        above.set(title=name, ylim=_room_for_numbers(scores))
        above.tick_params(labelbottom=False)
        _bars(below, weights[column], keys)
        below.set(
            xlabel="key: the word listened to",
            ylim=(0, 1.15) if bounded else _room_for_numbers(weights[column]),
        )
    axes[0, 0].set_ylabel("score")
    axes[1, 0].set_ylabel(weight_label)
    return figure


@lesson_style
def rows_over_sums(matrix: ArrayLike, rows: Sequence[str], columns: Sequence[str]) -> LessonFigure:
    """Draw which sum divides each entry of a square matrix, with and without `keepdims`."""
    matrix = np.asarray(matrix)
    sums, size = matrix.sum(axis=-1), len(matrix)
    alt = (
        f"Two grids of the same {size} by {size} scores. On the left every row is divided by its "
        f"own sum, {_numbers(sums)} from top to bottom. On the right, without keepdims, the same "
        "sums lie along the columns, so every column is divided by another row's sum."
    )
    figure, panels = new_figure(alt, height=2.7, ncols=2)
    titles = (f"keepdims=True: sums ({size}, 1)", f"without: sums ({size},)")
    for panel, title, along_rows in zip(panels, titles, (True, False), strict=True):
        for row, column in np.ndindex(matrix.shape):
            source = row if along_rows else column
            _cell(panel, row, column, f"{matrix[row, column]:g} ÷ {sums[source]:g}", CYCLE[source])
        _grid_axes(panel, rows, columns)
        panel.set_title(title)
    return figure


@lesson_style
def groups_along_axes(shape: tuple[int, int]) -> LessonFigure:
    """Color the entries of a matrix by the sum they belong to, for axis 0 and for axis 1."""
    rows, columns = shape
    alt = (
        f"Two grids of {rows} by {columns} cells. With axis=0 each column has one color, "
        f"{columns} sums in all; with axis=1 each row has one color, {rows} sums in all."
    )
    figure, panels = new_figure(alt, height=2.2, ncols=2)
    for axis, panel in enumerate(panels):
        for index in np.ndindex(shape):
            _cell(panel, *index, f"[{index[0]}, {index[1]}]", CYCLE[index[1 - axis]])
        _grid_axes(panel, [str(row) for row in range(rows)], [str(c) for c in range(columns)])
        kept = (1, columns) if axis == 0 else (rows, 1)
        panel.set(title=f"axis={axis}: sums {kept}", xlabel="axis 1", ylabel="axis 0")
    return figure


@lesson_style
def equal_steps(
    function: Callable[[NDArray], ArrayLike], steps: ArrayLike, label: str
) -> LessonFigure:
    """Draw a function with the factor between its values at equally spaced scores."""
    steps = np.asarray(steps, dtype=float)
    heights = np.asarray(function(steps))
    factors = heights[1:] / heights[:-1]
    alt = (
        f"A rising curve, always above zero. At the scores {_numbers(steps)} its heights are "
        f"{_numbers(heights)}: from each to the next the factor is {_numbers(factors)}."
    )
    figure, axes = new_figure(alt, height=3.4)
    fine = np.linspace(steps[0] - 1, steps[-1] + 0.15, 200)
    axes.plot(fine, function(fine))
    axes.plot(steps, heights, "o", color=INK)
    for left, low, high, factor in zip(steps[:-1], heights, heights[1:], factors, strict=False):
        right = left + (steps[1] - steps[0])
        axes.plot([left, right, right], [low, low, high], color=VERMILLION, linewidth=1.2)
        axes.annotate(
            f"× {factor:.2f}",
            (right, (low + high) / 2),
            (6, 0),
            textcoords="offset points",
            color=VERMILLION,
            va="center",
            fontsize=9,
        )
    axes.axhline(0, color=GRAY, linewidth=0.8)
    axes.set(xlabel="score s", ylabel=label, xticks=np.unique(np.round(fine)))
    return figure


@lesson_style
def rows_compared(rows: dict[str, ArrayLike], keys: Sequence[str], label: str) -> LessonFigure:
    """Draw several named rows of numbers side by side, one panel a row, on one scale."""
    rows = {name: np.asarray(row) for name, row in rows.items()}
    parts = "; ".join(f"{name} {_numbers(row)}" for name, row in rows.items())
    alt = f"Bar charts of the {label} for the keys {_words(keys)}: {parts}."
    figure, panels = new_figure(alt, height=2.6, ncols=len(rows), sharey=True, squeeze=False)
    for panel, (name, row) in zip(panels[0], rows.items(), strict=True):
        _bars(panel, row, keys)
        panel.set(title=name, xlabel="key: the word listened to")
    panels[0, 0].set(ylabel=label, ylim=_room_for_numbers(np.array([*rows.values()])))
    return figure


@lesson_style
def shift_and_scale(
    scores: ArrayLike, methods: dict[str, Weigh], keys: Sequence[str]
) -> LessonFigure:
    """Draw each method's weights as all scores are shifted, and as all are multiplied."""
    scores = np.asarray(scores, dtype=float)
    names = list(methods)
    changes = {
        "constant added to every score": (np.linspace(0, 10, 101), np.add),
        "factor on every score": (np.linspace(0.25, 4, 101), np.multiply),
    }
    curves = [
        [
            np.array([method(change(scores, c)) for c in amounts])
            for amounts, change in changes.values()
        ]
        for method in methods.values()
    ]
    said = "; ".join(
        f"{name}: {_moves(added)} when a constant is added, {_moves(scaled)} under a factor"
        for name, (added, scaled) in zip(names, curves, strict=True)
    )
    alt = f"Lines of the weights that the scores {_numbers(scores)} get. {said}."
    figure, axes = new_figure(
        alt, height=4.4, nrows=len(methods), ncols=2, sharex="col", sharey=True, squeeze=False
    )
    for row, name in enumerate(names):
        for column, (label, (amounts, _)) in enumerate(changes.items()):
            panel = axes[row, column]
            _weight_lines(panel, amounts, curves[row][column], scores, keys)
            panel.set(ylim=(-0.03, 1))
            panel.grid(axis="y")
            if row == len(names) - 1:
                panel.set_xlabel(label)
        axes[row, 0].set(ylabel="weight", title=name)
    axes[0, 1].legend(loc="upper right")
    return figure


@lesson_style
def sharpness(
    scores: ArrayLike, factor: float, weigh: Weigh, keys: Sequence[str], largest: float = 8.0
) -> LessonFigure:
    """Draw the weights of factor times scores, beside their course as the factor grows."""
    scores = np.asarray(scores, dtype=float)
    weights = np.asarray(weigh(factor * scores))
    alt = (
        f"The scores {_numbers(scores)} times {factor:g} get the weights {_numbers(weights)}. "
        f"Beside them, lines of the weights for factors from 0 to {largest:g}: equal at 0, "
        "then drawing apart."
    )
    figure, (now, course) = new_figure(
        alt, ncols=2, sharey=True, gridspec_kw={"width_ratios": [2, 3]}
    )
    _bars(now, weights, keys)
    now.set(
        title=f"factor {factor:g}",
        xlabel="key: the word listened to",
        ylabel="weight",
        ylim=(0, 1.15),
    )
    factors = np.linspace(0, largest, 201)
    lines = np.array([weigh(f * scores) for f in factors])
    _weight_lines(course, factors, lines, scores, keys)
    course.axvline(factor, color=GRAY, linewidth=1, linestyle="--")
    course.set(xlabel="factor on every score")
    course.legend(loc="center right")
    return figure


@lesson_style
def mixtures(
    values: ArrayLike, value_names: Sequence[str], mixed: ArrayLike, mixed_names: Sequence[str]
) -> LessonFigure:
    """Draw value vectors (S, 2) as corners of a polygon, and mixtures of them (M, 2) as points."""
    values, mixed = np.asarray(values), np.asarray(mixed)
    alt = (
        f"Points in a plane. The values of {_words(value_names)} at "
        f"{_points(values)} are the corners of a shaded polygon; the mixtures "
        f"{_words(mixed_names)} lie at {_points(mixed)}."
    )
    figure, axes = new_figure(alt, height=3.8)
    axes.fill(*values.T, facecolor=SKY, alpha=0.2, edgecolor=SKY)
    _named_points(axes, values, value_names, "o", INK)
    _named_points(axes, mixed, mixed_names, "D", VERMILLION)
    axes.set(xlabel="first component", ylabel="second component", aspect="equal")
    axes.margins(0.15)
    axes.grid()
    return figure


def _weight_cells(axes: Any, values: NDArray, top: float) -> Any:
    """Draw an array as colored cells from 0 to `top`, each with its number."""
    image = axes.imshow(values, cmap=WEIGHT_COLORS, vmin=0, vmax=top, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        color = PAPER if value > 0.85 * top else INK
        axes.text(column, row, _number(value), ha="center", va="center", color=color)
    return image


def _bars(axes: Any, heights: NDArray, names: Sequence[str]) -> None:
    bars = axes.bar(range(len(heights)), heights, color=CYCLE[: len(heights)], width=0.7)
    axes.bar_label(bars, [_number(height) for height in heights], padding=2, fontsize=9)
    axes.axhline(0, color=GRAY, linewidth=0.8)
    axes.set_xticks(range(len(heights)), names)
    axes.tick_params(axis="x", length=0)


def _weight_lines(
    axes: Any, amounts: NDArray, weights: NDArray, scores: NDArray, keys: Sequence[str]
) -> None:
    """Draw the weights (amounts, n) as lines, one for all keys of the same score."""
    for score in dict.fromkeys(scores.tolist()):
        same = np.flatnonzero(scores == score)
        label = f"{_words([keys[i] for i in same])} (score {_number(score)})"
        axes.plot(amounts, weights[:, same[0]], color=CYCLE[same[0]], label=label)


def _room_for_numbers(heights: NDArray) -> tuple[float, float]:
    """Limits that leave room for the number at the end of each bar."""
    low, high = min(0.0, heights.min()), max(0.0, heights.max())
    room = 0.2 * (high - low)
    return (low - room if low < 0 else 0.0), high + room


def _cell(axes: Any, row: int, column: int, text: str, color: str) -> None:
    axes.add_patch(
        Rectangle((column - 0.46, row - 0.43), 0.92, 0.86, facecolor=color, alpha=0.3, linewidth=0)
    )
    axes.text(column, row, text, ha="center", va="center")


def _grid_axes(axes: Any, rows: Sequence[str], columns: Sequence[str]) -> None:
    axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    axes.set(xlabel="key", ylabel="query")
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _named_points(
    axes: Any, points: NDArray, names: Sequence[str], marker: str, color: str
) -> None:
    axes.plot(*points.T, marker, color=color, markersize=7)
    for point, name in zip(points, names, strict=True):
        axes.annotate(name, point, (8, 6), textcoords="offset points", color=color)


def _moves(curve: NDArray) -> str:
    """Say in words whether any of the lines (amounts, n) moves."""
    return "nothing moves" if np.ptp(curve, axis=0).max() < 1e-9 else "the weights move"


def _number(value: float) -> str:
    """Write a number to at most three decimals, with a true minus sign."""
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text.replace("-", "−")


def _numbers(values: NDArray) -> str:
    return ", ".join(_number(value) for value in values)


def _points(points: NDArray) -> str:
    return ", ".join(f"({_numbers(point)})" for point in points)


def _words(names: Sequence[str]) -> str:
    return ", ".join(names)


# --- Lesson 02: stability ---

PALE_COLORS = LinearSegmentedColormap.from_list("pale", [PAPER, SKY])  # dark ink reads on all


@lesson_style
def exponential_cliffs(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]], ends: Mapping[str, float]
) -> LessonFigure:
    """Draw e^x in each dtype, up to where it stops being finite.

    `curves` maps a dtype's name to x and e^x in that dtype, `ends` to the last x with a
    finite e^x.
    """
    said = ", ".join(f"{name} at {end:.1f}" for name, end in ends.items())
    figure, axes = new_figure(
        "The exponential on a logarithmic axis in three panels, a straight line that climbs "
        f"until it reaches the largest number of its dtype and ends there: {said}.",
        height=3.2,
        ncols=len(curves),
        squeeze=False,
    )
    for axis, (name, (x, y)) in zip(axes[0], curves.items(), strict=True):
        x, y = np.asarray(x, float), np.asarray(y, float)
        finite = np.isfinite(y)
        top = np.log10(float(np.finfo(name).max))  # the axis counts powers of ten: no overflow
        axis.plot(x[finite], np.log10(y[finite]), color=BLUE)
        axis.plot(ends[name], top, "o", color=VERMILLION, markersize=7, clip_on=False)
        axis.axvspan(ends[name], x.max(), color=VERMILLION, alpha=0.15, linewidth=0)
        axis.text((ends[name] + x.max()) / 2, top / 2, "inf", color=VERMILLION, ha="center")
        axis.axhline(top, color=GRAY, linewidth=1, linestyle="--")
        axis.text(
            0.02 * x.max(),
            top,
            f"largest: {float(np.finfo(name).max):.3g}",
            va="bottom",
            fontsize=8,
        )
        axis.annotate(
            f"x = {ends[name]:.1f}",
            (ends[name], top),
            xytext=(-22, -6),
            textcoords="offset points",
            ha="right",
            va="top",
        )
        axis.set(title=name, xlabel="x", xlim=(0, x.max()), ylim=(0, 1.15 * top))
        axis.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        axis.yaxis.set_major_formatter(lambda power, _position: f"$10^{{{power:.0f}}}$")
    axes[0, 0].set_ylabel("$e^x$ (logarithmic)")
    return figure


@lesson_style
def shifted_scores(
    scores: ArrayLike, shifts: Sequence[float], tokens: Sequence[str], zero_below: float, end: float
) -> LessonFigure:
    """Slide one row of scores along the number line, one line for each shift.

    The exponential is 0 below `zero_below` and infinite above `end`.
    """
    scores = np.asarray(scores)
    figure, axis = new_figure(
        f"The scores {_listed(scores)} on number lines, shifted to the left by "
        f"{_listed(shifts)}: the exponentials are infinite where the scores lie too far right, "
        "all 0 where they lie too far left, and usable where the largest score is at 0.",
        height=0.62 * len(shifts) + 1.0,
    )
    lowest, highest = scores.min() - max(shifts), scores.max() - min(shifts)
    left, right = lowest - 0.1 * (highest - lowest), highest + 0.1 * (highest - lowest)
    axis.axvspan(end, right, color=VERMILLION, alpha=0.15, linewidth=0)
    axis.axvspan(left, zero_below, color=GRID, alpha=0.8, linewidth=0)
    axis.axvline(0, color=GRAY, linewidth=1)
    marks = dict(zip(tokens, "os^", strict=True))
    for row, shift in enumerate(shifts):
        moved = scores - scores.dtype.type(shift)
        axis.axhline(row, color=GRID, linewidth=1)
        for place, (token, mark) in enumerate(marks.items()):
            lift = 0.2 * np.sum(moved[:place] == moved[place])  # equal scores stand in a pile
            axis.plot(
                moved[place],
                row - lift,
                mark,
                color=CYCLE[place],
                markersize=8,
                label=token if row == 0 else None,
            )
        with np.errstate(over="ignore", invalid="ignore"):
            exponentials = np.exp(moved)
            weights = exponentials / exponentials.sum()
        axis.annotate(
            _listed(weights, ".3g"),
            (1.02, row),
            xycoords=("axes fraction", "data"),
            va="center",
            annotation_clip=False,
        )
    axis.annotate(
        "weights", (1.02, -0.75), xycoords=("axes fraction", "data"), va="center", color=GRAY
    )
    axis.text((left + zero_below) / 2, -0.75, "$e^x$ is 0", va="center", ha="center")
    axis.text((end + right) / 2, -0.75, "$e^x$ is inf", va="center", ha="center", color=VERMILLION)
    axis.set(xlim=(left, right), ylim=(len(shifts) - 0.5, -1.1), xlabel="score − shift")
    axis.set_yticks(range(len(shifts)), [f"shift {shift:g}" for shift in shifts])
    axis.tick_params(axis="y", length=0)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=len(tokens))
    return figure


@lesson_style
def reach_of_a_maximum(rows: Mapping[str, ArrayLike], reach: float) -> LessonFigure:
    """Show which scores keep an exponential above 0 under one maximum, and under each row's own.

    After the shift, a score further than `reach` below the maximum has the exponential 0.
    """
    scores = [np.asarray(row, float) for row in rows.values()]
    overall = max(row.max() for row in scores)
    figure, axes = new_figure(
        f"Two rows of scores on number lines: the maximum of both rows, {overall:g}, reaches "
        "only the scores just below it and leaves a whole row at 0; each row's own maximum "
        "reaches at least one score of the row.",
        height=2.6,
        ncols=2,
        sharey=True,
        sharex=True,
    )
    own = [row.max() for row in scores]
    titles = ("one maximum for all rows", "each row's own maximum")
    for axis, title, maxima in zip(axes, titles, ([overall] * len(scores), own), strict=True):
        for place, (row, maximum) in enumerate(zip(scores, maxima, strict=True)):
            axis.barh(place, reach, left=maximum - reach, height=0.56, color=SKY, alpha=0.45)
            axis.plot([maximum] * 2, [place - 0.28, place + 0.28], color=BLUE)
            lost = row < maximum - reach
            heights = place - 0.14 * np.array([np.sum(row[:i] == s) for i, s in enumerate(row)])
            axis.plot(row[~lost], heights[~lost], "o", color=BLUE, markersize=7)
            axis.plot(row[lost], heights[lost], "x", color=VERMILLION, markersize=7, mew=2)
        lowest, highest = min(row.min() for row in scores), max(own)
        limits = (min(lowest, min(own) - reach) - 20, highest + 20)
        axis.set(title=title, xlabel="score", xlim=limits, ylim=(len(scores) - 0.4, -0.6))
        axis.tick_params(axis="y", length=0)
    axes[0].set_yticks(range(len(scores)), list(rows))
    handles = [
        Line2D([], [], color=BLUE, label="the maximum subtracted"),
        Line2D([], [], color=BLUE, marker="o", linestyle="", label="exponential above 0"),
        Line2D([], [], color=VERMILLION, marker="x", mew=2, linestyle="", label="exponential 0"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


@lesson_style
def two_softmaxes(
    tokens: Sequence[str], scores: ArrayLike, answers: Mapping[str, ArrayLike]
) -> LessonFigure:
    """Set the weights of two ways to compute one row's softmax side by side; NaN is written."""
    scores = np.asarray(scores)
    said = "; ".join(f"{name} gives {_listed(row, '.3g')}" for name, row in answers.items())
    figure, axes = new_figure(
        f"Attention weights for the scores {_listed(scores)} in {scores.dtype}: {said}.",
        height=2.5,
        ncols=len(answers),
        sharey=True,
    )
    for axis, (name, weights) in zip(axes, answers.items(), strict=True):
        weights = np.asarray(weights, float)
        axis.bar(range(len(weights)), np.nan_to_num(weights), color=BLUE, width=0.6)
        for place, weight in enumerate(weights):
            color = VERMILLION if np.isnan(weight) else INK
            axis.text(place, np.nan_to_num(weight) + 0.02, _short(weight), ha="center", color=color)
        labels = [f"{token}\n{score:g}" for token, score in zip(tokens, scores, strict=True)]
        axis.set_xticks(range(len(weights)), labels)
        axis.set(title=f"{name}, {scores.dtype}", ylim=(0, 1.12))
        axis.set_xlabel("word and its score")
    axes[0].set_ylabel("weight")
    return figure


@lesson_style
def error_bars_in_ulps(errors: Mapping[str, Mapping[str, float]]) -> LessonFigure:
    """Compare worst errors, in units in the last place, on a logarithmic axis.

    `errors` maps a group's name (a spread) to the error of each method.
    """
    said = "; ".join(
        f"{group}: " + ", ".join(f"{method} {error:.2g}" for method, error in methods.items())
        for group, methods in errors.items()
    )
    figure, axis = new_figure(
        f"Bars of the worst float32 error in units in the last place. {said}.", height=3.0
    )
    methods = list(next(iter(errors.values())))
    width = 0.8 / len(methods)
    for place, method in enumerate(methods):
        at = np.arange(len(errors)) + (place - (len(methods) - 1) / 2) * width
        values = [group[method] for group in errors.values()]
        bars = axis.bar(at, values, 0.92 * width, color=CYCLE[place], label=method)
        axis.bar_label(bars, [f"{value:.2g}" for value in values], padding=2, fontsize=9)
    axis.set_yscale("log")
    axis.set(ylabel="worst error (ulp)", ylim=(0.1, 4 * max(axis.get_ylim())))
    axis.set_xticks(range(len(errors)), list(errors))
    axis.yaxis.set_major_formatter(lambda value, _position: f"{value:g}")
    axis.yaxis.set_minor_locator(NullLocator())
    axis.legend(loc="upper left", ncols=len(methods))
    return figure


@lesson_style
def soft_maximum(x: ArrayLike, values: ArrayLike) -> LessonFigure:
    """Draw the log-sum-exp of the row [x, 0] over its maximum."""
    x, values = np.asarray(x, float), np.asarray(values, float)
    hard = np.maximum(x, 0)
    widest = np.argmax(values - hard)
    figure, axis = new_figure(
        "The log-sum-exp of the row [x, 0] is a smooth curve just above its maximum, which has "
        f"a corner at 0; the two lie furthest apart there, by {values[widest] - hard[widest]:.3f}.",
        height=2.9,
    )
    axis.plot(x, hard, color=ORANGE, linestyle="--", label="largest score of [x, 0]")
    axis.plot(x, values, color=BLUE, label="log-sum-exp of [x, 0]")
    axis.annotate(
        f"{values[widest] - hard[widest]:.3f} apart",
        (x[widest], (values[widest] + hard[widest]) / 2),
        xytext=(-50, 32),
        textcoords="offset points",
        ha="right",
        arrowprops={"arrowstyle": "-", "color": GRAY},
    )
    axis.set(xlabel="x, the score that moves", ylabel="value")
    axis.legend(loc="upper left")
    return figure


@lesson_style
def log_weight_cliffs(gaps: ArrayLike, logs: Mapping[str, ArrayLike]) -> LessonFigure:
    """Draw logarithms of a weight against the score's gap to the largest; a line ends at -inf."""
    gaps = np.asarray(gaps, float)
    ends = {name: gaps[np.isfinite(values)].max() for name, values in logs.items()}
    said = ", ".join(
        f"{name} ends at a gap of {end:.0f}" for name, end in ends.items() if end < gaps.max()
    )
    figure, axis = new_figure(
        "The logarithm of the smaller of two weights against the gap between the scores: "
        f"one straight line goes all the way, while {said}, beyond which it is minus infinity.",
        height=3.2,
    )
    styles = zip(logs.items(), CYCLE, (1.5, 4, 7), strict=False)
    for (name, values), color, width in styles:
        values = np.asarray(values, float)
        finite = np.isfinite(values)
        axis.plot(
            gaps[finite], values[finite], color=color, linewidth=width, label=name, zorder=5 - width
        )
        if ends[name] < gaps.max():
            last = values[finite][-1]
            axis.plot(ends[name], last, "o", color=color, markersize=9)
            axis.annotate(
                f"−inf beyond {ends[name]:.0f}",
                (ends[name], last),
                xytext=(10, 8),
                textcoords="offset points",
            )
    axis.set(xlabel="gap between the two scores", ylabel="log of the smaller weight")
    axis.legend(loc="upper right")
    return figure


@lesson_style
def losses_by_row(
    scores: ArrayLike, targets: ArrayLike, losses: ArrayLike, classes: Sequence[str]
) -> LessonFigure:
    """Show each example's scores with the right class framed, and its loss beside them."""
    scores, targets, losses = np.asarray(scores), np.asarray(targets), np.asarray(losses)
    figure, (grid, bars) = new_figure(
        f"A table of scores with the right word of each row framed, and beside each row its "
        f"loss as a bar: {_listed(losses, '.3g')}; their mean, {losses.mean():.3g}, is marked.",
        height=2.6,
        ncols=2,
        sharey=True,
        width_ratios=(1, 1.3),
    )
    _number_grid(grid, scores)
    for row, target in enumerate(targets):
        grid.add_patch(
            Rectangle((target - 0.47, row - 0.45), 0.94, 0.9, fill=False, ec=VERMILLION, lw=2.5)
        )
    grid.set_xticks(range(len(classes)), classes)
    grid.set_yticks(range(len(targets)), [f"example {row}" for row in range(len(targets))])
    grid.tick_params(length=0)
    grid.set_title("scores, the right word framed")
    bars.barh(range(len(losses)), losses, height=0.6, color=BLUE)
    for row, loss in enumerate(losses):
        bars.text(loss + 0.01 * losses.max(), row, f" {loss:.3g}", va="center")
    bars.axvline(losses.mean(), color=ORANGE, linestyle="--")
    title = f"loss of each example; mean {losses.mean():.3g} dashed"
    bars.set(title=title, xlabel="−log weight of the right word (nats)")
    bars.set_xlim(0, 1.18 * losses.max())
    bars.tick_params(axis="y", length=0)
    return figure


@lesson_style
def masked_rows(
    scores: ArrayLike,
    mask: ArrayLike,
    weights: ArrayLike,
    queries: Sequence[str],
    keys: Sequence[str],
) -> LessonFigure:
    """Show scores, the mask over them, and the weights that remain."""
    scores, mask, weights = np.asarray(scores), np.asarray(mask), np.asarray(weights)
    empty = [query for query, row in zip(queries, mask, strict=True) if not row.any()]
    figure, axes = new_figure(
        f"Three tables, {len(queries)} queries by {len(keys)} keys: the scores, the mask with "
        f"{np.sum(~mask)} entries forbidden, and the weights, 0 wherever the mask forbids; "
        f"the row of {' and '.join(empty) or 'no query'} is all zeros.",
        height=2.7,
        ncols=3,
        sharey=True,
    )
    forbidden = np.ma.masked_where(~mask, scores)
    _number_grid(axes[0], forbidden)
    _number_grid(axes[1], np.ma.masked_where(~mask, np.zeros(mask.shape)), text=lambda _: "True")
    _number_grid(axes[2], np.ma.masked_where(~mask, weights), "{:.2f}".format, vmin=0, vmax=1)
    for (row, column), score in np.ndenumerate(scores):
        if not mask[row, column]:
            below = (f"{score:g}", "False", f"{weights[row, column]:g}")
            for axis, text in zip(axes, below, strict=True):
                axis.text(column, row, text, ha="center", va="center")
    for axis, title in zip(axes, ("scores", "mask", "weights"), strict=True):
        axis.set_title(title)
        axis.set_facecolor(GRID)  # forbidden entries show the ground
        axis.set_xticks(range(len(keys)), keys, rotation=45, ha="right", rotation_mode="anchor")
        axis.set_yticks(range(len(queries)), queries)
        axis.tick_params(length=0)
    return figure


@lesson_style
def merged_halves(left: ArrayLike, right: ArrayLike) -> LessonFigure:
    """Show two halves of a row, each by its own maximum, and what joining does to the bars."""
    halves = [np.asarray(half, float) for half in (left, right)]
    maxima = [half.max() for half in halves]
    maximum, winner = max(maxima), int(np.argmax(maxima))
    factor = np.exp(min(maxima) - maximum)
    totals = [np.exp(half - top).sum() for half, top in zip(halves, maxima, strict=True)]
    joined = np.exp(np.concatenate(halves) - maximum).sum()
    figure, axes = new_figure(
        f"Bars of exponentials: each half by its own maximum ({maxima[0]:g} and {maxima[1]:g}), "
        f"totals {totals[0]:.3f} and {totals[1]:.3f}; joined under {maximum:g}, one half keeps "
        f"its bars, the other's shrink by a factor of {factor:.3f}, and the total is {joined:.3f}.",
        height=3.0,
        ncols=3,
        sharey=True,
        width_ratios=(len(halves[0]), len(halves[1]), sum(map(len, halves))),
    )
    for place, half in enumerate(halves):
        axis = axes[place]
        axis.bar(range(len(half)), np.exp(half - maxima[place]), color=CYCLE[place], width=0.7)
        axis.set_xticks(range(len(half)), [f"{score:g}" for score in half])
        axis.set(
            title=f"{('left', 'right')[place]} half\nmaximum {maxima[place]:g}\n"
            f"total {totals[place]:.3f}",
            xlabel="scores",
        )
    start = 0
    for place, half in enumerate(halves):
        at = np.arange(start, start + len(half))
        if place != winner:  # where the bars stood before they were brought down
            was = np.exp(half - maxima[place])
            axes[2].bar(at, was, 0.7, fill=False, ec=GRAY, linestyle=":", linewidth=1.2)
        axes[2].bar(at, np.exp(half - maximum), color=CYCLE[place], width=0.7)
        start += len(half)
    both = np.concatenate(halves)
    axes[2].set_xticks(range(len(both)), [f"{score:g}" for score in both])
    axes[2].set(title=f"joined\nmaximum {maximum:g}\ntotal {joined:.3f}", xlabel="scores")
    axes[0].set(ylabel="$e^{\\mathrm{score} - \\mathrm{maximum}}$", ylim=(0, 1.08))
    return figure


def _number_grid(
    axis: Any, values: ArrayLike, text: Callable[[Any], str] = "{:g}".format, **limits: float
) -> None:
    """Draw a table of numbers as colored cells with the number in each; masked cells stay bare."""
    values = np.ma.asarray(values)
    axis.imshow(values, cmap=PALE_COLORS, aspect="auto", **limits)
    for row, column in np.argwhere(~np.ma.getmaskarray(values)):
        axis.text(column, row, text(values[row, column]), ha="center", va="center")
    axis.spines[:].set_visible(False)


def _short(weight: float) -> str:
    return f"{weight:.0e}" if 0 < weight < 0.001 else f"{weight:.3g}"


def _listed(values: ArrayLike, form: str = "g") -> str:
    return "[" + ", ".join(f"{value:{form}}" for value in np.asarray(values).tolist()) + "]"


# --- Lesson 03: scaling ---

Measure = Callable[[NDArray], ArrayLike]  # weights (n,) to one number
_RAW, _SCALED = VERMILLION, BLUE  # scores as they are, scores divided by the root of d_k


@lesson_style
def queries_and_keys(query: ArrayLike, key: ArrayLike, names: Sequence[str]) -> LessonFigure:
    """Draw two-dimensional queries and keys (n, 2) as arrows, one panel a query."""
    query, key = np.asarray(query, float), np.asarray(key, float)
    figure, panels = new_figure(
        f"Arrows from the origin, one panel for each query. The keys of {_words(names)} end at "
        f"{_points(key)}, the same in every panel; the queries end at {_points(query)}.",
        height=3.5,
        ncols=len(query),
        sharey=True,
    )
    far = 1.15 * max(np.abs(query).max(), np.abs(key).max())
    for panel, one, name in zip(panels, query, names, strict=True):
        for column, arrow in enumerate(key):
            _arrow(panel, arrow, CYCLE[column], 5.0)
        _arrow(panel, one, INK, 1.2)  # thin, so that a key below it is seen
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
        f"{_listed(told)} on either side stand clear of them all.",
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
    axes.set_xticks([-score for score in told] + [-deviation, deviation, *told])
    axes.xaxis.set_major_formatter(lambda value, _position: _number(value))
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
        f"{way}: standard deviations {_listed([np.std(one) for one in scores[way]], '.3g')}, "
        f"median largest weights {_listed([np.median(one) for one in largest[way]], '.2f')}"
        for way in scores
    )
    figure, panels = new_figure(
        f"Histograms of scores above histograms of each row's largest weight, for d_k "
        f"{_listed(sizes)}. {said}.",
        height=4.4,
        nrows=2,
        ncols=len(sizes),
        sharey="row",
    )
    for column, size in enumerate(sizes):
        above, below = panels[:, column]
        spread = 3.2 * max(np.std(one[column]) for one in scores.values())
        for way, color in zip(scores, (_RAW, _SCALED), strict=True):
            values = np.ravel(scores[way][column])
            _outline(above, values, np.linspace(-spread, spread, 61), color)
            _outline(below, np.ravel(largest[way][column]), np.linspace(0, 1, 26), color)
        above.set(title=f"$d_k$ = {size:,}", xlabel="score")
        below.set(xlabel="largest weight")
        below.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        for panel in (above, below):
            panel.set_yticks([])
    panels[0, 0].set_ylabel("share of the scores")
    panels[1, 0].set_ylabel("share of the rows")
    figure.legend(
        handles=[
            Line2D([], [], color=color, linewidth=5, label=_typeset(way))
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
        line.set(title=_typeset(way), xlim=(-reach, reach), ylim=(-1, 1), yticks=[])
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
        f"{name}: {_numbers(np.asarray(row))} with entropy {value:.2f}"
        for (name, row), value in zip(rows.items(), entropies, strict=True)
    )
    figure, panels = new_figure(
        f"Bars of weights for the keys {_words(keys)}, from sharp to flat. {said}.",
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
        axes.plot(sizes, values, mark + "-", color=color, label=_typeset(way))
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
        f"At the temperature {temperature:g} the scores {_numbers(scores)} get the weights "
        f"{_numbers(weights)}, with entropy {reached:.2f}. Beside them a rising curve, the "
        "entropy against the temperature, with this temperature marked.",
        ncols=2,
        width_ratios=[2, 3],
    )
    _bars(now, weights, [f"{key}\n{score:g}" for key, score in zip(keys, scores, strict=True)])
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
    axes.yaxis.set_major_formatter(lambda value, _position: _number(value))
    axes.xaxis.set_major_formatter(lambda value, _position: _number(value))
    axes.legend(loc="center right")
    return figure


@lesson_style
def growing_scores(
    factors: ArrayLike,
    largest: Mapping[str, ArrayLike],
    entropies: Mapping[str, ArrayLike],
    limit: float,
) -> LessonFigure:
    """Draw the largest score and the entropy as components grow, one line a remedy."""
    factors = np.asarray(factors, float)
    said = "; ".join(
        f"{way}: largest score {np.asarray(largest[way])[-1]:.3g}, entropy "
        f"{np.asarray(entropies[way])[-1]:.2f}"
        for way in largest
    )
    figure, (left, right) = new_figure(
        f"Lines of the largest score and of the entropy as components grow {factors[-1]:g}-fold. "
        f"At the end, {said}.",
        height=3.3,
        ncols=2,
    )
    marks = "osD^"
    for place, way in enumerate(largest):
        style = {"color": CYCLE[place], "marker": marks[place], "markersize": 5}
        style["label"] = _typeset(way)
        left.plot(factors, largest[way], **style)
        right.plot(factors, entropies[way], **style)
    left.set_yscale("log")
    left.yaxis.set_major_formatter(lambda value, _position: f"{value:g}")
    left.set(ylabel="largest score (logarithmic)")
    right.axhline(limit, color=GRAY, linestyle="--", linewidth=1)
    right.text(factors[0], 1.02 * limit, "equal weights", fontsize=9)
    right.set(ylabel="mean entropy (nats)", ylim=(0, 1.15 * limit))
    for panel in (left, right):
        panel.set_xscale("log")
        panel.set_xticks(factors, [f"{factor:g}" for factor in factors])
        panel.xaxis.set_minor_locator(NullLocator())
        panel.set_xlabel("standard deviation of the components")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def _arrow(axes: Any, end: NDArray, color: str, width: float) -> None:
    shape = {"color": color, "linewidth": width, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 14}
    axes.annotate("", end, (0, 0), arrowprops={"arrowstyle": "-|>", **shape})


def _typeset(way: str) -> str:
    """Write the root of d_k as mathematics; alt text keeps the plain form."""
    return way.replace("√d_k", r"$\sqrt{d_k}$")


def _outline(axes: Any, values: NDArray, edges: NDArray, color: str) -> None:
    """Draw a filled histogram of shares, the ends taking what lies beyond them."""
    shares = np.full(len(values), 1 / len(values))
    values = np.clip(values, edges[0], edges[-1])
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


# --- Lesson 04: gradients ---

SIGNED_COLORS = LinearSegmentedColormap.from_list("signed", [ORANGE, PAPER, SKY])  # for dark ink


@lesson_style
def weights_along_score(
    scores: ArrayLike, moving: int, slopes: ArrayLike, weigh: Weigh, keys: Sequence[str]
) -> LessonFigure:
    """Draw all weights as one of the scores (n,) moves, with their slopes where it stands."""
    scores, slopes = np.asarray(scores, float), np.asarray(slopes)
    here, weights = scores[moving], np.asarray(weigh(scores))
    said = ", ".join(
        f"{key} {'rises' if slope > 0 else 'falls'} with slope {_number(slope)}"
        for key, slope in zip(keys, slopes, strict=True)
    )
    figure, axis = new_figure(
        f"Lines of the weights as the score of {keys[moving]} moves, and a short tangent on each "
        f"at its present score of {_number(here)}: {said}.",
        height=3.4,
    )
    along = np.linspace(here - 4, here + 4, 161)
    rows = np.tile(scores, (len(along), 1))
    rows[:, moving] = along
    lines = np.array([weigh(row) for row in rows])
    places = {weight: place for place, weight in enumerate(weights.round(12))}  # equal: one line
    for weight, place in places.items():
        together = [
            key for key, other in zip(keys, weights.round(12), strict=True) if other == weight
        ]
        axis.plot(along, lines[:, place], color=CYCLE[place], label=" and ".join(together))
        tangent = weights[place] + slopes[place] * np.array([-0.8, 0.8])
        axis.plot([here - 0.8, here + 0.8], tangent, color=INK, linewidth=1.5)
        axis.plot(here, weights[place], "o", color=CYCLE[place], markeredgecolor=INK)
        axis.annotate(
            f"slope {_number(slopes[place])}",
            (here + 0.8, tangent[1]),
            (6, -3),
            textcoords="offset points",
        )
    axis.axvline(here, color=GRAY, linewidth=1, linestyle="--", zorder=0)
    axis.set(xlabel=f"score of {keys[moving]}", ylabel="weight", ylim=(0, 1))
    axis.legend(loc="upper left")
    return figure


@lesson_style
def jacobian_map(weights: ArrayLike, jacobian: ArrayLike, keys: Sequence[str]) -> LessonFigure:
    """Draw a row of weights (n,) beside the derivatives (n, n) of each by every score."""
    weights, jacobian = np.asarray(weights), np.asarray(jacobian)
    rows = "; ".join(
        f"weight of {key} {_numbers(row)}" for key, row in zip(keys, jacobian, strict=True)
    )
    figure, (bars, grid) = new_figure(
        f"Bars of the weights of {_words(keys)}: {_numbers(weights)}. Beside them a table of "
        f"derivatives, one row a weight and one column a score. {rows}.",
        height=3.0,
        ncols=2,
        width_ratios=(2, 3),
    )
    _bars(bars, weights, keys)
    bars.set(title="weights", ylabel="weight", ylim=(0, 1.15))
    _number_grid(grid, jacobian, _number, vmin=-0.25, vmax=0.25)
    grid.images[0].set_cmap(SIGNED_COLORS)
    grid.set_xticks(range(len(keys)), keys)
    grid.set_yticks(range(len(keys)), keys)
    grid.tick_params(length=0)
    grid.set(title="∂ weight / ∂ score", xlabel="the score that moves", ylabel="the weight")
    return figure


@lesson_style
def error_valleys(steps: ArrayLike, errors: Mapping[str, ArrayLike]) -> LessonFigure:
    """Draw errors against the step, both logarithmic, and mark where each is smallest."""
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
        axis.annotate(
            f"{values[place]:.0e}",
            (steps[place], values[place]),
            (-4, 14),
            textcoords="offset points",
            ha="center",
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
    """Draw each weight's gradient against their weighted mean, and what the scores receive."""
    weights, gradient, result = (np.asarray(a) for a in (weights, grad_weights, grad_scores))
    mean = float(weights @ gradient)
    figure, (before, after) = new_figure(
        f"On the left the gradients of the weights of {_words(keys)}, {_numbers(gradient)}, as "
        f"arrows from their weighted mean, {_number(mean)}. On the right the gradients of the "
        f"scores: {_numbers(result)}.",
        height=3.1,
        ncols=2,
    )
    before.axhline(mean, color=INK, linestyle="--", linewidth=1.2)
    for place, value in enumerate(gradient):
        before.plot([place, place], [mean, value], color=CYCLE[place], linewidth=3)
        before.plot(place, value, "o", color=CYCLE[place], markersize=8)
    span = np.ptp([*gradient, mean]) or 1.0
    labels = [f"{key}\nweight {_number(weight)}" for key, weight in zip(keys, weights, strict=True)]
    before.set_xticks(range(len(keys)), labels)
    before.set(
        title="gradients of the weights",
        xlabel=f"dashed: their weighted mean, {_number(mean)}",
        ylabel="gradient",
        xlim=(-0.5, len(keys) - 0.4),
        ylim=(min(mean, gradient.min()) - 0.15 * span, max(mean, gradient.max()) + 0.15 * span),
    )
    before.tick_params(axis="x", length=0)
    _bars(after, result, keys)
    after.set(title="gradients of the scores", ylim=_room_for_numbers(result))
    return figure


@lesson_style
def loss_gradient(
    weights: ArrayLike, targets: ArrayLike, gradient: ArrayLike, classes: Sequence[str]
) -> LessonFigure:
    """Show each example's weights with the right class framed, and the gradient beside them."""
    weights, targets, gradient = np.asarray(weights), np.asarray(targets), np.asarray(gradient)
    rows = "; ".join(
        f"example {i}, right class {classes[target]}: {_numbers(row)}"
        for i, (target, row) in enumerate(zip(targets, gradient, strict=True))
    )
    figure, panels = new_figure(
        "Two tables, one row an example: the weights, and the gradient of the loss, negative "
        f"at the right class alone. The gradient is, {rows}.",
        height=0.55 * len(weights) + 1.0,
        ncols=2,
        sharey=True,
    )
    _number_grid(panels[0], weights, _number, vmin=0, vmax=1)
    _number_grid(panels[1], gradient, _number, vmin=-1 / len(weights), vmax=1 / len(weights))
    panels[1].images[0].set_cmap(SIGNED_COLORS)
    for panel, title in zip(panels, ("weights", "gradient of the loss"), strict=True):
        for row, target in enumerate(targets):
            frame = (target - 0.47, row - 0.45)
            panel.add_patch(Rectangle(frame, 0.94, 0.9, fill=False, ec=VERMILLION, lw=2.5))
        panel.set(title=title, xlabel="class")
        panel.set_xticks(range(len(classes)), classes)
        panel.set_yticks(range(len(targets)), [f"example {row}" for row in range(len(targets))])
        panel.tick_params(length=0)
    return figure


@lesson_style
def gradient_lines(
    x: ArrayLike,
    curves: Mapping[str, ArrayLike],
    xlabel: str,
    ylabel: str,
    x_scale: str = "linear",
    y_scale: str = "log",
) -> LessonFigure:
    """Draw one line a curve over the same x, which may be powers of 2 (`x_scale` "log")."""
    x = np.asarray(x, float)
    said = "; ".join(
        f"{name}, from {_short(values[0])} to {_short(values[-1])}"
        for name, values in ((name, np.asarray(c, float)) for name, c in curves.items())
    )
    across = xlabel.replace("$", "")
    figure, axis = new_figure(
        f"Lines of {ylabel} against {across}, from {x[0]:g} to {x[-1]:g}: {said}.", height=3.4
    )
    looks = zip(curves.items(), CYCLE, ("-", "--", ":", "-."), strict=False)
    for (name, values), color, dashes in looks:
        axis.plot(x, values, color=color, linestyle=dashes, label=name, linewidth=2.5)
    axis.set_yscale(y_scale)
    if x_scale == "log":
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter(lambda value, _position: f"{value:,.0f}")
        axis.xaxis.set_minor_locator(NullLocator())
    axis.set(xlabel=xlabel, ylabel=ylabel)
    axis.grid()
    axis.legend()
    return figure


@lesson_style
def backward_path() -> LessonFigure:
    """Draw attention as a chain of arrays, and the way of the gradients back through it."""
    figure, axis = new_figure(
        "Attention as a chain of boxes with their shapes. Forward, left to right: Q, L by d_k, "
        "and K, S by d_k, make the scores S, L by S; softmax makes of them the weights P, L by S; "
        "P and V, S by d_v, make the output O, L by d_v. Backward, right to left: dO goes back to "
        "dP and dV, dP to dS, dS to dQ and dK, each in the shape of its array.",
        height=3.3,
    )
    boxes = {
        "Q": (0.0, 2.0, "(L, d_k)"),
        "K": (0.0, 0.0, "(S, d_k)"),
        "S": (2.0, 1.0, "(L, S)"),
        "P": (4.0, 1.0, "(L, S)"),
        "V": (4.0, -1.0, "(S, d_v)"),
        "O": (6.0, 1.0, "(L, d_v)"),
    }
    steps = (("Q", "S"), ("K", "S"), ("S", "P"), ("P", "O"), ("V", "O"))
    for name, (x, y, shape) in boxes.items():
        axis.text(
            x,
            y,
            f"$\\bf{{{name}}}$\n{shape}",
            ha="center",
            va="center",
            bbox={"boxstyle": "round,pad=0.4", "facecolor": PAPER, "edgecolor": INK},
            zorder=3,
        )
    for start, end in steps:
        (x0, y0, _), (x1, y1, _) = boxes[start], boxes[end]
        across = np.array([y0 - y1, x1 - x0]) / np.hypot(x1 - x0, y1 - y0)
        for side, color, style in ((0.13, BLUE, "-|>"), (-0.13, VERMILLION, "<|-")):
            dx, dy = side * across
            axis.annotate(
                "",
                (x1 + dx, y1 + dy),
                (x0 + dx, y0 + dy),
                arrowprops={
                    "arrowstyle": style,
                    "color": color,
                    "shrinkA": 32,
                    "shrinkB": 32,
                    "linewidth": 1.8,
                },
            )
        middle = np.array([(x0 + x1) / 2, (y0 + y1) / 2]) - 0.42 * across
        axis.text(*middle, f"d{start}", color=VERMILLION, ha="center", va="center")
    axis.annotate(
        "",
        (6.05, 0.87),
        (7.2, 0.87),
        arrowprops={"arrowstyle": "-|>", "color": VERMILLION, "shrinkB": 30, "linewidth": 1.8},
    )
    axis.text(6.95, 0.58, "dO", color=VERMILLION, ha="center", va="center")
    for x, label in ((1.0, "dot products,\nscaled"), (3.0, "softmax"), (5.0, "mixing")):
        axis.text(x, 2.6, label, color=BLUE, ha="center", va="center", fontsize=9)
    axis.set(xlim=(-0.7, 7.3), ylim=(-1.6, 2.9))
    axis.set_axis_off()
    handles = [
        Line2D([], [], color=BLUE, marker=">", label="forward: the arrays"),
        Line2D([], [], color=VERMILLION, marker="<", label="backward: their gradients"),
    ]
    axis.legend(handles=handles, loc="lower left")
    return figure


# --- Lesson 05: attention ---


@lesson_style
def number_tables(tables: Mapping[str, ArrayLike], rows: Sequence[str]) -> LessonFigure:
    """Draw arrays of the same rows side by side, from left to right, with their shapes."""
    tables = {name: np.asarray(table, float) for name, table in tables.items()}
    said = "; ".join(
        f"{name} {'; '.join(f'{row} {_numbers(line)}' for row, line in zip(rows, t, strict=True))}"
        for name, t in tables.items()
    )
    figure, axes = new_figure(
        f"Tables of numbers side by side, one row a word: {said}.",
        height=0.75 + 0.5 * len(rows),
        ncols=len(tables),
        sharey=True,
        width_ratios=[max(table.shape[1], 2) for table in tables.values()],
        squeeze=False,
    )
    for axis, (name, table) in zip(axes[0], tables.items(), strict=True):
        _number_grid(axis, table, _number, vmin=0, vmax=max(1.0, np.abs(table).max()))
        axis.set_title(f"{name} {table.shape}")
        axis.set_xticks([])
        axis.set_yticks(range(len(rows)), rows)
        axis.tick_params(length=0)
    return figure


@lesson_style
def mask_grids(
    masks: Mapping[str, ArrayLike],
    rows: Sequence[str],
    columns: Sequence[str],
    row_label: str = "query",
    column_label: str = "key",
    texts: ArrayLike | None = None,
) -> LessonFigure:
    """Draw boolean masks as grids of allowed and forbidden cells; `texts` replaces the words."""
    masks = {name: np.asarray(mask, bool) for name, mask in masks.items()}
    said = "; ".join(
        f"{name}: "
        + ", ".join(
            f"{row} {_words([c for c, ok in zip(columns, line, strict=True) if ok]) or 'nothing'}"
            for row, line in zip(rows, mask, strict=True)
        )
        for name, mask in masks.items()
    )
    figure, axes = new_figure(
        f"Grids of allowed and forbidden cells. Allowed are, {said}.",
        height=1.1 + 0.45 * len(rows),
        ncols=len(masks),
        sharey=True,
        squeeze=False,
    )
    for axis, (name, mask) in zip(axes[0], masks.items(), strict=True):
        for (row, column), allowed in np.ndenumerate(mask):
            text = str(bool(allowed)) if texts is None else np.asarray(texts)[row, column]
            _cell(axis, row, column, text, SKY if allowed else GRAY)
        _grid_axes(axis, rows, columns)
        axis.set(title=name, xlabel=column_label, ylabel="")
    axes[0, 0].set_ylabel(row_label)
    figure.legend(
        handles=[
            Rectangle((0, 0), 1, 1, facecolor=SKY, alpha=0.3, label="True: allowed"),
            Rectangle((0, 0), 1, 1, facecolor=GRAY, alpha=0.3, label="False: forbidden"),
        ],
        loc="outside lower center",
        ncols=2,
    )
    return figure


@lesson_style
def attention_maps(
    maps: Mapping[str, ArrayLike],
    queries: Sequence[str],
    keys: Sequence[str],
    label: str = "attention weight",
    row_label: str = "query",
    column_label: str = "key",
) -> LessonFigure:
    """Draw several (L, S) arrays as heat maps side by side, on one scale of color."""
    maps = {name: np.asarray(values) for name, values in maps.items()}
    said = ". ".join(
        f"{name}: "
        + "; ".join(f"{q} {_numbers(row)}" for q, row in zip(queries, values, strict=True))
        for name, values in maps.items()
    )
    figure, axes = new_figure(
        f"Heat maps of the {label}. Rows, {row_label}: {_words(queries)}. "
        f"Columns, {column_label}: {_words(keys)}. {said}.",
        height=0.9 + 0.55 * len(queries),
        ncols=len(maps),
        sharey=True,
        squeeze=False,
    )
    top = max(1.0, *(values.max() for values in maps.values()))
    for axis, (name, values) in zip(axes[0], maps.items(), strict=True):
        image = _weight_cells(axis, values, top)
        axis.set_xticks(range(len(keys)), keys)
        axis.set_yticks(range(len(queries)), queries)
        axis.set(title=name, xlabel=column_label)
        axis.spines[:].set_visible(False)
        axis.tick_params(length=0)
    axes[0, 0].set_ylabel(row_label)
    figure.colorbar(image, ax=list(axes[0]), label=label, pad=0.02).outline.set_visible(False)
    return figure


@lesson_style
def one_query(
    row: int,
    scores: ArrayLike,
    weights: ArrayLike,
    values: ArrayLike,
    outputs: ArrayLike,
    words: Sequence[str],
) -> LessonFigure:
    """Follow one query through attention: its scores, its weights, its mixture in the plane.

    `scores` and `weights` are (L, S), `values` (S, 2) and `outputs` (L, 2); a score of
    ``-inf`` is forbidden.
    """
    scores, weights = np.asarray(scores, float), np.asarray(weights)
    values, outputs = np.asarray(values), np.asarray(outputs)
    seen = np.isfinite(scores[row])
    hidden = [word for word, ok in zip(words, seen, strict=True) if not ok]
    figure, (left, middle, plane) = new_figure(
        f"{words[row]} listens: bars of its scores {_numbers(np.where(seen, scores[row], -np.inf))} "
        f"and weights {_numbers(weights[row])} for the keys {_words(words)}"
        + (f", {_words(hidden)} forbidden" if hidden else "")
        + f"; in the plane its mixture lies at ({_numbers(outputs[row])}), among the values "
        f"{_points(values)}.",
        height=3.1,
        ncols=3,
        width_ratios=(1, 1, 1.35),
    )
    _bars(left, np.where(seen, scores[row], 0.0), words)
    _bars(middle, weights[row], words)
    for panel in (left, middle):
        for place in np.flatnonzero(~seen):
            panel.texts[place].set_text("−inf" if panel is left else "0")
    left.set(title=f"scores of {words[row]}", ylabel="scaled score")
    left.set_ylim(_room_for_numbers(scores[np.isfinite(scores)]))
    middle.set(title="weights", ylabel="weight", ylim=(0, 1.15))
    for panel in (left, middle):
        panel.set_xlabel("key")
    plane.fill(*values.T, facecolor=SKY, alpha=0.2, edgecolor=SKY)
    for place, value in enumerate(values):
        size = 4 + 22 * np.sqrt(weights[row, place])
        plane.plot(*value, "o", color=CYCLE[place], markersize=size, alpha=0.8)
    plane.plot(*outputs[row], "D", color=INK, markersize=8)
    _names_around(plane, values, words, 14)
    plane.set(title=f"what {words[row]} hears: ◆")
    plane.set(xlabel="first component", ylabel="second component")
    plane.margins(0.45)
    plane.grid()
    return figure


@lesson_style
def rows_or_nan(rows: Mapping[str, ArrayLike], keys: Sequence[str], label: str) -> LessonFigure:
    """Draw named rows of weights as bars, one panel a row; NaN is written where it stands."""
    rows = {name: np.asarray(row, float) for name, row in rows.items()}
    said = "; ".join(f"{name} {_listed(row, '.3g')}" for name, row in rows.items())
    figure, panels = new_figure(
        f"Bar charts of the {label} for the keys {_words(keys)}: {said}.",
        height=2.5,
        ncols=len(rows),
        sharey=True,
        squeeze=False,
    )
    for panel, (name, row) in zip(panels[0], rows.items(), strict=True):
        _bars(panel, np.nan_to_num(row), keys)
        for text, weight in zip(panel.texts, row, strict=True):
            if np.isnan(weight):
                text.set(text="nan", color=VERMILLION)
        panel.set(title=name, xlabel="key", ylim=(0, 1.15))
    panels[0, 0].set_ylabel(label)
    return figure


@lesson_style
def bounded_mixtures(
    values: ArrayLike,
    names: Sequence[str],
    outputs: Mapping[str, ArrayLike],
    factors: ArrayLike,
    reach: Mapping[str, ArrayLike],
) -> LessonFigure:
    """Draw two ways' outputs (N, 2) among the values, and how far they reach as scores grow.

    `reach` maps each way to its largest output component for each of the `factors`.
    """
    values, factors = np.asarray(values), np.asarray(factors, float)
    said = "; ".join(
        f"{name} the largest component goes from {_number(way[0])} to {_number(way[-1])}"
        for name, way in reach.items()
    )
    figure, (plane, growth) = new_figure(
        f"On the left the values of {_words(names)} at {_points(values)}, with many outputs "
        f"around them: {' and '.join(outputs)}. On the right, as scores grow "
        f"{factors[-1] / factors[0]:g}-fold, {said}.",
        height=3.6,
        ncols=2,
    )
    low, high = values.min(axis=0), values.max(axis=0)
    plane.fill(*values.T, facecolor=SKY, alpha=0.25, edgecolor=SKY)
    styles = zip(outputs.items(), ((BLUE, "."), (VERMILLION, "x")), strict=True)
    for (name, points), (color, mark) in styles:
        points = np.asarray(points)
        plane.plot(*points.T, mark, color=color, markersize=5, label=name, mew=1.2)
        growth.plot(factors, reach[name], mark, color=color, linestyle="-", markersize=8)
    plane.plot(*values.T, "o", color=INK, markersize=7, label="values")
    _names_around(plane, values, names, 9)
    room = 0.8 * (high - low)
    plane.set(
        xlim=(low[0] - room[0], high[0] + room[0]), ylim=(low[1] - room[1], high[1] + room[1])
    )
    plane.set(xlabel="first component", ylabel="second component", title="outputs")
    figure.legend(*plane.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    growth.set(xscale="log", yscale="log", title="how far they reach")
    growth.set(xlabel="factor on the queries", ylabel="largest output component")
    growth.set_ylim(min(np.min(way) for way in reach.values()) / 2, None)
    growth.grid()
    return figure


def _names_around(axes: Any, points: NDArray, names: Sequence[str], distance: float) -> None:
    """Write each point's name beside it, on the side away from the other points."""
    for point, name, way in zip(points, names, np.sign(points - points.mean(axis=0)), strict=True):
        axes.annotate(
            name,
            point,
            distance * way,
            textcoords="offset points",
            ha="left" if way[0] > 0 else "right",
            va="center",
            bbox={"boxstyle": "round,pad=0.1", "facecolor": PAPER, "alpha": 0.8, "linewidth": 0},
            zorder=4,
        )


# --- Lesson 06: heads, groups, positions, caches ---

_NEW, _KEPT = ORANGE, SKY  # what a step computes, and what it finds in the cache


@lesson_style
def one_or_two_heads(
    values: ArrayLike,
    names: Sequence[str],
    pairs: Mapping[str, tuple[int, int]],
    mixtures: ArrayLike,
) -> LessonFigure:
    """Draw each pair of values (n, 2) mixed into one point, beside the same pairs kept apart."""
    values, mixtures = np.asarray(values, float), np.asarray(mixtures, float)
    ends = {text: f"{names[first]} and {names[second]}" for text, (first, second) in pairs.items()}
    said = "; ".join(
        f"{text} mixes {end} into ({_numbers(mixed)})"
        for (text, end), mixed in zip(ends.items(), mixtures, strict=True)
    )
    figure, (mixing, apart) = new_figure(
        f"Points in a plane, one a word. On the left one head: {said}. On the right two heads "
        "keep the two words of each sentence, joined by an arrow: no two arrows are the same.",
        height=3.4,
        ncols=2,
        sharey=True,
    )
    styles = list(zip(pairs.items(), mixtures, (BLUE, VERMILLION, GREEN), "Ds^", strict=False))
    for size, ((text, (first, second)), mixed, color, mark) in zip(
        (13, 7, 5), styles, strict=False
    ):
        mixing.plot(*values[[first, second]].T, color=color, linewidth=1.2)
        mixing.plot(*mixed, mark, color=color, markersize=size, label=text)
        shape = {"arrowstyle": "-|>", "color": color, "linewidth": 2, "shrinkA": 6, "shrinkB": 6}
        apart.annotate("", values[second], values[first], arrowprops=shape)
    middle = values.mean(axis=0)
    for panel in (mixing, apart):
        panel.plot(*values.T, "o", color=INK, markersize=7)
        for name, value in zip(names, values, strict=True):
            side = "right" if value[0] < middle[0] else "left"
            offset = (-9 if side == "right" else 9, 0)
            panel.annotate(
                name, value, offset, textcoords="offset points", ha=side, va="center", color=INK
            )
        panel.margins(0.35, 0.15)
        panel.set(xlabel="first component")
    mixing.set(title="one head: one mixture", ylabel="second component")
    apart.set(title="two heads: two mixtures")
    figure.legend(loc="outside lower center", ncols=len(pairs))
    return figure


@lesson_style
def errors_by_share(
    shares: ArrayLike, errors: Mapping[str, ArrayLike], reference: float, reference_name: str
) -> LessonFigure:
    """Draw errors against the share of the weight that one of two words gets."""
    shares = np.asarray(shares, float)
    errors = {name: np.asarray(line, float) for name, line in errors.items()}
    said = "; ".join(
        f"{name} goes from {_number(line[0])} to {_number(line[-1])}"
        for name, line in errors.items()
    )
    together = np.max([*errors.values()], axis=0)
    figure, axes = new_figure(
        f"Lines of the error against the share, from {shares[0]:g} to {shares[-1]:g}: {said}. "
        f"The larger of them is never below {_number(together.min())}; {reference_name} have "
        f"{_number(reference)}.",
        height=3.1,
    )
    for (name, line), color, style in zip(errors.items(), (BLUE, VERMILLION), "-s", strict=False):
        axes.plot(shares, line, color=color, label=name, marker="o" if style == "-" else "s")
    axes.axhline(reference, color=GREEN, linestyle="--", label=reference_name)
    axes.set(xlabel="share of the weight that goes to who", ylabel="error of the best matrix")
    axes.set(ylim=(-0.05, 1.1))
    axes.grid()
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


@lesson_style
def regrouped(whole: ArrayLike, ways: Mapping[str, ArrayLike]) -> LessonFigure:
    """Color the entries of (L, D) numbers by their row, and follow them into (H, L, d) heads.

    `whole` holds ten times the row plus the column in each entry; so do the ways.
    """
    whole = np.asarray(whole)
    ways = {name: np.asarray(way) for name, way in ways.items()}
    said = "; ".join(
        f"by {name}, "
        + ", ".join(
            f"head {head} holds the words {_listed(np.unique(part // 10))}"
            for head, part in enumerate(way)
        )
        for name, way in ways.items()
    )
    heads = len(next(iter(ways.values())))
    figure, axes = new_figure(
        f"Grids of numbered cells, one color a word, {len(whole)} words: {said}.",
        height=0.9 + 0.42 * len(whole),
        ncols=1 + heads * len(ways),
        width_ratios=[whole.shape[1], *[whole.shape[1] / heads] * heads * len(ways)],
    )
    titles = [f"x {whole.shape}"]
    titles += [
        f"{name}\nhead 0" if head == 0 else f"\nhead {head}"
        for name in ways
        for head in range(heads)
    ]
    parts = [whole, *(part for way in ways.values() for part in way)]
    for axis, title, part in zip(axes, titles, parts, strict=True):
        for (row, column), code in np.ndenumerate(part):
            _cell(axis, row, column, f"{code:02d}", CYCLE[code // 10 % len(CYCLE)])
        _grid_axes(axis, [""] * part.shape[0], [""] * part.shape[1])
        axis.set(title=title, xlabel="", ylabel="")
    axes[0].set(ylabel="word", xlabel="component")
    return figure


@lesson_style
def shared_heads(groupings: Mapping[str, Sequence[int]]) -> LessonFigure:
    """Draw which group of keys and values each query head uses, one panel a grouping."""
    said = "; ".join(
        f"{name}: the query heads use {_listed(groups)}" for name, groups in groupings.items()
    )
    figure, axes = new_figure(
        f"Query heads above, heads of keys and values below, lines between them. {said}.",
        height=2.3,
        ncols=len(groupings),
        squeeze=False,
    )
    colors = (*CYCLE, YELLOW, GRAY)
    for axis, (name, groups) in zip(axes[0], groupings.items(), strict=True):
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
    for axis in axes[0, 1:]:
        axis.tick_params(labelleft=False)
    return figure


@lesson_style
def cache_sizes(lengths: ArrayLike, sizes: Mapping[str, ArrayLike]) -> LessonFigure:
    """Draw bytes of cache against the number of tokens, on logarithmic axes, in GiB."""
    lengths = np.asarray(lengths)
    sizes = {name: np.asarray(line, float) / 2**30 for name, line in sizes.items()}
    said = "; ".join(
        f"{name} from {line[0]:.3g} to {line[-1]:.3g} GiB" for name, line in sizes.items()
    )
    figure, axes = new_figure(
        f"Parallel rising lines of the size of the cache, for {lengths[0]:,} to {lengths[-1]:,} "
        f"tokens: {said}.",
        height=3.1,
    )
    for (name, line), mark in zip(sizes.items(), "os^D", strict=False):
        axes.plot(lengths, line, mark + "-", label=name)
        axes.annotate(
            f"{line[-1]:.3g}",
            (lengths[-1], line[-1]),
            (8, 0),
            textcoords="offset points",
            va="center",
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks(lengths, [f"{length:,}" for length in lengths])
    axes.yaxis.set_major_formatter(
        lambda value, _position: f"{value:g} GiB" if value >= 1 else f"{1024 * value:g} MiB"
    )
    axes.set(xlabel="tokens kept", ylabel="size of the cache", xlim=(None, lengths[-1] * 1.7))
    axes.grid()
    axes.legend(loc="upper left")
    return figure


@lesson_style
def clock_hands(hands: Mapping[str, ArrayLike], speeds: ArrayLike, title: str = "") -> LessonFigure:
    """Draw pairs of components as hands on dials, one dial a pair; each of `hands` is (n, 2)."""
    speeds = np.asarray(speeds, float)
    hands = {name: np.asarray(pairs, float) for name, pairs in hands.items()}
    said = "; ".join(f"{name} {_points(pairs)}" for name, pairs in hands.items())
    figure, dials = new_figure(
        f"Hands on {len(speeds)} dials, one for each pair of components. "
        f"{title + '. ' if title else ''}Ends of the hands: {said}.",
        height=2.75,
        ncols=len(speeds),
        sharey=True,
        squeeze=False,
    )
    reach = max(1.0, *(np.hypot(*pairs.T).max() for pairs in hands.values()))
    around = np.linspace(0, 2 * np.pi, 121)
    for number, (dial, speed) in enumerate(zip(dials[0], speeds, strict=True)):
        dial.plot(np.cos(around), np.sin(around), color=GRID, linewidth=1.2)
        for pairs, color in zip(hands.values(), CYCLE, strict=False):
            _arrow(dial, pairs[number], color, 2.0)
        dial.set(xlim=(-1.1 * reach, 1.1 * reach), ylim=(-1.1 * reach, 1.1 * reach))
        dial.set(aspect="equal", title=f"pair {number}", xlabel=f"{speed:.3g} rad a step")
        dial.set_xticks([])
        dial.set_yticks([])
        dial.spines[:].set_visible(False)
    handles = [
        Line2D([], [], color=color, label=name) for name, color in zip(hands, CYCLE, strict=False)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    if title:
        figure.suptitle(title, fontsize=11, color=INK)
    return figure


@lesson_style
def scores_by_offset(tables: Mapping[str, ArrayLike]) -> LessonFigure:
    """Draw (L, L) scores by position of query and key above, and by their distance below."""
    tables = {name: np.asarray(table, float) for name, table in tables.items()}
    said = []
    for name, table in tables.items():
        spread = max(np.ptp(np.diagonal(table, k)) for k in range(1 - len(table), len(table)))
        alike = "equal" if spread < 1e-9 * np.abs(table).max() else "unlike"
        said.append(f"{name}: scores of one distance are {alike}")
    figure, axes = new_figure(
        "Above, heat maps of scores, one row a query's position, one column a key's; below, the "
        f"same scores as dots against the distance. {'; '.join(said)}.",
        height=4.9,
        nrows=2,
        ncols=len(tables),
        sharey="row",
        height_ratios=(3, 2),
        squeeze=False,
    )
    top = max(np.abs(table).max() for table in tables.values())
    for (above, below), (name, table) in zip(axes.T, tables.items(), strict=True):
        image = above.imshow(table, cmap=SIGNED_COLORS, vmin=-top, vmax=top)
        above.set(title=name, xlabel="position of the key")
        rows, columns = np.indices(table.shape)
        below.plot((rows - columns).ravel(), table.ravel(), ".", color=BLUE, markersize=4)
        below.axhline(0, color=GRAY, linewidth=0.8)
        below.set(xlabel="distance: query's position − key's")
    axes[0, 0].set_ylabel("position of the query")
    axes[1, 0].set_ylabel("score")
    figure.colorbar(image, ax=list(axes[0]), label="score", pad=0.02).outline.set_visible(False)
    return figure


@lesson_style
def steps_and_cache(words: Sequence[str]) -> LessonFigure:
    """Draw which keys and values each step of writing computes, without and with a cache."""
    count = len(words)
    totals = {"everything anew": count * (count + 1) // 2, "with a cache": count}
    said = " and ".join(f"{total} {name}" for name, total in totals.items())
    figure, axes = new_figure(
        f"Two staircases, one row a step of writing {_words(words)}, one column a word. Keys and "
        f"values are computed {said}.",
        height=1.2 + 0.42 * count,
        ncols=2,
        sharey=True,
    )
    for axis, (name, total) in zip(axes, totals.items(), strict=True):
        for step, place in np.ndindex(count, count):
            if place > step:
                continue
            new = place == step or name == "everything anew"
            _cell(axis, step, place, "new" if new else "kept", _NEW if new else _KEPT)
        _grid_axes(axis, [f"step {step + 1}" for step in range(count)], words)
        axis.set(title=f"{name}: {total} computed", xlabel="word", ylabel="")
    return figure


@lesson_style
def cost_of_a_step(
    lengths: ArrayLike,
    counted: Mapping[str, ArrayLike],
    measured: Mapping[str, ArrayLike],
) -> LessonFigure:
    """Draw what one step costs against the tokens so far: counted products, measured seconds."""
    lengths = np.asarray(lengths)
    panels = {
        "multiplications": ("counted", counted, 1.0),
        "time of one step (ms)": ("measured here", measured, 1e3),
    }
    said = "; ".join(
        f"{title}, {name} grows {np.asarray(line)[-1] / np.asarray(line)[0]:.3g}-fold"
        for title, lines, _ in panels.values()
        for name, line in lines.items()
    )
    figure, axes = new_figure(
        f"The cost of one step for {lengths[0]:,} to {lengths[-1]:,} tokens, on logarithmic axes: "
        f"{said}.",
        height=3.4,
        ncols=2,
    )
    for axis, (label, (title, lines, unit)) in zip(axes, panels.items(), strict=True):
        for (name, line), color, mark in zip(lines.items(), (VERMILLION, BLUE), "os", strict=False):
            axis.plot(lengths, unit * np.asarray(line, float), mark + "-", color=color, label=name)
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_xticks(lengths, [f"{length:,}" for length in lengths])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set(title=title, xlabel="tokens so far", ylabel=label)
        axis.grid()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


# --- Lesson 07: attention without the L × S matrix ---


@lesson_style
def one_pass(blocks: Sequence[ArrayLike], read: int) -> LessonFigure:
    """Show a row of scores (n,) in blocks, and its maximum and total once `read` of them are read.

    Below each block read stands the total after it: what it has kept of the total before, and
    what the block adds. A dotted outline is the total before, where the maximum shrank it.
    """
    blocks = [np.asarray(block, float) for block in blocks]
    row, ends = np.concatenate(blocks), np.cumsum([0, *map(len, blocks)])
    maxima = [row[:end].max() for end in ends[1:]]
    kept = [
        np.exp(row[:start] - top).sum() for start, top in zip(ends, maxima, strict=False)
    ]  # of the blocks before, under the maximum so far
    totals = [np.exp(row[:end] - top).sum() for end, top in zip(ends[1:], maxima, strict=True)]
    said = "; ".join(
        f"after block {i + 1} the maximum is {maxima[i]:g} and the total {totals[i]:.3f}"
        for i in range(read)
    )
    figure, (above, below) = new_figure(
        f"A row of {len(row)} scores in {len(blocks)} blocks, {read} of them read: {said}.",
        height=4.2,
        nrows=2,
        sharex=True,
        height_ratios=(1, 1),
    )
    for i, (start, end) in enumerate(itertools.pairwise(ends)):
        color = BLUE if i < read - 1 else ORANGE if i == read - 1 else GRID
        above.bar(np.arange(start, end), row[start:end], 0.7, color=color)
        for place in range(start, end):
            above.annotate(
                f"{row[place]:g}",
                (place, row[place]),
                (0, 3),
                textcoords="offset points",
                ha="center",
            )
        if start:
            for axis in (above, below):
                axis.axvline(start - 0.5, color=GRAY, linewidth=1, linestyle=":")
        if i >= read:
            continue
        above.plot([start - 0.5, end - 0.5], [maxima[i]] * 2, color=VERMILLION)
        middle = (start + end - 1) / 2
        below.bar(middle, kept[i], 0.7, color=BLUE)
        below.bar(middle, totals[i] - kept[i], 0.7, bottom=kept[i], color=ORANGE)
        note = f"{totals[i]:.3f}"
        if i and maxima[i] > maxima[i - 1]:
            below.bar(middle, totals[i - 1], 0.7, fill=False, ec=GRAY, linestyle=":", lw=1.2)
            note += f"\nbefore × {np.exp(maxima[i - 1] - maxima[i]):.3f}"
        height = max(totals[i], totals[i - 1] if i else 0)
        below.text(middle, height, note, ha="center", va="bottom")
    above.set(ylabel="score", ylim=(min(0, row.min()), 1.3 * row.max()))
    above.tick_params(axis="x", length=0)
    below.set(xlabel="block", ylabel="total", ylim=(0, 1.7 * max(totals)))
    below.set_xlim(-0.6, len(row) - 0.4)
    names = [f"block {i + 1}" for i in range(len(blocks))]
    below.set_xticks((ends[:-1] + ends[1:] - 1) / 2, names)
    handles = [
        Line2D([], [], color=VERMILLION, label="maximum so far"),
        Rectangle((0, 0), 1, 1, color=BLUE, label="what is left of the total before"),
        Rectangle((0, 0), 1, 1, color=ORANGE, label="what this block adds"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


@lesson_style
def tile_by_tile(
    scores: ArrayLike, values: ArrayLike, block_size: int, step: int, queries: Sequence[str]
) -> LessonFigure:
    """Show scores (L, S) and values (S,) after `step` blocks of keys, and what each query keeps.

    Only the scores of the present block are there; beside them stand maximum, total and output.
    """
    scores, values = np.asarray(scores, float), np.asarray(values, float)
    length, keys = scores.shape
    start, stop = max(0, step - 1) * block_size, min(step * block_size, keys)
    if step:
        maximum = scores[:, :stop].max(axis=1)
        exponentials = np.exp(scores[:, :stop] - maximum[:, None])
        total, output = exponentials.sum(axis=1), exponentials @ values[:stop]
    else:
        maximum, total, output = np.full(length, -np.inf), np.zeros(length), np.zeros(length)
    said = "; ".join(
        f"{name}: maximum {_short_or_infinite(maximum[i])}, total {total[i]:.3f}, "
        f"output {output[i]:.3f}"
        for i, name in enumerate(queries)
    )
    figure, (grid, kept) = new_figure(
        f"A grid of {length} queries by {keys} keys in blocks of {block_size}, {step} blocks read. "
        f"Only the scores of the last block read are there. {said}.",
        height=0.55 * length + 1.5,
        ncols=2,
        sharey=True,
        width_ratios=(keys, 4.5),
    )
    for row, column in np.ndindex(length, keys):
        here, gone = start <= column < stop, column < start
        corner = (column - 0.46, row - 0.43)
        if here:
            grid.add_patch(Rectangle(corner, 0.92, 0.86, facecolor=ORANGE, alpha=0.35, lw=0))
            grid.text(column, row, f"{scores[row, column]:.1f}", ha="center", va="center")
        elif gone:
            grid.add_patch(Rectangle(corner, 0.92, 0.86, facecolor=GRID, lw=0))
        else:
            grid.add_patch(Rectangle(corner, 0.92, 0.86, fill=False, edgecolor=GRID, lw=1))
    for place in range(block_size, keys, block_size):
        grid.axvline(place - 0.5, color=GRAY, linewidth=1, linestyle=":")
    grid.set(xlim=(-0.5, keys - 0.5), ylim=(length - 0.5, -0.5), xlabel="value of each key")
    grid.set_xticks(range(keys), [f"{value:g}" for value in values])
    grid.set_yticks(range(length), queries)
    what = f"block {step} of {-(-keys // block_size)}" if step else "before the first block"
    grid.set_title(f"scores: {what}")
    columns = {
        "maximum": [_short_or_infinite(entry) for entry in maximum],
        "total": [f"{entry:.3f}" for entry in total],
        "output": [f"{entry:.3f}" for entry in output],
        "output\n÷ total": [f"{entry:.3f}" for entry in output / np.where(total, total, np.nan)],
    }
    for place, entries in enumerate(columns.values()):
        for row, text in enumerate(entries):
            text = "–" if text == "nan" else text
            color = BLUE if place == 3 else INK
            kept.text(place, row, text, ha="center", va="center", color=color)
    kept.set(xlim=(-0.5, 3.5), title="kept for each query")
    kept.set_xticks(range(4), list(columns))
    for axis in (grid, kept):
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
    return figure


@lesson_style
def causal_tiles(length: int, block_size: int) -> LessonFigure:
    """Draw which blocks of a causal attention are computed, masked, and left out."""
    starts = range(0, length, block_size)
    count = len(starts)
    computed = count * (count + 1) // 2
    scores = sum(
        min(block_size, length - i) * min(i + block_size, length) for i in starts
    )  # rows of the tile times the keys up to its end
    figure, axis = new_figure(
        f"A square of {count} by {count} blocks for {length} tokens. The blocks below the diagonal "
        f"are computed, the {count} on it are computed and masked, those above are left out: "
        f"{computed} of {count**2} blocks, {scores / length**2:.0%} of the scores.",
        height=3.6,
    )
    for i, j in itertools.product(starts, starts):
        sides = min(block_size, length - j), min(block_size, length - i)
        look = {"facecolor": BLUE if j < i else ORANGE, "alpha": 0.5}
        if j > i:
            look = {"fill": False}
        axis.add_patch(Rectangle((j, i), *sides, edgecolor=GRAY, linewidth=0.6, **look))
    axis.plot([0, length], [0, length], color=INK, linewidth=1)
    axis.set(xlim=(0, length), ylim=(length, 0), aspect="equal", xlabel="key", ylabel="query")
    axis.set_title(
        f"blocks of {block_size}: {computed} of {count**2} computed, "
        f"{scores / length**2:.0%} of the scores"
    )
    axis.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axis.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    handles = [
        Rectangle((0, 0), 1, 1, facecolor=BLUE, alpha=0.5, label="the past: computed"),
        Rectangle((0, 0), 1, 1, facecolor=ORANGE, alpha=0.5, label="the diagonal: masked"),
        Rectangle((0, 0), 1, 1, fill=False, edgecolor=GRAY, label="the future: left out"),
    ]
    axis.legend(handles=handles, loc="center left", bbox_to_anchor=(1.05, 0.5))
    return figure


@lesson_style
def memory_by_length(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]], xlabel: str, ylabel: str
) -> LessonFigure:
    """Draw bytes against lengths on logarithmic axes; each curve has lengths of its own."""
    curves = {
        name: (np.asarray(lengths), np.asarray(sizes, float))
        for name, (lengths, sizes) in curves.items()
    }
    said = "; ".join(
        f"{name} from {_bytes(sizes[0])} at {lengths[0]:,} to {_bytes(sizes[-1])} at "
        f"{lengths[-1]:,}"
        for name, (lengths, sizes) in curves.items()
    )
    figure, axis = new_figure(
        f"Lines of {ylabel} against {xlabel} on logarithmic axes: {said}.", height=3.4
    )
    looks = zip(curves.items(), (VERMILLION, BLUE, GREEN), "os^", strict=False)
    for (name, (lengths, sizes)), color, mark in looks:
        axis.plot(lengths, sizes, mark + "-", color=color, label=name)
        axis.annotate(
            _bytes(sizes[-1]),
            (lengths[-1], sizes[-1]),
            (8, 0),
            textcoords="offset points",
            va="center",
        )
    every = np.unique(np.concatenate([lengths for lengths, _ in curves.values()]))
    axis.set_xscale("log", base=2)
    axis.set_yscale("log", base=2)
    axis.set_xticks(every, [f"{length:,}" for length in every])
    axis.yaxis.set_major_formatter(lambda value, _position: _bytes(value))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set(xlabel=xlabel, ylabel=ylabel, xlim=(None, every[-1] * 1.9))
    axis.grid()
    axis.legend(loc="upper left")
    return figure


@lesson_style
def roofline(
    peak: float,
    bandwidth: float,
    points: Mapping[str, tuple[float, float]],
) -> LessonFigure:
    """Draw a machine's roofline in operations and bytes per second, and programs under it.

    `points` maps a name to its operations per byte and the operations per second it reached.
    """
    ridge = peak / bandwidth
    said = "; ".join(
        f"{name} at {x:.3g} operations a byte reaches {y / 1e9:.3g} of at most "
        f"{min(peak, bandwidth * x) / 1e9:.3g} billion operations a second"
        for name, (x, y) in points.items()
    )
    figure, axis = new_figure(
        f"A slanting line that meets a level one at {ridge:.3g} operations a byte. {said}.",
        height=3.6,
    )
    everywhere = [x for x, _ in points.values()]
    reach = np.array([min(1.0, *everywhere) / 2, max(2 * ridge, *everywhere) * 4])
    fine = np.geomspace(*reach, 200)
    axis.plot(fine, np.minimum(peak, bandwidth * fine) / 1e9, color=INK, label="the roof")
    axis.axvline(ridge, color=GRAY, linewidth=1, linestyle=":")
    axis.annotate("waiting for memory", (ridge, 0), (-8, 6), ha="right", **_BY_THE_AXIS)
    axis.annotate("busy computing", (ridge, 0), (8, 6), ha="left", **_BY_THE_AXIS)
    for (name, (x, y)), color, mark in zip(
        points.items(), (VERMILLION, BLUE, GREEN), "os^", strict=False
    ):
        top = min(peak, bandwidth * x)
        axis.plot([x, x], [y / 1e9, top / 1e9], color=color, linewidth=1, linestyle="--")
        axis.plot(x, y / 1e9, mark, color=color, markersize=9, label=name)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    axis.xaxis.set_major_formatter(lambda value, _position: f"{value:,g}")
    axis.yaxis.set_major_formatter(lambda value, _position: f"{value:,g}")
    lowest = min(bandwidth * reach[0], *(y for _, y in points.values()))
    axis.set(xlim=reach, ylim=(lowest / 3e9, 3 * peak / 1e9))
    axis.set(xlabel="operations per byte moved", ylabel="billion operations per second")
    axis.grid()
    axis.legend(loc="upper left")
    return figure


_BY_THE_AXIS = {
    "xycoords": ("data", "axes fraction"),
    "textcoords": "offset points",
    "color": GRAY,
}


def _bytes(size: float) -> str:
    """Write a number of bytes with a unit: 96 KiB, 1.5 GiB."""
    unit = min(4, max(0, int(np.log2(max(size, 1)) // 10)))
    return f"{size / 1024**unit:.3g} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB')[unit]}"


def _short_or_infinite(value: float) -> str:
    return "−∞" if value == -np.inf else f"{value:.1f}"
