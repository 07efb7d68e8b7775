"""What counts as a notebook, and the sentence for what does not."""

import io
import json

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from attention_lib.grading.intake import UnreadableNotebook, read_notebook

NOTEBOOK = new_notebook(cells=[new_code_cell("1 + 1")])


@pytest.mark.parametrize("version", [3, 4])
def test_formats_in_use_are_read(version):
    notebook = read_notebook(io.StringIO(nbformat.writes(NOTEBOOK, version=version)))
    source = notebook.cells[0].source
    assert (source if isinstance(source, str) else "".join(source)) == "1 + 1"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not valid JSON: .*line 1 column 1"),
        (nbformat.writes(NOTEBOOK)[:-20], "not valid JSON"),
        ("[]", "not a notebook: it says no nbformat"),
        ('{"cells": []}', "not a notebook: it says no nbformat"),
        (json.dumps({"nbformat": "four"}), "not a notebook"),
        (json.dumps({"nbformat": 99, "cells": []}), "nbformat 99, which is not known"),
        (json.dumps({"nbformat": 3, "worksheets": 7}), "nbformat 3 is malformed"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_notebook_is_told_in_a_sentence(text, told):
    with pytest.raises(UnreadableNotebook, match=told) as caught:
        read_notebook(io.StringIO(text))
    assert "\n" not in str(caught.value)


def test_what_is_no_text_is_told(tmp_path):
    path = tmp_path / "picture.ipynb"
    path.write_bytes(b"\x89PNG\xff\xfe")
    with path.open(encoding="utf-8") as file, pytest.raises(UnreadableNotebook, match="UTF-8"):
        read_notebook(file)
