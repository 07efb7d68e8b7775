"""The time of a submission: from timestamp.txt, and from the exchange's records."""

from datetime import UTC, datetime, timedelta

import pytest

from attention_lib.grading.intake.folder import opened
from attention_lib.grading.intake.timestamps import TIMESTAMP, find_records, parse_time, read_time

LESSON = "01_softmax"
NOON = datetime(2026, 3, 1, 12)


def said_in(folder):
    with opened(folder, below=folder) as place:
        return read_time(place)


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01 12:00",
        "2026-03-01 12:00:00.000000 UTC",  # as nbgrader's exchange writes it
        "2026-03-01T12:00:00Z\n",
        "2026-03-01 13:00:00+01:00",
        "2026-03-01 07:00:00 America/New_York",
    ],
)
def test_times_are_read_as_nbgrader_reads_them(text):
    assert parse_time(text) == NOON


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday",
        "12",  # which dateutil takes for the 12th of this month
        "2026-02-31 12:00",
        "0001-01-01 00:00:00+14:00",
        "2026-03-01 12:00 ../../etc/passwd",
        "2026-03-01 12:00 /dev/zero",
        "9" * 5000,
        "\x00\ud800",
    ],
)
def test_other_texts_are_no_time(text):
    assert parse_time(text) is None


def test_time_is_read_from_the_folder(tmp_path):
    assert said_in(tmp_path) == (None, None)
    (tmp_path / TIMESTAMP).write_text("2026-03-01 12:00 UTC\n")
    assert said_in(tmp_path) == (NOON, None)


@pytest.mark.parametrize(
    "content", [b"", b"soon", b"\xff\xfe\x00", b"2026-03-01 12:00" + b" " * 100]
)
def test_unreadable_time_is_reported(tmp_path, content):
    (tmp_path / TIMESTAMP).write_bytes(content)
    time, told = said_in(tmp_path)
    assert time is None
    assert told.startswith(TIMESTAMP)
    assert told.endswith("and was not used.")


def test_time_behind_a_link_is_not_read(tmp_path):
    (tmp_path / "other").write_text("2026-03-01 12:00")
    (tmp_path / TIMESTAMP).symlink_to("other")
    assert said_in(tmp_path) == (None, "timestamp.txt is a link, and was not used.")


def test_time_in_the_future_is_not_used(tmp_path):
    now = datetime.now(UTC).replace(tzinfo=None)
    (tmp_path / TIMESTAMP).write_text(str(now + timedelta(days=2)))
    time, told = said_in(tmp_path)
    assert time is None
    assert "has not come yet" in told
    within_a_time_zone = now + timedelta(hours=14)
    (tmp_path / TIMESTAMP).write_text(str(within_a_time_zone))
    assert said_in(tmp_path) == (within_a_time_zone, None)


def test_records_of_the_exchange_are_found_by_student(tmp_path):
    names = [
        f"ada+{LESSON}+2026-03-01 12:00:00.000000 UTC+b64-_string",
        f"ada+{LESSON}+2026-03-01 13:00:00.000000 UTC",
        f"a+b+{LESSON}+2026-03-01 12:00:00.000000 UTC+random",
        f"ada+{LESSON}2+2026-03-01 12:00:00.000000 UTC+random",
        f"ada+{LESSON}+soon+random",
        f"+{LESSON}+2026-03-01 12:00:00.000000 UTC+random",
        "notes.txt",
    ]
    for name in names:
        (tmp_path / name).mkdir()
    found = find_records(tmp_path, LESSON)
    assert {student: sorted(record.time for record in of) for student, of in found.items()} == {
        "ada": [NOON, NOON + timedelta(hours=1)],
        "a+b": [NOON],
    }
    assert {record.folder.name for of in found.values() for record in of} == set(names[:3])


def test_missing_exchange_has_no_records(tmp_path):
    assert find_records(tmp_path / "inbound", LESSON) == {}
