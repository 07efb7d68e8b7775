"""The figures of lesson 06 show the numbers they are given, and say them in their alt text."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import to_hex

from attention_lib import plots
from tests.plots.panels import written


def colors_of_cells(axis) -> list[str]:
    return [to_hex(patch.get_facecolor()) for patch in axis.patches]


def test_one_head_has_a_mixture_a_sentence_and_two_heads_a_slot_for_each_word():
    values = np.array([[0, 0], [4, 0], [4, 3], [0, 3.0]])
    figure = plots.one_or_two_heads(
        values, list("abcd"), {"a c": (0, 2), "b d": (1, 3)}, [[2, 1.5], [1, 1]], ("who", "whom")
    )
    mixing, slots = figure.axes
    points = [line.get_xydata()[0].tolist() for line in mixing.lines if line.get_marker() in "Ds"]
    assert points == [[2, 1.5], [1, 1]]
    assert written(slots) == ["a\n(0, 0)", "c\n(4, 3)", "b\n(4, 0)", "d\n(0, 3)"]
    assert [tick.get_text() for tick in slots.get_xticklabels()] == ["who", "whom"]
    assert "a c mixes a and c into (2, 1.5)" in figure.alt
    assert "b d keeps b for who and d for whom" in figure.alt


def test_the_error_that_cannot_be_avoided_is_said():
    figure = plots.errors_by_share(
        [0, 0.5, 1], {"one": [1, 0.75, 0], "other": [0, 0.6, 1]}, 0.125, "both"
    )
    assert "never below 0.75; both have 0.125." in figure.alt
    assert figure.axes[0].get_xlabel() == "share of the weight that goes to one"
    one, other, reference = figure.axes[0].lines
    assert one.get_ydata().tolist() == [1, 0.75, 0]
    assert other.get_ydata().tolist() == [0, 0.6, 1]
    assert set(reference.get_ydata()) == {0.125}


def test_cells_keep_the_color_of_their_word_wherever_they_go():
    whole = 10 * np.arange(2)[:, None] + np.arange(4)
    ways = {"torn": whole.reshape(2, 2, 2), "cut": np.stack([whole[:, :2], whole[:, 2:]])}
    figure = plots.regrouped(whole, ways)
    _, torn, _, cut, _ = figure.axes  # the gaps between x, torn and cut are no axes
    first, second = (color.lower() for color in plots.style.CYCLE[:2])
    assert colors_of_cells(torn) == [first] * 4
    assert colors_of_cells(cut) == [first] * 2 + [second] * 2
    assert written(cut) == ["00", "01", "10", "11"]
    assert "by torn, head 0 holds the words [0], head 1 holds the words [1]" in figure.alt
    assert "by cut, head 0 holds the words [0, 1]" in figure.alt


def test_lines_lead_from_every_query_head_to_its_group():
    figure = plots.shared_heads({"two": [0, 0, 1, 1], "one": [0, 0, 0, 0]})
    two, one = (
        [line.get_xydata()[:, 0].tolist() for line in axis.lines if len(line.get_xydata()) == 2]
        for axis in figure.axes
    )
    assert two == [[0, 0.5], [1, 0.5], [2, 2.5], [3, 2.5]]
    assert [end for _, end in one] == [1.5] * 4


def test_bytes_are_drawn_in_gibibytes():
    figure = plots.cache_sizes([1024, 4096], {"all": [2**30, 2**32]})
    assert figure.axes[0].lines[0].get_ydata().tolist() == [1, 4]
    assert [text.get_text() for text in figure.axes[0].texts] == ["4 GiB"]
    assert "all from 1 to 4 GiB" in figure.alt


def test_hands_end_at_their_components():
    hands = {"here": [[1, 0], [0.6, 0.8]], "there": [[0, 1], [0, 2]]}
    figure = plots.clock_hands(hands, [1.0, 0.1], "score 7")
    ends = [[tuple(text.xy) for text in dial.texts] for dial in figure.axes]
    assert ends == [[(1, 0), (0, 1)], [(0.6, 0.8), (0, 2)]]
    assert [dial.get_xlabel() for dial in figure.axes] == ["1 rad a step", "0.1 rad a step"]
    assert all(dial.get_xlim()[1] > 2 for dial in figure.axes)
    assert "score 7" in figure.alt


def test_hands_of_one_direction_are_of_different_width():
    figure = plots.clock_hands({"here": [[1, 0]], "there": [[1, 0]]}, [1.0])
    wide, narrow = (text.arrow_patch.get_linewidth() for text in figure.axes[0].texts)
    assert wide > narrow + 1


def test_each_map_of_scores_has_colors_of_its_own():
    bound = np.subtract.outer(np.arange(4.0), np.arange(4.0))
    figure = plots.scores_by_offset({"large": 100 + bound, "small": bound})
    maps = [axis.images[0] for axis in figure.axes if axis.images]
    assert [image.get_clim() for image in maps] == [(97, 103), (-3, 3)]


def test_scores_that_depend_on_the_distance_are_told_from_those_that_do_not():
    bound = np.subtract.outer(np.arange(4.0), np.arange(4.0))
    figure = plots.scores_by_offset({"free": np.outer([1, 2, 3, 4], [1, 1, 2, 1]), "bound": bound})
    assert "free, from 1 to 8: scores of one distance are unlike" in figure.alt
    assert "bound, from −3 to 3: scores of one distance are equal" in figure.alt
    dots = figure.axes[3].lines[0]
    assert dots.get_xdata().tolist() == dots.get_ydata().tolist()


def test_scores_are_drawn_by_distance_with_the_highest_in_words():
    figure = plots.scores_by_distance([0, 1, 2], {"near": [-1, 2, -3.0], "far": [0, 0.5, 1]})
    assert [line.get_ydata().tolist() for line in figure.axes[0].lines] == [
        [-1, 2, -3],
        [0, 0.5, 1],
    ]
    assert "near, from −1 to −3, highest at distance 1 with 2; far, from 0 to 1" in figure.alt


def test_matches_are_drawn_by_distance_and_marked_where_they_are_lost():
    matches = {"small": [1, 0, -0.1], "large": [1, 0.8, 0]}
    figure = plots.match_by_distance([1, 8, 64], matches, 8, {"small": 8, "large": 64})
    (axis,) = figure.axes
    lines = [line for line in axis.lines if len(line.get_xdata()) == 3]
    assert [line.get_ydata().tolist() for line in lines] == list(matches.values())
    marks = [line.get_xdata() for line in axis.lines if line.get_marker() == "o"]
    assert marks == [[8], [64]]
    assert written(axis) == ["8", "64"]
    assert (
        "small from 1 to −0.1, at 0 first at 8; large from 1 to 0, at 0 first at 64" in figure.alt
    )


def test_of_swinging_matches_the_lowest_of_each_stretch_is_drawn():
    distances = np.arange(1, 4097)
    figure = plots.match_by_distance(distances, {"swings": (-1.0) ** distances}, 8, {"swings": 1})
    (line, *_) = figure.axes[0].lines
    assert len(line.get_xdata()) < 400
    assert set(line.get_ydata()[line.get_xdata() > 100]) == {-1}


def test_a_cache_leaves_one_new_cell_a_step():
    figure = plots.steps_and_cache(["a", "b", "c"])
    anew, cached = figure.axes
    assert written(anew) == ["new"] * 6
    assert written(cached) == ["new", "kept", "new", "kept", "kept", "new"]
    assert "6 everything anew and 3 with a cache" in figure.alt


def test_a_line_of_words_ends_where_the_memory_does():
    rates = {"small": [10, 20, 40], "large": [10, 15, 18]}
    figure = plots.words_a_second([1, 2, 4], rates, {"small": 9, "large": 2})
    lines = [
        line.get_ydata().tolist() for line in figure.axes[0].lines if len(line.get_xdata()) > 1
    ]
    assert lines == [[10, 20, 40], [10, 15]]
    assert written(figure.axes[0]) == ["9 chats fit", "2 chats fit"]
    assert "large from 10 to 15, where 2 chats fit" in figure.alt
