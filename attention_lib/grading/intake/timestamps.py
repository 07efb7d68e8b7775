"""Find out when a submission was handed in: from the exchange's records, or timestamp.txt."""

from __future__ import annotations

import functools
import os
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from attention_lib.grading import limits
from attention_lib.grading.intake.folder import (
    Folder,
    Missing,
    NotTaken,
    newest_change,
    read_file,
)

TIMESTAMP = "timestamp.txt"
TIME_TO_COPY = timedelta(minutes=5)  # between the time in a folder's name and its last change
_FORM = re.compile(
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d{1,9})?)?"
    r"( ?(Z|[+-]\d\d:?\d\d|[A-Za-z]+(/[A-Za-z_]+)*))?",
    re.ASCII,
)


@dataclass(frozen=True)
class Record:
    """What the exchange has of one handing in."""

    student: str
    time: datetime  # in the folder's name, which a student may have made up
    folder: Path
    owner: int | None = None  # of the folder, where that has been looked up

    @functools.cached_property
    def changed(self) -> datetime:
        """When the folder or a file in it last changed, by an inode's time: no student sets it back."""
        try:
            seconds = newest_change(
                self.folder, self.folder.parent, limits.FOLDER_ENTRIES, limits.FOLDER_DEPTH
            )
        except NotTaken:  # gone meanwhile
            return self.time
        return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)

    @property
    def handed_in(self) -> datetime:
        """When it was handed in: the time in the name, unless the folder was changed at another."""
        is_honest = abs(self.changed - self.time) <= TIME_TO_COPY
        return self.time if is_honest else self.changed

    @property
    def order(self) -> datetime:
        """When it was handed in, for a comparison with others: moving all changes all of them."""
        return min(self.time, self.changed)

    def stamped(self, stamp: datetime | None) -> datetime:
        """Return the time that counts.

        `stamp` is the one that was noted when the work was collected, or that the instructor decided on;
        what has touched the folder since does not count.
        """
        first, last = sorted((self.time, self.changed))
        return min(stamp, self.handed_in) if stamp and first <= stamp <= last else self.handed_in

    def doubt(self, counted: datetime) -> str:
        """Say how the time that counts differs from the one in the name, if it does."""
        if abs(counted - self.time) <= TIME_TO_COPY:
            return ""
        return (
            f"handed in {self.time:%Y-%m-%d %H:%M} by its folder's name, and changed "
            f"{counted:%Y-%m-%d %H:%M} (UTC), which counts"
        )


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
    stamp: datetime | None, records: Sequence[Record], is_copy: Callable[[Path], bool]
) -> tuple[datetime | None, str]:
    """Return when a work was handed in, in UTC, if that is known, and what is doubtful about it.

    A record of nbgrader's exchange counts before `stamp`, the time in timestamp.txt, which is as good
    as the way by which the folder came. An instructor may have collected a hand-in before the last one.
    So of several records it is the first that `is_copy` finds to hold the work to grade. If none does,
    it is the last, or `stamp` if that is later still.
    """
    if not records:
        return stamp, ""
    same = [record for record in records if len(records) > 1 and is_copy(record.folder)]
    last = max(records, key=lambda record: record.order)
    if stamp and not same and stamp > max(last.time, last.changed):
        return stamp, ""  # of a later one, which has been taken away since
    record = min(same or [last], key=lambda record: record.stamped(stamp))
    time = record.stamped(stamp)
    return time, record.doubt(time)


def find_records(inbound: Path, lesson: str) -> dict[str, list[Record]]:
    """Return what nbgrader's own exchange holds of a lesson, by student as the folders' names say."""
    records: dict[str, list[Record]] = defaultdict(list)
    try:
        with os.scandir(inbound) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
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
