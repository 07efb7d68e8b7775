"""The house rules every figure keeps, the slider and its fallback, and the figures of lesson 01."""

from __future__ import annotations

import html
import inspect
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

from attention_lib import plots
from tests.plots.panels import written
from tests.plots.samples import gpu, gradients, learning, model, scaling, stability

KEYS = ["red", "green", "blue"]
SCORES = np.array([[1.0, 0.0, -2.5], [2.0, 4.0, 4.0]])
SHARES = np.array([[0.25, 0.5, 0.25], [0.0, 0.125, 0.875]])
POINTS = np.array([[0.0, 0.0], [4.0, 1.0], [1.0, 3.0]])


def share(scores):
    """A weighing of no lesson: moves with a shift, not with a factor."""
    return np.abs(scores) / np.abs(scores).sum() if np.any(scores) else np.full(3, 1 / 3)


SAMPLES = {
    "attention_map": lambda: plots.attention_map(SHARES, ["here", "there"], KEYS),
    "scores_beside_weights": lambda: plots.scores_beside_weights(
        SCORES, SHARES, ["here", "there"], KEYS
    ),
    "rows_over_sums": lambda: plots.rows_over_sums([[1, 2], [3, 4]], ["a", "b"], ["c", "d"]),
    "groups_along_axes": lambda: plots.groups_along_axes((2, 3)),
    "equal_steps": lambda: plots.equal_steps(np.exp2, [0, 1, 2], "$2^s$"),
    "factors_on_a_line": lambda: plots.factors_on_a_line(
        {0: "0", 0.5: "½", 1: "1"},
        ["1", "√5", "5"],
        {"× 5": [(0, 1)], "× √5": [(0, 0.5), (0.5, 1)]},
    ),
    "maps_of_heads": lambda: plots.maps_of_heads(
        {"one": [[1, np.nan], [0.95, 0.05]], "two": [[1, np.nan], [0.25, 0.75]]}, ["here", "there"]
    ),
    "rows_compared": lambda: plots.rows_compared(
        {"one": SHARES[0], "two": SHARES[1]}, KEYS, "share"
    ),
    "shift_and_scale": lambda: plots.shift_and_scale(
        SCORES[1], {"share": share, "even": lambda scores: np.full(3, 1 / 3)}, KEYS
    ),
    "sharpness": lambda: plots.sharpness(SCORES[1], 2.0, share, KEYS),
    "mixtures": lambda: plots.mixtures(
        [[0, 0], [2, 0], [0, 2]],
        KEYS,
        [[0.5, 0.5], [2, 2]],
        ["inside", "outside"],
        [[0.5, 0.25, 0.25], [-1, 1, 1]],
    ),
    # lessons 02, 03, 04 and 09, drawn as their own tests do
    "exponential_cliffs": stability.cliffs,
    "shifted_scores": stability.shifted,
    "reach_of_a_maximum": stability.reach,
    "two_softmaxes": stability.softmaxes,
    "errors_by_weight": stability.errors,
    "soft_maximum": stability.rounded_corner,
    "losses_by_row": stability.losses,
    "masked_rows": stability.masked,
    "merged_halves": stability.merged,
    "queries_and_keys": scaling.arrows,
    "growth_with_size": scaling.growth,
    "rare_scores": scaling.rare,
    "entropies_by_head": scaling.heads,
    "weights_triangle": scaling.triangle,
    "one_row_at_size": scaling.one_row,
    "rows_with_entropy": scaling.rows,
    "lines_by_size": scaling.lines,
    "tempered": scaling.tempered,
    "entropy_target": scaling.target,
    "attention_by_keys": scaling.keys,
    "bounded_scores": scaling.bounded,
    "sampling_weights": scaling.sampling,
    "weights_along_score": gradients.along_a_score,
    "jacobian_map": gradients.jacobian,
    "error_valleys": gradients.valleys,
    "pulls_on_scores": gradients.pulls,
    "loss_gradient": gradients.loss,
    "gradient_lines": gradients.lines,
    "gradients_by_keys": gradients.by_keys,
    "query_step": gradients.step,
    "shares_of_the_first": gradients.shares,
    "backward_path": gradients.path,
    "gate": model.gates,
    "heads_at_a_glance": model.heads,
    "losses_by_fault": model.faults,
    "measures_by_size": model.measures,
    "timeline": gpu.turns,
    "two_clocks": gpu.clocks,
    "errors_by_dtype": gpu.errors,
    "cost_by_length": gpu.costs,
    "limit_and_stop": gpu.tile,
    "inside_a_gpu": gpu.chip,
    "tile_budget": gpu.budget,
    "published_speeds": gpu.published,
    "measured_speeds": gpu.speeds,
    # lesson 05; tests/test_plots_attention.py holds these to their numbers
    "number_tables": lambda: plots.number_tables({"x": SCORES, "w": SHARES}, ["here", "there"]),
    "mask_grids": lambda: plots.mask_grids({"m": SHARES > 0.2}, ["here", "there"], KEYS),
    "attention_maps": lambda: plots.attention_maps(
        {"one": SHARES, "two": SHARES}, ["here", "there"], KEYS
    ),
    "one_query": lambda: plots.one_query(
        0, np.where(SHARES > 0.2, SCORES, -np.inf), SHARES, POINTS, SHARES @ POINTS, KEYS
    ),
    "rows_or_nan": lambda: plots.rows_or_nan({"a": [np.nan] * 3, "b": SHARES[0]}, KEYS, "weight"),
    "bounded_mixtures": lambda: plots.bounded_mixtures(
        POINTS, KEYS, {"in": POINTS / 2}, [1, 10], {"in": [2, 2], "out": [6, 60]}
    ),
    "mask_patterns": lambda: plots.mask_patterns({"m": SHARES > 0.2, "n": SHARES > 0.3}, 1),
    "memory_of_a_table": lambda: plots.memory_of_a_table(
        [256, 512], [2**20, 2**22], [2**19, 2**21]
    ),
    "soft_lookup": lambda: plots.soft_lookup(
        [0, 90], [1, 2], [0, 45, 90], {"soft": [1.2, 1.5, 1.8], "hard": [1, 1, 2]}
    ),
    # lesson 06; tests/test_plots_multihead.py holds these to their numbers
    "one_or_two_heads": lambda: plots.one_or_two_heads(
        [[0, 0], [4, 0], [4, 3], [0, 3]],
        ["a", "b", "c", "d"],
        {"a c": (0, 2), "b d": (1, 3)},
        [[2, 1.5], [2, 1.5]],
        ("who", "whom"),
    ),
    "errors_by_share": lambda: plots.errors_by_share(
        [0, 0.5, 1], {"one": [1, 0.7, 0], "other": [0, 0.7, 1]}, 0.0, "both"
    ),
    "regrouped": lambda: plots.regrouped(
        [[0, 1], [10, 11]], {"one": [[[0], [10]], [[1], [11]]], "other": [[[0], [1]], [[10], [11]]]}
    ),
    "shared_heads": lambda: plots.shared_heads({"2 groups": [0, 0, 1, 1], "1 group": [0, 0, 0, 0]}),
    "cache_sizes": lambda: plots.cache_sizes(
        [1024, 2048], {"4 groups": [2**30, 2**31], "1 group": [2**28, 2**29]}
    ),
    "clock_hands": lambda: plots.clock_hands(
        {"here": [[1, 0], [1, 0]], "there": [[0, 1], [0.6, 0.8]]}, [1.0, 0.1], "score 2"
    ),
    "scores_by_distance": lambda: plots.scores_by_distance(
        [0, 1, 2], {"near": [-1.0, 2.0, -3.0], "far": [0.0, 0.5, 1.0]}
    ),
    "scores_by_offset": lambda: plots.scores_by_offset(
        {"free": np.outer([1, 2, 3], [1, 2, 3]), "bound": np.subtract.outer(range(3), range(3))}
    ),
    "match_by_distance": lambda: plots.match_by_distance(
        [1, 8, 64], {"small": [1, 0, -0.1], "large": [1, 0.8, 0]}, 8, {"small": 8, "large": 64}
    ),
    "steps_and_cache": lambda: plots.steps_and_cache(["a", "b", "c"]),
    "words_a_second": lambda: plots.words_a_second(
        [1, 10, 100], {"a": [200, 900, 1200], "b": [200, 1800, 9000]}, {"a": 10, "b": 437}
    ),
    # lesson 07; tests/test_plots_flash.py holds these to their numbers
    "one_pass": lambda: plots.one_pass([[1.0, 3.0], [2.0]], [[0.25, 1], [0.25, 1, 0.5]], 2),
    "tile_by_tile": lambda: plots.tile_by_tile(
        SCORES, [2, 8, 4], [[1, 0.5], [0.5, 1]], [6, 9], 2, 1, ["here", "there"]
    ),
    "causal_tiles": lambda: plots.causal_tiles(10, 4),
    "hand_set_maps": learning.by_hand,
    "layer_maps": learning.by_layer,
    "loss_and_heads": learning.drop,
    "replaced_maps": learning.changes,
    "steps_to_learn": learning.steps,
    "memory_by_length": lambda: plots.memory_by_length(
        {"square": ([2, 4], [4096, 16384]), "line": ([2, 4, 8], [64, 128, 256])}, "tokens", "memory"
    ),
    "way_back_through_a_tile": plots.way_back_through_a_tile,
    "roofline": lambda: plots.roofline(1e11, 1e10, {"one": (2.0, 1e10), "two": (500.0, 6e10)}),
}

