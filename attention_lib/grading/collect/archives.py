"""Read zip archives from strangers: bounded in files, bytes and depth; nothing is written."""

from __future__ import annotations

import io
import logging
import stat
import unicodedata
import zipfile

from attention_lib.grading import limits

log = logging.getLogger(__name__)

ENTRY_SIGNATURE = b"PK\x01\x02"  # before each entry of a zip archive's directory
READ_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others unpack without a bound


class NotCollected(Exception):
    """Something is not collected. The text is the reason, as the end of a sentence."""


def read_zip(content: bytes) -> dict[str, bytes]:
    """Return the plain files in a zip archive, by path.

    Raises
    ------
    NotCollected
        If it is none, or holds too much, or names that lead out of a folder.
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


def _read_entries(archive: zipfile.ZipFile, size: int) -> dict[str, bytes]:
    room = min(
        limits.ARCHIVE_UNPACKED_BYTES,
        max(50 * size, limits.NOTEBOOK_BYTES),  # what compresses better is a bomb
    )
    files: dict[str, bytes] = {}
    for entry in archive.infolist():
        if entry.is_dir():
            continue
        path = path_inside(entry.filename)
        if is_left_out(entry, path):
            continue
        if path in files:
            raise NotCollected(f"it holds {path!r} twice")
        files[path] = read_entry(archive, entry, room)
        room -= len(files[path])
    return files


def read_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, room: int) -> bytes:
    """Return a file in an archive, of at most `room` bytes.

    Raises
    ------
    NotCollected
        If it is larger, or cannot be unpacked within a bound.
    """
    if entry.flag_bits & 1:
        raise NotCollected("it is encrypted")
    if entry.compress_type not in READ_METHODS:
        raise NotCollected("it is packed by a method that is not read here")
    with archive.open(entry) as file:
        content = file.read(room + 1)
    if len(content) > room:
        raise NotCollected("it holds too much, unpacked")
    return content


def path_inside(name: str) -> str:
    """Return the path of an entry with / between its parts, if it stays inside a folder."""
    path = name.replace("\\", "/")
    parts = path.split("/")
    if len(parts) > limits.FOLDER_DEPTH + 2:  # its own folder, and the file
        raise NotCollected("its folders are nested too deeply")
    if any(part in ("", ".", "..") or ":" in part for part in parts):
        raise NotCollected("a name in it leads out of it")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in path):
        raise NotCollected("a name in it is no text")
    if any(len(part.encode()) > 200 for part in parts):
        raise NotCollected("a name in it is too long")
    return path


def is_left_out(entry: zipfile.ZipInfo, path: str) -> bool:
    """Tell whether an entry is a link, a device, or hidden."""
    kind = stat.S_IFMT(entry.external_attr >> 16)  # where Unix keeps the mode
    return kind not in (0, stat.S_IFREG) or is_hidden(path)


def is_hidden(path: str) -> bool:
    """Tell whether a path has a hidden part, or one that macOS adds to archives."""
    return any(part.startswith(".") or part.lower() == "__macosx" for part in path.split("/"))
