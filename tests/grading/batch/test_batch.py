"""Batches grade what has changed, once, whatever interrupts them."""

import contextlib
import dataclasses
import datetime
import itertools
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import Future
from types import SimpleNamespace

import nbformat
import psutil
import pytest
from sqlalchemy import text

from attention_lib.grading import limits
from attention_lib.grading.batch import batch, reader, recording
from attention_lib.grading.batch.batch import Batch, write_page
from attention_lib.grading.batch.recording import uninterrupted
from attention_lib.grading.batch.workers import Workers
from attention_lib.grading.classroom.course import Course
from attention_lib.grading.classroom.journal import Journal
from attention_lib.grading.grade import grade, main, summary, table
from attention_lib.grading.intake.submission import AS_GIVEN_OUT
from attention_lib.grading.judge import execution
from attention_lib.grading.judge.execution import run_notebook
from attention_lib.grading.nbgrader_plugins.autograde import UNPROTECTED, AutogradeSubmissions
from attention_lib.grading.release import release
from attention_lib.grading.report.findings import read_class
from attention_lib.grading.report.page import as_page
from tests.grading.batch.waiting import SECONDS, graded_in, wait_until
from tests.grading.rows import read_rows, rows_of_others
from tests.grading.sample_class import (
    LESSONS,
    Classroom,
    cell_of,
    configure,
    make_course,
    make_lean_course,
    quietly,
)

LESSON, OTHER_LESSON = LESSONS[:2]
STUDENTS = ["ada", "bo", "cy"]
pytestmark = [pytest.mark.sandbox, pytest.mark.batch, pytest.mark.xdist_group("batch")]


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
    classroom = room.course.root / "classroom"
    graded = classroom.glob(f"autograded/{student}/{LESSON}/*")
    pages = classroom.glob(f"feedback/{student}/{LESSON}/*")
    return {path: path.stat().st_mtime_ns for path in [*graded, *pages]}


@contextlib.contextmanager
def batch_of(room):
    with room.course.gradebook() as gradebook, Journal(room.course.journal(LESSON)) as journal:
        yield Batch(room.course, LESSON, gradebook, journal)


def planned(room):
    """Return who would be graded, and whose page would be written."""
    with batch_of(room) as batch:
        plan = quietly(batch.plan, room.course.submitted(LESSON))
        return plan.to_grade, plan.to_show


def test_second_batch_without_changes_writes_nothing(room):
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
    assert [result.note for result in results.values()] == ["", AS_GIVEN_OUT, ""]


def test_gradebook_waits_for_locks_and_keeps_a_write_ahead_log(room):
    with room.course.gradebook() as gradebook:
        assert gradebook.db.execute(text("PRAGMA busy_timeout")).scalar() == 60_000
        assert gradebook.db.execute(text("PRAGMA journal_mode")).scalar() == "wal"


def test_only_a_changed_submission_is_graded_again(room):
    others = rows_of_others(room.course, "bo", LESSON)
    before = written(room)
    shutil.copy(notebook_of(room, "ada"), notebook_of(room, "bo"))
    results = room.grade()
    assert results["bo"].points == room.most
    assert "softmax: right." in room.feedback("bo")
    assert rows_of_others(room.course, "bo", LESSON) == others
    after = written(room)
    assert {path for path in after if after[path] != before[path]} == set(written(room, "bo"))


def test_students_who_are_named_are_graded_again_and_nobody_else(room, monkeypatch, capsys):
    monkeypatch.chdir(room.course.root)
    before, journal = written(room), Journal(room.course.journal(LESSON))
    journal.close()
    assert quietly(main, [LESSON, "--jobs=0", "--student=cy, ada"]) == 0
    after = written(room)
    assert {path for path in after if after[path] != before[path]} == {
        *written(room, "ada"),
        *written(room, "cy"),
    }
    out = capsys.readouterr().out
    assert "2 handed in" in out
    assert "\nbo" not in out
    assert planned(room) == ([], [])
    with Journal(room.course.journal(LESSON)) as noted:
        assert noted.entries["bo"] == journal.entries["bo"]


