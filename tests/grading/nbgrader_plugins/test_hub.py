"""A hub's exchange, in which strangers write: whose a folder is, when it came, and who is stopped by it."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import Mock

import pytest
from nbgrader.auth import Authenticator
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeFactory
from nbgrader.utils import notebook_hash

from attention_lib.grading import limits
from attention_lib.grading.classroom.course import Course
from attention_lib.grading.grade import Result, add_absent
from attention_lib.grading.intake import timestamps
from attention_lib.grading.intake.submission import Submission, read_submission
from attention_lib.grading.nbgrader_plugins import exchange
from tests.grading.sample_class import LESSONS, make_course, quietly

pwd = pytest.importorskip("pwd", reason="Windows has no such accounts")
LESSON = LESSONS[0]
NOTEBOOK = f"{LESSON}.ipynb"
CLASS = "attention"
ACCOUNTS = {"news": 9, "games": 5, "mail": 8}  # students of the tests
WITHOUT_ACCOUNTS = ["without-account-1", "without-account-2"]
OF_NOBODY = 54_321  # an account without a name
NOW = datetime.min  # when a test began

pytestmark = [
    pytest.mark.skipif(os.name == "nt", reason="nbgrader has no exchange on Windows"),
    pytest.mark.slow,
]


@pytest.fixture(autouse=True)
def begin(monkeypatch):
    """Start the clock of each test, since times minutes apart are not the same to the exchange."""
    monkeypatch.setattr(sys.modules[__name__], "NOW", datetime.now(UTC).replace(tzinfo=None))


@dataclass
class Hub:
    """A course, and an exchange with the folders of several accounts."""

    course: Course
    folder: Path
    owners: dict[Path, int]

    @property
    def inbound(self) -> Path:
        return self.folder / CLASS / "inbound"

    def put(self, student, owner=None, hours_ago=0.0, text="", lesson=LESSON) -> Path:
        """Put a folder under a student's name and a time into the exchange, as an account."""
        said = NOW - timedelta(hours=hours_ago)
        folder = self.inbound / f"{student}+{lesson}+{said:%Y-%m-%d %H:%M:%S.%f} UTC+x"
        folder.mkdir()
        (folder / NOTEBOOK).write_text(text or student)
        (folder / "submission_secret.txt").write_text(f"secret of {student}")
        self.give(folder, ACCOUNTS[student] if owner is None else owner)
        return folder

    def give(self, folder: Path, owner: int) -> None:
        self.owners[folder] = owner
        for path in (folder, *folder.rglob("*")):
            os.chown(path, owner, owner, follow_symlinks=False)

    def enroll(self, *students: str) -> None:
        self.course.roster.parent.mkdir(exist_ok=True)
        self.course.roster.write_text("\n".join(["id", *students]))

    def _settings(self):
        settings = self.course.nbgrader().config
        settings.CourseDirectory.assignment_id = LESSON
        return settings

    def do(self, name, **options) -> None:
        """Do a step of nbgrader's exchange."""
        settings = self._settings()
        step = getattr(ExchangeFactory(config=settings), name)
        about = CourseDirectory(config=settings), Authenticator(config=settings)
        quietly(step(*about, config=settings, **options).start)

    def collect(self, **options) -> dict[str, str]:
        """Collect, and return what is collected, by student."""
        self.do("collect", **{"update": True, **options})
        found = {name: self.collected(name) for name in self.course.submitted(LESSON)}
        return {name: path.read_text() for name, path in found.items() if path.exists()}

    def collected(self, student: str, name: str = NOTEBOOK) -> Path:
        return self.course.submission(LESSON, student) / name

    def read(self, student: str) -> Submission:
        """Read what was collected, as it is read to be graded."""
        coursedir = CourseDirectory(config=self._settings())
        records = quietly(exchange.exchange_records, coursedir, LESSON)
        return read_submission(
            self.course.submission(LESSON, student), LESSON, records.get(student, [])
        )

    def release(self) -> set[str]:
        """Release the pages, and return the names under which they are."""
        self.do("release_feedback")
        return {path.stem for path in (self.folder / CLASS / "feedback").iterdir()}

    def page(self, student: str, secret: str | bytes | None = None) -> str:
        """Write a feedback page, and return the name under which a student looks for it."""
        folder = self.course.feedback(LESSON, student).parent
        folder.mkdir(parents=True)
        self.course.feedback(LESSON, student).write_text(student)
        secret = f"secret of {student}" if secret is None else secret
        secret = secret.encode() if isinstance(secret, str) else secret
        (folder / "submission_secret.txt").write_bytes(secret)
        return notebook_hash(secret=f"secret of {student}", notebook_id=LESSON)


