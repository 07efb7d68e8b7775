"""What the check of `flash_kernel` says in place of Triton's own words, and how its mistakes are made."""

import pytest

from attention_lib.checks.judging import judge
from attention_lib.exercises import find
from attention_lib.exercises.gpu.flash_kernel import RESULTS, Edited
from attention_lib.lessons.gpu import kernel, launch

needs_triton = pytest.mark.skipif(launch.triton is None, reason="Triton has builds for Linux only")


@needs_triton
@pytest.mark.skipif(not launch.INTERPRETED, reason="a compiler has other words")
def test_results_of_another_shape_are_explained_without_a_line_of_triton():
    edited = Edited((RESULTS, "return total, output, maximum")).kernel
    report = judge(find("flash_kernel"), edited, seed=0)
    assert report.outcome == "error"
    assert report.sentence == (
        "flash_kernel stopped with ValueError: what it returns must be output, total, maximum, in "
        "this order."
    )


def test_mistake_that_replaces_missing_text_names_the_text_and_its_file():
    with pytest.raises(ValueError, match="replaces 'no such line'") as caught:
        _ = Edited(("no such line", "")).kernel
    assert kernel.__file__ in str(caught.value)
