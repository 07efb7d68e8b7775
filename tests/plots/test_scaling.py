"""The figures of lesson 03 show what they are given."""

import numpy as np
import pytest

from tests.plots.samples.scaling import (
    FIGURES,
    SIZES,
    arrows,
    bounded,
    growth,
    histograms,
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
)


@pytest.mark.parametrize("draw", FIGURES)
def test_the_lowest_panels_name_their_axis(draw):
    for axes in draw().axes:
        assert axes.get_xlabel() or not axes.get_subplotspec().is_last_row()


@pytest.mark.parametrize("draw", FIGURES)
def test_alt_text_is_a_sentence_in_plain_words(draw):
    alt = draw().alt
    assert alt.endswith(".")
    assert len(alt) > 60
    assert "$" not in alt
    assert "nan" not in alt


def test_arrows_end_where_the_vectors_do():
    for panel, query in zip(arrows().axes, [(1, 0), (2, 2), (2, 1)], strict=True):
        assert [tuple(arrow.xy) for arrow in panel.texts] == [query, (1, 0), (0, 2), (1, 1)]


def test_growth_shows_measurements_on_their_laws():
    axes = growth().axes[0]
    law, measured = axes.lines[:2]
    np.testing.assert_array_equal(measured.get_ydata(), [2.1, 63.0, 4000.0])
    np.testing.assert_array_equal(law.get_ydata(), SIZES)
    np.testing.assert_array_equal(axes.lines[2].get_ydata(), np.sqrt(SIZES))


def test_rare_scores_counts_every_score():
    bars = rare().axes[0].patches
    counts = [bar.get_height() for bar in bars if bar.get_width() == 2]
    assert sum(counts) == 2000


def test_scores_of_all_sizes_stand_on_one_axis_with_the_rows_below():
    figure = histograms()
    *below, above = figure.axes
    bars = [bar.get_width() for bar in above.patches]
    raw, scaled = bars[: len(SIZES)], bars[len(SIZES) :]
    assert raw[0] < raw[1] / 4 < raw[2] / 16
    assert max(scaled) < 1.5 * min(scaled)
    assert above.get_xscale() == "linear"
    assert len([text for text in above.texts if text.get_text().startswith("to ")]) == 2
    for panel in below:
        outlines = [patch for patch in panel.patches if not patch.get_fill()]
        assert len(outlines) == 2
        for outline in outlines:
            x, y = outline.get_xy().T
            area = np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2)
            assert area == pytest.approx(np.diff(np.unique(x))[0])  # shares add up to 1


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


def test_rare_scores_has_ticks_between_the_deviation_and_the_scores_told():
    ticks = rare().axes[0].get_xticks()
    assert {-50, -40, -30, 30, 40, 50} <= set(ticks)