@pytest.fixture
def one_account(tmp_path) -> Hub:
    """An exchange without a hub, all of which is the instructor's."""
    (tmp_path / "course").mkdir()
    course = make_course(tmp_path / "course")
    config = course.root / "nbgrader_config.py"
    exchange_folder = tmp_path / "exchange"
    settings = (
        f"c.CourseDirectory.course_id = {CLASS!r}\nc.Exchange.root = {str(exchange_folder)!r}\n"
        f"c.Exchange.cache = {str(tmp_path / 'cache')!r}\n"
    )
    config.write_text(f"{config.read_text()}\n{settings}")
    hub = Hub(course, exchange_folder, {})
    hub.inbound.mkdir(parents=True)
    hub.give = lambda folder, owner: None  # type: ignore[method-assign]
    return hub


@pytest.fixture
def hub(one_account) -> Hub:
    """A hub with an account for each student, one of whom has handed in another lesson."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files to other accounts")
    numbers = {one.pw_name: one.pw_uid for one in pwd.getpwall()}
    if not ACCOUNTS.items() <= numbers.items():
        pytest.skip("this system has no accounts news, games and mail of Debian's numbers")
    del one_account.give
    one_account.put("mail", lesson="another_lesson")
    return one_account


def test_only_folders_of_the_student_named_are_collected(hub):
    hub.enroll("news", "games", "mail")
    hub.put("news", hours_ago=0.01, text="her own")
    hub.put("news", owner=ACCOUNTS["games"], text="forged")
    hub.put("games", owner=ACCOUNTS["news"], text="forged")
    hub.put("mail", owner=OF_NOBODY, text="forged")
    hub.put("mail", owner=0, hours_ago=0.005, text="forged")
    assert hub.collect() == {"news": "her own"}
    assert hub.course.not_collected(LESSON) == {
        "news": "a folder of this name in the exchange belongs to games",
        "games": "a folder of this name in the exchange belongs to news",
        "mail": f"a folder of this name in the exchange belongs to account {OF_NOBODY}, "
        "which has no name here",
    }
    hub.put("games", hours_ago=0.001, text="his own")
    assert hub.collect() == {"news": "her own", "games": "his own"}
    assert "games" in hub.course.not_collected(LESSON)


def test_table_of_marks_says_what_was_not_collected(hub):
    hub.enroll("news", "games")
    hub.put("news", text="her own")
    for name in ("news", "games"):
        hub.put(name, owner=ACCOUNTS["mail"], hours_ago=0.01)
    hub.collect()
    both = quietly(add_absent, hub.course, LESSON, [Result("news")])
    why = "a folder of this name in the exchange belongs to mail"
    assert {one.student: one.note for one in both} == {
        "news": f"something was handed in and not collected: {why}",
        "games": f"what was handed in was not collected: {why}",
    }


def test_first_to_hand_in_is_not_taken_for_the_account_of_all(hub):
    """Nobody else has handed in anything, so that one account owns all there is."""
    for folder in hub.inbound.iterdir():
        hub.give(folder, ACCOUNTS["games"])
    hub.enroll("news", "games")
    hub.put("news", owner=ACCOUNTS["games"], text="forged")
    hub.put("games", text="his own")
    assert hub.collect() == {"games": "his own"}


def test_where_one_account_owns_all_the_names_count(one_account):
    for name in ("news", "games"):
        one_account.put(name)
    assert one_account.collect() == {"news": "news", "games": "games"}


@pytest.mark.parametrize("enrolled", [(), ("news", "mail")])
def test_stranger_who_comes_first_is_not_believed_to_be_others(hub, enrolled):
    """Neither where there is no roster yet, nor where the stranger is in no roster."""
    for folder in hub.inbound.iterdir():
        hub.give(folder, ACCOUNTS["games"])
    hub.enroll(*enrolled)
    hub.put("news", owner=ACCOUNTS["games"], text="forged")
    assert hub.collect() == {}
    why = {"news": "a folder of this name in the exchange belongs to games"}
    assert hub.course.not_collected(LESSON) == (why if enrolled else {})


def test_where_another_account_owns_all_the_names_count(hub):
    for folder in hub.inbound.iterdir():
        hub.give(folder, OF_NOBODY)
    for name in WITHOUT_ACCOUNTS:
        hub.put(name, owner=OF_NOBODY)
    assert hub.collect() == {name: name for name in WITHOUT_ACCOUNTS}
    instructor = pwd.getpwuid(os.geteuid()).pw_name  # who has tried it
    hub.put(instructor, owner=os.geteuid())
    assert hub.collect().keys() == {*WITHOUT_ACCOUNTS, instructor}
    hub.put(WITHOUT_ACCOUNTS[0], owner=OF_NOBODY, hours_ago=-0.01, text="newer")
    assert hub.collect()[WITHOUT_ACCOUNTS[0]] == "newer"


def test_folders_of_other_accounts_do_not_stop_an_exchange_of_one_account(hub):
    """Neither what no student handed in, nor what one did who can take another account."""
    for folder in hub.inbound.iterdir():
        hub.give(folder, OF_NOBODY)
    (hub.inbound / "lost+found").mkdir()
    hub.put(WITHOUT_ACCOUNTS[0], owner=OF_NOBODY)
    assert hub.collect() == {WITHOUT_ACCOUNTS[0]: WITHOUT_ACCOUNTS[0]}

    for folder in hub.inbound.iterdir():
        hub.give(folder, os.geteuid())
    hub.put(WITHOUT_ACCOUNTS[1], owner=os.geteuid())
    hub.put(WITHOUT_ACCOUNTS[0], owner=OF_NOBODY, hours_ago=-0.01, text="forged")
    assert hub.collect() == {name: name for name in WITHOUT_ACCOUNTS}


def test_owners_need_not_be_checked(hub):
    hub.put("news", owner=OF_NOBODY)
    assert hub.collect() == {}
    assert hub.collect(check_owner=False) == {"news": "news"}


def test_link_to_the_folder_of_another_is_not_collected(hub):
    theirs = hub.put("news", text="hers")
    link = hub.inbound / theirs.name.replace("news", "games")
    link.symlink_to(theirs)
    os.chown(link, ACCOUNTS["games"], ACCOUNTS["games"], follow_symlinks=False)
    hub.enroll("news", "games")
    assert hub.collect() == {"news": "hers"}
    why = "what bears this name in the exchange is no folder"
    assert hub.course.not_collected(LESSON) == {"games": why}


def test_file_of_another_account_is_left_out(hub):
    folder = hub.put("news", text="hers")
    for name in (NOTEBOOK, "more.csv"):
        (folder / name).write_text("his")
        os.chown(folder / name, ACCOUNTS["games"], ACCOUNTS["games"])
    assert hub.collect() == {}
    assert not hub.collected("news", "more.csv").exists()


@pytest.mark.parametrize("owned", [False, True])
def test_forged_folder_says_nothing_about_the_time(hub, owned):
    """Neither one that is later than hers, nor one that holds the same and is earlier."""
    hub.put("news", hours_ago=0.02, text="hers")
    hub.collect()
    time = hub.read("news").time
    owner = ACCOUNTS["news" if owned else "games"]
    hub.put("news", owner=owner, hours_ago=-0.02, text="other")
    hub.put("news", owner=owner, hours_ago=0.05, text="hers")
    assert (hub.read("news").time < time) == owned


def test_time_in_a_name_does_not_hide_when_the_folder_was_made(hub):
    hub.put("news", hours_ago=72)
    hub.put("games", hours_ago=0.01)
    hub.put("mail", hours_ago=-5)
    hub.collect()
    for student, hours in {"news": 0, "games": 0.01, "mail": 0}.items():
        submission = hub.read(student)
        assert abs(submission.time - (NOW - timedelta(hours=hours))) < timedelta(minutes=4)
        stamp = timestamps.parse_time(hub.collected(student, "timestamp.txt").read_text())
        assert stamp == submission.time
        said = NOW - timedelta(hours={"news": 72, "mail": -5}.get(student, 0))
        told = f"handed in {said:%Y-%m-%d %H:%M} by its folder's name, and changed "
        assert submission.time_doubt.startswith(told) == (student != "games")


def changed(monkeypatch, when: dict[Path, datetime]) -> None:
    """Let folders have changed last at these times, for which no test can wait."""

    def newest_change(top, *_):
        return when[top].replace(tzinfo=UTC).timestamp()

    monkeypatch.setattr(timestamps, "newest_change", newest_change)


def test_folder_that_is_only_touched_later_keeps_its_time(one_account, monkeypatch):
    """As it is when somebody moves or backs up all of the exchange."""
    folder = one_account.put("news", hours_ago=48)
    when = {folder: NOW - timedelta(hours=48)}
    changed(monkeypatch, when)
    one_account.collect()
    before = one_account.read("news")
    when[folder] = NOW
    one_account.collect()
    assert one_account.read("news").time == before.time == NOW - timedelta(hours=48)
    assert not one_account.read("news").time_doubt


def test_work_that_the_instructor_corrected_is_not_replaced(one_account, monkeypatch):
    """Not even when the exchange is moved."""
    folder = one_account.put("news", hours_ago=48)
    when = {folder: NOW - timedelta(hours=48)}
    changed(monkeypatch, when)
    one_account.collect()
    one_account.collected("news").write_text("corrected")
    assert one_account.collect() == {"news": "corrected"}
    when[folder] = NOW
    assert one_account.collect() == {"news": "corrected"}
    assert one_account.read("news").time == NOW - timedelta(hours=48)


def test_folder_collected_while_it_is_written_is_collected_again(one_account):
    folder = one_account.put("news", text='{"cells": [')
    assert one_account.collect() == {"news": '{"cells": ['}
    (folder / NOTEBOOK).write_text("all of it")
    (folder / "data.csv").write_text("1")
    assert one_account.collect(update=False) == {"news": '{"cells": ['}
    assert one_account.collect() == {"news": "all of it"}
    assert one_account.collected("news", "data.csv").exists()
    assert one_account.read("news").time == NOW
    (one_account.collected("news").parents[1] / f".{LESSON}.collected").write_text("{")
    assert one_account.collect() == {"news": "all of it"}


def test_work_that_is_changed_after_it_was_collected_is_collected_as_late(one_account, monkeypatch):
    folder = one_account.put("news", hours_ago=48)
    when = {folder: NOW - timedelta(hours=48)}
    changed(monkeypatch, when)
    one_account.collect()
    (folder / NOTEBOOK).write_text("more")
    when[folder] = NOW
    assert one_account.collect() == {"news": "more"}
    assert one_account.read("news").time == NOW
    assert one_account.read("news").time_doubt.endswith("(UTC), which counts")


def test_work_that_is_changed_while_it_is_collected_is_late(one_account, monkeypatch):
    """A program of the student's may notice that somebody looks into the folder."""
    folder = one_account.put("news", hours_ago=48)
    when = {folder: NOW - timedelta(hours=48)}
    changed(monkeypatch, when)
    copy = exchange.CollectFiles._copy

    def copy_what_is_changed(self, record, dest):
        (folder / NOTEBOOK).write_text("more")
        when[folder] = NOW
        return copy(self, record, dest)

    monkeypatch.setattr(exchange.CollectFiles, "_copy", copy_what_is_changed)
    for _ in range(2):
        assert one_account.collect() == {"news": "more"}
        assert one_account.read("news").time == NOW