def test_who_is_named_and_not_there_is_told_who_may_be_meant(room, monkeypatch, capsys):
    monkeypatch.chdir(room.course.root)
    room.course.roster.write_text("id,first_name,last_name\nada,Ada,Lovelace\nina,Ina,Li\n")
    for name, said in {
        "Ada Lovelace": "no student 'Ada Lovelace' with 01_softmax. Did you mean ada?",
        "adda": "Did you mean ada?",
        "zzz": "no student 'zzz' with 01_softmax.",
        "ina": "ina has handed in nothing for 01_softmax.",
    }.items():
        assert main([LESSON, "--jobs=0", f"--student=bo,{name}"]) == 1
        assert capsys.readouterr().err.endswith(f"{said}\n")


def test_students_with_glob_patterns_in_their_names_are_refused(room):
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
    configure(room.course, "c.ExecuteSubmission.cell_seconds = 5")


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
def test_change_of_anything_a_grade_depends_on_makes_it_due(room, change, whose):
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
def test_change_of_anything_a_page_depends_on_makes_it_due(room, change):
    change(room)
    assert planned(room) == ([], ["bo"])


def test_again_grades_everyone(room):
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


def test_planning_leaves_the_log_of_the_last_batch(room):
    room.course.log(LESSON).write_text("a warning")
    change_file(room)
    assert planned(room) == (["bo"], [])
    assert room.course.log(LESSON).read_text() == "a warning"


def test_submission_that_changes_after_planning_is_journaled_as_it_was_graded(room):
    """The plan knows the blank notebook; the model answers come before its turn."""
    shutil.copy(notebook_of(room, "ada"), notebook_of(room, "cy"))
    change_file(room)
    with batch_of(room) as batch:
        plan = quietly(batch.plan, room.course.submitted(LESSON))
        assert plan.to_grade == ["bo"]
        shutil.copy(notebook_of(room, "ada"), notebook_of(room, "bo"))
        with Workers(0) as workers:
            quietly(batch.run, plan, workers)
    assert planned(room) == ([], [])
    assert room.grade()["bo"].points == room.most


def test_submission_collected_again_while_it_runs_is_graded_as_it_ran(room, monkeypatch):
    """The journal's digest is of what was run and graded, so the newer work is graded next."""
    blank = notebook_of(room, "bo").read_bytes()
    shutil.copy(notebook_of(room, "ada"), notebook_of(room, "bo"))
    write_grade = AutogradeSubmissions.grade

    def collect_then_write(self, lesson, student, prepared, ran):
        notebook_of(room, student).write_bytes(blank)
        return write_grade(self, lesson, student, prepared, ran)

    monkeypatch.setattr(AutogradeSubmissions, "grade", collect_then_write)
    assert room.grade()["bo"].points == room.most
    answer = cell_of(room.autograded("bo"), room.checked[0]).source
    assert answer == cell_of(room.key(), room.checked[0]).source
    monkeypatch.undo()
    assert planned(room) == (["bo"], [])
    assert room.grade()["bo"].points == room.nothing


