"""Read zip archives from strangers: bounded in files, bytes and depth; nothing is written."""

from __future__ import annotations

import io
import logging
import stat
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from attention_lib.grading import limits

log = logging.getLogger(__name__)

ENTRY_SIGNATURE = b"PK\x01\x02"  # before each entry of a zip archive's directory
READ_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others unpack without a bound
NO_TIME = (1980, 1, 1, 0, 0, 0)  # what zip archives say where no time was given
NAME_BYTES = 200  # of a part of a path; file systems have room for 255


class NotCollected(Exception):
    """Something is not collected. The text is the reason, as the end of a sentence."""


class TooMuch(NotCollected):
    """More than there is room for."""


@dataclass
class Files:
    """What was read, by path, and what was left out."""

    contents: dict[str, bytes] = field(default_factory=dict)
    order: dict[str, int] = field(default_factory=dict)  # larger is newer, where that is known
    left_out: dict[str, str] = field(default_factory=dict)  # by path, why
    is_numbered: bool = False  # the order is the platform's, and no time

    def add(self, path: str, content: bytes, order: int | None = None) -> None:
        self.contents[path] = content
        if order is not None:
            self.order[path] = order


def read_zip(content: bytes) -> Files:
    """Return the plain files in a zip archive; one that cannot be read stops no other.

    Raises
    ------
    NotCollected
        If it is no zip archive, or holds too much.
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
    room = min(
        limits.ARCHIVE_UNPACKED_BYTES,
        max(50 * size, limits.NOTEBOOK_BYTES),  # what compresses better is a bomb
    )
    found = Files()
    entries, found.left_out = entries_of(archive)
    for path, entry in entries.items():
        try:
            content = read_entry(archive, entry, room)
        except TooMuch:
            raise
        except NotCollected as why:
            found.left_out[path] = str(why)
        else:
            room -= len(content)
            found.add(path, content, minute_of_entry(entry))
    return found


def entries_of(archive: zipfile.ZipFile) -> tuple[dict[str, zipfile.ZipInfo], dict[str, str]]:
    """Return the plain files of an archive by path, and of the others why they are left out.

    Links, devices and hidden files are passed over.
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
    """Return an entry's name, also where the archive does not say that it is written in UTF-8."""
    if entry.flag_bits & 0x800:  # the name is written in UTF-8
        return entry.filename
    try:
        return entry.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return entry.filename


def read_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, room: int) -> bytes:
    """Return a file in an archive, of at most `room` bytes.

    Raises
    ------
    NotCollected
        If it is larger (TooMuch), damaged, or cannot be unpacked within a bound.
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
    """Return when a file was changed, in minutes from a fixed day, if that is known.

    Seconds do not count: some platforms write the time at which an archive is made.
    """
    year, month, day, hour, minute, _ = entry.date_time
    if entry.date_time == NO_TIME:
        return None
    return (((year * 12 + month) * 31 + day) * 24 + hour) * 60 + minute


def path_inside(name: str) -> str:
    """Return the path of an entry with / between its parts, if it stays inside a folder."""
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
    kind = stat.S_IFMT(entry.external_attr >> 16)  # where Unix keeps the mode
    return kind not in (0, stat.S_IFREG) or is_hidden(path)


def is_hidden(path: str) -> bool:
    """Tell whether a path has a hidden part, or one that macOS adds to archives."""
    return any(part.startswith(".") or part.lower() == "__macosx" for part in path.split("/"))
