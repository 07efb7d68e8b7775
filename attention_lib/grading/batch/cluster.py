"""Run submissions on a dask.distributed cluster, on any number of machines.

Anyone who can reach a scheduler or a worker can run programs there, and can pose as a worker. So
results come back as JSON, no pickle of theirs is loaded here, and a cluster on other machines
needs TLS.
"""

from __future__ import annotations

import dataclasses
import functools
import ipaddress
import json
import logging
import socket
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from attention_lib.grading.batch.fingerprints import of_library
from attention_lib.grading.batch.unpickling import refuse_pickles
from attention_lib.grading.batch.workers import (
    CALLS_PER_WORKER,
    Call,
    Reply,
    WorkerDied,
    Workers,
)
from attention_lib.grading.classroom.course import CourseError
from attention_lib.grading.judge.task import Ran, Task
from attention_lib.grading.sandbox.errors import NoSandbox

if TYPE_CHECKING:
    from distributed import Client

SECONDS_TO_CONNECT = 10
NOT_PRIVATE = (
    "{address} is on another machine, and not encrypted: whoever reaches a Dask cluster can run "
    "programs on it. Use an address with tls://, as docs/teaching.md says under More than one machine, or "
    "TRUST_NETWORK=1 if nobody else can reach its machines."
)

NO_CERTIFICATES = (
    "{address} needs certificates, and Dask's configuration names none: set "
    "DASK_DISTRIBUTED__COMM__TLS__CA_FILE and its like, as docs/teaching.md says under More than one machine."
)


class OtherLibrary(Exception):
    """A worker has another version of this library."""


class FailedThere(Exception):
    """A call raised an error on a worker of the cluster; the text is its traceback."""


class ClusterWorkers(Workers):
    """Run submissions on a cluster; `local` calls are made in processes on this machine.

    Only plain values are sent. A worker needs nothing but this library, in the same version. The
    scheduler gives the work of a lost worker to another one.
    """

    def __init__(self, jobs: int, scheduler: str, trust_network: bool = False) -> None:
        """Connect to a scheduler; `trust_network` allows other machines without TLS.

        Raises
        ------
        CourseError
            If no scheduler answers, it has no workers, or it is not private.
        """
        super().__init__(jobs)
        self._scheduler = scheduler
        self._trust_network = trust_network
        self._client = _connect(scheduler, trust_network)

    @property
    def room(self) -> int:
        try:
            threads = self._client.nthreads()
        except OSError:
            raise self._scheduler_gone() from None
        if not self._trust_network:  # workers may have joined since the last look
            _require_private_workers(threads)
        return (CALLS_PER_WORKER * sum(threads.values()) or 1) - len(self._running)

    def _scheduler_gone(self) -> CourseError:
        return CourseError(f"The scheduler at {self._scheduler} has gone.")

    def _submit(self, call: Call) -> Future:
        if call.local:
            return super()._submit(call)
        of_dask = self._client.submit(
            _call_with, of_library(), call.function, *call.arguments, pure=False
        )
        future: Future = Future()
        of_dask.add_done_callback(functools.partial(_pass_on, future))
        return future

    def _reply(self, call: Call, value: Any) -> Reply:
        if call.local:
            return super()._reply(call, value)
        try:
            reply = json.loads(value if isinstance(value, bytes) else b"")
            if "error" not in reply:
                return Reply(Ran.from_json(reply))
            text = str(reply["error"])
            known = {kind.__name__: kind for kind in (OtherLibrary, ImportError, NoSandbox)}
            error = known.get(reply["type"], FailedThere)(text)
        except (ValueError, TypeError, KeyError, RecursionError) as problem:
            error = FailedThere(f"what a worker returned cannot be read: {problem}")
        return Reply(error=self._error_for_reply(error))

    def _error_for_reply(self, error: BaseException) -> BaseException:
        from distributed import KilledWorker

        if isinstance(error, CancelledError):
            raise self._scheduler_gone()
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


def _pass_on(future: Future, of_dask: Any) -> None:
    """Copy the result of a Dask future, or its error, to a `concurrent.futures.Future`."""
    try:
        # The result is there, so this takes seconds. One that cannot be fetched must not block the
        # batch.
        future.set_result(of_dask.result(timeout=60))
    except BaseException as error:
        future.set_exception(error)


def _call_with(library: str, run: Callable[[Task], Ran], task: Task) -> bytes:
    """Run a submission on a worker that has the same library; return the result or error as JSON."""
    try:
        if of_library() != library:
            raise OtherLibrary("its library, or its NumPy or PyTorch, is another version")
        reply = dataclasses.asdict(run(task))
    except (OtherLibrary, ImportError, NoSandbox) as error:
        reply = {"error": str(error), "type": type(error).__name__}
    except Exception as error:
        reply = {"error": "".join(traceback.format_exception(error)), "type": ""}
    return json.dumps(reply).encode()


def _connect(scheduler: str, trust_network: bool) -> Client:
    try:
        import dask
        from distributed import Client
    except ImportError:
        raise CourseError(
            "A cluster needs dask.distributed, which is not installed: pip install distributed"
        ) from None
    for name in ("distributed", "distributed.client"):  # a CourseError says it here
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if not trust_network:
        _require_privacy(scheduler)
    refuse_pickles()
    address = urlsplit(scheduler)
    try:
        socket.create_connection((address.hostname, address.port), SECONDS_TO_CONNECT).close()
        client = Client(scheduler, timeout=SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, TypeError, ValueError):
        if address.scheme == "tls" and not dask.config.get("distributed.comm.tls.ca-file"):
            raise CourseError(NO_CERTIFICATES.format(address=scheduler)) from None
        raise CourseError(
            f"No scheduler answers at {scheduler}; its address is one such as tls://host:8786. "
            "`dask scheduler` starts one, and says where."
        ) from None
    try:
        client.wait_for_workers(1, timeout=30)
    except TimeoutError:
        client.close()
        raise CourseError(
            f"The scheduler at {scheduler} has no workers. "
            f"`dask worker {scheduler} --nthreads 1` starts one, as docs/teaching.md says."
        ) from None
    if not trust_network:
        try:
            _require_private_workers(client.nthreads())
        except CourseError:
            client.close()
            raise
    return client


def _require_private_workers(addresses: Iterable[str]) -> None:
    for address in addresses:
        _require_privacy(address)


def _require_privacy(address: str) -> None:
    """Raise CourseError if other machines could talk to what listens at this address."""
    parts = urlsplit(address)
    if parts.hostname and parts.scheme != "tls" and not _is_this_machine(parts.hostname):
        raise CourseError(NOT_PRIVATE.format(address=address))


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