def test_folder_that_another_puts_in_the_place_of_hers_is_not_collected(hub, monkeypatch):
    folder = hub.put("news", text="hers")
    copy = exchange.CollectFiles._copy

    def copy_what_is_exchanged(self, record, dest):
        folder.rename(folder.with_name("away"))
        folder.mkdir()
        (folder / NOTEBOOK).write_text("his")
        hub.give(folder, ACCOUNTS["games"])
        return copy(self, record, dest)

    monkeypatch.setattr(exchange.CollectFiles, "_copy", copy_what_is_exchanged)
    assert hub.collect() == {}


@pytest.mark.parametrize("earlier", [1, 2])
def test_late_work_is_late_also_when_its_folder_is_taken_away(one_account, monkeypatch, earlier):
    """A student may remove what was collected from the exchange, and leave what was in time."""
    folders = [one_account.put("news", hours_ago=48 + n, text=f"{n}") for n in range(earlier)]
    late = one_account.put("news", text="late")
    when = {folder: NOW - timedelta(hours=48 + n) for n, folder in enumerate(folders)}
    changed(monkeypatch, when | {late: NOW})
    assert one_account.collect() == {"news": "late"}
    shutil.rmtree(late)
    assert one_account.collect() == {"news": "late"}
    assert one_account.read("news").time == NOW


