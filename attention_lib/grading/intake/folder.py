"""Read files in an untrusted folder: follow no link, wait for no pipe, run nothing.

Names are looked up relative to an open folder (`dir_fd`, with O_NOFOLLOW). So replacing a folder
during the lookup has no effect.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
import unicodedata
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_OPEN_FLAGS = sum(  # those that this system has
    getattr(os, name, 0)
    for name in ("O_RDONLY", "O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC")
)


class NotTaken(Exception):
    """A file or folder is not read; the text says what it is."""


class Missing(NotTaken):
    """There is no file or folder with this name."""


class TooLarge(NotTaken):
    """A file is larger than allowed."""


@dataclass(frozen=True)
class Folder:
    """An open folder."""

    path: Path
    descriptor: int = -1  # of one that could not be opened


@contextlib.contextmanager
def opened(path: Path, below: Path) -> Iterator[Folder]:
    """Open a folder below another one; no part of its path after `below` may be a link."""
    if os.stat not in os.supports_dir_fd:
        raise NotTaken("on Windows, where no hand-in is read: use Linux, macOS or WSL")
    with contextlib.ExitStack() as stack:
        with _errors_as_reasons():
            folder = Folder(below, os.open(below, os.O_RDONLY | os.O_DIRECTORY))
            stack.callback(os.close, folder.descriptor)
            for part in path.relative_to(below).parts:
                folder = _step_into(folder, part)
                stack.callback(os.close, folder.descriptor)
        yield folder


def _step_into(folder: Folder, name: str) -> Folder:
    if not is_folder(folder, name):
        raise NotTaken("no folder")
    descriptor = os.open(name, _OPEN_FLAGS | os.O_DIRECTORY, dir_fd=folder.descriptor)
    return Folder(folder.path / name, descriptor)


def same_name(name: str) -> str:
    """Return a form that is equal for names that some file systems treat as the same."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def names(folder: Folder, most: int) -> list[str]:
    """Return at most `most` names of files and folders in a folder, sorted."""
    with _errors_as_reasons(), os.scandir(folder.descriptor) as entries:
        return sorted(entry.name for entry in itertools.islice(entries, most))


def is_folder(folder: Folder, name: str) -> bool:
    """Return whether a name is that of a folder.

    Raises
    ------
    NotTaken
        If it is a link.
    """
    return stat.S_ISDIR(status(folder, name).st_mode)


def walk(
    top: Path, below: Path, most: int, depth: int
) -> Iterator[tuple[Folder, PurePosixPath, NotTaken | None]]:
    """Find the files in a folder and in the folders inside it, outer ones first.

    Names that start with a dot are left out. At most `most` files and folders are visited, `depth`
    folders deep. `top` and `below` are as in `opened`.

    Yield for each file its open folder, its path below `top`, and the reason why it cannot be read,
    or None.
    """
    folders = deque([PurePosixPath()])
    left = most
    while folders:
        inner = folders.popleft()
        try:
            with opened(top / inner, below) as folder:
                entries = names(folder, left + 1)
                for path in (inner / name for name in entries[:left] if name[0] != "."):
                    try:
                        if _is_folder_to_search(folder, path, depth):
                            folders.append(path)
                        else:
                            yield folder, path, None
                    except NotTaken as reason:
                        yield folder, path, reason
        except NotTaken as reason:
            yield Folder(top), inner, reason
            continue
        if len(entries) > left:
            yield Folder(top), inner / "...", NotTaken(f"beyond {most:,} files and folders")
        left -= min(left, len(entries))


def _is_folder_to_search(folder: Folder, path: PurePosixPath, depth: int) -> bool:
    if not is_folder(folder, path.name):
        return False
    if len(path.parts) > depth:
        raise NotTaken("too deep in folders")
    return True


def newest_change(top: Path, below: Path, most: int, depth: int) -> float:
    """Return when a folder or a file in it last changed, in seconds since 1970.

    This is the inode's own time (st_ctime), which the owner of a file cannot set back. Files that
    cannot be examined do not count. The arguments are those of `walk`.
    """
    with opened(top.parent, below) as parent:
        newest = status(parent, top.name).st_ctime
    for folder, path, _ in walk(top, below, most, depth):
        with contextlib.suppress(NotTaken):
            newest = max(newest, status(folder, path.name).st_ctime)
    return newest


def read_file(folder: Folder, name: str, most: int) -> bytes:
    """Return the content of a file of at most `most` bytes.

    Raises
    ------
    NotTaken
        If it is larger (TooLarge), not a regular file, or has a second name (a hard link).
    """
    found = status(folder, name)
    if not stat.S_ISREG(found.st_mode):
        raise NotTaken("something other than a file")
    if found.st_nlink > 1:
        raise NotTaken("a file with several names (a hard link)")
    too_large = TooLarge(f"larger than {most / 1_000_000:g} MB")
    if found.st_size > most:
        raise too_large
    with (
        _errors_as_reasons(),
        os.fdopen(os.open(name, _OPEN_FLAGS, dir_fd=folder.descriptor), "rb") as file,
    ):
        if not os.path.samestat(found, os.fstat(file.fileno())):
            raise NotTaken("something that changed while it was read")
        content = file.read(most + 1)
    if len(content) > most:
        raise too_large
    return content


def status(folder: Folder, name: str) -> os.stat_result:
    """Return the `os.stat` result of a file or folder; raise NotTaken for a link."""
    with _errors_as_reasons():
        found = os.stat(name, follow_symlinks=False, dir_fd=folder.descriptor)
    if stat.S_ISLNK(found.st_mode):
        raise NotTaken("a link")
    return found


@contextlib.contextmanager
def _errors_as_reasons() -> Iterator[None]:
    """Convert an OSError to NotTaken with a reason."""
    try:
        yield
    except FileNotFoundError:
        raise Missing("missing") from None
    except OSError as problem:
        raise NotTaken(f"unreadable ({problem.strerror})") from None
