"""Refuse to unpickle, in the threads of dask.distributed, anything but its own plain messages.

A pickle can call any function by its name. Python raises an audit event before it looks a name up,
whoever unpickles, and a hook that raises an error there prevents it.
"""

from __future__ import annotations

import builtins
import functools
import sys
import threading

DASK_THREADS = ("IO loop", "Dask-")  # how the names of its threads begin
# What its scheduler says in pickles, and no more than makes an object: a result is bytes, an error
# that of a worker which was lost. Errors of Python itself are allowed besides.
ALLOWED = {
    ("builtins", "bytes"),
    ("distributed.scheduler", "KilledWorker"),
    ("distributed.scheduler", "WorkerState"),
    ("distributed.core", "Status"),
}


class Refused(AttributeError):
    """A name in a pickle is not on the allow-list. Dask treats it as one that does not exist."""


@functools.cache
def refuse_pickles() -> None:
    """Install the hook, for good."""
    sys.addaudithook(_look_at)


def _look_at(event: str, arguments: tuple[object, ...]) -> None:
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
