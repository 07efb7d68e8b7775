"""The figures of lesson 08 show what they are given."""

from attention_lib import plots
from tests.plots.samples.learning import (
    by_hand,
    by_layer,
    changes,
    drop,
    steps,
)


def test_alt_texts_hold_the_numbers():
    assert "layer 2, mean weight of the 2 framed cells 0.73" in by_hand().alt
    assert by_layer().alt.startswith("step 20: Attention maps over the words f b e f b.")
    assert "two layers from 3.50 to 1.61" in drop().alt
    assert "on the place before from 0.10 to 0.90, past one half at step 20" in drop().alt
    assert "layer 1: moved by one place 4.19, 4.24, 4.05" in changes().alt
    assert "rate 0.01, not divided: 160, not by 250, not by 250" in steps().alt


def test_bars_of_means_have_a_color_that_no_start_has():
    figure = changes()
    (axis,) = figure.axes
    colors = [{line.get_color() for line in lines} for lines in (axis.lines[::4], axis.lines[1:4])]
    assert not colors[0] & colors[1]
    assert figure.legends[0].get_texts()[-1].get_text() == "mean"


def test_framed_cells_lie_where_the_answers_are():
    first, second = by_hand().axes[:2]
    corners = [patch.get_xy() for patch in first.patches]
    assert corners == [(key - 0.5, key + 0.5) for key in range(4)]
    assert [patch.get_xy() for patch in second.patches] == [(0.5, 2.5), (1.5, 3.5)]


def test_a_head_that_never_grows_has_no_step():
    figure = plots.loss_and_heads({"one": [3.0, 2.9]}, [0, 2], {"head": [0.1, 0.2]}, {})
    assert "past one half at step none" in figure.alt


def test_runs_that_did_not_get_there_are_hollow_and_beyond_the_limit():
    marks = steps().axes[1].lines[3:6]
    assert [mark.get_markerfacecolor() for mark in marks] == ["none"] * 3
    assert all(mark.get_xdata()[0] > 250 for mark in marks)


def test_a_loss_is_smoothed_over_some_steps_and_stays_where_it_was():
    losses = [float(step % 2 + step) for step in range(1, 41)]
    heads = {"head": [0.1]}
    (faint, smooth) = plots.loss_and_heads({"one": losses}, [0], heads, {}).axes[0].lines
    assert list(faint.get_ydata()) == losses
    steps, means = smooth.get_data()
    assert (steps[0], steps[-1]) == (6, 35)
    assert abs(means[0] - sum(losses[:11]) / 11) < 1e-12
