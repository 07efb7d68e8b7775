"""The figures of lesson 02 show the numbers they are given, and say them in their alt text."""

from __future__ import annotations

import re

import numpy as np
import pytest

from attention_lib import plots
from tests.plots.panels import heights, written
from tests.plots.samples import stability


def test_each_exponential_ends_below_its_largest_number():
    figure = stability.cliffs()
    (axis,) = figure.axes
    lines, stops = axis.lines[::2], [line.get_xydata()[0] for line in axis.lines[1::2]]
    for line, stop, name in zip(lines, stops, ("float16", "float32"), strict=True):
        top = np.log10(float(np.finfo(name).max))
        assert np.max(line.get_ydata()) == stop[1] <= top + 0.01
        assert axis.get_ylim()[1] > top
    assert "float16 at 11.1, float32 at 88.7" in figure.alt
    assert written(axis)[1].startswith("float32: x = 88.7, largest number 3.4e+38")


def test_only_the_shift_by_the_maximum_leaves_weights():
    axis = stability.shifted().axes[0]
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
    shared, own = stability.reach().axes
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
    as_written, stable = stability.softmaxes().axes
    assert heights(as_written) == [0, 0, 0]
    assert written(as_written) == ["nan"] * 3
    assert heights(stable) == [1e-30, 0.25, 0.75]
    assert written(stable) == ["1e-30", "0.25", "0.75"]


def test_errors_are_dots_over_the_size_of_the_weight():
    figure = stability.errors()
    for axis, at in zip(figure.axes, ([2, 1], [31.9, 1.5]), strict=True):
        small, large, *_ = axis.lines
        assert [*small.get_xydata(), *large.get_xydata()] == pytest.approx(
            np.array([[1e-20, at[0]], [0.25, at[1]]])
        )
        assert axis.get_xscale() == "log"
    assert "shifted at most 1.5 above 1e-6, 32 in all" in figure.alt


def test_the_log_sum_exp_is_furthest_from_the_maximum_at_the_tie():
    figure = stability.rounded_corner()
    assert written(figure.axes[0]) == ["0.693 apart"]
    assert "by 0.693" in figure.alt


def test_the_frame_stands_on_the_target_and_the_bars_are_the_losses():
    figure = stability.losses()
    table, bars = figure.axes
    frames = [(patch.get_y() + 0.45, patch.get_x() + 0.47) for patch in table.patches]
    assert np.allclose(frames, [(0, 1), (1, 0)])
    assert [patch.get_width() for patch in bars.patches] == [0.75, 5.25]
    assert "mean 3 " in bars.get_title(loc="left")


def test_every_forbidden_entry_is_named_false_and_has_no_color():
    figure = stability.masked()
    scores, mask, weights = figure.axes
    assert sorted(written(mask)) == ["False"] * 4 + ["True"] * 2
    for axis in figure.axes:
        colored = np.ma.getmaskarray(axis.images[0].get_array())
        assert colored.tolist() == [[False, True, False], [True, True, True]]
    assert written(weights).count("0") == 4
    assert "the row of r is all zeros" in figure.alt
    assert len(written(scores)) == 6


def test_joining_shrinks_the_bars_of_the_half_with_the_smaller_maximum():
    figure = stability.merged()
    left, right, joined = (heights(axis) for axis in figure.axes)
    outlines, shrunk, kept = joined[:2], joined[2:4], joined[4:]
    assert outlines == left
    assert kept == right
    assert np.allclose(shrunk, np.array(left) * np.exp(3.0 - 5.0))
    total = float(re.search(r"total is ([\d.]+)\.$", figure.alt)[1])
    assert total == pytest.approx(sum(shrunk) + sum(kept), abs=5e-4)


def test_joining_shrinks_the_right_half_when_its_maximum_is_smaller():
    figure = stability.halves([5.0, 4.0], [3.0, 1.0])
    joined = heights(figure.axes[2])
    assert np.allclose(joined, np.exp([0, -1, 0, -2, -2, -4]))
