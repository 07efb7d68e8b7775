"""The same work done by a dask.distributed cluster, on any number of machines."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from attention_lib.grading.batch.fingerprints import of_library
from attention_lib.grading.batch.workers import CALLS_PER_WORKER, Call, WorkerDied, Workers
from attention_lib.grading.classroom.course import CourseError

if TYPE_CHECKING:
    from distributed import Client

SECONDS_TO_CONNECT = 10
SECONDS_FOR_A_WORKER = 30


class OtherLibrary(Exception):
    """A worker has another version of this library."""


class ClusterWorkers(Workers):
    """Has calls made on a cluster; `local` ones, in processes of this machine.

    All that crosses is values, and a worker needs nothing but this library, in this version. What
    a lost worker had begun is done again by another, which the scheduler sees to.
    """

    def __init__(self, jobs: int, scheduler: str) -> None:
        super().__init__(jobs)
        self._scheduler = scheduler
        self._client = _connect(scheduler)
        self._cluster = self._client.get_executor(pure=False)

    @property
    def room(self) -> int:
        try:
            workers = sum(self._client.nthreads().values())
        except OSError:
            raise self._gone() from None
        return (CALLS_PER_WORKER * workers or 1) - len(self._running)

    def _gone(self) -> CourseError:
        return CourseError(f"The scheduler at {self._scheduler} has gone.")

    def _submit(self, call: Call) -> Future:
        if call.local:
            return super()._submit(call)
        return self._cluster.submit(_call_with, of_library(), call.function, *call.arguments)

    def _explained(self, error: BaseException) -> BaseException:
        from distributed import KilledWorker

        if isinstance(error, CancelledError):
            raise self._gone()
        if isinstance(error, OtherLibrary | ImportError):
            raise CourseError(
                f"A worker of {self._scheduler} cannot grade: {error}. "
                "Install this course there, in this version, and start the worker again."
            )
        if isinstance(error, KilledWorker):
            return WorkerDied("the workers that ran it were lost, one after the other")
        return error

    def close(self) -> None:
        super().close()
        self._client.close()

    def stop(self) -> None:
        super().stop()
        self._client.close()


def _call_with(library: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Make a call on a worker that has this very library."""
    if of_library() != library:
        raise OtherLibrary("its library, or its NumPy or PyTorch, is another version")
    return function(*arguments)


def _connect(scheduler: str) -> Client:
    try:
        from distributed import Client
    except ImportError:
        raise CourseError(
            "A cluster needs dask.distributed, which is not installed: pip install distributed"
        ) from None
    for name in ("distributed", "distributed.client"):  # what it says, is said here in a sentence
        logging.getLogger(name).setLevel(logging.CRITICAL)
    address = urlsplit(scheduler)
    try:
        socket.create_connection((address.hostname, address.port), SECONDS_TO_CONNECT).close()
        client = Client(scheduler, timeout=SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, TypeError, ValueError):
        raise CourseError(
            f"No scheduler answers at {scheduler}; its address is one such as tcp://host:8786. "
            "`dask scheduler` starts one, and says where."
        ) from None
    try:
        client.wait_for_workers(1, timeout=SECONDS_FOR_A_WORKER)
    except TimeoutError:
        client.close()
        raise CourseError(
            f"The scheduler at {scheduler} has no workers. "
            f"`dask worker {scheduler} --nthreads 1` starts one."
        ) from None
    return client
