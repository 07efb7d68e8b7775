"""A page without a kernel has every frame of an interactive figure, and shows the right one first."""

import json
import re

import pytest

from attention_lib import plots
from attention_lib.plots.style import Slider, lesson_style, new_figure
from website import frames


@lesson_style
def draw(row, column=0):
    figure, _ = new_figure(f"Row {row}, column {column}.", height=0.5)
    return figure


@pytest.fixture(scope="module")
def shown():
    return frames.explore(
        draw, row=Slider([1, 2], 2, "row"), column=Slider([0, 5, 9], 5, "the <column>")
    )._repr_html_()


def images(html):
    return re.findall(r"<img [^>]*>", html)


def test_frames_follow_in_the_order_of_the_sliders_each_with_its_alt_text(shown):
    alts = [re.search('alt="([^"]*)"', image)[1] for image in images(shown)]
    assert alts == [f"Row {row}, column {column}." for row in (1, 2) for column in (0, 5, 9)]


def test_only_the_frame_of_the_starting_values_is_shown_without_scripts(shown):
    visible = [image for image in images(shown) if " hidden " not in image]
    assert len(visible) == 1
    assert "Row 2, column 5." in visible[0]


def test_sliders_have_label_values_and_start(shown):
    assert re.findall(r"<span>([^<]*)</span>", shown) == ["row", "the &lt;column&gt;"]
    inputs = re.findall(r'max="(\d)" value="(\d)"[^>]*data-values="([^"]*)"', shown)
    values = [json.loads(found[2].replace("&quot;", '"')) for found in inputs]
    assert values == [["1", "2"], ["0", "5", "9"]]
    assert [found[:2] for found in inputs] == [("1", "1"), ("2", "1")]


def test_values_are_thinned_evenly_until_the_frames_are_few():
    positions, distances = frames.thinned([range(61), range(31)], most=72)
    assert len(positions) * len(distances) <= 72
    assert (positions[0], positions[-1], distances[0], distances[-1]) == (0, 60, 0, 30)
    assert frames.thinned([[1, 2], [3, 4, 5]]) == [[1, 2], [3, 4, 5]]


def test_starting_value_is_always_among_the_frames():
    control = Slider(range(100), 37, "place")
    (kept,) = frames.thinned([control.values], most=5)
    assert frames.with_start(kept, control) == [0, 37, 50, 74, 99]


def test_recording_takes_the_place_of_live_sliders(monkeypatch):
    monkeypatch.setattr(plots, "explore", plots.explore)
    frames.record()
    assert plots.explore(draw, row=Slider([1, 2], 1, "row"))._repr_html_().count("<img") == 2


@pytest.mark.parametrize(
    ("columns", "spanning", "count"), [(1, False, 0), (2, False, 1), (3, False, 2), (2, True, 0)]
)
def test_figure_is_cut_between_its_panels_and_nowhere_else(columns, spanning, count):
    @lesson_style
    def drawn():
        figure, axes = new_figure("Panels.", height=2, ncols=columns, squeeze=False)
        if spanning:
            figure.text(0.1, 0.02, "a text below all panels " * 3)
        return figure, axes[0]

    figure, axes = drawn()
    figure._repr_html_()
    places = frames.cuts(figure)
    assert len(places) == count
    edges = [ax.get_position() for ax in axes]
    for place, left, right in zip(places, edges, edges[1:], strict=False):
        assert left.x1 < place < right.x0


def test_image_carries_its_cuts():
    assert frames.with_cuts("<img src>", [0.25, 0.5]) == '<img data-cuts="0.2500,0.5000" src>'
    assert frames.with_cuts("<img src>", []) == "<img src>"
