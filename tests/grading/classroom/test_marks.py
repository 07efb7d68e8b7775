"""Marks given by hand stay settled until the answer or its automatic points change."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from attention_lib.grading.classroom.gradebook import Standing
from attention_lib.grading.classroom.marks import read_answers, still_settled
from attention_lib.grading.intake.rebuild import rebuild
from tests.grading.intake.released import RELEASED

ANSWERS = {"softmax": "def softmax(): ...", "written_softmax": "Ratios."}


@pytest.mark.parametrize(
    ("answers", "points", "settled"),
    [
        (ANSWERS, 0, ["check_softmax", "written_softmax"]),
        ({**ANSWERS, "written_softmax": "Sums."}, 0, ["check_softmax"]),
        ({**ANSWERS, "softmax": "softmax = None"}, 0, ["written_softmax"]),
        (ANSWERS, 3, ["written_softmax"]),  # the answer rests on another that is right now
        ({}, 0, []),
    ],
)
def test_marks_stand_while_answers_and_automatic_points_do(answers, points, settled):
    marked = ["check_softmax", "written_softmax"]
    before = Standing(automatic={"check_softmax": 0, "written_softmax": None}, settled=marked)
    after = Standing(automatic={"check_softmax": points, "written_softmax": None})
    assert still_settled(before, after, ANSWERS, answers) == settled


def test_no_mark_is_settled_without_the_notebook_that_was_marked():
    before = Standing(automatic={"written_softmax": None}, settled=["written_softmax"])
    assert still_settled(before, before, {}, ANSWERS) == []


@pytest.mark.parametrize(("answer", "settled"), [("Ratios.", ["check_own"]), ("Sums.", [])])
def test_mark_for_a_teachers_own_test_stands_while_all_answers_do(answer, settled):
    standing = Standing(automatic={"check_own": 0}, settled=["check_own"])
    answers = {**ANSWERS, "written_softmax": answer}
    assert still_settled(standing, standing, ANSWERS, answers) == settled


def answers_of(path, *cells):
    notebook, *_ = rebuild(RELEASED, new_notebook(cells=[*RELEASED.cells, *cells]))
    nbformat.write(notebook, path)
    return read_answers(path)


def test_answers_in_other_cells_belong_to_what_was_marked(tmp_path):
    path = tmp_path / "graded.ipynb"
    code, words = "def double(x):\n    return x + x", "Because it is so."
    before = answers_of(path, new_code_cell(code), new_markdown_cell(words))
    assert before == answers_of(path, new_code_cell(code), new_markdown_cell(words))
    after = answers_of(path, new_code_cell(code), new_markdown_cell("Because of that."))
    assert before["why"] != after["why"]
    after = answers_of(path, new_code_cell(f"{code} + 0"), new_markdown_cell(words))
    assert before["double"] != after["double"]


def test_answer_in_its_own_cell_is_the_same_whatever_else_was_written(tmp_path):
    path = tmp_path / "graded.ipynb"
    before = answers_of(path)
    assert before["double"] == answers_of(path, new_code_cell("x = 1"))["double"]
