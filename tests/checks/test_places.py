"""The panel says which entries are wrong, and draws them where a picture shows more than numbers."""

import numpy as np

from attention_lib.checks.judging import GRADER, judge
from attention_lib.checks.show.panel import as_html, as_text
from attention_lib.checks.show.places import maps_of, places
from attention_lib.exercises import EXERCISES
from tests.checks.judged import right


def marked(shape, *spots):
    wrong = np.zeros(shape, bool)
    for spot in spots:
        wrong[spot] = True
    return wrong


def test_rows_columns_and_items_that_hold_all_wrong_entries_are_named():
    assert places(marked((2, 5, 4), np.s_[1, 3:])) == (
        "8 of 40 entries, all in axis 0 at 1 and rows 3 and 4, counted from 0"
    )
    assert places(marked((3,), 2)) == "1 of 3 entries, all in place 2, counted from 0"


def test_an_axis_along_which_all_may_be_wrong_is_not_named():
    assert places(marked((2, 2), (0, 0), (1, 1))) == "2 of 4 entries"
    assert places(np.ones((2, 3), bool)) == "all 6 entries"
    assert places(np.ones((), bool)) == ""


def test_maps_show_the_first_matrix_with_a_wrong_entry_and_say_so():
    values = np.arange(32.0).reshape(2, 4, 4)
    maps = maps_of(values + 1, values, marked((2, 4, 4), (1, 2, 0)))
    assert maps.svg.count("<rect") == 32
    assert maps.svg.count("stroke=") == 1
    assert 'role="img"' in maps.svg
    assert maps.text in maps.svg
    assert maps.text.startswith("Two maps of the matrix at [1], 4 rows by 4 columns")


def test_no_map_is_drawn_of_few_numbers_of_very_many_or_where_all_are_wrong():
    for shape in ((2, 2), (3,), (), (40, 40)):
        assert maps_of(np.ones(shape), np.zeros(shape), marked(shape, (0,) * len(shape))) is None
    assert maps_of(np.ones((4, 4)), np.zeros((4, 4)), np.ones((4, 4), bool)) is None


def test_maps_of_infinities_and_truths_can_be_drawn():
    truths = np.tri(4, dtype=bool)
    assert maps_of(~truths, truths, marked((4, 4), (0, 0))) is not None
    values = np.full((4, 4), -np.inf)
    assert maps_of(values, values, marked((4, 4), (0, 0))) is None


def test_the_panel_says_where_and_shows_both_maps():
    def swapped_rows(length):
        mask = np.tri(length, dtype=bool)
        mask[1:3] = mask[[2, 1]]
        return mask

    report = judge(EXERCISES["causal_mask"], swapped_rows, 0, GRADER)
    assert "<svg" in as_html(report)
    assert "all in rows 1 and 2" in as_text(report)


def test_what_is_right_has_neither_words_nor_maps():
    report = judge(EXERCISES["softmax"], right, 0)
    assert "<svg" not in as_html(report)
    assert "counted from 0" not in as_text(report)
