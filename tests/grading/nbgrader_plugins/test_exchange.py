"""Collecting from nbgrader's exchange, the time of what is collected, and releasing pages."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeFactory
from nbgrader.exchange.default import ExchangeSubmit
from traitlets.config import Config

from attention_lib.grading import limits
from attention_lib.grading.classroom.course import Course
from attention_lib.grading.intake.submission import read_submission
from attention_lib.grading.intake.timestamps import parse_time
from attention_lib.grading.nbgrader_plugins.exchange import exchange_records
from tests.grading.sample_class import LESSONS, make_course, quietly

LESSON = LESSONS[0]
NOTEBOOK = f"{LESSON}.ipynb"
CLASS = "attention"
pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="nbgrader has no exchange on Windows"),
    pytest.mark.slow,
]


def put(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("1,2")


@pytest.fixture(scope="module")
def settings(tmp_path_factory) -> Config:
    """A course as it is configured, and nbgrader's own exchange."""
    folder = tmp_path_factory.mktemp("exchange")
    settings = make_course(tmp_path_factory.mktemp("course")).nbgrader().config
    settings.Exchange.root = str(folder)
    settings.Exchange.cache = str(tmp_path_factory.mktemp("cache"))
    settings.CourseDirectory.course_id = CLASS
    settings.CourseDirectory.assignment_id = LESSON
    for name in ("inbound", f"outbound/{LESSON}"):
        (folder / CLASS / name).mkdir(parents=True)
    return settings


@pytest.fixture
def student(settings, tmp_path, request) -> Student:
    settings.Exchange.assignment_dir = str(tmp_path)
    (tmp_path / LESSON).mkdir()
    return Student(request.node.name, tmp_path / LESSON, settings)


@dataclass
class Student:
    """Someone who works at home, and hands in through the exchange."""

    name: str
    home: Path
    settings: Config

    def _do(self, step, student_id=None, **options):
        name = self.name if student_id is None else student_id
        done = step(
            coursedir=CourseDirectory(config=self.settings, student_id=name),
            authenticator=Authenticator(config=self.settings),
            config=self.settings,
            **options,
        )
        quietly(done.start)
        return done

    def submit(self, text):
        """Hand in a notebook, and return the time that the exchange recorded."""
        (self.home / NOTEBOOK).write_text(text)
        return parse_time(self._do(ExchangeSubmit).timestamp)

    def collect(self, **options):
        collect = ExchangeFactory(config=self.settings).collect
        self._do(collect, **{"update": True, "check_owner": False, **options})

    @property
    def inbound(self):
        folders = Path(self.settings.Exchange.root, CLASS, "inbound").iterdir()
        return next(path for path in folders if path.name.startswith(f"{self.name}+"))

    @property
    def collected(self):
        course = Course(Path(self.settings.CourseDirectory.root))
        return course.submission(LESSON, self.name)

    def time(self):
        records = exchange_records(CourseDirectory(config=self.settings), LESSON)
        return read_submission(self.collected, LESSON, records.get(self.name, [])).time


def test_time_recorded_by_the_exchange_outranks_timestamp_txt(student):
    time = student.submit("first")
    student.collect()
    assert student.time() == time
    (student.collected / "timestamp.txt").unlink()
    assert student.time() == time
    (student.collected / "timestamp.txt").write_text("2000-01-01 00:00 UTC")
    assert student.time() == time
    shutil.rmtree(student.inbound)
    assert student.time() == datetime(2000, 1, 1)


def test_record_of_the_collected_work_counts_among_several(student):
    put(student.home, "data.csv")
    first = student.submit("first")
    put(student.inbound, "left_behind.md")
    student.collect()
    last = student.submit("last")
    assert student.time() == first
    student.collect()
    assert student.time() == last
    (student.collected / "timestamp.txt").write_text(str(first))
    assert student.time() == last
    student.submit("last")
    student.collect()
    assert student.time() == last
    (student.home / "data.csv").write_text("all the answers")
    late = student.submit("last")
    student.collect()
    assert student.time() == late
    (student.collected / NOTEBOOK).write_text("mended by the instructor")
    assert student.time() == late


def test_submission_is_collected_with_its_files(student):
    put(student.home, "data.csv", "in/more.csv", "helper.py", ".hidden")
    student.submit("first")
    student.collect()
    assert sorted(
        path.relative_to(student.collected).as_posix() for path in student.collected.rglob("*.*")
    ) == [NOTEBOOK, "data.csv", "in/more.csv", "submission_secret.txt", "timestamp.txt"]
    assert (student.collected / NOTEBOOK).read_text() == "first"


def test_links_are_not_followed(student, tmp_path):
    student.submit("first")
    put(tmp_path, "solution.ipynb", "secrets/key")
    inbound = student.inbound
    (inbound / NOTEBOOK).rename(inbound / "renamed.ipynb")
    (inbound / NOTEBOOK).symlink_to(tmp_path / "solution.ipynb")
    (inbound / "folder").symlink_to(tmp_path / "secrets")
    os.link(tmp_path / "solution.ipynb", inbound / "second.name")
    os.mkfifo(inbound / "pipe")
    student.collect()
    assert sorted(path.name for path in student.collected.rglob("*")) == [
        "renamed.ipynb",
        "submission_secret.txt",
        "timestamp.txt",
    ]


def test_collected_files_have_a_bound_together(student):
    student.submit("first")
    put(student.inbound, *"abcdef")
    for name in "abcdef":
        os.truncate(student.inbound / name, limits.NOTEBOOK_BYTES)
    student.collect()
    assert sorted(path.name for path in student.collected.iterdir())[:4] == [NOTEBOOK, *"abc"]
    assert not (student.collected / "d").exists()


def test_forged_time_is_not_collected(student):
    time = student.submit("first")
    for forge in (forged_time, garbled_time, time_behind_a_link):
        forge(student.inbound / "timestamp.txt")
        student.collect()
        assert parse_time((student.collected / "timestamp.txt").read_text()) == time
        shutil.rmtree(student.collected)


def forged_time(path):
    path.write_text("2000-01-01 00:00 UTC")


def garbled_time(path):
    path.write_text("soon")


def time_behind_a_link(path):
    path.unlink()
    path.symlink_to("nowhere")
