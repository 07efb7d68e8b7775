"""A course: its lessons, those that were renamed, and the folders that nbgrader's settings name."""

import os
import re
import shutil
from pathlib import Path

import pytest

from attention_lib.grading import grade, release
from attention_lib.grading.collect import __main__ as collect
from attention_lib.grading.export import __main__ as export
from attention_lib.grading.report import __main__ as report
from attention_lib.grading.classroom.course import CONFIG, Course, CourseError
from attention_lib.lessons import LESSONS, RENAMED
from tests.grading.sample_class import ROOT, make_course, make_lean_course, quietly

LESSON = LESSONS[0]


def content(folder):
    """Return every file of a folder with its bytes."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_a_renamed_lesson_is_named_and_a_class_keeps_what_it_has(tmp_path, monkeypatch, capsys):
    course = make_lean_course(tmp_path, "10_gpu")
    submission = course.submission("08_gpu", "ada")
    submission.mkdir(parents=True)
    (submission / "08_gpu.ipynb").write_text("{}", "utf-8")
    with course.gradebook() as gradebook:
        gradebook.add_student("ada")
        gradebook.add_assignment("08_gpu")
        quietly(gradebook.add_submission, "08_gpu", "ada")
    before = content(course.root)
    monkeypatch.chdir(course.root)
    for command in (grade.main, release.main):
        assert command(["08_gpu"]) == 1
        told = capsys.readouterr().err
        assert told.startswith("08_gpu is now 10_gpu: rename the folders classroom/submitted/")
        assert "Grades given for 08_gpu stay in the gradebook." in told
    assert content(course.root) == before
    with course.gradebook() as gradebook:
        assert gradebook.find_submission("08_gpu", "ada").student.id == "ada"


def test_a_course_that_still_has_a_renamed_lesson_uses_it(tmp_path):
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "08_gpu.md").write_text("", "utf-8")
    assert Course(tmp_path).require("08_gpu") == "08_gpu"


def test_the_beginning_of_one_lesson_names_it():
    course = Course(ROOT)
    assert [course.require(text) for text in ("01", "03_sc", "01_softmax")] == [
        *("01_softmax", "03_scaling", "01_softmax")
    ]
    for text, near in [("0", "01_softmax or 02_"), ("01_sotfmax", "01_softmax?"), ("x", "There are")]:
        with pytest.raises(CourseError, match=re.escape(near)):
            course.require(text)


def test_lessons_were_renamed_to_lessons_that_there_are():
    assert set(RENAMED.values()) <= set(LESSONS)
    assert not set(RENAMED) & set(LESSONS)


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        (release.main, [LESSON]),
        (collect.main, [LESSON]),
        (grade.main, [LESSON]),
        (report.main, [LESSON]),
        (export.main, ["grades", "canvas"]),
    ],
)
def test_read_only_course_is_refused_in_a_sentence(
    tmp_path, monkeypatch, capsys, command, arguments
):
    make_course(tmp_path, LESSON)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    assert command(arguments) == 1
    sentence = f"You may not write in {tmp_path}: run this as the course's owner, or in a clone"
    assert capsys.readouterr().err.startswith(sentence)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["solutions"]


def course_with(folder: Path, *settings: str) -> Course:
    """Make a course that has nothing but its settings, with more of CourseDirectory's."""
    shutil.copy(ROOT / CONFIG, folder)
    with (folder / CONFIG).open("a") as file:
        file.writelines(f"c.CourseDirectory.{setting}\n" for setting in settings)
    return Course(folder)


def folders(course: Course) -> dict[str, str]:
    """Return where a student's files lie, from the course's folder on."""
    paths = {
        "source": course.source(LESSON),
        "released": course.released(LESSON),
        "submission": course.submission(LESSON, "ada"),
        "autograded": course.autograded(LESSON, "ada"),
        "feedback": course.feedback(LESSON, "ada"),
    }
    return {name: path.relative_to(course.root).as_posix() for name, path in paths.items()}


def test_folders_are_those_of_the_courses_own_settings(tmp_path):
    assert folders(course_with(tmp_path)) == {
        "source": f"classroom/source/{LESSON}/{LESSON}.ipynb",
        "released": f"notebooks/{LESSON}/{LESSON}.ipynb",
        "submission": f"classroom/submitted/ada/{LESSON}",
        "autograded": f"classroom/autograded/ada/{LESSON}/{LESSON}.ipynb",
        "feedback": f"classroom/feedback/ada/{LESSON}/{LESSON}.html",
    }


def test_changed_settings_change_every_folder(tmp_path):
    course = course_with(
        tmp_path,
        "source_directory = 'a'",
        "release_directory = 'b'",
        "submitted_directory = 'c'",
        "autograded_directory = 'd'",
        "feedback_directory = 'e'",
        "directory_structure = '{nbgrader_step}/{assignment_id}/{student_id}'",
    )
    assert folders(course) == {
        "source": f"a/{LESSON}/{LESSON}.ipynb",
        "released": f"b/{LESSON}/{LESSON}.ipynb",
        "submission": f"c/{LESSON}/ada",
        "autograded": f"d/{LESSON}/ada/{LESSON}.ipynb",
        "feedback": f"e/{LESSON}/ada/{LESSON}.html",
    }


@pytest.mark.parametrize(
    "structure",
    [
        "{nbgrader_step}/{student_id}/{assignment_id}",
        "{nbgrader_step}/{assignment_id}/{student_id}",
    ],
)
def test_students_who_handed_in_are_those_that_nbgrader_finds(tmp_path, structure):
    course = course_with(
        tmp_path, "submitted_directory = 'handed_in'", f"directory_structure = {structure!r}"
    )
    for student in ("bo", "ada"):
        course.submission(LESSON, student).mkdir(parents=True)
        (course.submission(LESSON, student) / f"{LESSON}.ipynb").touch()
    course.submission(LESSONS[1], "cy").mkdir(parents=True)
    (tmp_path / "handed_in" / "notes.txt").touch()
    assert course.submitted(LESSON) == ["ada", "bo"]
    assert course.nbgrader().get_submitted_students(LESSON) == {"ada", "bo"}


def test_nobody_has_handed_in_where_there_is_no_folder(tmp_path):
    assert course_with(tmp_path).submitted(LESSON) == []


def test_structure_without_folders_of_students_is_refused(tmp_path):
    structure = "{nbgrader_step}/{student_id}_{assignment_id}"
    course = course_with(tmp_path, f"directory_structure = {structure!r}")
    with pytest.raises(CourseError, match="needs {student_id} as the whole name of a folder"):
        course.submitted(LESSON)


def mode_of(path):
    return path.stat().st_mode & 0o7777


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="there are no permission bits")
def test_class_folder_and_gradebook_are_private_unless_shared_with_a_group(tmp_path):
    classroom = tmp_path / "classroom"
    course_with(tmp_path).gradebook().close()
    assert mode_of(classroom) == 0o700
    classroom.chmod(0o755)  # as it was made before
    (classroom / "gradebook.db").chmod(0o644)
    assert Course(tmp_path).submitted(LESSON) == []
    assert mode_of(classroom) == 0o700
    assert mode_of(classroom / "gradebook.db") == 0o600
    classroom.chmod(0o2770)
    assert Course(tmp_path).submitted(LESSON) == []
    assert mode_of(classroom) == 0o2770


def test_settings_can_be_read_where_nothing_can_be_written(tmp_path, monkeypatch):
    def refuse(path, *_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    course = course_with(tmp_path)
    monkeypatch.setattr(Path, "mkdir", refuse)
    assert course.submitted(LESSON) == []
