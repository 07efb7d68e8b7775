"""Words of a student's do not reach beyond their own line or cell."""

import unicodedata

import numpy as np
import pytest

from attention_lib.checks.calls.observation import explanation_of
from attention_lib.checks.judging import GRADER, judge
from attention_lib.checks.problems import MOST_ERROR_CHARACTERS
from attention_lib.exercises import EXERCISES
from attention_lib.grading.inside.wire import error_by_value, pack
from attention_lib.grading.judge.stand_in import _observation
from attention_lib.grading.report.findings import NOT_CHECKED, ClassReport, Finding, _finding
from attention_lib.grading.spreadsheet import as_text_cell
from attention_lib.grading.terminal import few_marks, printable


def test_long_text_of_an_error_is_cut_where_the_verdict_is_made():
    def answer(*_):
        raise ValueError("x" * 1_000_000)

    report = judge(EXERCISES["softmax"], answer, 0, GRADER)
    assert len(report.sentence) < 2 * MOST_ERROR_CHARACTERS


def test_what_a_submissions_process_explains_stands_between_quotes():
    told = {"value": np.frombuffer(pack({"value": None}), np.uint8), "explanation": "All is right."}
    seen = _observation({**told, "error": error_by_value(ValueError("odd"))})
    assert explanation_of(seen) == 'Its own process says: "All is right."'


def test_finding_is_one_line_of_plain_characters():
    outputs = [{"output_type": "error", "evalue": "a\u202eb\n" + "e\u0301" + "\u0301" * 9}]
    assert _finding(outputs).sentence == "a?b?e" + "\u0301" * 3


def test_known_mistakes_come_before_what_could_not_run():
    found = {
        "ada": Finding("wrong", "softmax-axis", "The axis."),
        "bo": Finding(NOT_CHECKED, "", "It could not run."),
        "cy": Finding(NOT_CHECKED, "", "It could not run."),
        "di": Finding("wrong", "", "Numbers."),
    }
    report = ClassReport(
        "01_softmax", {}, {}, {who: {"softmax": one} for who, one in found.items()}
    )
    assert [students for _, students in report.groups("softmax")] == [["ada"], ["di"], ["bo", "cy"]]


@pytest.mark.parametrize("text", ["=1+1", "a\n=1+1", "\t=1+1", "a\r\n@x", "a\x00b"])
def test_cell_of_a_table_is_one_line_and_no_formula(text):
    cell = as_text_cell(text)
    assert cell.isprintable()
    assert not cell.startswith(("=", "+", "-", "@"))


def test_marks_do_not_pile_up():
    piled = "e" + "\u0301" * 50 + "nd"
    assert few_marks(piled) == "e" + "\u0301" * 3 + "nd"
    assert printable(piled) == few_marks(piled)
    assert few_marks("o" + "\u20dd" * 50) == "o" + "\u20dd" * 3  # which encloses
    honest = unicodedata.normalize("NFD", "Zoë Müller-Groß, Nguyễn")
    assert few_marks(honest) == honest
