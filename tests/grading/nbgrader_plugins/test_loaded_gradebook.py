"""Gradebooks share an engine in a batch, and a notebook's grades are read and written at once."""

import os
import sys
import warnings
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook
from nbgrader.api import Gradebook, MissingEntry
from sqlalchemy import event

from attention_lib.grading.nbgrader_plugins.preprocessors import SaveGrades
from attention_lib.grading.nbgrader_plugins.shared_engine import shared_engine

EXERCISES = [f"check_{number}" for number in range(20)]


@pytest.fixture
def url(tmp_path, monkeypatch):
    """The address of a gradebook in which one student has handed in twenty exercises."""
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), os.pathsep)  # nbgrader's alembic
    address = f"sqlite+pysqlite:///{tmp_path}/gradebook.db"
    with warnings.catch_warnings(), Gradebook(address) as gradebook:
        warnings.simplefilter("ignore")
        gradebook.add_assignment("lesson")
        gradebook.add_notebook("lesson", "lesson")
        for name in EXERCISES:
            gradebook.add_grade_cell(name, "lesson", "lesson", max_score=2, cell_type="code")
        gradebook.add_student("ada")
        gradebook.add_submission("lesson", "ada")
    return address


def test_gradebooks_of_one_database_share_an_engine_until_the_batch_ends(url):
    with shared_engine():
        with Gradebook(url) as one, Gradebook(url) as other:
            assert one.engine is other.engine
            assert other.find_student("ada").id == "ada"
        shared = one.engine
    with Gradebook(url) as later:
        assert later.engine is not shared


def saved(url, names):
    """Save what cells without an error get, and return the statements that it took."""
    marks = {"grade": True, "solution": False, "points": 2}
    cells = [
        new_code_cell("", metadata={"nbgrader": {**marks, "grade_id": name}}) for name in names
    ]
    place = {"notebook": "lesson", "assignment": "lesson", "student": "ada", "db_url": url}
    statements: list[str] = []
    with warnings.catch_warnings(), shared_engine():
        warnings.simplefilter("ignore")
        with Gradebook(url) as gradebook:
            event.listen(
                gradebook.engine, "before_cursor_execute", lambda *a: statements.append(a[2])
            )
            SaveGrades().preprocess(new_notebook(cells=cells), {"nbgrader": place})
    return statements


def test_grades_of_a_whole_notebook_are_saved_in_a_few_statements(url):
    statements = saved(url, EXERCISES)
    assert len(statements) <= 4
    with Gradebook(url) as gradebook:
        grades = gradebook.find_submission_notebook("lesson", "lesson", "ada").grades
        assert [grade.auto_score for grade in grades] == [2.0] * len(EXERCISES)


def test_grade_that_the_gradebook_does_not_have_is_an_error_and_nothing_is_saved(url):
    with pytest.raises(MissingEntry, match="'check_none'"):
        saved(url, [*EXERCISES, "check_none"])
    with Gradebook(url) as gradebook:
        grades = gradebook.find_submission_notebook("lesson", "lesson", "ada").grades
        assert {grade.auto_score for grade in grades} == {None}
