"""Grading folders with links, pipes and the like between those of two honest students."""

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell
from nbgrader.utils import notebook_hash

from attention_lib.grading.intake import timestamps
from attention_lib.grading.intake.submission import prepare, read_submission
from tests.grading.sample_class import LESSONS, Classroom, make_lean_course, quietly

LESSON = LESSONS[0]
NOTEBOOK = f"{LESSON}.ipynb"
CLASS = "attention"
pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.batch,
    pytest.mark.skipif(os.name == "nt", reason="Windows has no such files"),
    pytest.mark.xdist_group("autograde"),
]


@pytest.fixture(scope="module")
def room(tmp_path_factory) -> Iterator[Classroom]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timestamps, "newest_change", change_at_the_time_in_the_name)
        yield make_room(tmp_path_factory)


def change_at_the_time_in_the_name(folder, *_):
    return timestamps.read_name(folder, LESSON).time.replace(tzinfo=UTC).timestamp()


def make_room(tmp_path_factory) -> Classroom:
    course = make_lean_course(tmp_path_factory.mktemp("course"), LESSON)
    config = course.root / "nbgrader_config.py"
    exchange = tmp_path_factory.mktemp("exchange")
    settings = f"c.CourseDirectory.course_id = {CLASS!r}\nc.Exchange.root = {str(exchange)!r}\n"
    config.write_text(f"{config.read_text()}\n{settings}")
    source = course.source(LESSON)
    (source.parent / "ours.csv").write_text("ours")
    (source.parent / "tables").mkdir()
    (source.parent / "tables" / "ours.csv").write_text("ours")
    room = Classroom(course, LESSON)
    room.seat("a_first", room.key(), room.most)
    for make in (student_is_a_link, notebook_is_a_pipe):
        make(room)
        room.deserved[make.__name__] = room.nothing
    for make in (deep, brings_files, time_is_a_pipe, time_is_garbage, forges_the_time):
        make(room)
        room.deserved[make.__name__] = room.most
    (exchange / CLASS / "inbound" / record("forges_the_time", "2026-03-02 12:00:00")).mkdir(
        parents=True
    )
    room.seat("z_last", room.key(), room.most)
    room.grade()
    return room


def record(student, time):
    return f"{student}+{LESSON}+{time}.000000 UTC+random"


def folder_of(room, student):
    return room.course.submission(LESSON, student)


def student_is_a_link(room):
    folder_of(room, "student_is_a_link").parent.symlink_to("a_first")


def notebook_is_a_pipe(room):
    folder_of(room, "notebook_is_a_pipe").mkdir(parents=True)
    os.mkfifo(folder_of(room, "notebook_is_a_pipe") / NOTEBOOK)


def deep(room):
    """Metadata that can be read, and are too deep for whatever copies them step by step."""
    text = json.dumps({**room.key(), "metadata": "deep"})
    room.hand_in("deep", text.replace('"deep"', '{"a":' * 450 + "1" + "}" * 450))


def brings_files(room):
    notebook = room.key()
    names = ["ours.csv", "tables/ours.csv", "theirs.csv", "passwd"]
    notebook.cells.append(
        new_code_cell(
            "from pathlib import Path\n"
            f"{{name: Path(name).read_text() for name in {names} if Path(name).exists()}}"
        )
    )
    room.hand_in("brings_files", notebook)
    folder = folder_of(room, "brings_files")
    (folder / "theirs.csv").write_text("theirs")
    (folder / "ours.csv").write_text("theirs")
    (folder / "tables").write_text("theirs")
    (folder / "passwd").symlink_to("/etc/passwd")


def time_is_a_pipe(room):
    room.hand_in("time_is_a_pipe", room.key())
    os.mkfifo(folder_of(room, "time_is_a_pipe") / "timestamp.txt")


def time_is_garbage(room):
    room.hand_in("time_is_garbage", room.key())
    (folder_of(room, "time_is_garbage") / "timestamp.txt").write_text("soon")


def forges_the_time(room):
    room.hand_in("forges_the_time", room.key())
    path = folder_of(room, "forges_the_time") / "timestamp.txt"
    path.write_text("2026-03-01 12:00:00 UTC")
    path.with_name("submission_secret.txt").write_text("s3cret")


def test_everyone_gets_the_points_they_deserve(room):
    got = {student: result.points for student, result in room.results.items()}
    assert got == room.deserved


@pytest.mark.parametrize(
    ("student", "told"),
    [
        ("student_is_a_link", "its folder is a link; hand in the folder itself"),
        ("notebook_is_a_pipe", "something other than a file"),
    ],
)
def test_ungraded_submission_says_why(room, student, told):
    assert told in room.results[student].note
    assert told in room.feedback(student)