OTHER_SAMPLES = {
    "tile_budget_far_over": gpu.far_over_budget,
}
in_one_worker = [
    pytest.param(draw, marks=[pytest.mark.slow, pytest.mark.xdist_group(f"figure_{name}")], id=name)
    for name, draw in {**SAMPLES, **OTHER_SAMPLES}.items()
]


@pytest.fixture(scope="module", params=in_one_worker)
def figure(request):
    """Draw one of the samples once for all the rules; a warning while drawing is an error."""
    drawn = request.param()
    drawn.markup = drawn._repr_html_()
    return drawn


def test_every_figure_function_is_held_to_the_rules():
    public = {
        name
        for name, function in inspect.getmembers(plots, inspect.isfunction)
        if inspect.signature(function).return_annotation == "LessonFigure"
        and not name.startswith("_")
    }
    assert public == set(SAMPLES)


def test_a_figure_shows_as_an_image_with_its_alt_text(figure):
    assert figure.markup.startswith('<img src="data:image/png;base64,')
    assert f'alt="{html.escape(figure.alt)}"' in figure.markup
    assert repr(figure) == figure.alt
    assert figure.alt.endswith(".")


def test_alt_text_has_neither_markup_nor_a_number_that_is_none(figure):
    assert "$" not in figure.alt
    assert "nan" not in figure.alt.replace("[nan, nan, nan]", "a row of NaN")  # shown on purpose


