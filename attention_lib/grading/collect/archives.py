"""Read zip archives from strangers, with limits on files, bytes and depth; write nothing to disk."""

from __future__ import annotations

import functools
import io
import logging
import stat
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from attention_lib.grading import limits
from attention_lib.grading.classroom.roster import NotFound

log = logging.getLogger(__name__)

ENTRY_SIGNATURE = b"PK\x01\x02"  # before each entry of a zip archive's directory
READ_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others unpack without a bound on memory
NO_TIME = (1980, 1, 1, 0, 0, 0)  # the date of an entry without one
NAME_BYTES = 200  # of a part of a path; file systems allow 255


class NotCollected(Exception):
    """Something is not collected. The text is the reason, as the end of a sentence."""


class TooMuch(NotCollected):
    """The content is larger than its limit."""


def not_collected(name: str, why: str | Exception) -> str:
    """Return the sentence about a hand-in or a file that is not collected."""
    end = "" if isinstance(why, NotFound) else "."  # it may end with a line to copy
    return f"{name}: not collected, since {why}{end}"


@dataclass
class Files:
    """Files that were read, by path, and those left out, with the reason."""

    room: int = field(default_factory=lambda: limits.ARCHIVE_UNPACKED_BYTES)  # for all contents
    contents: dict[str, bytes] = field(default_factory=dict)
    order: dict[str, int] = field(default_factory=dict)  # larger is newer; missing where unknown
    left_out: dict[str, str] = field(default_factory=dict)  # by path, why
    is_numbered: bool = False  # the order is the platform's numbering, not a time

    def add(self, path: str, content: bytes, order: int | None = None) -> None:
        self.contents[path] = content
        if order is not None:
            self.order[path] = order

    def read(
        self, path: str, read: Callable[[int], bytes], most: int, order: int | None = None
    ) -> None:
        """Add a file if `read`, called with the bytes that it may have, returns its content.

        Raises
        ------
        TooMuch
            If `read` does. For another reason of `read`, the file is left out.
        """
        try:
            content = read(min(self.room, most))
        except TooMuch:
            raise
        except NotCollected as why:
            self.left_out[path] = str(why)
        else:
            self.room -= len(content)
            self.add(path, content, order)


def read_zip(content: bytes) -> Files:
    """Return the plain files in a zip archive; leave out files that cannot be read.

    Raises
    ------
    NotCollected
        If it is not a zip archive, or holds too much.
    """
    if content.count(ENTRY_SIGNATURE) > limits.ARCHIVE_ENTRIES:
        raise NotCollected(f"it holds more than {limits.ARCHIVE_ENTRIES:,} files")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _read_entries(archive, len(content))
    except NotCollected:
        raise
    except Exception as problem:  # zipfile raises errors of many types on damaged archives
        log.debug("not a zip archive", exc_info=True)
        raise NotCollected(f"it is damaged, or no zip archive ({type(problem).__name__})") from None


def _read_entries(archive: zipfile.ZipFile, size: int) -> Files:
    room = max(50 * size, limits.NOTEBOOK_BYTES)  # a file that compresses better is a zip bomb
    found = Files(min(limits.ARCHIVE_UNPACKED_BYTES, room))
    entries, found.left_out = entries_of(archive)
    for path, entry in entries.items():
        read = functools.partial(read_entry, archive, entry)
        found.read(path, read, room, minute_of_entry(entry))
    return found


def entries_of(archive: zipfile.ZipFile) -> tuple[dict[str, zipfile.ZipInfo], dict[str, str]]:
    """Return the plain files of an archive by path, and why each other file is left out.

    Links, devices and hidden files are ignored.
    """
    entries: dict[str, zipfile.ZipInfo] = {}
    left_out: dict[str, str] = {}
    for path, entry, why in _named_entries(archive):
        if why:
            left_out[path] = why
        elif not is_left_out(entry, path):
            entries[path] = entry
    return entries, left_out


def _named_entries(
    archive: zipfile.ZipFile,
) -> Iterator[tuple[str, zipfile.ZipInfo, str | None]]:
    named = [(_name_of(entry), entry) for entry in archive.infolist() if not entry.is_dir()]
    times = Counter(name.replace("\\", "/") for name, _ in named)
    for name, entry in named:
        try:
            path = path_inside(name)
        except NotCollected as why:
            yield name, entry, str(why)
        else:
            yield path, entry, "the archive holds it twice" if times[path] > 1 else None


def _name_of(entry: zipfile.ZipInfo) -> str:
    """Return an entry's name; try UTF-8 even if the archive does not declare it."""
    if entry.flag_bits & 0x800:  # the flag for a name in UTF-8
        return entry.filename
    try:
        return entry.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return entry.filename


def read_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, room: int) -> bytes:
    """Return the content of a file in an archive, at most `room` bytes.

    Raises
    ------
    NotCollected
        If it is larger (TooMuch), damaged, encrypted, or packed by a method without a bound.
    """
    if entry.flag_bits & 1:
        raise NotCollected("it is encrypted")
    if entry.compress_type not in READ_METHODS:
        raise NotCollected("it is packed by a method that is not read here")
    try:
        with archive.open(entry) as file:
            content = file.read(room + 1)
    except Exception as problem:  # zipfile raises errors of many types on damaged archives
        log.debug("%s is damaged", entry.filename, exc_info=True)
        raise NotCollected(f"it is damaged ({type(problem).__name__})") from None
    if len(content) > room:
        raise TooMuch("it holds too much, unpacked")
    return content


def minute_of_entry(entry: zipfile.ZipInfo) -> int | None:
    """Return when a file was changed, in minutes since a fixed day, or None if unknown.

    Seconds are ignored: some platforms write the time at which they make the archive.
    """
    year, month, day, hour, minute, _ = entry.date_time
    if entry.date_time == NO_TIME:
        return None
    return (((year * 12 + month) * 31 + day) * 24 + hour) * 60 + minute


def path_inside(name: str) -> str:
    """Return an entry's path with / as separator; raise NotCollected if it leaves its folder."""
    path = name.replace("\\", "/")
    parts = path.split("/")
    if any(part in ("", ".", "..") or ":" in part for part in parts):
        raise NotCollected("its name leads out of its folder")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in path):
        raise NotCollected("its name is no text")
    if any(len(part.encode()) > NAME_BYTES for part in parts):
        raise NotCollected("its name is too long")
    return path


def is_left_out(entry: zipfile.ZipInfo, path: str) -> bool:
    """Tell whether an entry is a link, a device, or hidden."""
    kind = stat.S_IFMT(entry.external_attr >> 16)  # Unix stores the file mode here
    return kind not in (0, stat.S_IFREG) or is_hidden(path)


def is_hidden(path: str) -> bool:
    """Tell whether a part of a path is hidden, or added to archives by macOS."""
    return any(part.startswith(".") or part.lower() == "__macosx" for part in path.split("/"))
