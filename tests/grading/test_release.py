"""The learners' notebooks: made anew they are the same, and nothing is in them that should not."""

import contextlib
import errno
import re
import sqlite3
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import MissingEntry

from attention_lib.grading import release as command
from attention_lib.grading.classroom.course import CourseError
from attention_lib.grading.lesson.markdown import BEGIN_SOLUTION, END_SOLUTION
from attention_lib.grading.release import release
from tests.grading.sample_class import LESSONS, ROOT, Classroom, cell_of, make_course, quietly


def test_the_notebooks_in_the_repository_are_not_stale(released_course):
    def files(root):
        folder = root / "notebooks"
        paths = (path for path in folder.rglob("*") if path.is_file())
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in paths
            if ".ipynb_checkpoints" not in path.parts
        }

    made, kept = files(released_course.root), files(ROOT)
    assert sorted(made) == sorted(kept), "run make release"
    assert [name for name in made if made[name] != kept[name]] == [], "run make release"


@pytest.mark.parametrize("lesson", LESSONS)
def test_no_answer_survives(released_course, lesson):
    written = released_course.written(lesson).read_text("utf-8")
    released = released_course.released(lesson).read_text("utf-8")
    notebook = nbformat.read(released_course.released(lesson), as_version=4)
    text = "\n".join(cell.source for cell in notebook.cells)
    between = re.compile(rf"{BEGIN_SOLUTION}\n(.*?)\n\s*{END_SOLUTION}", re.DOTALL)
    answers = between.findall(written)
    models = re.findall(r"region written=.*?-->\n(.*?)\n<!--", written, re.DOTALL)
    assert len(answers) + len(models) == len(Classroom(released_course, lesson).exercises)
    for secret in answers + models:
        for line in secret.splitlines():
            assert len(line.strip()) < 20 or line.strip() not in text
        assert "\n".join(secret.split("\n")) not in text
    for mark in ("SOLUTION", "HIDDEN TESTS", "seed=None", "exercise=", "written="):
        assert mark not in released


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_released_notebook_owes_nothing_to_the_machine(released_course, lesson):
    content = released_course.released(lesson).read_bytes()
    notebook = nbformat.read(released_course.released(lesson), as_version=4)
    nbformat.validate(notebook)
    assert content.endswith(b"}\n")
    assert b"\r" not in content
    assert str(released_course.root).encode() not in content
    assert notebook.metadata.kernelspec.name == "python3"
    assert "version" not in notebook.metadata.language_info
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


@pytest.mark.slow
def test_files_beside_a_source_stay_there(tmp_path):
    course = make_course(tmp_path, LESSONS[0])
    quietly(release, course, [LESSONS[0]])
    beside = course.source(LESSONS[0]).with_suffix(".md")
    beside.write_text(course.written(LESSONS[0]).read_text("utf-8"), "utf-8")
    quietly(release, course, [LESSONS[0]])
    assert [path.name for path in (course.root / "notebooks").rglob("*") if path.is_file()] == [
        f"{LESSONS[0]}.ipynb"
    ]


@pytest.mark.slow
def test_files_that_somebody_put_beside_a_released_notebook_stay(tmp_path):
    course = make_course(tmp_path, LESSONS[0])
    quietly(release, course, [LESSONS[0]])
    folder = course.released(LESSONS[0]).parent
    (folder / "tables").mkdir()
    (folder / "tables" / "mine.csv").write_text("mine")
    quietly(release, course, [LESSONS[0]])
    assert (folder / "tables" / "mine.csv").read_text() == "mine"
    assert course.released(LESSONS[0]).is_file()
    assert [path.name for path in folder.parent.iterdir()] == [LESSONS[0]]


def folder_where_a_notebook_is_written(folder, _):
    (folder / f"{LESSONS[0]}.ipynb").unlink()
    (folder / f"{LESSONS[0]}.ipynb").mkdir()
    (folder / f"{LESSONS[0]}.ipynb" / "mine.csv").write_text("mine")


def no_more_room(folder, monkeypatch):
    (folder / "mine.csv").write_text("mine")
    rename = Path.rename

    def refused(path, target):
        if path.name == "mine.csv":
            raise OSError(errno.ENOSPC, "No space left on device")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", refused)


