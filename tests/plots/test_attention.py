"""The figures of lesson 05 show the numbers they are given, and say them in their alt text."""

from __future__ import annotations

import numpy as np
import pytest

from attention_lib import plots
from tests.plots.panels import heights, written

WORDS = ["red", "green", "blue"]
CORNERS = np.array([[0.0, 0.0], [4.0, 1.0], [1.0, 3.0]])


def test_tables_of_unequal_width_show_every_number_with_its_sign():
    figure = plots.number_tables({"x": [[1, -2, 0.5], [0, 3, 4]], "y": [[7], [8]]}, ["a", "b"])
    left, right = figure.axes
    assert written(left) == ["1", "−2", "0.5", "0", "3", "4"]
    assert written(right) == ["7", "8"]
    assert left.get_title(loc="left") == "x (2, 3)"
    assert [tick.get_text() for tick in left.get_xticklabels()] == ["0", "1", "2"]
    assert left.get_xlabel() == "component"
    assert "y a 7; b 8" in figure.alt


def test_negative_numbers_have_a_color_of_their_own():
    image = plots.number_tables({"x": [[-2.0, 0.0, 2.0]]}, ["a"]).axes[0].images[0]
    below, zero, above = (image.cmap(image.norm(number)) for number in (-2.0, 0.0, 2.0))
    assert len({below, zero, above}) == 3


def test_the_columns_of_a_table_may_stand_for_keys():
    figure = plots.number_tables({"w": [[1, 2]], "o": [[3, 4]]}, ["a"], {"w": ["b", "c"]})
    weights, outputs = figure.axes
    assert [tick.get_text() for tick in weights.get_xticklabels()] == ["b", "c"]
    assert (weights.get_xlabel(), outputs.get_xlabel()) == ("key", "component")
    assert "w (columns b, c) a 1, 2; o a 3, 4" in figure.alt


def test_an_only_column_is_named_and_is_neither_a_key_nor_a_component():
    figure = plots.number_tables(
        {"moved": [[1], [2]], "w": [[3, 4], [5, 6]]},
        ["a", "b"],
        {"moved": ["score"], "w": ["a", "b"]},
    )
    moved, w = figure.axes
    assert [tick.get_text() for tick in moved.get_xticklabels()] == ["score"]
    assert (moved.get_xlabel(), w.get_xlabel()) == ("", "key")


def test_a_table_of_zeros_can_be_drawn():
    assert plots.number_tables({"nothing": np.zeros((1, 2))}, ["a"])._repr_html_()


def test_allowed_and_forbidden_cells_have_their_own_color():
    mask = np.array([[True, False, True], [False, False, False]])
    figure = plots.mask_grids({"one": mask, "two": ~mask}, ["here", "there"], WORDS)
    for axis, shown in zip(figure.axes, (mask, ~mask), strict=True):
        assert written(axis) == [str(cell) for cell in shown.ravel().tolist()]
        colors = np.array([patch.get_facecolor() for patch in axis.patches])
        allowed = colors[shown.ravel()]
        assert np.all(allowed == allowed[0])
        assert np.all((colors[~shown.ravel()] != allowed[0]).any(axis=1))
    assert "one: here red, blue, there nothing" in figure.alt


def test_words_may_stand_in_the_cells_of_a_mask():
    texts = [["study", "!"], ["man", ""]]
    figure = plots.mask_grids({"m": [[1, 1], [1, 0]]}, ["a", "b"], ["0", "1"], texts=texts)
    assert written(figure.axes[0]) == ["study", "!", "man", ""]


def test_maps_side_by_side_share_one_scale():
    maps = {"small": [[0.25, 0.75]], "large": [[3.0, 0.0]]}
    figure = plots.attention_maps(maps, ["q"], ["a", "b"], label="change")
    small, large, _ = figure.axes
    assert small.images[0].get_clim() == large.images[0].get_clim() == (0, 3)
    assert written(small) == ["0.25", "0.75"]
    assert "large: q 3, 0." in figure.alt


def test_forbidden_cells_of_a_map_are_gray_and_hold_no_number():
    maps = {"free": [[0.5, 0.5]], "masked": [[0.0, 1.0]]}
    figure = plots.attention_maps(maps, ["q"], ["a", "b"], allowed={"masked": [False, True]})
    free, masked, _ = figure.axes
    assert written(free) == ["0.5", "0.5"]
    assert [text for text in written(masked) if text] == ["1", "–"]
    assert [patch.get_x() for patch in masked.patches] == [-0.46]
    assert "Forbidden cells are gray, in masked." in figure.alt


def one_query(row):
    scores = np.array([[1.0, 2.0, -np.inf], [0.5, 0.5, 0.5]])
    weights = np.array([[0.25, 0.75, 0.0], [0.2, 0.3, 0.5]])
    return plots.one_query(row, scores, weights, CORNERS, weights @ CORNERS, WORDS)


def test_the_chosen_query_is_drawn_with_its_own_numbers():
    scores, weights, plane = one_query(1).axes
    assert heights(scores) == [0.5, 0.5, 0.5]
    assert heights(weights) == [0.2, 0.3, 0.5]
    diamond = next(line for line in plane.lines if line.get_marker() == "D")
    assert np.allclose(diamond.get_xydata(), [np.array([0.2, 0.3, 0.5]) @ CORNERS])
    sizes = [line.get_markersize() for line in plane.lines if line.get_marker() == "o"]
    assert sizes == sorted(sizes)


