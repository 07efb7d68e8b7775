"""The figures of lesson 08 show what they are given, and keep their words inside the canvas."""

import numpy as np
import pytest

from attention_lib import plots

WORDS = list("fbefb")
BEFORE = [(1, 0), (2, 1), (3, 2), (4, 3)]
AFTER = [(3, 1), (4, 2)]
FIRST = np.eye(5, k=-1)
FIRST[0, 0] = 1
SECOND = np.array(
    [
        [1, 0, 0, 0, 0],
        [0.5, 0.5, 0, 0, 0],
        [0.25, 0.25, 0.5, 0, 0],
        [0.04, 0.96, 0, 0, 0],
        [0, 0, 0.5, 0.5, 0],
    ]
)
MAPS = {"layer 1": FIRST, "layer 2": SECOND}
FRAMES = {"layer 1": BEFORE, "layer 2": AFTER}


def by_hand():
    return plots.hand_set_maps(MAPS, WORDS, FRAMES)


def by_layer():
    return plots.layer_maps(MAPS, WORDS, FRAMES, "step 20")


def drop():
    losses = {"two layers": np.linspace(3.5, 1.0, 40), "one layer": np.linspace(3.5, 3.0, 40)}
    heads = {"on the place before": [0.1, 0.6, 0.9], "induction": [0.0, 0.4, 0.8]}
    return plots.loss_and_heads(losses, [0, 20, 40], heads, {"log 32": 3.47})


def path():
    return plots.reading_path(WORDS, FIRST, SECOND, 4)


def path_of_a_long_sequence():
    weights = np.tri(18) / np.arange(1, 19)[:, None]
    return plots.reading_path(list("fbekch" * 3), weights, weights, 17)


def changes():
    shares = {
        "nothing changed": [0.98, 0.97, 0.98],
        "layer 1: moved by one place": [0.1, 0.1, 0.09],
    }
    return plots.replaced_maps(shares, "share of right words")


def sizes():
    return plots.learned_by_score_size(
        {
            "small vectors, divided": [(0.5, 0.9), (0.52, 0.95)],
            "small vectors, not divided": [(3.0, 0.4), (3.1, 0.5)],
            "rate ÷ 3, divided": [(1.5, 0.7), (1.6, 0.6)],
        },
        {
            "small vectors, divided": True,
            "small vectors, not divided": False,
            "rate ÷ 3, divided": True,
        },
    )


FIGURES = [by_hand, by_layer, drop, path, path_of_a_long_sequence, changes, sizes]


@pytest.mark.parametrize("draw", FIGURES)
def test_figure_describes_itself_and_can_be_drawn(draw):
    figure = draw()
    assert figure.alt.endswith(".")
    assert "<img" in figure._repr_html_()


@pytest.mark.parametrize("draw", FIGURES)
def test_no_text_leaves_the_canvas(draw):
    figure = draw()
    figure.draw_without_rendering()
    box = figure.get_tightbbox()  # in inches
    width, height = figure.get_size_inches()
    assert box.x0 >= -0.01
    assert box.y0 >= -0.01
    assert box.x1 <= width + 0.01
    assert box.y1 <= height + 0.01


def test_alt_texts_hold_the_numbers():
    assert "layer 2, mean weight of the 2 framed cells 0.73" in by_hand().alt
    assert by_layer().alt.startswith("step 20: Attention maps over the words f b e f b.")
    assert "two layers from 3.50 to 1.61" in drop().alt
    assert "on the place before from 0.10 to 0.90, past one half at step 20" in drop().alt
    assert "reads place 2 (e) with 0.50, which had read place 1 (b) with 1.00" in path().alt
    assert "layer 1: moved by one place 0.1, 0.1, 0.09" in changes().alt
    assert "small vectors, not divided (scores of 3): 0.4, 0.5" in sizes().alt


def test_framed_cells_lie_where_the_answers_are():
    first, second = by_hand().axes[:2]
    corners = [patch.get_xy() for patch in first.patches]
    assert corners == [(key - 0.5, key + 0.5) for key in range(4)]
    assert [patch.get_xy() for patch in second.patches] == [(0.5, 2.5), (1.5, 3.5)]


def test_a_head_that_never_grows_has_no_step():
    figure = plots.loss_and_heads({"one": [3.0, 2.9]}, [0, 2], {"head": [0.1, 0.2]}, {})
    assert "past one half at step none" in figure.alt


def test_reading_path_draws_no_line_for_a_weight_below_its_limit():
    figure = plots.reading_path(WORDS, FIRST, SECOND, 3)
    assert len(figure.axes[0].lines) == 2  # from place 3 to 1, and from there to 0
