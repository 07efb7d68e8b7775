"""What lesson 08's checks say where Triton's own words would say little."""

import pytest

from attention_lib.checks.judging import judge
from attention_lib.exercises import find
from attention_lib.exercises.gpu import Edited
from attention_lib.lessons.gpu import launch


@pytest.mark.skipif(launch.triton is None, reason="Triton has builds for Linux only")
@pytest.mark.skipif(not launch.INTERPRETED, reason="a compiler has other words")
def test_results_of_another_shape_are_told_in_words_and_without_a_line_of_tritons():
    kernel = Edited(("return output, total, maximum", "return total, output, maximum")).kernel
    report = judge(find("flash_kernel"), kernel, seed=0)
    assert report.outcome == "error"
    assert report.sentence == (
        "flash_kernel stopped with ValueError: what it returns must be output, total, maximum, in "
        "this order."
    )
