"""Words of a student's do not reach beyond their own line or cell."""

import datetime
import unicodedata

import numpy as np
import pytest
from bs4 import BeautifulSoup

from attention_lib.checks.calls.case import explanation_of
from attention_lib.checks.findings.observed import MOST_ERROR_CHARACTERS
from attention_lib.checks.judging import GRADER, judge
from attention_lib.exercises import EXERCISES
from attention_lib.grading import grade
from attention_lib.grading.classroom.gradebook import Standing
from attention_lib.grading.inside.wire import error_by_value, pack
from attention_lib.grading.judge.stand_in import _observation
from attention_lib.grading.report.findings import (
    NOT_CHECKED,
    ClassReport,
    Finding,
    _finding_from_outputs,
)
from attention_lib.grading.report.page import as_page
from attention_lib.grading.report.text import as_text
from attention_lib.grading.report.writing import as_csv
from attention_lib.grading.spreadsheet import as_text_cell
from attention_lib.grading.terminal import escaped, few_marks, printable, shown_name


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
    assert _finding_from_outputs(outputs).sentence == "a?b?e" + "\u0301" * 3


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


NAMES = {
    "right to left": ("ada\u202egnirps", r"ada\u202egnirps"),
    "isolated": ("ada\u2067x", r"ada\u2067x"),
    "mark of a direction": ("ada\u061c", r"ada\u061c"),
    "zero width": ("ada\u200b\u200d\ufeff", r"ada\u200b\u200d\ufeff"),
    "letter without a picture": ("ada\u3164", r"ada\u3164"),
    "joiner of graphemes": ("a\u034fda", r"a\u034fda"),
    "line": ("ada\nbo\u2028cy", r"ada\nbo\u2028cy"),
    "color": ("\x1b[31mada\x9b0m", r"\x1b[31mada\x9b0m"),
    "bytes": ("ada\udcff", r"ada\udcff"),
    "tag": ("ada\U000e0041", r"ada\U000e0041"),
    "wide space": ("山田\u3000太郎", "山田 太郎"),
    "vowel sign": ("किरण कुमार", "किरण कुमार"),
    "Hebrew": ("דנה", "דנה"),
}


@pytest.mark.parametrize(("name", "shown"), NAMES.values(), ids=NAMES)
def test_name_shows_what_it_is_made_of(name, shown):
    assert shown_name(name) == shown
    table = grade.table({"softmax": 1}, [grade.Result(name, {"softmax": 1})])
    assert table.splitlines()[-1].split("  ")[0] == shown
    assert escaped(name) in as_csv(_report_of(name))
    for text in (
        as_text(_report_of(name)),
        BeautifulSoup(as_page(_report_of(name)), "html.parser").text,
    ):
        assert shown in " ".join(text.split())
        assert name == shown or name not in text


def _report_of(*names):
    """Make the report of a class in which all stop with the same error."""
    found = {name: {"softmax": Finding("error", "", "It stopped.")} for name in names}
    standings = {name: Standing({"softmax": 0.0}, late=datetime.timedelta(1)) for name in names}
    return ClassReport("01_softmax", {"softmax": 1.0}, standings, found)


def test_long_name_widens_no_table():
    long = "ab" * 100 + "z"
    assert shown_name(long) == f"{'ab' * 10}…{'ab' * 9}z"
    table = grade.table({"softmax": 1}, [grade.Result(long, {"softmax": 1})])
    assert max(map(len, table.splitlines())) < 80
    assert long not in as_page(_report_of(long))
    assert long not in as_text(_report_of(long))
    assert long in as_csv(_report_of(long))  # which a program reads


@pytest.mark.parametrize("text", ["a;=1+1", " =1+1", "＝1+1", "a; \t@x", "a;b;-1+cmd"])
def test_cell_is_no_formula_where_semicolons_separate(text):
    parts = [part.strip() for part in as_text_cell(text).split(";")]
    assert not [part for part in parts if part.startswith(tuple("=+-@＝"))]


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
