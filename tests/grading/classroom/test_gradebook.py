"""Backups of the gradebook, its lock, and what is read from it."""

import contextlib
import os
import sqlite3
import sys
import warnings
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook
from nbgrader.api import Gradebook, MissingEntry
from sqlalchemy import event

from attention_lib.grading import limits
from attention_lib.grading.classroom import gradebook as backups
from attention_lib.grading.classroom.course import CourseError
from attention_lib.grading.classroom.gradebook import prepare_to_write, read_standings, save_grades
from tests.grading.sample_class import quietly


def with_table(path):
    """Return an open database in which there is something."""
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE grades (points)")
    connection.execute("INSERT INTO grades VALUES (1)")
    connection.commit()
    return connection


def points_in(path):
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return [points for (points,) in connection.execute("SELECT points FROM grades")]


@pytest.mark.parametrize("url", ["sqlite:///{}", "sqlite+pysqlite:///{}?timeout=60"])
def test_backup_holds_what_was_committed_last(tmp_path, url):
    path = tmp_path / "gradebook.db"
    with contextlib.closing(with_table(path)) as somebody:
        first = prepare_to_write(url.format(path), tmp_path / "copies")
        somebody.execute("INSERT INTO grades VALUES (2)")
        somebody.commit()  # into a file of its own, beside the gradebook
        second = prepare_to_write(url.format(path), tmp_path / "copies")
    assert points_in(first) == [1]
    assert points_in(second) == [1, 2]
    assert sorted((tmp_path / "copies").iterdir()) == [first, second]