def test_a_figure_leaves_nothing_open_and_fits_the_page(figure):
    assert pyplot.get_fignums() == []
    width, height = figure.get_size_inches()
    assert width == plots.style.WIDTH
    assert height <= 5


def test_nothing_is_cut_off_at_the_edge(figure):
    figure.set_dpi(2 * plots.style.PIXELS_PER_INCH)  # as drawn: letters are as wide as there
    with matplotlib.rc_context(plots.style.STYLE):
        drawn = figure.get_tightbbox()  # in inches
    width, height = figure.get_size_inches()
    assert min(drawn.x0, drawn.y0) > -0.01
    assert drawn.x1 < width + 0.01
    assert drawn.y1 < height + 0.01


def test_numbers_on_an_axis_come_with_a_label(figure):
    for axes in (drawn for drawn in figure.axes if drawn.axison):
        for which in ("x", "y"):
            axis = getattr(axes, f"{which}axis")
            labels = [label.get_text() for label in axis.get_ticklabels() if label.get_visible()]
            shown = [label.replace(r"\mathdefault", "") for label in labels]  # 10 to a power
            if any(text and not any(map(str.isalpha, text)) for text in shown):
                assert any(labels_of(axes, figure, which)), (which, shown)


def labels_of(axes, figure, which):
    """The labels of an axis: its own, or one it shares with the panels of its row or column."""
    yield axes.get_ylabel() if which == "y" else axes.get_xlabel()
    place = axes.get_subplotspec()
    for other in figure.axes:
        spec = other.get_subplotspec()
        if place is None or spec is None:
            continue
        if which == "y" and spec.rowspan == place.rowspan:
            yield other.get_ylabel()
        if which == "x" and spec.colspan == place.colspan:
            yield other.get_xlabel()


