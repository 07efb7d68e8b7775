"""Each lesson with all its cells: its model answers are right in the sandbox, its blanks are not.

What a class gets for them, by way of nbgrader, is in test_round_trip.py.
"""

import nbformat
import pytest

from attention_lib.grading.judge import execution
from attention_lib.grading.judge.checking import checked_exercise
from attention_lib.grading.judge.execution import run_notebook
from attention_lib.grading.judge.task import Task
from tests.grading.sample_class import LESSONS, Classroom

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]


@pytest.mark.parametrize("lesson", LESSONS)
def test_model_answers_are_right_and_blanks_are_not(released_course, lesson, monkeypatch):
    """Neither looks for a name that the setup cells do not bind."""
    monkeypatch.setattr(execution, "_misses_a_name", names_are_not_missing)
    room = Classroom(released_course, lesson)
    assert found_right(lesson, room.key()) == room.checked
    assert found_right(lesson, room.blank()) == []


def names_are_not_missing(notebook, ran, misses_a_name=execution._misses_a_name):
    assert not misses_a_name(notebook, ran)
    return False


def found_right(lesson, notebook):
    """Return the exercises whose checks have said right, once or more."""
    ran = run_notebook(Task(lesson, nbformat.writes(notebook), {}, seed=1))
    return [
        checked_exercise(cell)
        for cell in notebook.cells
        for output in ran.outputs.get(cell.id, [])
        if output.get("metadata", {}).get("attention_lib", {}).get("outcome") == "right"
    ]
