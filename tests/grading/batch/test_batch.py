"""What has changed is graded, once; what has not, is left as it is."""

import contextlib
import datetime
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from sqlalchemy import text

from attention_lib.grading.batch.batch import Batch
from attention_lib.grading.batch.recording import uninterrupted
from attention_lib.grading.classroom.course import Course
from attention_lib.grading.classroom.journal import Journal
from attention_lib.grading.grade import grade, main, table
from attention_lib.grading.nbgrader_plugins.preprocessors import UNPROTECTED
from tests.grading.rows import read_rows, rows_of_others
from tests.grading.sample_class import LESSONS, Classroom, cell_of, make_lean_course, quietly

LESSON, OTHER_LESSON = LESSONS[:2]
STUDENTS = ["ada", "bo", "cy"]
SECONDS = 120  # that something may take before a test fails
pytestmark = pytest.mark.xdist_group("batch")


@pytest.fixture(scope="module")
def graded(tmp_path_factory) -> Course:
    """A course in which three students have been graded for one lesson, and one for another."""
    course = make_lean_course(tmp_path_factory.mktemp("course"), LESSON, OTHER_LESSON)
    for lesson, students in {LESSON: STUDENTS, OTHER_LESSON: ["ada"]}.items():
        room = Classroom(course, lesson)
        for student in students:
            room.hand_in(student, room.blank() if student == "bo" else room.key())
        room.grade()
    return course


@pytest.fixture
def room(graded, tmp_path) -> Classroom:
    """A copy of it to change."""
    shutil.copytree(graded.root, tmp_path / "course")  # the times of files included
    return Classroom(Course(tmp_path / "course"), LESSON)


def notebook_of(room, student):
    return room.course.submission(LESSON, student) / f"{LESSON}.ipynb"


def written(room, student="*"):
    """Return when each file was written that nbgrader makes for students."""
    places = room.course.root.joinpath("classroom").glob(f"*graded/{student}/{LESSON}/*")
    pages = room.course.root.joinpath("classroom").glob(f"feedback/{student}/{LESSON}/*")
    return {path: path.stat().st_mtime_ns for path in [*places, *pages]}


def planned(room, again=False):
    """Return who would be graded, and whose page would be written."""
    with (
        room.course.gradebook() as gradebook,
        Journal(room.course.journal(LESSON)) as journal,
    ):
        batch = Batch(room.course, LESSON, gradebook, journal)
        plan = quietly(batch.plan, room.course.submitted(LESSON), again)
        return list(plan.to_grade), list(plan.to_show)


def test_nothing_is_done_twice(room):
    before = written(room), read_rows(room.course), room.course.journal(LESSON).read_text()
    assert len(before[0]) == 2 * len(STUDENTS)
    results = room.grade()
    assert before == (
        written(room),
        read_rows(room.course),
        room.course.journal(LESSON).read_text(),
    )
    copies = list(room.course.backups.iterdir())
    assert len(copies) == 2  # made before the two batches that wrote something
    assert {name: result.points for name, result in results.items()} == {
        "ada": room.most,
        "bo": room.nothing,
        "cy": room.most,
    }
    assert [result.note for result in results.values()] == ["", "", ""]


def test_whoever_writes_the_gradebook_is_waited_for(room):
    with room.course.gradebook() as gradebook:
        assert gradebook.db.execute(text("PRAGMA busy_timeout")).scalar() == 60_000
        assert gradebook.db.execute(text("PRAGMA journal_mode")).scalar() == "wal"


def test_who_hands_in_again_is_graded_again_and_nobody_else_is_touched(room):
    others = rows_of_others(room.course, "bo", LESSON)
    before = written(room)
    shutil.copy(notebook_of(room, "ada"), notebook_of(room, "bo"))
    results = room.grade()
    assert results["bo"].points == room.most
    assert "softmax: right." in room.feedback("bo")
    assert rows_of_others(room.course, "bo", LESSON) == others
    after = written(room)
    assert {path for path in after if after[path] != before[path]} == set(written(room, "bo"))


def test_a_name_that_nbgrader_takes_for_others_is_nobodys(room):
    before = written(room), read_rows(room.course)
    names = ["*", "b[ao]", "ada ", "a\x1b[31m", "b\nc", "c\udcff"]
    for name in names:
        room.hand_in(name, room.key())
    results = room.grade()
    assert (written(room), read_rows(room.course)) == before
    assert [student for student, one in results.items() if "rename it" in one.note] == sorted(names)
    shown = table(room.worth, list(results.values()))
    assert len(shown.splitlines()) == 2 + len(results)
    assert "\x1b" not in shown


def add_file(room):
    (room.course.submission(LESSON, "bo") / "data.csv").write_text("1")


def change_file(room):
    notebook_of(room, "bo").write_text("{}")


def set_timestamp(room):
    (room.course.submission(LESSON, "bo") / "timestamp.txt").write_text("2026-01-01 00:00 UTC")


def change_settings(room):
    config = room.course.root / "nbgrader_config.py"
    config.write_text(f"{config.read_text()}\nc.ExecuteSubmission.cell_seconds = 5\n")


