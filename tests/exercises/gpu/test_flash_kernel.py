"""What the check of `flash_kernel` says in place of Triton's own words, and how its mistakes are made."""

import numpy as np
import pytest

from attention_lib.checks.judging import judge
from attention_lib.exercises import find
from attention_lib.exercises.gpu.flash_kernel import RESULTS, Edited
from attention_lib.exercises.gpu.flash_program import PLACES, STOP
from attention_lib.exercises.parts import kernels
from attention_lib.lessons.gpu import kernel, launch


@pytest.mark.skipif(not launch.INTERPRETED, reason="a compiler has other words")
def test_results_of_another_shape_are_explained_without_a_line_of_triton():
    edited = Edited((RESULTS, "return total, output, maximum")).kernel
    report = judge(find("flash_kernel"), edited, seed=0)
    assert report.outcome == "error"
    assert report.sentence == (
        "flash_kernel stopped with ValueError: what it returns must be output, total, maximum, in "
        "this order."
    )


TOLD = [
    ("flash_kernel", "larger[:, None])", "larger)", "becomes a column with [:, None]"),
    ("flash_kernel", "tl.trans(key)", "key", "need tl.trans for the scores"),
    (
        "flash_kernel",
        "tl.exp2(maximum - larger)",
        "np.exp2(maximum - larger)",
        "operations from tl",
    ),
    ("flash_kernel", "tl.max(scores, axis=1)", "max(scores)", "go through a list"),
    ("flash_kernel", "weights.to(value.dtype)", "weights", "two blocks of one dtype"),
    ("flash_program", "tl.zeros([ROWS, HEAD]", "tl.zeros(HEAD", "A shape is a list"),
    ("flash_program", "tl.zeros([ROWS], tl.float32)", "0.0", "total must begin as a block"),
    (
        "flash_program",
        PLACES,
        PLACES.replace("[:, None]", "").replace("[None, :]", ""),
        "Pointers and mask",
    ),
    ("flash_program", "    result, total, maximum = I", "    result = I", "returns three blocks"),
]


@pytest.mark.slow
@pytest.mark.skipif(not launch.INTERPRETED, reason="a compiler has other words")
@pytest.mark.parametrize(("name", "old", "new", "advice"), TOLD)
def test_triton_error_comes_with_advice_and_with_the_line_of_the_answer(name, old, new, advice):
    edited = kernels.Edited(name, (old, new)).kernel
    edited.fn.__globals__.update(np=np)
    report = judge(find(name), edited, seed=0)
    assert report.outcome == "error"
    assert advice in report.sentence
    assert f"{name} stopped in line " in report.sentence


@pytest.mark.slow
def test_store_behind_the_last_row_is_noticed_and_a_future_that_is_computed():
    edited = kernels.Edited(
        "flash_program",
        ("total[:, None], mask=inside", "total[:, None]"),
        (STOP, "stop = key_length"),
    ).kernel
    report = judge(find("flash_program"), edited, seed=0)
    assert "it stores outside of output" in report.sentence
    assert "Besides: blocks wholly in a tile's future are handed to INNER" in report.sentence


def test_mistake_that_replaces_missing_text_names_the_text_and_its_file():
    with pytest.raises(ValueError, match="replaces 'no such line'") as caught:
        _ = Edited(("no such line", "")).kernel
    assert kernel.__file__ in str(caught.value)


def test_file_name_of_an_edited_kernel_can_stand_in_quotes():
    edited = Edited((RESULTS, 'return output, total, maximum + float("-inf")'))
    code = getattr(edited.kernel, "fn", edited.kernel).__code__
    assert not set(code.co_filename) & set("\"'\\\n")
