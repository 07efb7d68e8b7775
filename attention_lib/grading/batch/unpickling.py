"""Refuse to unpickle anything but Dask's own plain messages, in the threads of dask.distributed.

A pickle can call any function by name. Before any unpickler looks up a name, Python raises an
audit event. A hook that raises an error there prevents the call.
"""

from __future__ import annotations

import builtins
import functools
import sys
import threading

DASK_THREADS = ("IO loop", "Dask-")  # how the names of its threads begin
# Allow-list of what Dask's scheduler sends as pickles. Each entry only makes an object: a result is
# bytes, an error is that of a lost worker. Python's built-in errors are also allowed.
ALLOWED = {
    ("builtins", "bytes"),
    ("distributed.scheduler", "KilledWorker"),
    ("distributed.scheduler", "WorkerState"),
    ("distributed.core", "Status"),
}


class Refused(AttributeError):
    """A name in a pickle is not on the allow-list. Dask treats it as a name that does not exist."""


@functools.cache
def refuse_pickles() -> None:
    """Install the hook; audit hooks cannot be removed."""
    sys.addaudithook(_audit)


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if event != "pickle.find_class":
        return
    if not threading.current_thread().name.startswith(DASK_THREADS):
        return
    module, name = map(str, arguments)
    if (module, name) not in ALLOWED and not _is_error(module, name):
        raise Refused(f"{module}.{name} is not unpickled here")


def _is_error(module: str, name: str) -> bool:
    kind = getattr(builtins, name, None) if module == "builtins" else None
    return isinstance(kind, type) and issubclass(kind, Exception)