def test_a_figure_uses_the_palette_alone(figure):
    allowed = {color.lower() for color in plots.style.PALETTE}
    assert set(colors_of(figure)) <= allowed


def colors_of(figure):
    for artist in figure.findobj(lambda artist: artist.get_visible()):
        if isinstance(artist, Line2D):
            drawn = [artist.get_color(), artist.get_markerfacecolor(), artist.get_markeredgecolor()]
        elif isinstance(artist, Patch):
            drawn = [
                color for color in (artist.get_facecolor(), artist.get_edgecolor()) if color[3]
            ]
        elif isinstance(artist, Text):
            drawn = [artist.get_color()]
        else:
            drawn = []
        yield from (
            to_hex(color) for color in drawn if not isinstance(color, str) or color != "none"
        )


def test_alt_text_is_safe_inside_a_tag():
    drawn = plots.attention_map([[1.0]], ['"><script>'], ["<b>"])
    assert "<script>" not in drawn._repr_html_()


# The slider


def one_line(factor):
    drawn, axes = plots.new_figure(f"One line, factor {factor:g}.")
    axes.plot([0, factor])
    return drawn


FACTOR = plots.Slider([0.5, 1.0, 2.0], start=1.0, label="factor")


def test_without_a_notebook_explore_returns_the_figure_for_the_start():
    assert plots.explore(one_line, factor=FACTOR).alt == "One line, factor 1."


def test_without_ipywidgets_explore_returns_the_figure_for_the_start(monkeypatch, kernel):
    kernel(allow_stdin=True)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert plots.explore(one_line, factor=FACTOR).alt == "One line, factor 1."


def test_without_a_reader_explore_returns_the_figure_for_the_start(kernel):
    kernel(allow_stdin=False)
    assert plots.explore(one_line, factor=FACTOR).alt == "One line, factor 1."


def test_before_a_reader_explore_redraws_as_the_slider_moves(monkeypatch, kernel):
    import ipywidgets

    kernel(allow_stdin=True)
    shown, sliders = [], []
    monkeypatch.setattr(
        "IPython.display.display", lambda *items, **_: shown.append(items[-1]) or Shown(shown)
    )
    real = ipywidgets.VBox
    monkeypatch.setattr(ipywidgets, "VBox", lambda items: sliders.extend(items) or real(items))
    assert plots.explore(one_line, factor=FACTOR) is None
    sliders[0].value = 2.0
    assert sliders[0].description == "factor"
    assert [repr(item) for item in shown[1:]] == ["One line, factor 1.", "One line, factor 2."]


class Shown:
    """What `display(..., display_id=True)` returns: a handle that replaces what it showed."""

    def __init__(self, shown):
        self.shown = shown

    def update(self, item):
        self.shown.append(item)


@pytest.fixture
def kernel(monkeypatch):
    """Stand in for the kernel that runs a cell for a front end."""

    def install(allow_stdin):
        class Kernel:
            def get_parent(self, channel):
                return {"content": {"allow_stdin": allow_stdin}}

        class Shell:
            kernel = Kernel()

        monkeypatch.setattr("IPython.get_ipython", Shell)

    return install


# The figures of lesson 01 show the numbers they are given


def test_an_attention_map_writes_each_weight_in_its_cell():
    axes = SAMPLES["attention_map"]().axes[0]
    assert written(axes) == ["0.25", "0.5", "0.25", "0", "0.125", "0.875"]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == KEYS