@pytest.mark.slow
@pytest.mark.parametrize("trouble", [folder_where_a_notebook_is_written, no_more_room])
def test_files_that_cannot_be_put_back_are_kept_and_named(tmp_path, monkeypatch, trouble):
    course = make_course(tmp_path, LESSONS[0])
    quietly(release, course, [LESSONS[0]])
    folder = course.released(LESSONS[0]).parent
    (folder / "another.csv").write_text("another")
    trouble(folder, monkeypatch)
    with pytest.raises(CourseError, match=r"could be put back there: move .*mine\.csv"):
        quietly(release, course, [LESSONS[0]])
    kept = {path.name for path in folder.parent.rglob("*.csv")}
    assert kept == {"another.csv", "mine.csv"}
    assert course.released(LESSONS[0]).is_file()


@pytest.mark.slow
def test_releasing_again_leaves_grades_alone_and_refuses_other_points(tmp_path, monkeypatch):
    lesson = LESSONS[0]
    course = make_course(tmp_path, lesson)
    quietly(release, course, [lesson])
    room = Classroom(course, lesson)
    name = room.checked[0]
    with course.gradebook() as gradebook:
        gradebook.update_or_create_student("ada")
        quietly(gradebook.update_or_create_submission, lesson, "ada")
        grade = gradebook.find_grade(f"check_{name}", lesson, lesson, "ada")
        grade.auto_score, grade.manual_score = 0.0, 1.0
        gradebook.db.commit()

    quietly(release, course, [lesson])
    with course.gradebook() as gradebook:
        assert gradebook.find_grade(f"check_{name}", lesson, lesson, "ada").score == 1.0

    before = course.released(lesson).read_bytes()
    source = nbformat.read(course.source(lesson), as_version=4)
    cell_of(source, f"check_{name}").metadata.nbgrader.points += 4
    monkeypatch.setattr(command, "read_lesson", lambda *_: source)
    with pytest.raises(CourseError, match=rf"handed in .* \({name}: 1 point, now 5 points\)"):
        quietly(release, course, [lesson])
    source.cells.remove(cell_of(source, f"check_{name}"))
    with pytest.raises(CourseError, match=rf"{name}: 1 point, now not there"):
        quietly(release, course, [lesson])
    assert course.released(lesson).read_bytes() == before


def marked_by_hand(folder, lesson, of_check):
    """Release a lesson, and give a student marks for words and code, and a comment."""
    course, place = make_course(folder, lesson), (lesson, lesson, "ada")
    quietly(release, course, [lesson])
    with course.gradebook() as gradebook:
        gradebook.update_or_create_student("ada")
        quietly(gradebook.update_or_create_submission, lesson, "ada")
        gradebook.find_grade("written_softmax", *place).manual_score = 1.5
        gradebook.find_grade("check_softmax", *place).manual_score = of_check
        gradebook.find_comment("written_softmax", *place).manual_comment = "Why?"
        gradebook.db.commit()
    return course


@pytest.mark.slow
def test_points_that_change_on_purpose_keep_marks_given_by_hand(tmp_path, monkeypatch, capsys):
    lesson = LESSONS[0]
    course = marked_by_hand(tmp_path, lesson, 2.0)
    source = nbformat.read(course.source(lesson), as_version=4)
    cell_of(source, "written_softmax").metadata.nbgrader.points = 1
    monkeypatch.setattr(command, "read_lesson", lambda *_: source)
    monkeypatch.chdir(course.root)

    assert quietly(command.main, [lesson]) == 1
    assert f"make release LESSON={lesson} CHANGED_POINTS=1" in capsys.readouterr().err

    assert quietly(command.main, [lesson, "--changed-points"]) == 0
    told = capsys.readouterr().out
    assert "written_softmax: 2 points, now 1 point" in told
    assert "Look at those above the new points: ada has 1.5 in written_softmax." in told
    with course.gradebook() as gradebook:
        grade = gradebook.find_grade("written_softmax", lesson, lesson, "ada")
        assert (grade.manual_score, grade.max_score) == (1.5, 1.0)
        assert gradebook.find_grade("check_softmax", lesson, lesson, "ada").manual_score == 2.0
    released = nbformat.read(course.released(lesson), as_version=4)
    assert cell_of(released, "written_softmax").metadata.nbgrader.points == 1

    source.cells.remove(cell_of(source, "written_softmax"))
    assert quietly(command.main, [lesson, "--changed-points"]) == 1
    error = capsys.readouterr().err
    assert "written_softmax: 1 point, now not there" in error
    assert "CHANGED_POINTS" not in error
    assert f"make release LESSON={lesson} CHANGED_EXERCISES=1, and then make grade" in error


