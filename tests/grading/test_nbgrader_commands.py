"""nbgrader's own commands, typed in the course's folder as its manual says, do their job."""

import csv
import os
import shutil
import subprocess
import sys

import pytest
from nbgrader.converters import Autograde

from attention_lib.grading.classroom.course import Course
from attention_lib.grading.grade import main
from tests.grading.sample_class import (
    LESSONS,
    Classroom,
    cell_of,
    make_course,
    make_lean_course,
    quietly,
)

LESSON = LESSONS[0]
pytestmark = [pytest.mark.sandbox, pytest.mark.batch, pytest.mark.xdist_group("nbgrader_commands")]


@pytest.fixture(scope="module")
def room(tmp_path_factory) -> Classroom:
    """A class of three."""
    course = make_lean_course(tmp_path_factory.mktemp("course"), LESSON)
    room = Classroom(course, LESSON)
    room.hand_in("ada_lovelace", room.key())
    room.hand_in("broken", "{")
    room.hand_in("bo", room.blank())
    return room


def python(course, *arguments, code=0) -> str:
    """Run a command in the course's folder, where no virtual environment is active."""
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    environment["PATH"] = os.defpath
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=course.root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def test_a_class_is_graded_and_exported(room):
    """One test, since each step takes up what the one before it left."""
    course = room.course
    python(course, "-m", "nbgrader", "autograde", LESSON)
    python(course, "-m", "nbgrader", "generate_feedback", LESSON)
    assert "softmax: right." in room.feedback("ada_lovelace")
    assert "softmax: not attempted yet." in room.feedback("bo")
    assert "could not be graded: it is not valid JSON" in room.feedback("broken")

    python(course, "-m", "nbgrader", "export")
    with (course.root / "classroom" / "grades.csv").open() as file:
        scores = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert scores == {
        "ada_lovelace": room.full,
        "bo": 0,
        "broken": 0,
    }
    plugin = "attention_lib.grading.export.grades.CanvasExportPlugin"
    export = "-m", "nbgrader", "export", f"--exporter={plugin}"
    own_file = f"--to={course.root / 'classroom' / 'canvas.csv'}"
    told = python(
        course, *export, own_file, "--student=['bo','broken']", f"--assignment=['{LESSON}']"
    )
    assert f"broken has 0 for {LESSON}, since the hand-in could not be graded" in told
    assert f"classroom/canvas.csv has {LESSON}." in told
    with (course.root / "classroom" / "canvas.csv").open() as file:
        assert [(row["Student"], row[LESSON]) for row in csv.DictReader(file)] == [
            ("    Points Possible", "9"),
            ("bo", "0"),
            ("broken", "0"),
        ]
    python(course, *export, own_file, "--student=['nobody']", code=1)
    assert {path.name for path in course.root.iterdir()} == {
        "classroom",
        "nbgrader_config.py",
        "notebooks",
        "solutions",
    }


def test_validate_names_the_cells_that_fail_and_finds_the_solution_right(room):
    course = room.course
    paths = [course.released(LESSON), course.source(LESSON)]
    files = [str(path.relative_to(course.root)) for path in paths]
    told = python(course, "-m", "nbgrader", "validate", *files)
    assert f"VALIDATION FAILED ON {len(room.exercises)} CELL(S)" in told
    for name in room.checked:
        assert f'check("{name}", {name})' in told
        assert f"{name}: not attempted yet." in told
    assert told.endswith("\nSuccess! Your notebook passes all the tests.\n")


RELEASES = {
    "make grade": ["attention_lib.grading.grade", LESSON, "--jobs", "0"],
    "autograde": ["nbgrader", "autograde", LESSON],
}


@pytest.mark.parametrize("command", RELEASES.values(), ids=list(RELEASES))
def test_grading_releases_first_where_nobody_has(room, tmp_path, command):
    shutil.copytree(room.course.root, tmp_path / "course")
    course = Course(tmp_path / "course")
    room = Classroom(course, LESSON)
    notebook = room.blank()
    name = room.checked[0]
    cell_of(notebook, name).source = cell_of(room.key(), name).source
    notebook.cells = notebook.cells[: notebook.cells.index(cell_of(notebook, f"check_{name}"))]
    shutil.rmtree(course.root / "classroom")
    room.hand_in("cy", notebook)
    python(course, "-m", *command)
    with course.gradebook() as gradebook:
        assert gradebook.find_submission(LESSON, "cy").score == room.most[name]


def test_nbgrader_says_why_it_cannot_grade_a_lesson(tmp_path):
    course = make_course(tmp_path, LESSON)
    course.submission("99_x", "ada").mkdir(parents=True)
    (course.submission("99_x", "ada") / "99_x.ipynb").write_text("{}")
    outcome = quietly(course.nbgrader().autograde, "99_x", "ada")
    assert not outcome["success"]
    assert "There is no lesson '99_x'." in outcome["log"]


def test_the_gradebook_can_be_upgraded(room):
    """The settings in its address are not taken for a part of its name."""
    python(room.course, "-m", "nbgrader", "db", "upgrade")
    files = [path.name for path in (room.course.root / "classroom").glob("gradebook*")]
    assert files == ["gradebook.db"]


@pytest.mark.parametrize(
    ("lesson", "told"),
    [
        (LESSON, f"Nothing has been handed in for {LESSON}"),
        (f"{LESSON}x", f"There is no lesson '{LESSON}x'. Did you mean {LESSON}?"),
    ],
)
def test_grade_says_what_is_missing(released_course, monkeypatch, capsys, lesson, told):
    monkeypatch.chdir(released_course.root)
    assert main([lesson]) == 1
    assert told in capsys.readouterr().err


def test_control_c_stops_the_whole_class(room, tmp_path, monkeypatch, capsys):
    """nbgrader would take it for a failure of the student whose turn it is, and go on."""
    shutil.copytree(room.course.root, tmp_path / "course")
    course = Course(tmp_path / "course")
    shutil.rmtree(course.root / "classroom" / "submitted")
    for student in ("ada", "bo"):
        Classroom(course, LESSON).hand_in(student, "{}")
    turns = []

    def interrupted(converter):
        turns.append(converter.coursedir.student_id)
        raise KeyboardInterrupt

    monkeypatch.setattr(Autograde, "start", interrupted)
    monkeypatch.chdir(course.root)
    assert main([LESSON, "--jobs", "1"]) == 130
    assert turns == ["ada"]
    assert "Stopped" in capsys.readouterr().err