def change_lesson(room):
    room.course.released(LESSON).write_text(room.course.released(LESSON).read_text() + "\n")


def change_hidden_checks(room):
    room.course.source(LESSON).write_text(room.course.source(LESSON).read_text() + "\n")


def set_due_date(room):
    with room.course.gradebook() as gradebook:
        gradebook.find_assignment(LESSON).duedate = datetime.datetime(2026, 1, 1)
        gradebook.db.commit()


def lose_the_grade(room):
    """As when an older gradebook has been put back."""
    with room.course.gradebook() as gradebook:
        gradebook.find_grade("check_softmax", LESSON, LESSON, "bo").auto_score = None
        gradebook.db.commit()


def lose_the_autograded_notebook(room):
    room.course.autograded(LESSON, "bo").unlink()


@pytest.mark.parametrize(
    ("change", "whose"),
    [
        (add_file, ["bo"]),
        (change_file, ["bo"]),
        (set_timestamp, ["bo"]),
        (lose_the_grade, ["bo"]),
        (lose_the_autograded_notebook, ["bo"]),
        (change_settings, STUDENTS),
        (change_lesson, STUDENTS),
        (change_hidden_checks, STUDENTS),
        (set_due_date, STUDENTS),
    ],
)
def test_whatever_a_grade_rests_on_is_looked_at(room, change, whose):
    assert planned(room) == ([], [])
    change(room)
    assert planned(room) == (whose, [])


def give_a_comment(room):
    with room.course.gradebook() as gradebook:
        gradebook.find_comment("written_softmax", LESSON, LESSON, "bo").manual_comment = "Good."
        gradebook.db.commit()


def lose_the_page(room):
    room.course.feedback(LESSON, "bo").unlink()


@pytest.mark.parametrize("change", [give_a_comment, lose_the_page])
def test_whatever_a_page_rests_on_is_looked_at(room, change):
    change(room)
    assert planned(room) == ([], ["bo"])


def test_all_can_be_graded_again(room):
    before = written(room)
    results = quietly(grade, room.course, LESSON, 0, "", True)[1]
    assert [result.points for result in results] == [room.most, room.nothing, room.most]
    after = written(room)
    assert before.keys() == after.keys()
    assert room.course.log(LESSON).read_text() == ""  # nothing went wrong
    assert all(before[path] != after[path] for path in after)
    assert planned(room) == ([], [])


def mark(room, student, points):
    """Mark the answer in words, as formgrader does."""
    with room.course.gradebook() as gradebook:
        grade = gradebook.find_grade("written_softmax", LESSON, LESSON, student)
        grade.manual_score, grade.needs_manual_grade = points, False
        gradebook.db.commit()


def test_marks_given_by_hand_are_shown_and_kept(room):
    graded = room.course.autograded(LESSON, "cy").stat().st_mtime_ns
    mark(room, "cy", 1.5)
    before = written(room)
    assert room.grade()["cy"].points == {**room.most, "written_softmax": 1.5}
    after = written(room)
    page = room.course.feedback(LESSON, "cy")
    assert [path for path in after if after[path] != before[path]] == [page]
    assert "(Score: 1.5 / 2.0)" in page.read_text("utf-8")

    (room.course.submission(LESSON, "cy") / "data.csv").write_text("1")
    result = room.grade()["cy"]
    assert (result.points["written_softmax"], result.note) == (1.5, "")
    assert room.course.autograded(LESSON, "cy").stat().st_mtime_ns != graded

    shutil.copy(notebook_of(room, "bo"), notebook_of(room, "cy"))
    result = room.grade()["cy"]
    assert result.points == {**room.nothing, "written_softmax": 1.5}
    assert result.note == "look again at your mark for written_softmax"


def test_being_late_is_told_and_costs_what_the_settings_say(room):
    config = room.course.root / "nbgrader_config.py"
    config.write_text(f"{config.read_text()}\nc.LateSubmissionPlugin.penalty_method = 'zero'\n")
    set_due_date(room)
    (room.course.submission(LESSON, "cy") / "timestamp.txt").write_text("2026-01-02 12:00 UTC")
    results = room.grade()
    assert results["cy"].note == "late by 1 day, 12:00:00, which costs 7"
    assert [result.total for result in results.values()] == [7, 0, 0]

    mark(room, "cy", 1.5)
    result = room.grade()["cy"]
    assert result.note == "late by 1 day, 12:00:00, which costs 8.5"
    assert result.total == 0


TROUBLE = """
from nbgrader.preprocessors import NbGraderPreprocessor

class Trouble(NbGraderPreprocessor):
    def preprocess(self, nb, resources):
        if resources["nbgrader"]["student"] == "bo":
            raise OSError("no room")
        return nb, resources

c.Autograde.autograde_preprocessors.append(Trouble)
"""


