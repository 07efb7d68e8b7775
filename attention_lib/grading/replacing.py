"""Replace the files that a command once wrote into a folder, and no other file there."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from pathlib import Path

LIST = ".written.json"  # in such a folder: the files that were written, each with its digest


class HoldsOtherFiles(Exception):
    """Somebody's file would be lost; the text says which, and what to do."""


def replace_written(target: Path, new: Path) -> None:
    """Move all files of a folder into another one, replacing those moved there by an earlier call.

    Raises
    ------
    HoldsOtherFiles
        If the target holds files but no list of those written, or if a file to be replaced or
        removed has changed since it was written. Then nothing has been changed.
    """
    before = _written_digests(target)
    now = {path.relative_to(new).as_posix(): _digest(path) for path in _files(new)}
    for name in sorted({*before, *now}):
        _require_as_written(target, name, {before.get(name), now.get(name)})
    for name in before.keys() - now.keys():
        (target / name).unlink(missing_ok=True)
        for folder in (target / name).relative_to(target).parents:
            with contextlib.suppress(OSError):  # the folder is not empty
                (target / folder).rmdir()
    for name in now:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.move(new / name, target / name)
    (target / LIST).write_text(json.dumps(now, indent=0), encoding="utf-8")


def _written_digests(target: Path) -> dict[str, str]:
    """Return the files that an earlier call wrote into a folder, with their digests."""
    try:
        written = dict(json.loads((target / LIST).read_bytes()))
        if all(map(_is_inside, written)) and all(isinstance(one, str) for one in written.values()):
            return written
    except FileNotFoundError:
        if not target.exists() or not any(target.iterdir()):
            return {}
    except (OSError, ValueError, TypeError):
        pass
    raise HoldsOtherFiles(
        f"{target} holds something else than what was written there before (which {LIST} would list): "
        "move it away, or choose another folder."
    )


def _is_inside(name: str) -> bool:
    """Tell whether a name, which anybody may have put in the list, stays inside the folder."""
    path = Path(name)
    return path.name != "" and not path.is_absolute() and ".." not in path.parts


def _require_as_written(target: Path, name: str, digests: set[str | None]) -> None:
    path = target / name
    inner = [target / folder for folder in Path(name).parents if folder != Path()]
    astray = [one for one in inner if one.is_symlink() or (one.exists() and not one.is_dir())]
    if path.is_symlink() or path.is_dir() or (path.exists() and _digest(path) not in digests):
        astray.append(path)
    if astray:
        raise HoldsOtherFiles(
            f"{astray[0]} has been changed since it was written there: move it away, or choose another "
            "folder."
        )


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