def test_instructor_decides_in_timestamp_txt_between_both_times(one_account):
    one_account.put("news", hours_ago=48)
    one_account.collect()
    assert one_account.read("news").time_doubt
    stamp = one_account.collected("news", "timestamp.txt")
    stamp.write_text(str(NOW - timedelta(hours=48)))
    assert one_account.read("news").time == NOW - timedelta(hours=48)
    assert not one_account.read("news").time_doubt
    one_account.collect()
    assert one_account.read("news").time == NOW - timedelta(hours=48)


def test_latest_is_collected_also_from_an_exchange_that_was_moved(one_account, monkeypatch):
    """All its folders have changed since, the first one last."""
    first, last = (one_account.put("news", hours_ago=h, text=str(h)) for h in (48, 24))
    changed(monkeypatch, {first: NOW, last: NOW - timedelta(minutes=1)})
    assert one_account.collect() == {"news": "24"}


def test_time_recorded_by_the_exchange_outranks_timestamp_txt(one_account):
    folder = one_account.put("news")
    one_account.collect()
    stamp = one_account.collected("news", "timestamp.txt")
    assert timestamps.parse_time(stamp.read_text()) == one_account.read("news").time == NOW
    stamp.unlink()
    assert one_account.read("news").time == NOW
    stamp.write_text("2000-01-01 00:00 UTC")
    assert one_account.read("news").time == NOW
    shutil.rmtree(folder)
    assert one_account.read("news").time == datetime(2000, 1, 1)


