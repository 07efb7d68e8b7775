"""The figures of lesson 10 show what they are given."""

from attention_lib import plots
from tests.plots.samples.gpu import budget, clocks, costs, errors, published, speeds, turns


def test_the_alt_texts_hold_the_numbers():
    assert "shows 0.03 ms, a clock read after synchronizing 2.41 ms" in clocks().alt
    assert "bfloat16 (step 7.8e-03): naive torch 2.0e-03" in errors().alt
    assert "naive torch at 1,024 tokens 20 ms and 0.03 TFLOP/s with 32 MiB" in costs().alt


def test_lengths_stay_on_the_axis_where_a_measure_is_missing():
    rows = [(256, 1.5, 0.02, 0), (1024, 20.0, 0.03, 2**25)]  # no place for 0 on such an axis
    time, _, memory, *_ = plots.cost_by_length({"naive torch": rows}, "a CPU").axes
    assert memory.get_xlim() == time.get_xlim()


def test_limit_and_stop_are_those_that_the_program_hands_on():
    alt = plots.limit_and_stop(11, 4, 4, 2).alt
    assert "has start 0 and stop 8. The second, masked, has start 8 and stop 11" in alt
    assert "row 8 limit 9, row 9 limit 10, row 10 limit 11, row 11 limit 11" in alt
    assert "start 0 and stop 0. The second, masked, has start 0 and stop 4" in (
        plots.limit_and_stop(11, 4, 4, 0).alt
    )


def test_roofline_counts_in_tflops_if_asked():
    figure = plots.roofline(1e14, 1e12, {"ours": (200, 5e13)}, tera=True)
    assert "reaches 50 of at most 100 TFLOP/s" in figure.alt
    assert figure.axes[0].get_ylabel() == "TFLOP/s"


def test_a_tile_that_does_not_fit_says_so():
    assert "registers 160 of 255 a thread" in budget().alt
    assert "it does not fit" in budget().alt


def test_what_is_not_listed_is_not_drawn_as_zero():
    assert "another 321 without a mask, causal not listed" in published().alt


def test_a_speed_axis_that_spans_less_than_a_factor_of_ten_has_labels():
    rows = [(256, 1.5, 0.14, 2**21), (1024, 20.0, 0.31, 2**25)]
    figure = plots.cost_by_length({"naive torch": rows}, "a CPU")
    figure.draw_without_rendering()
    low, high = figure.axes[1].get_ylim()
    labels = [
        label.get_text()
        for label in figure.axes[1].get_yticklabels()
        if low <= label.get_position()[1] <= high
    ]
    assert len([text for text in labels if text]) >= 2


def test_points_of_one_intensity_share_a_dashed_line():
    figure = plots.roofline(
        1e12, 1e11, {"naive": (4, 1e10), "math": (4, 2e10), "tiles": (64, 5e11)}
    )
    dashed = [line for line in figure.axes[0].lines if line.get_linestyle() == "--"]
    assert [line.get_xdata()[0] for line in dashed] == [4, 64]
    assert dashed[0].get_ydata()[0] == 10.0


def test_a_timeline_has_each_step_in_its_lane():
    figure = turns()
    assert "one: products from 0, exponentials from 1; other: products from 1" in figure.alt
    assert [(bar.get_x(), bar.get_y() + 0.3) for bar in figure.axes[0].patches] == [
        (0, 0), (1, 0), (1, 1),
    ]  # fmt: skip


def test_measured_speeds_name_every_curve_and_every_bar():
    figure = speeds()
    assert "forward, ours: 400 at 1,024 tokens" in figure.alt
    assert "backward, ours: 250 at 1,024 tokens" in figure.alt
    assert (
        "128 × 64 with 8 warps 390; 128 × 64 with 4 warps 310; 64 × 64 with 4 warps 280"
        in figure.alt
    )
    assert len(figure.axes[2].patches) == 3
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["naive torch", "ours", "4 warps", "8 warps"]


def test_without_trials_there_is_no_panel_of_tiles():
    assert len(speeds(tiles=False).axes) == 2
