"""The figures of lesson 05 show the numbers they are given, and say them in their alt text."""

from __future__ import annotations

import numpy as np
import pytest

from attention_lib import plots

WORDS = ["red", "green", "blue"]
CORNERS = np.array([[0.0, 0.0], [4.0, 1.0], [1.0, 3.0]])


def written(axis) -> list[str]:
    return [text.get_text() for text in axis.texts]


def heights(axis) -> list[float]:
    return [patch.get_height() for patch in axis.patches]


def test_tables_of_unequal_width_show_every_number_with_its_sign():
    figure = plots.number_tables({"x": [[1, -2, 0.5], [0, 3, 4]], "y": [[7], [8]]}, ["a", "b"])
    left, right = figure.axes
    assert written(left) == ["1", "−2", "0.5", "0", "3", "4"]
    assert written(right) == ["7", "8"]
    assert left.get_title(loc="left") == "x (2, 3)"
    assert "y a 7; b 8" in figure.alt


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


def test_nan_is_written_where_its_bar_would_stand():
    figure = plots.rows_or_nan({"a": [np.nan, np.nan, 1], "b": [0.5, 0.5, 0]}, WORDS, "weight")
    first, second = figure.axes
    assert written(first) == ["nan", "nan", "1"]
    assert heights(first) == [0, 0, 1]
    assert written(second) == ["0.5", "0.5", "0"]
    assert "a [nan, nan, 1]" in figure.alt


def bounded():
    outputs = {"inside": CORNERS / 2 + 0.5, "outside": 5 * CORNERS}
    reach = {"inside": [2.5, 3.0], "outside": [20.0, 200.0]}
    return plots.bounded_mixtures(CORNERS, WORDS, outputs, [1, 10], reach)


def test_outputs_stand_where_they_lie_and_their_reach_beside_them():
    plane, growth = bounded().axes
    inside, outside, values = (line.get_xydata() for line in plane.lines)
    assert np.allclose(inside, CORNERS / 2 + 0.5)
    assert np.allclose(outside, 5 * CORNERS)
    assert np.allclose(values, CORNERS)
    assert [line.get_ydata().tolist() for line in growth.lines] == [[2.5, 3.0], [20.0, 200.0]]
    assert growth.get_yscale() == "log"


def test_the_reach_is_told_in_the_alt_text():
    assert "outside the largest component goes from 20 to 200" in bounded().alt


@pytest.mark.parametrize("place", range(3))
def test_names_stand_away_from_the_other_points(place):
    axis = bounded().axes[0]
    away = np.sign(CORNERS[place] - CORNERS.mean(axis=0))
    assert np.all(np.sign(axis.texts[place].xyann) == away)
