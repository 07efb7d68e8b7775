"""A process pool that retries calls whose worker died."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any

from pebble import ProcessExpired, ProcessPool

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerContext

PRELOADED = ("attention_lib.grading.batch.batch", "attention_lib.grading.pages.feedback")
CALLS_PER_WORKER = 2  # one running, and one queued so that the worker need not wait


class WorkerDied(Exception):
    """Every worker that made a call died; the text says how many."""


@dataclass
class Call:
    """A function, its arguments, which must pickle, and the callback for its reply."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    callback: Callable[[Reply], None]
    local: bool = False  # must run on this machine, even with a cluster
    seconds: float | None = None  # time limit, after which its worker is killed
    deaths: int = 0


@dataclass
class Reply:
    """What a call returned or raised. A call that took too long raised TimeoutError."""

    value: Any = None
    error: BaseException | None = None


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers:
    """Make calls in a pool of processes, and retry those whose worker died.

    Use it in a `with` statement: an exception stops all workers at once.
    """

    def __init__(self, jobs: int) -> None:
        """Make calls in `jobs` processes; with 0, in this one."""
        self._jobs = jobs
        self._pool: ProcessPool | None = None
        self._running: dict[Future, Call] = {}

    @property
    def room(self) -> int:
        """The number of further calls that would start soon."""
        return (CALLS_PER_WORKER * self._jobs or 1) - len(self._running)

    @property
    def free(self) -> int:
        """The number of further calls that would start at once."""
        return (self._jobs or 1) - len(self._running)

    @property
    def idle(self) -> bool:
        """Whether every call has had its reply."""
        return not self._running

    def ask(self, call: Call) -> None:
        """Submit a call."""
        self._running[self._submit(call)] = call

    def _submit(self, call: Call) -> Future:
        if not self._jobs:
            return _call_in_this_process(call)
        if self._pool is None:
            self._pool = ProcessPool(self._jobs, initializer=set_up_worker, context=_context())
        with sigint_blocked():
            return self._pool.schedule(call.function, call.arguments, timeout=call.seconds)

    def wait(self, seconds: float | None = None) -> None:
        """Wait for replies, at most `seconds`, and call the callbacks of those that came."""
        done, _ = wait(self._running, seconds, FIRST_COMPLETED)
        for future in [one for one in self._running if one in done]:  # in the order of asking
            call = self._running.pop(future)
            error = CancelledError() if future.cancelled() else future.exception()
            if isinstance(error, BrokenProcessPool):
                self._pool = None
            if isinstance(error, ProcessExpired | BrokenProcessPool):
                self._retry(call)
            elif error is not None:
                call.callback(Reply(error=self._error_for_reply(error)))
            else:
                call.callback(self._reply(call, future.result()))

    def _reply(self, call: Call, value: Any) -> Reply:
        return Reply(value)

    def _error_for_reply(self, error: BaseException) -> BaseException:
        return error

    def _retry(self, call: Call) -> None:
        call.deaths += 1
        if call.deaths < 3:
            self.ask(call)
        else:
            error = WorkerDied(f"{call.deaths} processes that ran it have died")
            call.callback(Reply(error=error))

    def close(self) -> None:
        """Shut down the workers after every call has had its reply."""
        if self._pool is not None:
            self._pool.close()
            self._pool.join()

    def stop(self) -> None:
        """Stop at once, even if calls are running."""
        if self._pool is not None:
            self._pool.stop()
            self._pool.join()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.stop()
        else:
            self.close()


def _call_in_this_process(call: Call) -> Future:
    future: Future = Future()
    try:
        future.set_result(call.function(*call.arguments))
    except Exception as error:
        future.set_exception(error)
    return future


def preload() -> None:
    """Start the fork server in the background; it imports what workers need."""
    threading.Thread(target=_start_server, daemon=True).start()


def _start_server() -> None:
    """Start the fork server by starting a process that does nothing."""
    with sigint_blocked():
        _context().Process().start()


def _context() -> ForkServerContext:
    """Return the start method: fork workers from a server that has imported and done nothing else."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, *PRELOADED])
    return context


@contextlib.contextmanager
def sigint_blocked() -> Iterator[None]:
    """Block SIGINT while threads and processes are started: they inherit the signal mask."""
    resource_tracker.ensure_running()  # starting it later would unblock SIGINT
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def set_up_worker() -> None:
    """Set up a worker process: its warnings, its signals, and its exit."""
    warnings.simplefilter("ignore")  # whatever matters is in the reply
    # Ctrl-C is for the parent process. An ignored or blocked signal would be inherited by programs
    # that a worker starts, which must receive Ctrl-C. A handler that does nothing is not inherited.
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