def test_a_forbidden_score_is_written_and_not_drawn():
    figure = one_query(0)
    scores, weights, _ = figure.axes
    assert heights(scores) == [1, 2, 0]
    assert written(scores) == ["1", "2", "−inf"]
    assert written(weights) == ["0.25", "0.75", "0"]
    assert "blue forbidden" in figure.alt
    assert "forbidden" not in one_query(1).alt


def test_a_query_that_hears_nothing_is_drawn_at_the_origin():
    scores, nothing = np.full((1, 3), -np.inf), np.zeros((1, 3))
    figure = plots.one_query(0, scores, nothing, CORNERS + 1, nothing @ CORNERS, WORDS)
    plane = figure.axes[2]
    diamond = next(line for line in plane.lines if line.get_marker() == "D")
    assert np.array_equal(diamond.get_xydata(), [[0, 0]])
    assert plane.get_xlim()[0] < 0 < plane.get_xlim()[1]
    assert written(figure.axes[0]) == ["−inf"] * 3


def test_nan_is_written_where_its_bar_would_stand():
    figure = plots.rows_or_nan({"a": [np.nan, np.nan, 1], "b": [0.5, 0.5, 0]}, WORDS, "weight")
    first, second = figure.axes
    assert written(first) == ["nan", "nan", "1"]
    assert heights(first) == [0, 0, 1]
    assert written(second) == ["0.5", "0.5", "0"]
    assert "a [nan, nan, 1]" in figure.alt


def bounded():
    reach = {"inside": [2.5, 3.0], "outside": [20.0, 200.0], "far": [1.0, 1e4]}
    outputs = {"inside": CORNERS / 2 + 0.5, "outside": 5 * CORNERS}
    return plots.bounded_mixtures(CORNERS, WORDS, outputs, [1, 10], reach)


def test_outputs_of_each_way_stand_in_a_panel_of_their_own_and_their_reach_beside_them():
    near, far, growth = bounded().axes
    for plane, outputs in ((near, CORNERS / 2 + 0.5), (far, 5 * CORNERS)):
        drawn, values = (line.get_xydata() for line in plane.lines)
        assert np.allclose(drawn, outputs)
        assert np.array_equal(values, CORNERS)
    assert near.get_xlim() == far.get_xlim()
    assert near.get_ylim() == far.get_ylim()
    assert [line.get_ydata().tolist() for line in growth.lines] == [[2.5, 3], [20, 200], [1, 1e4]]
    assert growth.get_yscale() == "log"


def test_no_output_is_cut_off():
    figure = bounded()
    figure.draw_without_rendering()
    for plane, shown in zip(figure.axes, (CORNERS / 2 + 0.5, 5 * CORNERS), strict=False):
        for low, high, column in zip(
            *np.transpose([plane.get_xlim(), plane.get_ylim()]), shown.T, strict=True
        ):
            assert low < column.min() <= column.max() < high


def test_the_reach_is_told_in_the_alt_text():
    assert "outside the largest component goes from 20 to 200" in bounded().alt
    assert "outputs of inside, and again with those of outside, between 0 and 20" in bounded().alt


def test_a_pattern_has_a_dark_cell_for_each_pair_that_it_allows():
    mask = np.array([[True, False, True], [False, True, False]])
    figure = plots.mask_patterns({"one": mask, "all": np.ones((2, 3))}, 0)
    one, everything = figure.axes
    assert np.array_equal(one.images[0].get_array(), mask)
    assert everything.images[0].get_array().all()
    (frame,) = one.patches
    assert frame.get_xy() == (-0.5, -0.5)
    assert "one 3 of 6, in row 0 the keys 0, 2; all 6 of 6" in figure.alt


def test_memory_is_drawn_with_that_of_one_table():
    figure = plots.memory_of_a_table([4, 8], [2**20, 2**22], [2**19, 2**21])
    measured, table = (line.get_ydata().tolist() for line in figure.axes[0].lines)
    assert measured == [1, 4]
    assert table == [0.5, 2]
    assert "peak memory grows 4-fold, to 4 MiB" in figure.alt
    assert "one table of scores, up to 2 MiB" in figure.alt


def test_what_is_looked_up_stands_beside_what_is_stored():
    answers = {"soft": [1.2, 1.5, 1.8], "hard": [1.0, 1.0, 2.0]}
    figure = plots.soft_lookup([0, 90], [1, 2], [0, 45, 90], answers)
    soft, hard, stored = figure.axes[0].lines
    assert soft.get_ydata().tolist() == answers["soft"]
    assert hard.get_ydata().tolist() == answers["hard"]
    assert np.array_equal(stored.get_xydata(), [[0, 1], [90, 2]])
    assert "soft from 1.2 to 1.8" in figure.alt


@pytest.mark.parametrize("place", range(3))
def test_names_stand_away_from_the_other_points(place):
    axis = bounded().axes[0]
    away = np.sign(CORNERS[place] - CORNERS.mean(axis=0))
    assert np.all(np.sign(axis.texts[place].xyann) == away)
