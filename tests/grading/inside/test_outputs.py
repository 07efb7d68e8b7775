"""Outputs of a cell, as they are collected."""

from attention_lib.grading.inside.outputs import Outputs


def test_latex_is_shown_as_markdown_which_pages_keep_inside_its_cell():
    outputs = Outputs()
    outputs.display({"text/plain": "<Latex>", "text/latex": "$x$"})
    outputs.display({"text/markdown": "*x*", "text/latex": "$x$"})
    assert [output["data"] for output in outputs.shown] == [
        {"text/plain": "<Latex>", "text/markdown": "$x$"},
        {"text/markdown": "*x*"},
    ]
