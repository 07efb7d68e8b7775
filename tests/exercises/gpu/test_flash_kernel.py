"""What the check of `flash_kernel` says in place of Triton's own words, and how its mistakes are made."""

import numpy as np
import pytest

from attention_lib.checks.judging import judge
from attention_lib.exercises import find
from attention_lib.exercises.gpu.flash_program import CALL
from attention_lib.lessons.gpu import launch
from tests.exercises.answers import patched


@pytest.mark.skipif(not launch.INTERPRETED, reason="a compiler has other words")
def test_results_of_another_shape_are_explained_without_a_line_of_triton():
    edited = patched("flash_kernel", "return output, total => return total, output").function
    report = judge(find("flash_kernel"), edited, seed=0)
    assert report.outcome == "error"
    assert report.sentence == (
        "flash_kernel stopped with ValueError: what it returns must be output, total, maximum, in "
        "this order."
    )


TOLD = [
    ("flash_kernel", "larger[:, None])", "larger)", "becomes a column with [:, None]"),
    ("flash_kernel", "tl.trans(key)", "key", "need tl.trans for the scores"),
    ("flash_kernel", "tl.dot(query, tl.trans(key))", "query @ tl.trans(key)", "with tl.dot(a, b)"),
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
        "rows)[:, None] * HEAD + components[None, :]",
        "rows) * HEAD + components",
        "Pointers and mask",
    ),
    (
        "flash_program",
        f"{CALL}0",
        f"{CALL}0".replace(", total, maximum", ""),
        "returns three blocks",
    ),
]


@pytest.mark.slow
@pytest.mark.skipif(not launch.INTERPRETED, reason="a compiler has other words")
@pytest.mark.parametrize(("name", "old", "new", "advice"), TOLD)
def test_triton_error_comes_with_advice_and_with_the_line_of_the_answer(name, old, new, advice):
    edited = patched(name, f"{old} => {new}").function
    edited.fn.__globals__.update(np=np)
    report = judge(find(name), edited, seed=0)
    assert report.outcome == "error"
    assert advice in report.sentence
    assert f"{name} stopped in line " in report.sentence


@pytest.mark.slow
def test_store_behind_the_last_row_is_noticed_and_a_future_that_is_computed():
    edited = patched(
        "flash_program",
        "total[:, None], mask=inside => total[:, None]"
        " && tl.minimum(key_length, tile * ROWS + ROWS) => key_length",
    ).function
    report = judge(find("flash_program"), edited, seed=0)
    assert "it stores outside of output" in report.sentence
    assert "Besides: Blocks wholly in a tile's future are handed to INNER" in report.sentence


def test_mistake_that_replaces_missing_text_names_the_text_and_its_file():
    with pytest.raises(ValueError, match=r"gpu/kernel.py: .* replaces 'no such line'"):
        _ = patched("flash_kernel", "no such line => ").function


def test_file_name_of_an_edited_kernel_can_stand_in_quotes():
    edited = patched(
        "flash_kernel", 'total, maximum\n => total, maximum + float("-inf")\n'
    ).function
    code = getattr(edited, "fn", edited).__code__
    assert not set(code.co_filename) & set("\"'\\\n")