def test_record_of_the_collected_work_counts_among_several(one_account):
    def hand_in(hours_ago, text, data="1,2"):
        folder = one_account.put("news", hours_ago=hours_ago, text=text)
        (folder / "data.csv").write_text(data)
        return NOW - timedelta(hours=hours_ago)

    first = hand_in(0.06, "first")
    one_account.collect()
    last = hand_in(0.04, "last")
    assert one_account.read("news").time == first
    one_account.collect()
    assert one_account.read("news").time == last
    one_account.collected("news", "timestamp.txt").write_text(str(first))
    assert one_account.read("news").time == last
    hand_in(0.02, "last")  # the same again
    one_account.collect()
    assert one_account.read("news").time == last
    late = hand_in(0, "last", data="all the answers")
    one_account.collect()
    assert one_account.read("news").time == late
    one_account.collected("news").write_text("mended by the instructor")
    assert one_account.read("news").time == late


def test_what_nbgrader_hands_in_is_collected_with_its_files(one_account, tmp_path, monkeypatch):
    home = tmp_path / "home" / LESSON
    for name in (NOTEBOOK, "data.csv", "in/more.csv", "helper.py", ".hidden"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("1,2")
    (one_account.folder / CLASS / "outbound" / LESSON).mkdir(parents=True)
    monkeypatch.chdir(home.parent)
    one_account.do("submit")
    student = pwd.getpwuid(os.geteuid()).pw_name
    assert one_account.collect() == {student: "1,2"}
    folder = one_account.course.submission(LESSON, student)
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.*")) == [
        *(NOTEBOOK, "data.csv", "in/more.csv", "submission_secret.txt", "timestamp.txt")
    ]


def test_links_are_not_followed(one_account, tmp_path):
    folder = one_account.put("news")
    secret = tmp_path / "secrets" / "solution.ipynb"
    secret.parent.mkdir()
    secret.write_text("secret")
    (folder / NOTEBOOK).rename(folder / "renamed.ipynb")
    (folder / NOTEBOOK).symlink_to(secret)
    (folder / "folder").symlink_to(secret.parent)
    os.link(secret, folder / "second.name")
    one_account.collect()
    collected = one_account.course.submission(LESSON, "news")
    assert sorted(path.name for path in collected.rglob("*")) == [
        *("renamed.ipynb", "submission_secret.txt", "timestamp.txt")
    ]


