"""The gradebook in a real PostgreSQL, started for these tests alone."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from attention_lib.grading.grade import summary
from tests.grading.rows import read_rows, rows_of_others
from tests.grading.sample_class import LESSONS, Classroom, make_lean_course

LESSON, OTHER_LESSON = LESSONS[:2]
pytestmark = [pytest.mark.sandbox, pytest.mark.batch, pytest.mark.xdist_group("postgresql")]


def programs() -> Path | None:
    """Return where PostgreSQL's programs are: Debian does not put them on the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = str(found[-1]) if found else shutil.which("initdb")
    return Path(initdb).parent if initdb else None


@pytest.fixture(scope="module")
def url():
    """The address of an empty database, of a server that listens on a socket in its folder."""
    place = programs()
    if place is None:
        pytest.skip("PostgreSQL is not installed (on Debian: apt-get install postgresql)")
    as_somebody = []
    if os.geteuid() == 0:  # as whom it does not run
        as_somebody = ["setpriv", "--reuid", "postgres", "--regid", "postgres", "--clear-groups"]

    def run(program, *arguments):
        command = [*as_somebody, str(place / program), *arguments]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)

    # A socket's path is short, and pytest's temporary folders are not for everybody.
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        if as_somebody:
            shutil.chown(folder, "postgres", "postgres")
        run("initdb", "--pgdata=data", "--auth=trust", "--username=grader", "--no-sync")
        settings = f"-F -c listen_addresses='' -c unix_socket_directories={folder}"
        run("pg_ctl", "--pgdata=data", "--wait", "--log=log", "-o", settings, "start")
        try:
            run("createdb", f"--host={folder}", "--username=grader", "course")
            yield f"postgresql://grader@/course?host={folder}"
        finally:
            run("pg_ctl", "--pgdata=data", "--mode=immediate", "stop")


def test_a_class_is_graded_into_postgresql(url, tmp_path, monkeypatch):
    """One test, since each step takes up what the one before it left."""
    monkeypatch.setenv("NBGRADER_DB_URL", url)
    course = make_lean_course(tmp_path, LESSON, OTHER_LESSON)
    other_room = Classroom(course, OTHER_LESSON)
    other_room.hand_in("ada", other_room.key())
    other_room.grade()

    room = Classroom(course, LESSON)
    room.seat("ada", room.key(), room.most)
    room.seat("bo", room.blank(), room.nothing)
    results = room.grade()
    assert {student: result.points for student, result in results.items()} == room.deserved
    assert "written_softmax of 1" in summary(list(results.values()))
    assert not (course.root / "classroom" / "gradebook.db").exists()
    assert not course.backups.exists()

    rows = read_rows(course)
    room.grade()
    assert read_rows(course) == rows

    with course.gradebook() as gradebook:
        gradebook.find_grade("written_softmax", LESSON, LESSON, "ada").manual_score = 1.5
        gradebook.db.commit()
    others = rows_of_others(course, "bo", LESSON)
    notebook = course.submission(LESSON, "ada") / f"{LESSON}.ipynb"
    shutil.copy(notebook, course.submission(LESSON, "bo"))
    results = room.grade()
    assert results["ada"].points == {**room.most, "written_softmax": 1.5}
    assert results["bo"].points == room.most
    assert "1.5 of 2" in room.feedback("ada")
    assert rows_of_others(course, "bo", LESSON) == others
