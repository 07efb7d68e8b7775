"""A course knows its lessons, and what became of one that has another name now."""

from attention_lib.grading import grade, release
from attention_lib.grading.classroom.course import Course
from attention_lib.lessons import LESSONS, RENAMED
from tests.grading.sample_class import make_lean_course, quietly


def content(folder):
    """Return every file of a folder with its bytes."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_renamed_lesson_is_named_and_a_class_keeps_what_it_has(tmp_path, monkeypatch, capsys):
    course = make_lean_course(tmp_path, "09_gpu")
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
        assert told.startswith("08_gpu is now 09_gpu: rename the folders classroom/submitted/")
        assert "Grades given for 08_gpu stay in the gradebook." in told
    assert content(course.root) == before
    with course.gradebook() as gradebook:
        assert gradebook.find_submission("08_gpu", "ada").student.id == "ada"


def test_a_course_that_still_has_a_renamed_lesson_uses_it(tmp_path):
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "08_gpu.md").write_text("", "utf-8")
    assert Course(tmp_path).require("08_gpu") == "08_gpu"


def test_lessons_were_renamed_to_lessons_that_there_are():
    assert set(RENAMED.values()) <= set(LESSONS)
    assert not set(RENAMED) & set(LESSONS)