def test_settings_of_nbgrader_name_the_folders(tmp_path):
    course = make_course(tmp_path, LESSON)
    configure(
        course,
        *(
            f"c.CourseDirectory.{step}_directory = 'our_{step}'"
            for step in ("source", "submitted", "autograded", "feedback")
        ),
        "c.CourseDirectory.db_url = f'sqlite:///{root}/grades.db'",
    )
    quietly(release, course, [LESSON])
    room = Classroom(course, LESSON)
    room.hand_in("ada", room.key())
    assert (tmp_path / "our_submitted" / "ada" / LESSON / f"{LESSON}.ipynb").is_file()
    assert room.grade()["ada"].points == room.most
    assert quietly(course.nbgrader().get_submitted_students, LESSON) == {"ada"}
    assert (tmp_path / "our_autograded" / "ada" / LESSON / f"{LESSON}.ipynb").is_file()
    assert (tmp_path / "our_feedback" / "ada" / LESSON / f"{LESSON}.html").is_file()
    assert (tmp_path / "our_source" / LESSON / f"{LESSON}.ipynb").is_file()
    assert (tmp_path / "grades.db").is_file()
    others = {path.name for path in (tmp_path / "classroom").iterdir()}
    assert others.isdisjoint({"source", "submitted", "autograded", "feedback", "gradebook.db"})


def test_marks_given_by_hand_are_shown_and_kept(room):
    graded = room.course.autograded(LESSON, "cy").stat().st_mtime_ns
    mark(room, "cy", 1.5)
    before = written(room)
    assert room.grade()["cy"].points == {**room.most, "written_softmax": 1.5}
    after = written(room)
    page = room.course.feedback(LESSON, "cy")
    assert [path for path in after if after[path] != before[path]] == [page]
    assert "1.5 of 2" in page.read_text("utf-8")

    (room.course.submission(LESSON, "cy") / "data.csv").write_text("1")
    result = room.grade()["cy"]
    assert (result.points["written_softmax"], result.note) == (1.5, "")
    assert room.course.autograded(LESSON, "cy").stat().st_mtime_ns != graded

    mark(room, "cy", 2.5)  # as if the points had been lowered
    (room.course.submission(LESSON, "cy") / "data.csv").write_text("2")
    assert room.grade()["cy"].note == "look again at your mark for written_softmax"

    mark(room, "cy", 1.5)
    shutil.copy(notebook_of(room, "bo"), notebook_of(room, "cy"))
    result = room.grade()["cy"]
    assert result.points == {**room.nothing, "written_softmax": 1.5}
    assert result.note == f"{AS_GIVEN_OUT}; look again at your mark for written_softmax"
    assert " 1.5?  " in table(room.worth, [result])
    assert "Waiting for a human (?): written_softmax of 1." in summary([result])
    report = as_page(quietly(read_class, room.course, LESSON))
    assert "1 to be looked at again." in report


NOTHING_IF_LATE = "c.LateSubmissionPlugin.penalty_method = 'zero'"


def test_lateness_is_noted_and_costs_what_the_settings_say(room):
    configure(room.course, NOTHING_IF_LATE)
    set_due_date(room)
    (room.course.submission(LESSON, "cy") / "timestamp.txt").write_text("2026-01-02 12:00 UTC")
    results = room.grade()
    assert results["cy"].note == f"late by 1 day, 12:00:00, which costs {room.full}"
    assert [result.total for result in results.values()] == [room.full, 0, 0]

    mark(room, "cy", 1.5)
    result = room.grade()["cy"]
    assert result.note == f"late by 1 day, 12:00:00, which costs {room.full + 1.5}"
    assert result.total == 0


def test_extension_for_one_student_is_noticed_and_takes_the_penalty_off(room):
    configure(room.course, NOTHING_IF_LATE)
    set_due_date(room)
    for student in STUDENTS:
        time = room.course.submission(LESSON, student) / "timestamp.txt"
        time.write_text("2026-01-02 12:00 UTC")
    assert room.grade()["cy"].penalty == room.full
    with room.course.gradebook() as gradebook:
        quietly(gradebook.grant_extension, LESSON, "cy", 0, 0, 2)
    assert planned(room) == (["cy"], [])
    results = room.grade()
    assert (results["cy"].total, results["cy"].note) == (room.full, "")
    assert results["ada"].note == f"late by 1 day, 12:00:00, which costs {room.full}"
    assert planned(room) == ([], [])


