"""A store of functions on disk, by value: a learner's own, for later kernels of the same Python."""

from __future__ import annotations

import functools
import hashlib
import importlib
import io
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attention_lib.checks.calls.watching import unwatched

__all__ = ["FOLDER", "NotStored", "load", "store"]

FOLDER = ".functions"  # beside the record of progress
MOST_BYTES = 1 << 20  # of a function and all that it uses
DIGEST_BYTES = 32


class NotStored(Exception):
    """Raised where a function cannot be stored; the text says why."""


class _LimitedFile(io.BytesIO):
    def write(self, data: Any) -> int:
        if self.tell() + memoryview(data).nbytes > MOST_BYTES:
            raise NotStored(f"it uses more than {MOST_BYTES >> 20} MB of data")
        return super().write(data)


def store(folder: Path, name: str, function: Callable[..., Any]) -> None:
    """Store a function with the functions and data that it uses, in place of an older one.

    Raises
    ------
    NotStored
        If it uses too much, or something that has no copy, such as an open file, or is a kernel.
    """
    if hasattr(function, "fn"):  # what Triton makes of a function
        raise NotStored("Triton reads the text of a kernel in its own notebook")
    path = _path(folder, name)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        content = _pickled(function)
        path.parent.mkdir(exist_ok=True)
        part.write_bytes(hashlib.sha256(content).digest() + content)
        os.replace(part, path)
    except NotStored:
        raise
    except Exception as error:  # objects of a notebook may refuse in any way
        raise NotStored(f"{type(error).__name__}: {error}") from error


def _pickled(function: Callable[..., Any]) -> bytes:
    import cloudpickle  # a browser's Python may not have it

    class Pickler(cloudpickle.Pickler):
        def reducer_override(self, value: Any) -> Any:
            # Some modules, such as torch.backends.mps, are objects that have no copy.
            if isinstance(value, types.ModuleType) and sys.modules.get(value.__name__) is value:
                return importlib.import_module, (value.__name__,)
            return super().reducer_override(value)

    file = _LimitedFile()
    Pickler(file).dump(function)
    return file.getvalue()


def load(folder: Path, name: str) -> Callable[..., Any] | None:
    """Return a stored function; None if there is none, or if it is damaged or cannot be made."""
    path = _path(folder, name)
    try:
        status = path.stat()
    except OSError:
        return None
    return _loaded(path, status.st_mtime_ns, status.st_ino)


@functools.lru_cache(maxsize=256)
def _loaded(path: Path, changed: int, file: int) -> Callable[..., Any] | None:
    """Return the function in a file; `changed` and `file` tell a newer file of this name."""
    try:
        data = path.read_bytes()
        digest, content = data[:DIGEST_BYTES], data[DIGEST_BYTES:]
        if hashlib.sha256(content).digest() != digest:
            return None
        with unwatched():  # what it imports is no call that an answer makes
            import cloudpickle

            function = cloudpickle.loads(content)
    except Exception:  # a module may be gone, or fail
        return None
    return function if callable(function) else None


def _path(folder: Path, name: str) -> Path:
    """Return the file of a function: another Python cannot read its code, and has another file."""
    return folder / FOLDER / f"{name}.{sys.implementation.cache_tag}.pickle"
