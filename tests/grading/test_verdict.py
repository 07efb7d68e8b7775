"""A check cell is worth its points only where `check` has said so, and then in any case."""

import pytest
from nbformat.v4 import new_code_cell, new_output
from nbgrader.utils import determine_grade

from attention_lib.grading.verdict import Verdict

SOURCE = """\
check("softmax", softmax)
### BEGIN HIDDEN TESTS
check("softmax", softmax, seed=None)
### END HIDDEN TESTS"""


def said(outcome="right", exercise="softmax"):
    """What `check` displays."""
    return new_output(
        "display_data",
        data={"text/plain": f"{exercise}: {outcome}."},
        metadata={"attention_lib": {"exercise": exercise, "outcome": outcome}},
    )


STDERR = new_output("stream", name="stderr", text="RuntimeWarning: overflow")
NUMBER = new_output("execute_result", data={"text/plain": "3.0"}, execution_count=7)
ERROR = new_output("error", ename="CheckFailed", evalue="no", traceback=["---> secret line", "no"])
FIGURE = new_output("display_data", data={"image/png": "aGVsbG8="})


def points(outputs, *, grade_id="check_softmax", source=SOURCE, execution_count=7):
    """Judge a cell with these outputs, and let nbgrader score it."""
    settings = {"grade": True, "solution": False, "points": 3, "grade_id": grade_id}
    cell = new_code_cell(
        source,
        outputs=outputs,
        execution_count=execution_count,
        metadata={"nbgrader": settings},
    )
    cell, _ = Verdict().preprocess_cell(cell, {}, 0)
    return determine_grade(cell)[0], cell


@pytest.mark.parametrize(
    "outputs",
    [
        [said(), said()],
        [STDERR, said(), STDERR, said(), STDERR],
        [said(), said(), NUMBER],
        [said(), FIGURE, said(), STDERR],
    ],
)
def test_right_twice_is_full_marks_whatever_else_is_shown(outputs):
    assert points(outputs)[0] == 3


@pytest.mark.parametrize(
    "outputs",
    [
        [],
        [NUMBER],
        [FIGURE],
        [said()],
        [said(), NUMBER],
        [said(), said("wrong")],
        [said("wrong"), ERROR],
        [said(), said(), ERROR],
        [said(), said(exercise="normalize_by_sum")],
        [said(exercise="normalize_by_sum")] * 2,
        [said(), said(), said("wrong")],
        [new_output("display_data", data={"text/plain": "softmax: right."})] * 2,
    ],
)
def test_anything_else_is_nothing(outputs):
    assert points(outputs)[0] == 0


def test_a_cell_that_never_ran_says_so():
    score, cell = points([], execution_count=None)
    assert score == 0
    assert cell.outputs[-1].traceback == ["The check could not run."]


def test_the_hidden_part_is_in_no_traceback():
    crash = new_output("error", ename="NameError", evalue="softmax?", traceback=["---> secret"])
    assert points([said("wrong"), ERROR])[1].outputs[-1].traceback == ["CheckFailed: see above."]
    assert points([crash])[1].outputs[-1].traceback == ["NameError: softmax?"]


def test_a_warning_is_kept_for_the_reader():
    _, cell = points([STDERR, said(), said()])
    assert cell.outputs[0] == new_output("stream", name="stdout", text=STDERR.text)


def test_an_instructors_own_graded_cells_are_left_to_nbgrader():
    assert points([], grade_id="my_own_test", source="assert True")[0] == 3
    assert points([NUMBER], grade_id="my_own_test", source="1 + 2")[0] == 3
    assert points([ERROR], grade_id="my_own_test", source="assert False")[0] == 0