def test_bars_stand_at_scores_above_and_weights_below():
    panels = np.reshape(SAMPLES["scores_beside_weights"]().axes, (2, 2))
    for row, values in enumerate((SCORES, SHARES)):
        for column in range(2):
            heights = [bar.get_height() for bar in panels[row, column].patches]
            assert heights == values[column].tolist()


def test_shares_beyond_0_and_1_stay_inside_their_panel():
    wild = np.array([[20.0, -29.0, 10.0]])
    axes = plots.scores_beside_weights(wild, wild, ["wild"], KEYS).axes[1]
    low, high = axes.get_ylim()
    assert low < -29
    assert high > 20


def test_each_entry_is_set_over_the_sum_that_divides_it():
    kept, lost = SAMPLES["rows_over_sums"]().axes
    assert written(kept) == ["1 ÷ 3", "2 ÷ 3", "3 ÷ 7", "4 ÷ 7"]
    assert written(lost) == ["1 ÷ 3", "2 ÷ 7", "3 ÷ 3", "4 ÷ 7"]


def test_entries_of_one_sum_have_one_color():
    down, along = SAMPLES["groups_along_axes"]().axes
    for axes, groups in ((down, [0, 1, 2, 0, 1, 2]), (along, [0, 0, 0, 1, 1, 1])):
        drawn = [to_hex(patch.get_facecolor()) for patch in axes.patches]
        assert drawn == [plots.style.CYCLE[group].lower() for group in groups]


def test_steps_are_labeled_with_their_factor():
    assert written(SAMPLES["equal_steps"]().axes[0]) == ["× 2.00", "× 2.00"]


def test_a_factor_stands_at_its_lead_and_a_step_has_an_arrow():
    figure = SAMPLES["factors_on_a_line"]()
    axes = figure.axes[0]
    factors = [text for text in axes.texts if text.get_text() in ("1", "√5", "5")]
    assert [text.xy for text in factors] == [(0, 0), (0.5, 0), (1, 0)]
    arrows = [text for text in axes.texts if not text.get_text()]
    assert [(arrow.xyann, arrow.xy) for arrow in arrows] == [
        ((0, 0), (1, 0)),
        ((0, 0), (0.5, 0)),
        ((0.5, 0), (1, 0)),
    ]
    assert "½ belongs to √5" in figure.alt


def test_maps_of_heads_write_large_weights_and_say_where_each_word_listens():
    figure = SAMPLES["maps_of_heads"]()
    one, two, *_ = figure.axes
    assert written(one) == ["1.00", "0.95"]
    assert written(two) == ["1.00", "0.25", "0.75"]
    assert "there listens most to there at place 2 (0.75)" in figure.alt


def test_a_small_weight_is_not_called_0():
    figure = plots.sharpness(
        [0.0, 0.0, 8.0], 1.0, lambda scores: np.exp(scores) / np.exp(scores).sum(), KEYS
    )
    assert written(figure.axes[0]) == ["<0.001", "<0.001", "0.999"]
    assert "get the weights <0.001, <0.001, 0.999." in figure.alt


def test_what_does_not_move_is_said_not_to_move():
    alt = SAMPLES["shift_and_scale"]().alt
    assert "share: the weights move when a constant is added, nothing moves under a factor" in alt
    assert "even: nothing moves when a constant is added, nothing moves under a factor" in alt


def test_equal_scores_share_one_line():
    _, course = SAMPLES["sharpness"]().axes
    assert [text.get_text() for text in course.get_legend().get_texts()] == [
        "red (score 2)",
        "green, blue (score 4)",
    ]


def test_mixtures_are_drawn_where_they_lie_with_a_line_for_each_weight():
    drawn = SAMPLES["mixtures"]().axes[0].lines
    lines, points = drawn[:6], [line.get_xydata()[0].tolist() for line in drawn[6:]]
    assert points == [[0, 0], [2, 0], [0, 2], [0.5, 0.5], [2, 2]]
    assert lines[0].get_xydata().tolist() == [[0.5, 0.5], [0, 0]]
    widths = [line.get_linewidth() for line in lines]
    assert widths[0] == widths[3] / 2 == 2 * widths[1]
    assert [line.get_linestyle() for line in lines] == ["-", "-", "-", "--", "-", "-"]
