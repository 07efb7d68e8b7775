"""Find out when a submission was handed in: from the exchange's records, or timestamp.txt."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from attention_lib.grading.intake.folder import Folder, Missing, NotTaken, read_file

TIMESTAMP = "timestamp.txt"
_FORM = re.compile(
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d{1,9})?)?"
    r"( ?(Z|[+-]\d\d:?\d\d|[A-Za-z]+(/[A-Za-z_]+)*))?",
    re.ASCII,
)


@dataclass(frozen=True)
class Record:
    """What the exchange has of one handing in."""

    student: str
    time: datetime
    folder: Path


def parse_time(text: str) -> datetime | None:
    """Return the time in UTC that a text says as nbgrader writes it, or None."""
    from nbgrader.utils import parse_utc

    if not _FORM.fullmatch(text.strip()):
        return None
    try:
        return parse_utc(text.strip())
    except Exception:  # whatever dateutil makes of the 31st of June
        return None


def read_time(place: Folder) -> tuple[datetime | None, str | None]:
    """Return the time that a folder's timestamp.txt says, and what to tell if that is none.

    A time in the future is not used.
    """
    try:
        text = read_file(place, TIMESTAMP, 100).decode("utf-8", "replace").strip()
    except Missing:
        return None, None
    except NotTaken as reason:
        return None, f"{TIMESTAMP} is {reason}, and was not used."
    time = parse_time(text)
    problem = time_problem(time)
    return (None, f"{TIMESTAMP} {problem}, and was not used.") if problem else (time, None)


def time_problem(time: datetime | None) -> str | None:
    """Say why a parsed time cannot be that of a hand-in, if it cannot."""
    if time is None:
        return "does not say a time"
    ahead = timedelta(days=1)  # no time zone is further away
    if time > datetime.now(UTC).replace(tzinfo=None) + ahead:
        return "says a time that has not come yet"
    return None


def write_time(time: datetime) -> str:
    """Return a time as nbgrader's timestamp.txt says it."""
    return f"{time.isoformat(' ')} UTC\n"


def choose_time(
    stamped: datetime | None, records: Sequence[Record], is_copy: Callable[[Path], bool]
) -> datetime | None:
    """Return when a work was handed in, in UTC, if that is known.

    A record of nbgrader's exchange counts before `stamped`, the time in timestamp.txt, which is as good
    as the way by which the folder came. An instructor may have collected a hand-in before the last one.
    So of several records it is the first that `is_copy` finds to hold the work to grade. If none does,
    it is the last.
    """
    if not records:
        return stamped
    if len(records) == 1:
        return records[0].time
    same = [record.time for record in records if is_copy(record.folder)]
    return min(same, default=max(record.time for record in records))


def find_records(inbound: Path, lesson: str) -> dict[str, list[Record]]:
    """Return what nbgrader's own exchange holds of a lesson, by student."""
    records: dict[str, list[Record]] = defaultdict(list)
    try:
        names = os.listdir(inbound)
    except OSError:
        return records
    for name in names:
        record = read_name(inbound / name, lesson)
        if record:
            records[record.student].append(record)
    return records


def read_name(folder: Path, lesson: str) -> Record | None:
    """Read what the name of a folder in nbgrader's own exchange says.

    It is STUDENT+LESSON+TIME+RANDOM, or the same without RANDOM.
    """
    student, _, rest = folder.name.rpartition(f"+{lesson}+")
    time = parse_time(rest.partition("+")[0])
    return Record(student, time, folder) if student and time else None
