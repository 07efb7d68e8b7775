"""The figures of lesson 07 show the numbers they are given, and say them in their alt text."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex

from attention_lib import plots
from tests.plots.panels import written

BLOCKS = [[1.0, 3.0], [2.0], [5.0, 4.0]]
SCORES = np.array([[0.0, 1.0, 1.0, 2.0, 0.0], [3.0, 0.0, 0.0, 0.0, 3.0]])
VALUES = np.array([2.0, 0.0, 4.0, 1.0, 8.0])


def read_in_one_pass(blocks, read):
    row, ends = np.concatenate(blocks), np.cumsum([len(block) for block in blocks])
    exponentials = [np.exp(row[:end] - row[:end].max()) for end in ends]
    return plots.one_pass(blocks, exponentials, read)


def after_blocks(step):
    read = SCORES[:, : 2 * step]
    exponentials = np.exp(read - read.max(axis=1, keepdims=True, initial=-np.inf))
    outputs = exponentials @ VALUES[: 2 * step]
    return plots.tile_by_tile(SCORES, VALUES, exponentials, outputs, 2, step, ["here", "there"])


def bars(axis, color: str) -> list[float]:
    filled = [bar for bar in axis.patches if bar.get_fill()]
    return [bar.get_height() for bar in filled if to_hex(bar.get_facecolor()) == color.lower()]


@pytest.mark.parametrize("read", [0, 1, 2, 3])
def test_blocks_not_yet_read_stay_gray_and_have_no_total(read):
    above, below = read_in_one_pass(BLOCKS, read).axes
    assert len(bars(above, plots.style.GRID)) == sum(map(len, BLOCKS[read:]))
    assert len(bars(below, plots.style.ORANGE)) == read


def test_the_total_is_what_is_left_and_what_is_new():
    figure = read_in_one_pass(BLOCKS, 3)
    _, below = figure.axes
    left, new = bars(below, plots.style.BLUE), bars(below, plots.style.ORANGE)
    before = np.exp(-2) + 1 + np.exp(-1)  # under the maximum 3
    assert left == pytest.approx([0, np.exp(-2) + 1, before * np.exp(-2)])
    assert new == pytest.approx([np.exp(-2) + 1, np.exp(-1), 1 + np.exp(-1)])
    assert f"{before:.3f}" in figure.alt
    assert any("before × 0.135" in text for text in written(below))


def test_the_maximum_never_falls():
    above, _ = read_in_one_pass([[4.0], [1.0], [6.0]], 3).axes
    heights = [
        line.get_ydata()[0] for line in above.lines if line.get_color() == plots.style.VERMILLION
    ]
    assert heights == [4, 4, 6]


@pytest.mark.parametrize(("step", "shown"), [(1, [0, 1]), (2, [2, 3]), (3, [4])])
def test_only_the_scores_of_the_present_block_are_written(step, shown):
    grid, _ = after_blocks(step).axes
    assert written(grid) == [f"{score:.1f}" for score in SCORES[:, shown].ravel()]


def test_after_the_last_block_output_over_total_is_attention():
    _, kept = after_blocks(3).axes
    weights = np.exp(SCORES) / np.exp(SCORES).sum(axis=1, keepdims=True)
    assert written(kept)[-2:] == [f"{output:.3f}" for output in weights @ VALUES]
    assert written(kept)[:2] == ["2.0", "3.0"]


def test_the_factor_for_what_was_there_is_written():
    first = written(after_blocks(1).axes[1])
    assert first[2:4] == ["0.000", "0.000"]
    second = after_blocks(2)
    assert written(second.axes[1])[2:4] == [f"{np.exp(-1):.3f}", "1.000"]
    assert "here: maximum 2.0, factor 0.368" in second.alt


def test_before_the_first_block_nothing_is_known():
    figure = after_blocks(0)
    assert written(figure.axes[1]) == ["−∞"] * 2 + ["–"] * 2 + ["0.000"] * 4 + ["–"] * 2


@pytest.mark.parametrize(
    ("length", "block_size", "blocks", "share"),
    [(8, 8, "1 of 1", "100%"), (8, 2, "10 of 16", "62%"), (10, 4, "6 of 9", "68%")],
)
def test_blocks_of_the_future_are_counted_out(length, block_size, blocks, share):
    figure = plots.causal_tiles(length, block_size)
    (axis,) = figure.axes
    computed = sum(patch.get_fill() for patch in axis.patches)
    assert f"{computed} of " in figure.alt
    assert f"{blocks} blocks, {share} of the scores" in figure.alt


def test_each_curve_has_lengths_of_its_own_and_bytes_have_units():
    figure = plots.memory_by_length(
        {"square": ([2, 4], [4096, 3 * 2**20]), "line": ([2, 4, 8], [64, 128, 256])}, "n", "memory"
    )
    (axis,) = figure.axes
    assert "square from 4 KiB at 2 to 3 MiB at 4; line from 64 bytes at 2" in figure.alt
    assert written(axis) == ["3 MiB", "256 bytes"]
    assert [len(line.get_xdata()) for line in axis.lines] == [2, 3]


def test_no_program_is_left_out_from_under_the_roof():
    points = {f"way {number}": (2.0 * number, 1e9) for number in range(1, 8)}
    labels = plots.roofline(1e11, 1e10, points).axes[0].get_legend_handles_labels()[1]
    assert labels == ["the roof", *points]


def test_the_roof_is_the_lower_of_memory_and_arithmetic():
    figure = plots.roofline(1e11, 1e10, {"low": (2.0, 1e10), "high": (500.0, 6e10)})
    (axis,) = figure.axes
    x, y = axis.lines[0].get_data()
    assert y == pytest.approx(np.minimum(100, 10 * x))
    assert "meets a level one at 10 operations a byte" in figure.alt
    assert "low at 2 operations a byte reaches 10 of at most 20 billion" in figure.alt
    assert "high at 500 operations a byte reaches 60 of at most 100 billion" in figure.alt
