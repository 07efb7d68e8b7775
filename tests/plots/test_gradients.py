"""The figures of lesson 04 show the numbers they are given, and say them in their alt text."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex

from attention_lib import plots
from attention_lib.plots.style import GRAY
from tests.plots.panels import written
from tests.plots.samples.gradients import (
    STEPS,
    along_a_score,
    by_keys,
    jacobian,
    lines,
    loss,
    path,
    pulls,
    shares,
    step,
    valleys,
)


def test_tangents_have_the_slopes_given():
    figure = along_a_score()
    tangents = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 2]
    slopes = [np.ptp(line.get_ydata()) / np.ptp(line.get_xdata()) for line in tangents[:2]]
    assert slopes == pytest.approx([0.125, 0.25])
    assert written(figure.axes[0]) == ["slope −0.125", "slope 0.25"]
    assert "study falls with slope −0.125, man rises with slope 0.25" in figure.alt


def test_equal_weights_share_a_line():
    legend = along_a_score().axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["please and study", "man"]


def test_every_derivative_stands_in_its_cell():
    figure = jacobian()
    grid = figure.axes[1]
    cells = {
        (round(t.get_position()[1]), round(t.get_position()[0])): t.get_text() for t in grid.texts
    }
    assert cells[0, 2] == "−0.125"
    assert cells[2, 2] == "0.25"
    assert "weight of man −0.125, −0.125, 0.25" in figure.alt


def test_bars_of_weights_have_no_color_that_means_a_sign_in_the_table_beside_them():
    bars, table = jacobian().axes
    signs = {to_hex(table.images[0].cmap(end)) for end in (0.0, 1.0)}
    assert {to_hex(bar.get_facecolor()) for bar in bars.patches} == {to_hex(GRAY)}
    assert to_hex(GRAY) not in signs


def test_valleys_mark_their_lowest_points():
    figure = valleys()
    marks = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    best = [float(line.get_xdata()[0]) for line in marks]
    assert best == pytest.approx([1e-8, STEPS[np.argmin(STEPS**2 + 1e-16 / STEPS)]])
    assert "one-sided: at best 2e-08, at a step of 1e-08" in figure.alt


def test_pulls_start_at_the_weighted_mean():
    figure = pulls()
    stems = [line for line in figure.axes[0].lines if len(set(line.get_xdata())) == 1][::2]
    assert [line.get_ydata()[0] for line in stems] == pytest.approx([1.75] * 3)
    assert [bar.get_height() for bar in figure.axes[1].patches] == [-0.1875, -0.4375, 0.625]
    assert "weighted mean, 1.75" in figure.alt


def test_right_classes_are_framed_in_both_tables():
    for panel in loss().axes:
        corners = [(round(box.get_x() + 0.47), round(box.get_y() + 0.45)) for box in panel.patches]
        assert corners == [(2, 0), (0, 1)]


def test_loss_gradient_says_of_how_many_examples_the_loss_is_the_mean():
    figure = loss()
    assert figure.axes[1].get_title(loc="left") == "gradient of the loss, the mean of 2"
    assert "the mean over 2 examples" in figure.alt


def test_lines_say_where_they_begin_and_end():
    figure = lines()
    assert "against d_k, from 2 to 8: kept, from 1 to 1; lost, from 1 to 0.002." in figure.alt
    assert figure.axes[0].get_xscale() == "log"
    assert figure.axes[0].get_yscale() == "log"


@pytest.mark.parametrize(("base", "labels"), [(2, {"2", "8"}), (10, {"10"})])
def test_lines_count_along_a_logarithmic_axis_in_powers_of_its_base(base, labels):
    figure = plots.gradient_lines([2, 4, 16], {"kept": [1.0, 1.0, 1.0]}, "steps", "weight", base)
    figure.canvas.draw()
    shown = {label.get_text() for label in figure.axes[0].get_xticklabels()}
    assert labels <= shown
    assert ("2" in shown) == (base == 2)


def test_places_on_a_line_are_marked_and_said():
    figure = plots.gradient_lines(
        [1, 2, 4], {"kept": [1.0, 1.0, 1.0]}, "factor", "size", 2, marked={2: "here"}
    )
    assert written(figure.axes[0]) == ["here"]
    assert figure.axes[0].lines[0].get_xdata()[0] == 2
    assert figure.alt.endswith("Marked is 2, here.")


def test_gradients_by_keys_say_how_many_times_the_second_is_the_first():
    figure = by_keys()
    assert [written(axis) for axis in figure.axes] == [
        ["without / with\nat 4: 1.5 times\nat 8: 0.001 times"],
        ["without / with\nat 4: 10 times\nat 8: 1 times"],
    ]
    assert "with 16 keys, with from 1 to 1, without from 2 to 0.001" in figure.alt
    assert "the second over the first 10 at 4 and 1 at 8" in figure.alt


def test_the_share_of_the_first_is_marked_and_said():
    figure = shares()
    assert written(figure.axes[0]) == ["5%", "85%"]
    assert "The first 5% have, even 5%; few 85%." in figure.alt


def test_shares_of_the_keys_add_up_to_the_step_of_the_query():
    figure = step()
    ends = [note.xy for note in figure.axes[1].texts]
    assert ends == [
        pytest.approx(end) for end in ((-0.0625, 0), (0, -0.625), (0.375, 0.375), (0.3125, -0.25))
    ]
    assert "The step itself is their sum, (0.312, −0.25)." in figure.alt


def test_path_names_every_array_and_labels_every_backward_arrow_with_its_product():
    texts = " ".join(written(path().axes[0]))
    for name in ("(L, d_k)", "(S, d_k)", "(L, S)", "(S, d_v)", "(L, d_v)", "$dO$"):
        assert name in texts
    for product in (
        r"$dV = P^\top dO$",
        r"$dP = dO\, V^\top$",
        "$dE$: softmax_vjp",
        r"$dQ = \alpha\, dE\, K$",
        r"$dK = \alpha\, dE^\top Q$",
    ):
        assert product in texts


def test_open_steps_of_the_path_do_not_tell_their_products():
    figure = plots.backward_path(open_steps=("Q", "V"))
    texts = " ".join(written(figure.axes[0]))
    assert "$dQ =$ ?" in texts
    assert "$dV =$ ?" in texts
    assert r"$dK = \alpha\, dE^\top Q$" in texts
    assert "dV, which is open" in figure.alt
    assert "dQ = " not in figure.alt