def test_who_cannot_be_graded_stops_nobody_and_is_tried_again(room, monkeypatch, capsys):
    config = room.course.root / "nbgrader_config.py"
    settings = config.read_text()
    config.write_text(settings + TROUBLE)
    monkeypatch.chdir(room.course.root)
    assert quietly(main, [LESSON, "--jobs", "0"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2] == (
        "3 handed in. Not graded: bo. Waiting for a human (?): written_softmax of 2."
    )
    told = {line.split()[0]: line for line in lines if line}
    assert f"could not be graded; classroom/{LESSON}.log says more" in told["bo"]
    assert told["ada"].split()[6] == "7"
    assert "no room" in room.course.log(LESSON).read_text()

    config.write_text(settings)
    assert quietly(main, [LESSON, "--jobs", "0"]) == 0


def test_what_cannot_be_written_is_said_in_a_sentence(room, monkeypatch, capsys):
    """As on a full disk, of which a folder in the log's place gives the same kind of error."""
    room.course.log(LESSON).unlink()
    room.course.log(LESSON).mkdir()
    monkeypatch.chdir(room.course.root)
    assert quietly(main, [LESSON, "--jobs", "0"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("Stopped: [Errno ")
    assert said.endswith("the same command goes on.\n")


@pytest.mark.parametrize(("presses", "written"), [(1, ["grade"]), (2, [])])
def test_control_c_waits_until_a_grade_is_written_but_only_once(presses, written):
    done = []

    def write():
        with uninterrupted():
            for _ in range(presses):
                signal.raise_signal(signal.SIGINT)
            done.append("grade")

    with pytest.raises(KeyboardInterrupt):
        write()
    assert done == written
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def start(course, *arguments):
    """Start the command, as in a terminal: in a group of processes of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "attention_lib.grading.grade", LESSON, *arguments],
        cwd=course.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def lines_of(course):
    journal = course.journal(LESSON)
    lines = journal.read_text().splitlines() if journal.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


def graded_in(course):
    return [line["student"] for line in lines_of(course) if "work" in line]


def wait_for_grades(course, number, process):
    deadline = time.monotonic() + SECONDS
    while len(graded_in(course)) < number:
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            pytest.fail(f"{number} grades have not come about:\n{process.communicate()}")
        time.sleep(0.01)


def workers_of(process):
    """Return the processes that were forked to do the work."""

    def forked(parent):
        for child in parent.children():
            with contextlib.suppress(psutil.Error):  # it has ended
                if "forkserver" in " ".join(child.cmdline()):
                    yield child

    return [worker for server in forked(psutil.Process(process.pid)) for worker in forked(server)]


@pytest.mark.skipif(sys.platform != "linux", reason="the work is done without a fork server")
def test_whatever_happens_to_a_batch_everyone_is_graded_once(tmp_path):
    """A worker is killed, Ctrl-C is pressed, the whole batch is killed: three batches make one."""
    course = make_lean_course(tmp_path, LESSON)
    room = Classroom(course, LESSON)
    students = [f"student_{number}" for number in range(8)]
    for student in students:
        notebook = room.key()
        cell_of(notebook, room.checked[0]).source += "\nimport time; time.sleep(0.3)"
        room.hand_in(student, notebook)

    first = start(course, "--jobs", "2")
    wait_for_grades(course, 1, first)
    workers_of(first)[0].kill()
    wait_for_grades(course, 3, first)
    os.killpg(first.pid, signal.SIGINT)
    _, said = first.communicate(timeout=SECONDS)
    assert (first.returncode, said) == (
        130,
        "Stopped. What was graded so far is in the gradebook; the same command goes on.\n",
    )

    second = start(course, "--jobs", "1")
    wait_for_grades(course, len(graded_in(course)) + 1, second)
    second.kill()
    second.communicate()
    assert len(graded_in(course)) < len(students)

    third = start(course, "--jobs", "0")
    told, said = third.communicate(timeout=SECONDS)
    assert third.returncode == 0, said
    totals = [line.split()[6] for line in told.splitlines() if line.startswith("student_")]
    assert totals == ["7"] * len(students)
    assert sorted(graded_in(course)) == sorted(students)
    seeds = [line["seed"] for line in lines_of(course) if "seed" in line]
    assert len(seeds) == 2  # one batch, from its beginning to its end
    assert seeds[1] is None


def test_without_a_sandbox_one_sentence_says_what_to_install(room):
    change_settings(room)
    done = without_bubblewrap(room.course)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "bubblewrap" in done.stderr


def test_grading_without_a_sandbox_is_warned_of_on_every_run(room):
    config = room.course.root / "nbgrader_config.py"
    config.write_text(f"{config.read_text()}\nc.ExecuteSubmission.without_sandbox = True\n")
    done = without_bubblewrap(room.course)
    assert done.returncode == 0
    assert "ada" in done.stdout
    assert done.stderr == f"{UNPROTECTED}\n"


def without_bubblewrap(course):
    return subprocess.run(
        [sys.executable, "-m", "attention_lib.grading.grade", LESSON, "--jobs", "0"],
        cwd=course.root,
        env={**os.environ, "PATH": str(Path(sys.executable).parent)},
        capture_output=True,
        text=True,
        check=False,
    )