def test_gradebook_can_be_read_during_a_write(tmp_path):
    path = tmp_path / "gradebook.db"
    with_table(path).close()
    prepare_to_write(f"sqlite:///{path}", tmp_path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        writer.execute("INSERT INTO grades VALUES (2)")
        assert points_in(path) == [1]
        writer.execute("COMMIT")
    assert points_in(path) == [1, 2]


class Clock(datetime):
    """A clock that is set by hand."""

    time = datetime(2026, 11, 22, 12)

    @classmethod
    def now(cls):
        return cls.time


@pytest.fixture
def copy_at(tmp_path, monkeypatch):
    """Return a function that copies a gradebook when the clock shows a time."""
    path = tmp_path / "gradebook.db"
    with_table(path).close()
    monkeypatch.setattr(backups, "datetime", Clock)

    def copy(time):
        monkeypatch.setattr(Clock, "time", time)
        made = prepare_to_write(f"sqlite:///{path}", tmp_path / "copies")
        os.utime(made, (time.timestamp(), time.timestamp()))
        return made

    return copy


NOON = datetime(2026, 11, 22, 12)


@pytest.mark.parametrize("back", [timedelta(hours=2), timedelta(days=365), timedelta()])
def test_newest_backups_are_kept_though_the_clock_was_put_back(copy_at, back):
    early = [copy_at(NOON + timedelta(minutes=n)) for n in range(limits.BACKUPS + 2)]
    late = [copy_at(NOON - back + timedelta(minutes=n)) for n in range(limits.BACKUPS)]
    made = [*early, *late]
    assert all(path.is_file() for path in late)
    assert made == sorted(made)
    assert len([path for path in early if path.is_file()]) <= 1


def test_last_backup_of_each_day_is_kept(copy_at, tmp_path):
    times = [NOON + timedelta(days=day, hours=hour) for day in range(30) for hour in (0, 1, 2)]
    made = [copy_at(time) for time in times]
    assert {*made[-limits.BACKUPS :], *made[2::3]} == {*(tmp_path / "copies").iterdir()}


def test_backups_that_somebody_named_are_no_ones_to_remove(copy_at, tmp_path):
    (tmp_path / "copies").mkdir()
    own = tmp_path / "copies" / "gradebook-2025-before-the-exam.db"
    own.write_text("")
    for minute in range(limits.BACKUPS + 2):
        copy_at(NOON + timedelta(minutes=minute))
    assert own.is_file()


def test_missing_file_and_database_server_get_no_backup(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with_table("course").close()
    assert prepare_to_write(f"sqlite:///{tmp_path}/gradebook.db", tmp_path / "copies") is None
    assert prepare_to_write("postgresql://host/course", tmp_path / "copies") is None
    assert [path.name for path in tmp_path.iterdir()] == ["course"]


def test_file_that_is_no_database_is_reported(tmp_path):
    path = tmp_path / "gradebook.db"
    path.write_text("this is not a database" * 100)
    with pytest.raises(CourseError, match=r"gradebook\.db cannot be copied"):
        prepare_to_write(f"sqlite:///{path}", tmp_path / "copies")
    assert list((tmp_path / "copies").iterdir()) == []


@pytest.fixture(scope="module")
def gradebook(tmp_path_factory):
    """Two lessons, each with a checked and a written exercise; two students in the first."""
    url = f"sqlite:///{tmp_path_factory.mktemp('grades')}/gradebook.db"
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = Path(sys.executable).parent  # where nbgrader does not look for its alembic
        patch.setenv("PATH", os.pathsep.join([str(here), os.environ["PATH"]]))
        with Gradebook(url) as gradebook:
            fill(gradebook)
            yield gradebook


def fill(gradebook):
    for lesson in ("01", "02"):
        gradebook.add_assignment(lesson)
        gradebook.add_notebook(lesson, lesson)
        for name in ("check_a", "words"):
            gradebook.add_grade_cell(name, lesson, lesson, max_score=2, cell_type="code")
        gradebook.add_solution_cell("words", lesson, lesson)
    for student in ("ada", "bo"):
        gradebook.add_student(student)
        gradebook.add_submission("01", student)
    gradebook.find_grade("check_a", "01", "01", "ada").auto_score = 2
    gradebook.find_grade("check_a", "01", "01", "bo").auto_score = 0
    gradebook.db.commit()


@pytest.mark.slow
def test_standings_agree_with_nbgrader(gradebook):
    gradebook.find_grade("check_a", "01", "01", "bo").extra_credit = 0.5
    gradebook.find_grade("words", "01", "01", "bo").manual_score = 1
    gradebook.db.commit()
    standings = read_standings(gradebook, "01")
    assert {student: own.points for student, own in standings.items()} == {
        "ada": {"a": 2, "words": None},
        "bo": {"a": 0.5, "words": 1},
    }
    assert standings["bo"].automatic == {"check_a": 0, "words": None}
    for student, own in standings.items():
        assert read_standings(gradebook, "01", student) == {student: own}
        total = sum(points or 0 for points in own.points.values())
        assert total == gradebook.find_submission("01", student).score
    assert read_standings(gradebook, "02") == {}


@pytest.mark.slow
def test_change_of_what_a_page_shows_changes_the_digest_of_that_student_alone(gradebook):
    def grade(name):
        return gradebook.find_grade(name, "01", "01", "ada")

    def comment():
        return gradebook.find_comment("words", "01", "01", "ada")

    def notebook():
        return gradebook.find_submission_notebook("01", "01", "ada")

    changes = [
        (grade("check_a"), "auto_score", 1),
        (grade("check_a"), "manual_score", 1.5),
        (grade("check_a"), "extra_credit", 1),
        (grade("words"), "manual_score", 2),
        (comment(), "auto_comment", "No response."),
        (comment(), "manual_comment", "Well said."),
        (notebook(), "late_submission_penalty", 1),
        (notebook().student, "last_name", "Lovelace"),
        (notebook().assignment, "timestamp", datetime(2026, 1, 2)),
    ]
    seen = [read_standings(gradebook, "01")]
    for thing, name, value in changes:
        setattr(thing, name, value)
        gradebook.db.commit()
        seen.append(read_standings(gradebook, "01"))
    assert len({standings["ada"].marks for standings in seen}) == len(changes) + 1
    assert len({standings["bo"].marks for standings in seen}) == 1


def saved(gradebook, names):
    """Save what cells without an error get, and return the statements that it took."""
    marks = {"grade": True, "solution": False, "points": 2}
    cells = [
        new_code_cell("", metadata={"nbgrader": {**marks, "grade_id": name}}) for name in names
    ]
    statements: list[str] = []

    def note(*arguments):
        statements.append(arguments[2])

    event.listen(gradebook.engine, "before_cursor_execute", note)
    try:
        save_grades(gradebook, "03", "ada", new_notebook(cells=cells), lambda *_: None)
    finally:
        event.remove(gradebook.engine, "before_cursor_execute", note)
    return statements


@pytest.fixture(scope="module")
def twenty(gradebook):
    """A lesson of twenty checks that one student has handed in."""
    names = [f"check_{number}" for number in range(20)]
    gradebook.add_assignment("03")
    gradebook.add_notebook("03", "03")
    for name in names:
        gradebook.add_grade_cell(name, "03", "03", max_score=2, cell_type="code")
    quietly(gradebook.add_submission, "03", "ada")
    return names


@pytest.mark.slow
def test_grade_that_the_gradebook_does_not_have_is_an_error_and_nothing_is_saved(gradebook, twenty):
    with pytest.raises(MissingEntry, match="'check_none'"):
        saved(gradebook, [*twenty, "check_none"])
    grades = gradebook.find_submission_notebook("03", "03", "ada").grades
    assert {grade.auto_score for grade in grades} == {None}


def test_grades_of_a_whole_notebook_are_saved_in_a_few_statements(gradebook, twenty):
    assert len(saved(gradebook, twenty)) < len(twenty) / 2
    grades = gradebook.find_submission_notebook("03", "03", "ada").grades
    assert [grade.auto_score for grade in grades] == [2.0] * len(twenty)