def test_collected_files_have_a_bound_together(one_account):
    folder = one_account.put("news")
    for name in "abcdef":
        (folder / name).touch()
        os.truncate(folder / name, limits.NOTEBOOK_BYTES)
    one_account.collect()
    collected = one_account.course.submission(LESSON, "news")
    assert sorted(path.name for path in collected.iterdir())[:4] == [NOTEBOOK, *"abc"]
    assert not (collected / "d").exists()


def forged_time(path):
    path.write_text("2000-01-01 00:00 UTC")


def garbled_time(path):
    path.write_text("soon")


def time_behind_a_link(path):
    path.symlink_to("nowhere")


@pytest.mark.parametrize("forge", [forged_time, garbled_time, time_behind_a_link])
def test_time_that_a_student_writes_is_not_collected(one_account, forge):
    forge(one_account.put("news") / "timestamp.txt")
    one_account.collect()
    stamp = one_account.collected("news", "timestamp.txt").read_text()
    assert timestamps.parse_time(stamp) == NOW


def folder_in_place_of_the_time(folder):
    (folder / "timestamp.txt").mkdir()
    (folder / "timestamp.txt" / "inside").write_text("")


def folder_in_place_of_the_time_in_capitals(folder):
    (folder / "TIMESTAMP.TXT").mkdir()
    (folder / "TIMESTAMP.TXT" / "inside").write_text("")


def folder_in_place_of_the_secret(folder):
    (folder / "submission_secret.txt").unlink()
    (folder / "submission_secret.txt").mkdir()
    (folder / "submission_secret.txt" / "inside").write_text("")


def odd_names(folder):
    names = [
        "line\nbreak",
        "a" * 255,
        os.fsdecode(b"\xff.csv"),
        "\N{RIGHT-TO-LEFT OVERRIDE}",
        "-rf",
    ]
    for name in (*names, "CON", " ", "deep/" * 20 + "file"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")


def odd_end_of_its_own_name(folder):
    odd = folder.with_name(folder.name + "\x1b[2J\n" + os.fsdecode(b"\xff"))
    folder.rename(odd)
    (odd / "link").symlink_to(odd)


def odd_files(folder):
    os.mkfifo(folder / "pipe")
    (folder / "loop").symlink_to("loop")
    here = os.getcwd()
    os.chdir(folder)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    os.chdir(here)


@pytest.mark.parametrize(
    "trouble",
    [
        folder_in_place_of_the_time,
        folder_in_place_of_the_time_in_capitals,
        folder_in_place_of_the_secret,
        odd_names,
        odd_end_of_its_own_name,
        odd_files,
    ],
)
def test_odd_content_stops_nobody(one_account, trouble, monkeypatch):
    log = Mock()
    monkeypatch.setattr(exchange.CollectFiles, "log", log)
    trouble(one_account.put("mail"))
    one_account.put("news")
    one_account.put("games")
    assert one_account.collect() == {name: name for name in ("games", "mail", "news")}
    assert one_account.read("mail").time is not None
    warnings = [call.args[0] % call.args[1:] for call in log.warning.mock_calls]
    assert all(map(str.isprintable, warnings))


def test_folder_that_cannot_be_read_is_named_and_replaces_nothing(one_account, monkeypatch):
    one_account.put("mail", hours_ago=0.02, text="before")
    one_account.collect()
    closed = one_account.put("mail", text="after")
    one_account.put("news")
    opened = os.open

    def refused(path, *arguments, **options):
        if path == closed.name:
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path, *arguments, **options)

    monkeypatch.setattr(os, "open", refused)
    one_account.collect()
    monkeypatch.setattr(os, "open", opened)
    assert one_account.collected("mail").read_text() == "before"
    assert one_account.collected("news").read_text() == "news"
    why = "its folder in the exchange is unreadable (Permission denied)"
    assert one_account.course.not_collected(LESSON) == {"mail": why}
    one_account.collect()
    assert one_account.collected("mail").read_text() == "after"
    assert one_account.course.not_collected(LESSON) == {}


def notebook_is_a_link(path):
    path.symlink_to("/etc/hostname")


def notebook_has_a_second_name(path):
    path.write_text("after")
    os.link(path, path.with_name("second"))


def notebook_is_huge(path):
    path.write_text("after")
    os.truncate(path, limits.NOTEBOOK_BYTES + 1)


