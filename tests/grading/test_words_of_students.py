"""Words of a student's do not reach beyond their own line or cell."""

import unicodedata

import pytest

from attention_lib.grading.spreadsheet import as_text_cell
from attention_lib.grading.terminal import few_marks, printable


@pytest.mark.parametrize("text", ["=1+1", "a\n=1+1", "\t=1+1", "a\r\n@x", "a\x00b"])
def test_cell_of_a_table_is_one_line_and_no_formula(text):
    cell = as_text_cell(text)
    assert cell.isprintable()
    assert not cell.startswith(("=", "+", "-", "@"))


def test_marks_do_not_pile_up():
    piled = "e" + "\u0301" * 50 + "nd"
    assert few_marks(piled) == "e" + "\u0301" * 3 + "nd"
    assert printable(piled) == few_marks(piled)
    honest = unicodedata.normalize("NFD", "Zoë Müller-Groß, Nguyễn")
    assert few_marks(honest) == honest
