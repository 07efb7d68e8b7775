"""Find when a submission was handed in: from the exchange's records, or from timestamp.txt."""

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
TIME_TO_COPY = timedelta(minutes=5)  # from the time in a folder's name to its last change
_FORM = re.compile(
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d{1,9})?)?"
    r"( ?(Z|[+-]\d\d:?\d\d|[A-Za-z]+(/[A-Za-z_]+)*))?",
    re.ASCII,
)


@dataclass(frozen=True)
class Record:
    """The exchange's record of one hand-in."""

    student: str
    time: datetime  # in the folder's name, which a student may have made up
    folder: Path
    owner: int | None = None  # of the folder, if it has been looked up

    @functools.cached_property
    def changed(self) -> datetime:
        """When the folder or a file in it last changed: an inode time, which no student can set back."""
        try:
            seconds = newest_change(
                self.folder, self.folder.parent, limits.FOLDER_ENTRIES, limits.FOLDER_DEPTH
            )
        except NotTaken:  # deleted in the meantime
            return self.time
        return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)

    @property
    def handed_in(self) -> datetime:
        """The time of the hand-in: the one in the name, unless the folder changed at another time."""
        is_honest = abs(self.changed - self.time) <= TIME_TO_COPY
        return self.time if is_honest else self.changed

    @property
    def order(self) -> datetime:
        """A time to compare with other hand-ins: moving the exchange changes the inode times of all."""
        return min(self.time, self.changed)

    def stamped(self, stamp: datetime | None) -> datetime:
        """Return the time that counts.

        `stamp` is the time noted when the work was collected, or set by the instructor. If it is
        between the time in the name and the last change, later changes of the folder do not count.
        """
        first, last = sorted((self.time, self.changed))
        return min(stamp, self.handed_in) if stamp and first <= stamp <= last else self.handed_in

    def doubt(self, counted: datetime) -> str:
        """Return how the time that counts differs from the one in the name, or ""."""
        if abs(counted - self.time) <= TIME_TO_COPY:
            return ""
        return (
            f"handed in {self.time:%Y-%m-%d %H:%M} by its folder's name, and changed "
            f"{counted:%Y-%m-%d %H:%M} (UTC), which counts"
        )


def parse_time(text: str) -> datetime | None:
    """Return the UTC time that a text in nbgrader's format gives, or None."""
    from nbgrader.utils import parse_utc

    if not _FORM.fullmatch(text.strip()):
        return None
    try:
        return parse_utc(text.strip())
    except Exception:  # dateutil may raise anything, as on the 31st of June
        return None


def read_time(place: Folder) -> tuple[datetime | None, str | None]:
    """Return the time in a folder's timestamp.txt, or why it is not used.

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
    """Return why a parsed time cannot be that of a hand-in, or None."""
    if time is None:
        return "does not say a time"
    ahead = timedelta(days=1)  # no time zone is further ahead
    if time > datetime.now(UTC).replace(tzinfo=None) + ahead:
        return "says a time that has not come yet"
    return None


def write_time(time: datetime) -> str:
    """Return a time in the format of nbgrader's timestamp.txt."""
    return f"{time.isoformat(' ')} UTC\n"


def choose_time(
    stamp: datetime | None, records: Sequence[Record], is_copy: Callable[[Path], bool]
) -> tuple[datetime | None, str]:
    """Return when a work was handed in, in UTC, or None; also return any doubt about it.

    A record of nbgrader's exchange counts before `stamp`, the time in timestamp.txt, which is only
    as reliable as the way the folder came. An instructor may have collected a hand-in before the
    last one. So of several records, the first whose content `is_copy` finds equal to the work
    counts. If there is none, the last one counts, or `stamp` if that is later.
    """
    if not records:
        return stamp, ""
    same = [record for record in records if len(records) > 1 and is_copy(record.folder)]
    last = max(records, key=lambda record: record.order)
    if stamp and not same and stamp > max(last.time, last.changed):
        return stamp, ""  # of a later hand-in that has been removed since
    record = min(same or [last], key=lambda record: record.stamped(stamp))
    time = record.stamped(stamp)
    return time, record.doubt(time)


def find_records(inbound: Path, lesson: str) -> dict[str, list[Record]]:
    """Return the records of a lesson in nbgrader's own exchange, by the student in the folder's name."""
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
    """Parse the name of a folder in nbgrader's own exchange.

    It is STUDENT+LESSON+TIME+RANDOM, or the same without RANDOM.
    """
    student, _, rest = folder.name.rpartition(f"+{lesson}+")
    time = parse_time(rest.partition("+")[0])
    return Record(student, time, folder) if student and time else None