@pytest.mark.parametrize(
    ("trouble", "why"),
    [
        (notebook_is_a_link, "a link"),
        (notebook_has_a_second_name, "a file with several names (a hard link)"),
        (os.mkfifo, "something other than a file"),
        (notebook_is_huge, "larger than 20 MB"),
    ],
)
def test_folder_whose_notebook_is_not_taken_is_named_and_replaces_nothing(
    one_account, trouble, why
):
    one_account.put("mail", hours_ago=0.02, text="before")
    one_account.collect()
    after = one_account.put("mail") / NOTEBOOK
    after.unlink()
    trouble(after)
    assert one_account.collect() == {"mail": "before"}
    why = f"its folder in the exchange is one whose notebook is {why}"
    assert one_account.course.not_collected(LESSON) == {"mail": why}


def test_files_that_the_settings_leave_out_are_named(one_account):
    folder = one_account.put("mail", hours_ago=0.02)
    for name in (
        "work.zip",
        "helpers.py",
        "data.csv",
        ".ipynb_checkpoints/a.ipynb",
        "__pycache__/a",
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("x")
    one_account.collect()
    note = "left out by nbgrader's settings: helpers.py, work.zip"
    assert one_account.course.collected(LESSON) == {"mail": [note]}
    one_account.collect()
    assert one_account.course.collected(LESSON) == {"mail": [note]}
    one_account.put("mail")
    one_account.collect()
    assert one_account.course.collected(LESSON) == {}


@pytest.mark.parametrize("full", [False, True])
def test_disk_that_is_full_stops_all_and_loses_nothing(one_account, monkeypatch, full):
    for name in ("mail", "news"):
        one_account.put(name, hours_ago=0.02, text="before")
    one_account.collect()
    for name in ("mail", "news"):
        one_account.put(name, text="after")
    copy = exchange.CollectFiles.do_copy

    def fails(self, src, dest, log=None):
        if "mail" in dest:
            raise OSError(errno.ENOSPC if full else errno.EILSEQ, "refused")
        copy(self, src, dest, log)

    monkeypatch.setattr(exchange.CollectFiles, "do_copy", fails)
    if full:
        with pytest.raises(OSError, match="refused"):
            one_account.collect()
    else:
        one_account.collect()
        assert one_account.collected("news").read_text() == "after"
        assert list(one_account.course.not_collected(LESSON)) == ["mail"]
    assert one_account.collected("mail").read_text() == "before"


def test_names_in_the_exchange_that_no_student_can_have_stop_nobody(one_account):
    time = "2026-03-01 12:00:00 UTC"
    names = [f"..+{LESSON}+{time}", f"a\nb+{LESSON}+{time}+x", f"*+{LESSON}+{time}+x"]
    names += [f"news+{LESSON}+soon+x", f"news+{LESSON}+", f"+{LESSON}+{time}", LESSON]
    names += [
        f"games+{LESSON}+0001-01-01 00:00:00 +14:00+x",
        os.fsdecode(b"\xff") + f"+{LESSON}+{time}",
    ]
    for name in names:
        (one_account.inbound / name).mkdir()
    (one_account.inbound / f"games+{LESSON}+{time}+x").write_text("a file")
    one_account.put("news")
    assert one_account.collect() == {"news": "news"}
    assert not (one_account.course.root / "classroom" / LESSON).exists()


def test_student_of_many_folders_does_not_have_all_of_them_read(one_account, monkeypatch):
    for hours in range(limits.EXCHANGE_FOLDERS + 10):
        one_account.put("news", hours_ago=hours)
    one_account.collect()
    read = []
    monkeypatch.setattr(
        timestamps,
        "newest_change",
        lambda top, *_: read.append(top) or NOW.replace(tzinfo=UTC).timestamp(),
    )
    one_account.read("news")
    assert len(read) <= limits.EXCHANGE_FOLDERS


def test_pages_are_released_for_all_who_can_get_one(one_account, caplog):
    found = [one_account.page(name) for name in ("ada", "zoe")]
    one_account.page("bo")
    (one_account.course.feedback(LESSON, "bo").parent / "submission_secret.txt").unlink()
    one_account.page("cy", secret=b"\xff\xfe")
    one_account.page("di", secret="")
    one_account.page("ed")
    secret = one_account.course.feedback(LESSON, "ed").parent / "submission_secret.txt"
    secret.unlink()
    secret.mkdir()
    assert one_account.release() == set(found)
