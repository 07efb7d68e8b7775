"""Before a batch the model answers run through the same sandbox: full points, or nobody is graded."""

import re
from dataclasses import replace

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from nbgrader.utils import determine_grade

from attention_lib.grading.batch.preflight import lost_points
from attention_lib.grading.classroom.course import CourseError
from attention_lib.grading.classroom.journal import Journal
from attention_lib.grading.grade import grade, main
from attention_lib.grading.judge.execution import put_into, run_notebook
from attention_lib.grading.judge.task import Ran
from tests.grading.sample_class import LESSONS, Classroom, cell_of, make_lean_course, quietly

LESSON = LESSONS[0]
pytestmark = [pytest.mark.sandbox, pytest.mark.batch, pytest.mark.xdist_group("preflight")]


@pytest.fixture
def room(tmp_path) -> Classroom:
    """A class of one, whose work is right and not graded yet."""
    room = Classroom(make_lean_course(tmp_path, LESSON), LESSON)
    room.hand_in("ada", room.key())
    return room


def edit(path, change):
    notebook = nbformat.read(path, as_version=4)
    change(notebook)
    nbformat.write(notebook, path)


def test_wrong_model_answer_stops_the_batch_and_is_named(room):
    def make_wrong(notebook):
        cell_of(
            notebook, "weighted_sum"
        ).source = "def weighted_sum(weights, values):\n    return 0"

    edit(room.course.source(LESSON), make_wrong)
    with pytest.raises(CourseError, match=r"nobody was graded.*weighted_sum: ") as problem:
        quietly(grade, room.course, LESSON)
    assert "; softmax" not in str(problem.value)
    assert not room.course.autograded(LESSON, "ada").exists()
    with Journal(room.course.journal(LESSON)) as journal:
        assert not journal.entries


def test_package_that_the_sandbox_does_not_have_stops_the_batch(room, monkeypatch, capsys):
    """The setup cell stops for everyone then, and every answer with it."""

    def need_a_package(notebook):
        (setup,) = [c for c in notebook.cells if "setup" in c.metadata.get("tags", [])]
        setup.source = f"import no_such_package\n{setup.source}"

    edit(room.course.released(LESSON), need_a_package)
    monkeypatch.chdir(room.course.root)
    assert quietly(main, [LESSON, "--jobs", "0"]) == 1
    problem = capsys.readouterr().err
    assert re.search(r"softmax stopped in line 4 .* NameError: .*`np` is not imported", problem)
    assert "study_weights: name 'np' is not defined" in problem
    assert not room.course.autograded(LESSON, "ada").exists()


def test_check_of_an_exercise_that_was_removed_gives_no_points_and_stops_the_batch():
    """Where one class dropped an exercise, another has it in what it was given still."""
    marks = {"grade_id": "check_gone", "grade": True, "solution": False, "points": 1}
    check = new_code_cell('check("gone", gone)', metadata={"nbgrader": marks})
    notebook = new_notebook(cells=[check])
    (lost,) = lost_points(notebook, Ran())
    assert lost.startswith("gone: the library has no such exercise any more")
    put_into(notebook, Ran())
    assert determine_grade(check) == (0, 1)


def test_model_answers_that_lost_points_to_time_are_run_once_more(room, monkeypatch):
    runs = []

    def run(task):
        runs.append(task)
        late = len(runs) == 1
        ran = run_notebook(task)
        return replace(ran, outputs={} if late else ran.outputs, waited=late)

    monkeypatch.setattr("attention_lib.grading.batch.preflight.run_notebook", run)
    _, (result,) = quietly(grade, room.course, LESSON)
    assert (len(runs), result.points) == (2, room.most)


def test_nothing_is_run_where_nothing_is_due(room, monkeypatch):
    quietly(grade, room.course, LESSON)
    monkeypatch.setattr("attention_lib.grading.batch.batch.require_full_points", None)
    quietly(grade, room.course, LESSON)
