"""A stranger's folder: its files are read, and nothing in it is followed, run or waited for."""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

# Where a folder can be held open (not on Windows), a name is looked up in that very folder, so
# that nothing put in its place meanwhile is met instead.
CAN_HOLD = os.open in os.supports_dir_fd and os.scandir in os.supports_fd
_FLAGS = sum(  # a missing one is one that this system can do without
    getattr(os, name, 0)
    for name in ("O_RDONLY", "O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY")
)
_STANDS_FOR_ANOTHER = 0x20000000  # the bit in the tag of a Windows junction, link or mount


class NotTaken(Exception):
    """What lies there is left where it lies; the text says what it is."""


class Missing(NotTaken):
    """Nothing lies there."""


class TooLarge(NotTaken):
    """A file is larger than asked for."""


@dataclass(frozen=True)
class Folder:
    """An open folder."""

    path: Path
    handle: int | None = None

    def at(self, name: str) -> tuple[str | Path, dict[str, int]]:
        """Return how functions of `os` find a name in the folder."""
        if self.handle is None:
            return self.path / name, {}
        return name, {"dir_fd": self.handle}


@contextlib.contextmanager
def opened(path: Path, below: Path) -> Iterator[Folder]:
    """Open a folder; each part of its path that comes after `below` has to be a folder itself."""
    with contextlib.ExitStack() as stack:
        with _told():
            handle = os.open(below, os.O_RDONLY | os.O_DIRECTORY) if CAN_HOLD else None
            folder = stack.enter_context(_closing(Folder(below, handle)))
            for part in path.relative_to(below).parts:
                folder = stack.enter_context(_closing(_step_into(folder, part)))
        yield folder


@contextlib.contextmanager
def _closing(folder: Folder) -> Iterator[Folder]:
    try:
        yield folder
    finally:
        if folder.handle is not None:
            os.close(folder.handle)


def _step_into(folder: Folder, name: str) -> Folder:
    if not is_folder(folder, name):
        raise NotTaken("no folder")
    place, at = folder.at(name)
    if folder.handle is None:
        return Folder(folder.path / name)
    return Folder(folder.path / name, os.open(place, _FLAGS | os.O_DIRECTORY, **at))


def names(folder: Folder, most: int) -> list[str]:
    """Return at most so many names of what lies in a folder, in order."""
    with _told(), os.scandir(folder.path if folder.handle is None else folder.handle) as entries:
        return sorted(entry.name for entry in itertools.islice(entries, most))


def is_folder(folder: Folder, name: str) -> bool:
    """Tell whether a name is that of a folder.

    Raises
    ------
    NotTaken
        If it is a link.
    """
    return stat.S_ISDIR(_status(folder, name).st_mode)


def walk(
    top: Path, below: Path, most: int, depth: int
) -> Iterator[tuple[Folder, PurePosixPath, NotTaken | None]]:
    """Find what lies in a folder and in those inside it, the outer ones first.

    Names that begin with a dot are passed over.

    Parameters
    ----------
    top, below
        As for `opened`.
    most, depth
        How many files and folders to look at, and how many folders deep.

    Yields
    ------
    folder, path, reason
        An open folder, the path in `top` of something that lies in it and is no folder, and why
        it cannot be read, if that shows already.
    """
    folders = deque([PurePosixPath()])
    room = most
    while folders:
        inner = folders.popleft()
        try:
            with opened(top / inner, below) as folder:
                found = names(folder, room + 1)
                for path in (inner / name for name in found[:room] if name[0] != "."):
                    try:
                        if _is_to_enter(folder, path, depth):
                            folders.append(path)
                        else:
                            yield folder, path, None
                    except NotTaken as reason:
                        yield folder, path, reason
        except NotTaken as reason:
            yield Folder(top), inner, reason
            continue
        if len(found) > room:
            reason = NotTaken(f"beyond {most:,} files and folders")
            yield Folder(top), inner / "...", reason
        room -= min(room, len(found))


def _is_to_enter(folder: Folder, path: PurePosixPath, depth: int) -> bool:
    if not is_folder(folder, path.name):
        return False
    if len(path.parts) > depth:
        raise NotTaken("too deep in folders")
    return True


def read_file(folder: Folder, name: str, most: int) -> bytes:
    """Return what is in a file of at most so many bytes.

    Raises
    ------
    NotTaken
        If it is larger, which is TooLarge, or anything but a file that has this name alone.
    """
    status = _status(folder, name)
    if not stat.S_ISREG(status.st_mode):
        raise NotTaken("something other than a file")
    if status.st_nlink > 1:
        raise NotTaken("a file with several names (a hard link)")
    too_large = TooLarge(f"larger than {most / 1_000_000:g} MB")
    if status.st_size > most:
        raise too_large
    place, at = folder.at(name)
    with _told(), os.fdopen(os.open(place, _FLAGS, **at), "rb") as file:
        if not os.path.samestat(status, os.fstat(file.fileno())):
            raise NotTaken("something that changed while it was read")
        content = file.read(most + 1)
    if len(content) > most:
        raise too_large
    return content


def _status(folder: Folder, name: str) -> os.stat_result:
    place, at = folder.at(name)
    with _told():
        status = os.stat(place, follow_symlinks=False, **at)
    stands_for_another = getattr(status, "st_reparse_tag", 0) & _STANDS_FOR_ANOTHER
    if stat.S_ISLNK(status.st_mode) or stands_for_another:
        raise NotTaken("a link")
    return status


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Turn what the operating system refuses into a reason."""
    try:
        yield
    except FileNotFoundError:
        raise Missing("missing") from None
    except OSError as problem:
        raise NotTaken(f"unreadable ({problem.strerror})") from None
