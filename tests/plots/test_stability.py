"""The figures of lesson 02 show the numbers they are given, and say them in their alt text."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest

from attention_lib import plots


def written(axis) -> list[str]:
    """Return the visible text in a panel, in reading order of drawing."""
    return [text.get_text() for text in axis.texts]


def bar_heights(axis) -> list[float]:
    return [patch.get_height() for patch in axis.patches]


def cliffs():
    curves = {}
    for name, stop in {"float16": 13, "float32": 100}.items():
        x = np.linspace(0, stop, 50, dtype=name)
        with np.errstate(over="ignore"):
            curves[name] = (x, np.exp(x))
    return plots.exponential_cliffs(curves, {"float16": 11.09, "float32": 88.72})


def shifted():
    study = np.array([200, 400, 400], np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        exponentials = {shift: np.exp(study - shift) for shift in (0, 200, 400, 520)}
        weights = {shift: terms / terms.sum() for shift, terms in exponentials.items()}
    return plots.shifted_scores(study, weights, ["a", "b", "c"], -104, 88.7)


def reach():
    return plots.reach_of_a_maximum({"one": [200.0, 400.0], "two": [1.0, 0.0]}, reach=104)


def softmaxes():
    answers = {"as written": [np.nan] * 3, "shifted": [1e-30, 0.25, 0.75]}
    return plots.two_softmaxes(["a", "b", "c"], np.float32([1, 2, 3]), answers)


def errors():
    return plots.errors_by_weight([[1e-20, 0.25]], {"plain": [[2, 1]], "shifted": [[31.9, 1.5]]})


def rounded_corner():
    x = np.linspace(-3, 3, 61)
    return plots.soft_maximum(x, np.logaddexp(x, 0))


def logarithms():
    gaps = np.arange(0, 201)
    cut = np.where(gaps < 104, -gaps, -np.inf)
    return plots.log_weight_cliffs(gaps, {"straight": -gaps, "by way of weights": cut})


def losses():
    scores = [[2.0, 4.0, 4.0], [0.0, 5.0, 1.0]]
    return plots.losses_by_row(scores, [1, 0], [0.75, 5.25], ["a", "b", "c"])


def masked():
    mask = [[True, False, True], [False, False, False]]
    weights = [[0.25, 0.0, 0.75], [0.0, 0.0, 0.0]]
    return plots.masked_rows([[1, 9, 2], [3, 4, 5]], mask, weights, ["q", "r"], ["a", "b", "c"])


def halves(left, right):
    own = [np.exp(half - np.max(half)) for half in (left, right)]
    joined = [np.exp(np.array(half) - max(*left, *right)) for half in (left, right)]
    return plots.merged_halves(left, right, own, joined)


def merged():
    return halves([1.0, 3.0], [5.0, 4.0, 2.5])


@pytest.mark.parametrize(
    "make",
    [cliffs, shifted, reach, softmaxes, errors, rounded_corner, logarithms, losses, masked, merged],
)
def test_a_figure_draws_without_a_warning_and_carries_its_alt_text(make):
    figure = make()
    markup = figure._repr_html_()  # any warning fails the test
    assert figure.alt.endswith(".")
    assert f'alt="{html.escape(figure.alt)}"' in markup


def test_each_exponential_ends_below_its_largest_number():
    figure = cliffs()
    for axis, name in zip(figure.axes, ("float16", "float32"), strict=True):
        top = np.log10(float(np.finfo(name).max))
        assert axis.get_title(loc="left") == name
        assert np.max(axis.lines[0].get_ydata()) <= top
        assert axis.get_ylim()[1] > top
    assert "float16 at 11.1, float32 at 88.7" in figure.alt
    assert "x = 88.7" in written(figure.axes[1])


def test_only_the_shift_by_the_maximum_leaves_weights():
    axis = shifted().axes[0]
    assert [text for text in written(axis) if text.startswith("[")] == [
        "[nan, nan, nan]",
        "[0, nan, nan]",
        "[0, 0.5, 0.5]",
        "[nan, nan, nan]",
    ]
    points = [line.get_xdata()[0] for line in axis.lines if line.get_marker() in "os^"]
    assert points[:3] == [200, 400, 400]
    assert max(points[6:9]) == 0


def test_the_shared_maximum_reaches_nothing_in_the_lower_row():
    shared, own = reach().axes
    lost = {
        axis: np.concatenate([line.get_xdata() for line in axis.lines if line.get_marker() == "x"])
        for axis in (shared, own)
    }
    assert lost[shared].tolist() == [200, 1, 0]
    assert lost[own].tolist() == [200]


def test_scores_that_nearly_coincide_stand_in_a_pile():
    shared, own = plots.reach_of_a_maximum(
        {"study": [200.0, 400.0, 400.0], "please": [1.0, 0.0, 1.0]}, reach=104
    ).axes
    for axis in (shared, own):
        marks = [line for line in axis.lines if line.get_marker() in "ox"]
        heights = np.concatenate([mark.get_ydata() for mark in marks])
        assert len(set(heights[np.abs(heights - 1) < 0.5])) == 3


def test_nan_is_written_and_not_drawn_as_a_bar():
    as_written, stable = softmaxes().axes
    assert bar_heights(as_written) == [0, 0, 0]
    assert written(as_written) == ["nan"] * 3
    assert bar_heights(stable) == [1e-30, 0.25, 0.75]
    assert written(stable) == ["1e-30", "0.25", "0.75"]


def test_errors_are_dots_over_the_size_of_the_weight():
    figure = errors()
    for axis, at in zip(figure.axes, ([2, 1], [31.9, 1.5]), strict=True):
        small, large, *_ = axis.lines
        assert [*small.get_xydata(), *large.get_xydata()] == pytest.approx(
            np.array([[1e-20, at[0]], [0.25, at[1]]])
        )
        assert axis.get_xscale() == "log"
    assert "shifted at most 1.5 above 1e-6, 32 in all" in figure.alt


def test_the_log_sum_exp_is_furthest_from_the_maximum_at_the_tie():
    figure = rounded_corner()
    assert written(figure.axes[0]) == ["0.693 apart"]
    assert "by 0.693" in figure.alt


def test_a_line_that_turns_infinite_is_marked_where_it_ends():
    figure = logarithms()
    straight, cut = figure.axes
    assert written(straight) == []
    assert written(cut) == ["−inf", "gap 103"]
    assert "by way of weights ends at a gap of 103" in figure.alt
    assert "straight goes all the way" in figure.alt


def test_each_way_to_a_logarithm_has_a_panel_of_its_own():
    figure = logarithms()
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["straight", "by way of weights"]
    assert [len(axis.lines[0].get_xdata()) for axis in figure.axes] == [201, 104]


def test_the_frame_stands_on_the_target_and_the_bars_are_the_losses():
    figure = losses()
    table, bars = figure.axes
    frames = [(patch.get_y() + 0.45, patch.get_x() + 0.47) for patch in table.patches]
    assert np.allclose(frames, [(0, 1), (1, 0)])
    assert [patch.get_width() for patch in bars.patches] == [0.75, 5.25]
    assert "mean 3 " in bars.get_title(loc="left")


def test_every_forbidden_entry_is_named_false_and_has_no_color():
    figure = masked()
    scores, mask, weights = figure.axes
    assert sorted(written(mask)) == ["False"] * 4 + ["True"] * 2
    for axis in figure.axes:
        colored = np.ma.getmaskarray(axis.images[0].get_array())
        assert colored.tolist() == [[False, True, False], [True, True, True]]
    assert written(weights).count("0") == 4
    assert "the row of r is all zeros" in figure.alt
    assert len(written(scores)) == 6


def test_joining_shrinks_the_bars_of_the_half_with_the_smaller_maximum():
    figure = merged()
    left, right, joined = (bar_heights(axis) for axis in figure.axes)
    outlines, shrunk, kept = joined[:2], joined[2:4], joined[4:]
    assert outlines == left
    assert kept == right
    assert np.allclose(shrunk, np.array(left) * np.exp(3.0 - 5.0))
    total = float(re.search(r"total is ([\d.]+)\.$", figure.alt)[1])
    assert total == pytest.approx(sum(shrunk) + sum(kept), abs=5e-4)


def test_joining_shrinks_the_right_half_when_its_maximum_is_smaller():
    figure = halves([5.0, 4.0], [3.0, 1.0])
    joined = bar_heights(figure.axes[2])
    assert np.allclose(joined, np.exp([0, -1, 0, -2, -2, -4]))
