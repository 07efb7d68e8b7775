"""Several classes from one clone, by name: each has its folders, gradebook and released notebooks."""

import subprocess
import sys

import nbformat
import pytest

from attention_lib.grading import release
from attention_lib.grading.classroom.course import CLASS, CONFIG, Course, CourseError
from tests.grading.sample_class import LESSONS, ROOT, make_course, quietly

LESSON = LESSONS[0]
NAME = "2027-spring-b"


@pytest.fixture
def course(tmp_path, monkeypatch) -> Course:
    monkeypatch.chdir(tmp_path)
    return make_course(tmp_path, LESSON)


@pytest.mark.slow
def test_all_folders_of_a_class_are_those_of_its_name(course, monkeypatch):
    monkeypatch.setenv(CLASS, NAME)
    course = Course.here(begin=True)
    folder = course.root / f"classroom-{NAME}"
    assert folder.stat().st_mode & 0o777 == 0o700
    for path in (
        course.source(LESSON),
        course.released(LESSON),
        course.submission(LESSON, "ada"),
        course.autograded(LESSON, "ada"),
        course.feedback(LESSON, "ada"),
        course.roster,
        course.returned,
        course.report(LESSON),
        course.journal(LESSON),
        course.backups,
        course.downloaded(LESSON),
    ):
        assert path.is_relative_to(folder)
    settings = course.nbgrader().config
    assert str(folder) in settings.CourseDirectory.db_url
    assert settings.CourseDirectory.course_id == NAME
    with course.gradebook():
        assert (folder / "gradebook.db").stat()
    assert not (course.root / "classroom").exists()


@pytest.mark.slow
def test_a_class_that_has_not_begun_is_told_everywhere(course, monkeypatch, capsys):
    (course.root / "classroom-autumn").mkdir()
    monkeypatch.setenv(CLASS, NAME)
    told = f"No class is called {NAME} (there are autumn). It begins with make release CLASS={NAME}"
    with pytest.raises(CourseError) as error:
        Course.here()
    assert str(error.value) == told
    command = [sys.executable, "-m", "nbgrader", "list"]
    run = subprocess.run(command, cwd=course.root, capture_output=True, text=True)
    assert run.returncode == 1
    assert told in run.stderr
    assert not (course.root / f"classroom-{NAME}").exists()


def test_a_refused_release_begins_no_class(course, monkeypatch, capsys):
    monkeypatch.setenv(CLASS, NAME)
    assert release.main(["no_lesson"]) == 1
    assert "There is no lesson 'no_lesson'" in capsys.readouterr().err
    assert not (course.root / f"classroom-{NAME}").exists()


@pytest.mark.parametrize("name", ["../elsewhere", ".hidden", "spring b", "a/b"])
def test_a_name_that_is_no_folders_name_is_told(course, monkeypatch, name):
    monkeypatch.setenv(CLASS, name)
    with pytest.raises(CourseError, match="use letters, digits"):
        Course.here(begin=True)


def test_messages_name_the_command_for_the_class(monkeypatch):
    assert Course.command("grade", LESSON) == f"make grade LESSON={LESSON}"
    monkeypatch.setenv(CLASS, NAME)
    assert Course.command("grade", LESSON) == f"make grade LESSON={LESSON} CLASS={NAME}"


@pytest.mark.slow
def test_a_new_class_leaves_the_notebooks_and_grades_of_another_alone(course, monkeypatch, capsys):
    quietly(release.release, course, [LESSON])
    with course.gradebook() as gradebook:
        gradebook.add_student("ada")
    before = course.released(LESSON).read_bytes()
    text = course.written(LESSON).read_text("utf-8")
    course.written(LESSON).write_text(text.replace("Take a", "Now take a", 1), "utf-8")

    monkeypatch.setenv(CLASS, NAME)
    assert quietly(release.main, [LESSON]) == 0
    new = Course.here()
    assert f"classroom-{NAME}/release/{LESSON}/{LESSON}.ipynb" in capsys.readouterr().out
    assert "Now take a" in str(nbformat.read(new.released(LESSON), as_version=4))
    with new.gradebook() as gradebook:
        assert not gradebook.students
    monkeypatch.delenv(CLASS)
    assert Course.here().released(LESSON).read_bytes() == before


def test_git_ignores_every_class():
    lines = (ROOT / ".gitignore").read_text().splitlines()
    assert {"/classroom/", "/classroom-*/"} <= set(lines)


def test_make_hands_the_name_of_a_class_on():
    command = ["make", "-n", "-p", "help", f"CLASS={NAME}"]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert f"NBGRADER_CLASS := {NAME}" in made
    assert (ROOT / CONFIG).is_file()