@pytest.mark.slow
def test_exercises_that_come_and_go_keep_marks_of_the_others(tmp_path, monkeypatch, capsys):
    lesson = LESSONS[0]
    course = marked_by_hand(tmp_path, lesson, 0.5)
    source = nbformat.read(course.source(lesson), as_version=4)
    new, check = cell_of(source, "softmax"), cell_of(source, "check_softmax")
    new.metadata.nbgrader.grade_id, check.metadata.nbgrader.grade_id = "smooth", "check_smooth"
    new.id, check.id = "smooth", "check_smooth"
    check.source = "assert callable(softmax)"
    monkeypatch.setattr(command, "read_lesson", lambda *_: source)
    monkeypatch.chdir(course.root)

    assert quietly(command.main, [lesson, "--changed-exercises"]) == 0
    told = capsys.readouterr().out
    assert "softmax: 3 points, now not there; smooth: not there, now 3 points" in told
    assert "in the newest copy in classroom/backups alone: ada's 0.5 in softmax." in told
    with course.gradebook() as gradebook:
        place = lesson, lesson, "ada"
        assert gradebook.find_grade("written_softmax", *place).manual_score == 1.5
        assert gradebook.find_comment("written_softmax", *place).manual_comment == "Why?"
        assert gradebook.find_grade("check_smooth", *place).max_score == 3
        assert gradebook.find_comment("smooth", *place).manual_comment is None
        for find, name in (
            (gradebook.find_grade, "check_softmax"),
            (gradebook.find_comment, "softmax"),
        ):
            with pytest.raises(MissingEntry):
                find(name, *place)
    (copy,) = course.backups.glob("*.db")
    with contextlib.closing(sqlite3.connect(copy)) as database:
        marks = database.execute("select manual_score from grade where manual_score is not null")
        assert sorted(marks) == [(0.5,), (1.5,)]
    quietly(release, course, [lesson])  # nothing differs any more


@pytest.mark.slow
def test_edited_source_is_replaced_only_on_demand(tmp_path, monkeypatch, capsys):
    lesson = LESSONS[0]
    course = make_course(tmp_path, lesson)
    monkeypatch.chdir(course.root)
    source = course.source(lesson)
    assert quietly(command.main, [lesson]) == 0
    written = source.read_bytes()
    edited = written.replace(b"softmax", b"soft maximum", 1)

    source.write_bytes(edited)
    capsys.readouterr()
    assert quietly(command.main, [lesson]) == 1
    error = capsys.readouterr().err
    assert f"classroom/source/{lesson}/{lesson}.ipynb was edited after make release" in error
    assert f"make release LESSON={lesson} OVERWRITE=1" in error
    assert source.read_bytes() == edited

    course.source_digest(lesson).unlink()  # as it was before digests were kept
    assert quietly(command.main, [lesson]) == 1
    assert "nothing says that make release has written it" in capsys.readouterr().err
    assert quietly(command.main, [lesson, "--overwrite"]) == 0
    assert source.read_bytes() == written
    assert quietly(command.main, [lesson]) == 0


@pytest.mark.slow
def test_changed_lesson_replaces_a_source_that_nobody_edited(tmp_path):
    lesson = LESSONS[0]
    course = make_course(tmp_path, lesson)
    quietly(release, course, [lesson])
    path = course.written(lesson)
    path.write_text(path.read_text("utf-8").replace("Take a", "Now take a", 1), "utf-8")
    quietly(release, course, [lesson])
    assert "Now take a" in course.source(lesson).read_text("utf-8")


@pytest.mark.slow
def test_an_author_without_a_class_gets_no_gradebook(tmp_path, monkeypatch):
    course = make_course(tmp_path, LESSONS[0])
    monkeypatch.chdir(course.root)
    assert quietly(command.main, []) == 0
    assert course.released(LESSONS[0]).is_file()
    assert not list(course.root.rglob("*.db"))
    with course.gradebook() as gradebook:  # a class begins
        gradebook.add_student("ada")
    assert quietly(command.main, []) == 0
    with course.gradebook() as gradebook:
        assert gradebook.find_notebook(LESSONS[0], LESSONS[0]).grade_cells


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["01_sotfmax"], "There is no lesson '01_sotfmax'. Did you mean 01_softmax?"),
        (["zzz"], "There is no lesson 'zzz'. There are: 01_softmax"),
    ],
)
def test_an_unknown_lesson_is_told(released_course, monkeypatch, capsys, arguments, told):
    monkeypatch.chdir(released_course.root)
    assert command.main(arguments) == 1
    assert told in capsys.readouterr().err


def test_another_folder_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert command.main([]) == 1
    assert "There is no nbgrader_config.py in" in capsys.readouterr().err