def test_time_that_formgrader_cannot_read_is_noted(room):
    told = "timestamp.txt does not say a time, and was not used. Correct or delete it"
    assert room.results["time_is_garbage"].note.startswith(told)
    assert "formgrader" not in room.feedback("time_is_garbage")


@pytest.mark.parametrize(
    ("student", "told"),
    [
        ("brings_files", "Left out as a link: <code>passwd</code>."),
        ("time_is_a_pipe", "timestamp.txt is something other than a file, and was not used."),
        ("time_is_garbage", "timestamp.txt does not say a time, and was not used."),
    ],
)
def test_feedback_says_what_was_left_out(room, student, told):
    assert told in room.feedback(student)


def test_cells_find_the_instructors_and_the_students_files(room):
    shown = room.feedback("brings_files").replace("&#39;", "'")
    expected = {"ours.csv": "ours", "tables/ours.csv": "ours", "theirs.csv": "theirs"}
    assert str(expected) in shown


def test_no_file_of_a_student_is_copied(room):
    for student in room.deserved:
        graded = room.course.autograded(LESSON, student).parent
        ours = {NOTEBOOK, "ours.csv", "tables", "tables/ours.csv"}
        if student == "forges_the_time":
            ours |= {"timestamp.txt", "submission_secret.txt"}
        assert {path.relative_to(graded).as_posix() for path in graded.rglob("*")} == ours
        assert (graded / "ours.csv").read_text() == "ours"


def test_feedback_is_released_into_the_exchange(room):
    done = quietly(room.course.nbgrader().release_feedback, LESSON, "forges_the_time")
    assert done["success"], done
    folder = Path(room.course.nbgrader().config.Exchange.root, CLASS, "feedback")
    (page,) = folder.iterdir()
    assert page.stem == notebook_hash(secret="s3cret", notebook_id=LESSON)


def test_submitted_folder_is_left_as_it_is(room):
    folder = folder_of(room, "brings_files")
    assert sorted(path.name for path in folder.iterdir()) == [
        NOTEBOOK,
        "ours.csv",
        "passwd",
        "tables",
        "theirs.csv",
    ]
    assert (folder / "ours.csv").read_text() == "theirs"
    assert (folder / "passwd").is_symlink()


def prepared_work(room, student):
    submission = read_submission(folder_of(room, student), LESSON)
    return prepare(submission, room.course.released(LESSON), room.course.source(LESSON).parent)


def test_prepared_notebook_is_the_one_that_is_graded(room):
    for student in room.deserved:
        prepared = prepared_work(room, student)
        ran = room.autograded(student)
        assert [cell.id for cell in ran.cells] == [cell.id for cell in prepared.notebook.cells]
        for one, other in zip(ran.cells, prepared.notebook.cells, strict=True):
            if not one.id.startswith("check_"):
                assert (one.cell_type, one.source) == (other.cell_type, other.source)
    assert set(prepared_work(room, "brings_files").files) == {
        "ours.csv",
        "tables/ours.csv",
        "theirs.csv",
    }


def time_in_gradebook(room, student):
    with room.course.gradebook() as gradebook:
        return gradebook.find_submission(LESSON, student).timestamp


def test_time_in_the_gradebook_is_the_exchanges(room):
    assert time_in_gradebook(room, "forges_the_time") == datetime(2026, 3, 2, 12)
    assert time_in_gradebook(room, "time_is_garbage") is None
    assert time_in_gradebook(room, "a_first") is None


def grade_again(room, force=False, **settings):
    """Grade as `nbgrader autograde` does it; tell whether anything was done."""
    nbgrader = quietly(room.course.nbgrader)
    for name, value in settings.items():
        setattr(nbgrader.coursedir, name, value)
    graded = room.course.autograded(LESSON, "forges_the_time")
    before = graded.stat().st_mtime_ns
    result = quietly(lambda: nbgrader.autograde(LESSON, "forges_the_time", force))
    assert result["success"], result
    return graded.stat().st_mtime_ns != before


def test_newer_submission_is_graded_again_by_nbgrader(room):
    assert not grade_again(room)
    inbound = Path(room.course.nbgrader().config.Exchange.root) / CLASS / "inbound"
    (inbound / record("forges_the_time", "2026-03-03 12:00:00")).mkdir()
    assert grade_again(room)
    assert time_in_gradebook(room, "forges_the_time") == datetime(2026, 3, 3, 12)
    assert not grade_again(room)
    (inbound / record("forges_the_time", "2026-03-04 12:00:00")).mkdir()
    assert grade_again(room, notebook_id=LESSON)  # which leaves the old timestamp.txt there
    assert not grade_again(room)
    for folder in inbound.iterdir():
        folder.rmdir()
    (folder_of(room, "forges_the_time") / "timestamp.txt").unlink()
    assert grade_again(room, force=True, notebook_id=LESSON)
    assert not room.course.autograded(LESSON, "forges_the_time").with_name("timestamp.txt").exists()
