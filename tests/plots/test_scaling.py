"""The figures of lesson 03 show what they are given."""

import numpy as np
import pytest

from tests.plots.samples.scaling import (
    SIZES,
    arrows,
    bounded,
    growth,
    heads,
    keys,
    lines,
    one_row,
    rare,
    rows,
    sampling,
    softened,
    spread,
    target,
    tempered,
    triangle,
)


def test_arrows_end_where_the_vectors_do():
    for panel, query in zip(arrows().axes, [(1, 0), (2, 2), (2, 1)], strict=True):
        assert [tuple(arrow.xy) for arrow in panel.texts] == [query, (1, 0), (0, 2), (1, 1)]


def test_growth_shows_measurements_on_their_laws():
    axes = growth().axes[0]
    law, measured = axes.lines[:2]
    np.testing.assert_array_equal(measured.get_ydata(), [2.1, 63.0, 4000.0])
    np.testing.assert_array_equal(law.get_ydata(), SIZES)
    np.testing.assert_array_equal(axes.lines[2].get_ydata(), np.sqrt(SIZES))


def test_rare_scores_draws_every_score_of_each_sample_as_a_share():
    figure = rare()
    axes = figure.axes[0]
    for outline in axes.patches[:2]:
        x, y = outline.get_xy().T
        area = np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2)
        assert area == pytest.approx(4)  # shares add up to 1, and a bar is 4 wide
    assert "trained, 4 scores, the largest 80.0 in size, 50% beyond 50" in figure.alt


def test_entropies_by_head_draws_each_head_and_random_rows():
    axes = heads().axes[0]
    raw, raw_random, scaled, scaled_random, equal = axes.lines
    np.testing.assert_array_equal(raw.get_ydata(), [0.0, 0.1, 0.3])
    np.testing.assert_array_equal(scaled.get_ydata(), [0.7, 1.9, 2.5])
    assert [line.get_ydata()[0] for line in (raw_random, scaled_random, equal)] == [0.5, 3.0, 3.4]


def test_the_triangle_marks_its_highest_point_and_the_weights_given():
    figure = triangle()
    ring, dot = (line.get_xydata()[0] for line in figure.axes[0].lines)
    np.testing.assert_allclose(ring, [0.5, np.sqrt(0.75)])  # the corner of the third word
    np.testing.assert_allclose(dot, [0.1 + 0.9 * 0.5, 0.9 * np.sqrt(0.75)])
    assert "lies at the weights 0, 0, 1; marked are the weights 0, 0.1, 0.9." in figure.alt


def test_dots_of_equal_scores_lie_inside_each_other():
    for panel, sizes in zip(arrows().axes, ([10, 10, 5], [10, 10, 5], [10, 5, 10]), strict=True):
        dots = [line for line in panel.lines if line.get_marker() == "o"]
        assert [dot.get_markersize() for dot in dots] == sizes


def test_one_row_draws_both_ways_on_one_scale():
    raw, _, scaled, bars = one_row().axes
    assert raw.get_xlim() == scaled.get_xlim()
    np.testing.assert_allclose([bar.get_height() for bar in bars.patches], [0.04, 0.16, 0.8])


def test_rows_say_how_many_words_their_entropy_is_worth():
    labels = [panel.get_xlabel() for panel in rows().axes]
    assert labels == ["entropy 0.00\nlike 1.00 words", "entropy 1.10\nlike 3.00 words"]


def test_lines_stay_below_the_limit():
    axes = lines().axes[0]
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [1.9, 0.4, 0.05])
    assert axes.get_ylim()[1] > np.log(12)


def test_tempered_marks_its_temperature_on_the_curve():
    now, course = tempered().axes
    weights = softened(np.array([2.0, 2.0, 3.0]), 0.5)
    np.testing.assert_allclose([bar.get_height() for bar in now.patches], weights)
    mark = course.lines[-1]
    assert mark.get_xdata()[0] == 0.5
    assert mark.get_ydata()[0] == pytest.approx(spread(weights))


def test_target_shows_what_was_tried_and_not_where_the_answer_is():
    axes = target().axes[0]
    said = [text.get_text() for text in axes.texts]
    assert [text.partition(":")[0] for text in said] == ["T = 0.5", "T = 4", "target 0.5"]
    assert not axes.patches


def test_bounded_scores_draws_one_line_a_remedy_in_both_panels():
    left, right = bounded().axes
    np.testing.assert_array_equal(left.lines[1].get_ydata(), [4.0, 8.0, 8.0])
    np.testing.assert_array_equal(right.lines[1].get_ydata(), [2.1, 1.3, 1.7])


def test_attention_by_keys_draws_measured_entropies_below_the_logarithm():
    left, right = keys().axes
    equal, measured, sharpened = left.lines
    np.testing.assert_allclose(equal.get_ydata(), np.log([12, 64, 1024]))
    np.testing.assert_array_equal(measured.get_ydata(), [2.0, 3.7, 6.4])
    np.testing.assert_array_equal(right.lines[0].get_ydata(), [0.98, 0.6, 0.17])
    np.testing.assert_array_equal(sharpened.get_ydata(), [2.0, 3.0, 3.5])
    assert [line.get_color() for line in right.lines] == [
        measured.get_color(),
        sharpened.get_color(),
    ]


def test_sampling_weights_draws_one_panel_a_setting():
    cold, hot = sampling().axes
    assert [panel.get_title(loc="left") for panel in (cold, hot)] == ["T = 0.5", "T = 2"]
    np.testing.assert_allclose([bar.get_width() for bar in hot.patches], [0.4, 0.3, 0.3])
    assert cold.yaxis_inverted()  # the first word on top


def test_keys_drop_at_right_angles_onto_the_line_of_the_query():
    for panel, query in zip(arrows().axes, [(1, 0), (2, 2), (2, 1)], strict=True):
        dropped = [line.get_xydata() for line in panel.lines if line.get_linestyle() == ":"]
        assert len(dropped) == 3
        for end, foot in dropped:
            assert (end - foot) @ query == pytest.approx(0)
            assert foot[0] * query[1] == pytest.approx(foot[1] * query[0])