TROUBLE = """
from nbgrader.preprocessors import NbGraderPreprocessor

class Trouble(NbGraderPreprocessor):
    def preprocess(self, nb, resources):
        if resources["nbgrader"]["student"] == "bo":
            raise OSError("no room")
        return nb, resources

c.Autograde.autograde_preprocessors.append(Trouble)
"""


def totals_in(lines):
    """Return what each student has in the column `total` of a printed table."""
    header = next(line for line in lines if line.startswith("student")).split()
    rows = [line.split() for line in lines[: lines.index("")]]
    return {row[0]: row[header.index("total")] for row in rows if len(row) >= len(header) - 1}


def test_failed_student_stops_nobody_and_is_tried_again(room, monkeypatch, capsys):
    config = room.course.root / "nbgrader_config.py"
    settings = config.read_text()
    configure(room.course, TROUBLE)
    monkeypatch.chdir(room.course.root)
    assert quietly(main, [LESSON, "--jobs", "0"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "3 handed in. Not graded: bo. Waiting for a human (?): written_softmax of 2." in lines
    (row,) = [line for line in lines if line.startswith("bo ")]
    assert f"could not be graded; classroom/{LESSON}.log says more" in row
    assert totals_in(lines)["ada"] == str(room.full)
    assert "no room" in room.course.log(LESSON).read_text()

    config.write_text(settings)
    assert quietly(main, [LESSON, "--jobs", "0"]) == 0


def of_bo_alone(function, student_of):
    def raises(*arguments):
        if student_of(*arguments) == "bo":
            raise RecursionError("too odd")
        return function(*arguments)

    return raises


@pytest.mark.parametrize(
    ("place", "student_of"),
    [
        ((reader.Reader, "fingerprint"), lambda _, student: student),
        ((reader.Reader, "_read"), lambda _, student: student),
        ((recording, "read_answers"), lambda path: path.parent.parent.name),
        ((recording.Recorder, "page"), lambda _, student: student),
        ((recording, "note_for_instructor"), lambda *_: "bo"),
    ],
)
def test_error_of_ours_about_one_student_stops_nobody(room, monkeypatch, place, student_of):
    """Wherever it arises, it is noted for that student, and the log has it."""
    change_settings(room)
    if place[1] == "note_for_instructor":
        for student in ("ada", "cy"):
            shutil.rmtree(room.course.submission(LESSON, student).parent)
    monkeypatch.setattr(*place, of_bo_alone(getattr(*place), student_of))
    results = room.grade()
    assert [name for name, one in results.items() if one.failed] == (
        [] if place[1] == "fingerprint" else ["bo"]
    )
    assert ("too odd" in room.course.log(LESSON).read_text()) == (place[1] != "fingerprint")
    monkeypatch.undo()
    assert not any(result.failed for result in room.grade().values())


def test_submission_that_lost_marks_to_time_is_run_once_more_alone(room, monkeypatch):
    room.hand_in("dee", room.key())
    order = []

    def run(task):
        ran = run_notebook(task)
        student = next(s for s in [*STUDENTS, "dee"] if f"This is {s}." in task.notebook)
        order.append(student)
        slow = student in ("dee", "cy") and len(order) <= 4
        outputs = {} if slow else ran.outputs  # checks that have shown nothing are failed
        return dataclasses.replace(ran, outputs=outputs, waited=slow or student == "cy")

    for student in [*STUDENTS, "dee"]:
        notebook = nbformat.read(notebook_of(room, student), as_version=4)
        notebook.cells.append(nbformat.v4.new_markdown_cell(f"This is {student}."))
        nbformat.write(notebook, notebook_of(room, student))

    monkeypatch.setattr("attention_lib.grading.batch.batch.run_notebook", run)
    _, results = quietly(grade, room.course, LESSON)
    assert order == ["ada", "bo", "cy", "dee", "cy", "dee"]
    points = {result.student: result.points for result in results}
    bo = {**room.nothing, "written_softmax": None}  # whose words are there to be read
    assert points == dict.fromkeys(("ada", "cy", "dee"), room.most) | {"bo": bo}


def test_submissions_are_run_alone_only_while_there_is_time_for_it(room, monkeypatch):
    runs = []

    def run(task):
        runs.append(task)
        ran = run_notebook(task)
        outputs = ran.outputs if len(runs) <= 3 else {}  # too little time
        return dataclasses.replace(ran, outputs=outputs, waited=True)

    monkeypatch.setattr("attention_lib.grading.batch.batch.run_notebook", run)
    clock = SimpleNamespace(monotonic=itertools.count(0, 1000).__next__)
    monkeypatch.setattr(batch, "time", clock)  # the first of the three takes up all seconds
    _, results = quietly(lambda: grade(room.course, LESSON, again=True))
    assert [task.seconds for task in runs] == [limits.SUBMISSION_WALL_SECONDS] * 3 + [
        limits.ALONE_RUN_SECONDS
    ]
    assert all(result.note.startswith(batch.NOT_AGAIN) for result in results)
    assert results[0].points == room.most  # the first run was the better one


def test_a_sleeper_leaves_the_others_their_shares_of_the_time_to_run_alone(room, monkeypatch):
    runs, now = [], [0.0]

    def run(task):
        runs.append(task.seconds)
        sleeps = len(runs) == 4  # alone, the first of the three
        now[0] += task.seconds if sleeps else 0.0
        ran = run_notebook(task)
        late = len(runs) <= 3 or sleeps
        return dataclasses.replace(ran, outputs={} if late else ran.outputs, waited=late)

    monkeypatch.setattr("attention_lib.grading.batch.batch.run_notebook", run)
    monkeypatch.setattr(limits, "ALONE_SECONDS", 12.0)
    monkeypatch.setattr(batch, "time", SimpleNamespace(monotonic=lambda: now[0]))
    quietly(lambda: grade(room.course, LESSON, again=True))
    assert runs[3:] == [4.0, 4.0, 8.0]  # what the second does not use, the third may


def test_pages_of_others_do_not_wait_for_a_submission_that_is_run_alone(room, monkeypatch):
    order = []

    def run(task):
        order.append("run")
        return dataclasses.replace(run_notebook(task), waited=len(order) == 1)

    def show(*arguments):
        order.append("page")
        return write_page(*arguments)

    monkeypatch.setattr("attention_lib.grading.batch.batch.run_notebook", run)
    monkeypatch.setattr("attention_lib.grading.batch.batch.write_page", show)
    quietly(lambda: grade(room.course, LESSON, again=True))
    assert order == ["run"] * 3 + ["page"] * 2 + ["run", "page"]


def test_unwritable_log_is_reported_in_one_sentence(room, monkeypatch, capsys):
    """As on a full disk, of which a folder in the log's place gives the same kind of error."""
    room.course.log(LESSON).unlink()
    room.course.log(LESSON).mkdir()
    monkeypatch.chdir(room.course.root)
    assert quietly(main, [LESSON, "--jobs", "0"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("Stopped: [Errno ")
    assert said.endswith("the same command goes on.\n")


@pytest.mark.parametrize(("presses", "written"), [(1, ["grade"]), (2, [])])
def test_first_control_c_waits_until_a_grade_is_written_and_the_second_does_not(presses, written):
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


def wait_for_grades(course, number, process):
    wait_until(lambda: len(graded_in(course, LESSON)) >= number or process.poll() is not None)
    assert len(graded_in(course, LESSON)) >= number, process.communicate()


def workers_of(process):
    """Return the processes that were forked to do the work."""

    def forked(parent):
        for child in parent.children():
            with contextlib.suppress(psutil.Error):  # it has ended
                if "forkserver" in " ".join(child.cmdline()):
                    yield child

    return [worker for server in forked(psutil.Process(process.pid)) for worker in forked(server)]


@pytest.mark.skipif(sys.platform != "linux", reason="the work is done without a fork server")
def test_killed_and_interrupted_batches_grade_everyone_once(tmp_path):
    """A worker is killed, Ctrl-C is pressed, the whole batch is killed: three batches make one."""
    course = make_lean_course(tmp_path, LESSON)
    room = Classroom(course, LESSON)
    students = [f"student_{number}" for number in range(6)]
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

    second = start(course, "--jobs", "0")
    wait_for_grades(course, len(graded_in(course, LESSON)) + 1, second)
    second.kill()
    second.communicate()
    assert len(graded_in(course, LESSON)) < len(students)

    third = start(course, "--jobs", "0")
    printed, errors = third.communicate(timeout=SECONDS)
    assert third.returncode == 0, errors
    totals = totals_in(printed.splitlines())
    assert {student: totals[student] for student in students} == dict.fromkeys(
        students, str(room.full)
    )
    assert sorted(graded_in(course, LESSON)) == sorted(students)


def test_batch_that_goes_on_has_other_hidden_cases(room, monkeypatch):
    """What it graded before it was stopped may have been released, with inputs in the pages."""
    seeds = []

    def stopped(task):
        seeds.append(task.seed)
        if len(seeds) == 2:
            raise KeyboardInterrupt
        return run_notebook(task)

    monkeypatch.setattr("attention_lib.grading.batch.batch.run_notebook", stopped)
    with pytest.raises(KeyboardInterrupt):
        quietly(lambda: grade(room.course, LESSON, again=True))
    quietly(grade, room.course, LESSON)
    assert len(seeds) > 2
    assert len(set(seeds[:2])) == 1
    assert not {*seeds[:2]} & {*seeds[2:]}


def test_missing_bubblewrap_is_reported_in_one_sentence(room, without_bubblewrap, capsys):
    change_settings(room)
    assert quietly(main, [LESSON, "--jobs", "0"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "bubblewrap" in said.err


def test_grading_without_a_sandbox_warns_on_every_run(room, without_bubblewrap, capsys):
    for student in ("bo", "cy"):
        shutil.rmtree(room.course.submission(LESSON, student).parent)
    configure(room.course, "c.ExecuteSubmission.without_sandbox = True")
    assert quietly(main, [LESSON, "--jobs", "0"]) == 0
    said = capsys.readouterr()
    assert "ada" in said.out
    assert said.err == f"{UNPROTECTED}\n"


@pytest.fixture
def without_bubblewrap(room, tmp_path, monkeypatch):
    """The only program to be found is the one that the settings look for."""
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / "alembic").touch(mode=0o700)
    monkeypatch.setenv("PATH", str(tmp_path / "programs"))
    monkeypatch.chdir(room.course.root)
    execution._close_sandboxes()  # one that was started before


class WorkersKilledByPages(Workers):
    """Workers of which each is killed that writes a page with a notebook in it."""

    def __init__(self):
        super().__init__(0)
        self.calls = []

    def _submit(self, call):
        self.calls.append(call.function.__name__)
        if call.function is not write_page or call.arguments[-1]:
            return super()._submit(call)
        killed = Future()
        killed.set_exception(TimeoutError())
        return killed


def test_page_that_kills_its_worker_shows_points_alone_after_all_marks(room):
    for student in STUDENTS:
        (room.course.submission(LESSON, student) / "data.csv").write_text("1")
    with batch_of(room) as batch, WorkersKilledByPages() as workers:
        quietly(lambda: batch.run(batch.plan(STUDENTS), workers))
    # The model answers run first, then three submissions.
    assert workers.calls == ["run_notebook"] * 4 + ["write_page"] * 6
    assert batch.recorder.failures == {}
    page = room.feedback("ada")
    assert "This notebook takes too long, or too much memory, to be shown." in page
    assert "2 of 2" in page
