"""Who does a batch's work: processes of its own, of which some may die."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.context import BaseContext
from typing import Any

DEATHS = 3  # of workers, until the call that they made is suspected
IMPORTED = ("attention_lib.grading.batch.batch", "attention_lib.grading.pages.feedback")
AHEAD = 2  # calls a worker: the one that it makes, and one that waits for it


class WorkerDied(Exception):
    """The workers that made a call died; the text says how often."""


@dataclass
class Call:
    """A function and its arguments, all of which pickle; and who waits for what it returns."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    then: Callable[[Answer], None]
    at_home: bool = False  # to be made on this machine, even where there are others
    deaths: int = 0


@dataclass
class Answer:
    """What came of a call."""

    value: Any = None
    error: BaseException | None = None


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers:
    """Makes calls in other processes, a few at a time; one whose worker dies is made again.

    When a process dies, those beside it are stopped too, and it is not known which call was to
    blame. So a call that has seen several deaths is made once more when all others have come to
    their end, and given up if its process dies again.

    Used in a `with` statement: an exception stops all workers at once.
    """

    def __init__(self, jobs: int) -> None:
        """Make calls in so many processes; with no jobs, in this one."""
        self._jobs = jobs
        self._pool: Executor | None = None
        self._running: dict[Future, tuple[Call, Executor]] = {}
        self._suspected: deque[Call] = deque()
        self._not_ours = set(multiprocessing.active_children())

    @property
    def room(self) -> int:
        """How many more calls would find a worker soon."""
        return (AHEAD * self._jobs or 1) - len(self._running)

    @property
    def idle(self) -> bool:
        """Whether every call has been answered."""
        return not self._running and not self._suspected

    def ask(self, call: Call) -> None:
        """Have a call made."""
        if self._pool is None:
            self._pool = _processes(self._jobs) if self._jobs else _ThisProcess()
        try:
            self._start(call, self._pool)
        except BrokenProcessPool:
            self._pool = None
            self.ask(call)

    def _start(self, call: Call, pool: Executor) -> None:
        self._running[self._submit(call, pool)] = call, pool

    def _submit(self, call: Call, pool: Executor) -> Future:
        with _deaf_to_control_c():
            return pool.submit(call.function, *call.arguments)

    def wait(self, seconds: float | None = None) -> None:
        """Wait for answers, for so long at most, and pass on those that are there."""
        if not self._running and self._suspected:
            self._start(self._suspected.popleft(), _processes(1))
        done, _ = wait(self._running, seconds, FIRST_COMPLETED)
        for future in done:
            call, pool = self._running.pop(future)
            error = CancelledError() if future.cancelled() else future.exception()
            if isinstance(error, BrokenProcessPool):
                self._make_again(call, pool)
            elif error is not None:
                call.then(Answer(error=self._explained(error)))
            else:
                call.then(Answer(future.result()))
            if isinstance(pool, ProcessPoolExecutor) and pool is not self._pool:
                pool.shutdown(wait=False)  # it is broken, or was there for this call alone

    def _explained(self, error: BaseException) -> BaseException:
        return error

    def _make_again(self, call: Call, broken: Executor) -> None:
        if broken is self._pool:
            self._pool = None
        call.deaths += 1
        if call.deaths < DEATHS:
            self.ask(call)
        elif call.deaths == DEATHS:
            self._suspected.append(call)
        else:
            call.then(Answer(error=WorkerDied(f"{call.deaths} processes that ran it have died")))

    def close(self) -> None:
        """Let the workers go, once all has been answered."""
        if self._pool is not None:
            self._pool.shutdown()

    def stop(self) -> None:
        """Stop at once, whatever is running."""
        for pool in {self._pool, *(pool for _, pool in self._running.values())}:
            if isinstance(pool, ProcessPoolExecutor):
                pool.shutdown(wait=False, cancel_futures=True)
        for process in set(multiprocessing.active_children()) - self._not_ours:
            process.terminate()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.stop()
        else:
            self.close()


def get_ready() -> None:
    """Begin to import what workers need, while this process does something else."""
    if _context().get_start_method() == "forkserver":
        threading.Thread(target=_start_server, daemon=True).start()


def _start_server() -> None:
    """Start the process that workers are forked from, which the first one does."""
    with _deaf_to_control_c():
        _context().Process(target=_nothing).start()


def _nothing() -> None: ...


def _context() -> BaseContext:
    """Return the way to start processes: a fork, of one that has imported and done nothing else.

    Where that is not to be had (Windows), each worker imports for itself.
    """
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, *IMPORTED])
    return context


def _processes(jobs: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(jobs, mp_context=_context(), initializer=_begin)


@contextlib.contextmanager
def _deaf_to_control_c() -> Iterator[None]:
    """Let processes that are started meanwhile begin with the signal blocked, which is inherited."""
    if not hasattr(signal, "pthread_sigmask"):  # on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    """Set up a worker's process."""
    warnings.simplefilter("ignore")  # what there is to say is in the answer
    # Ctrl-C is for the process that gave the work. The programs that a worker starts are to hear
    # it again, and would not if it were ignored or blocked here.
    signal.signal(signal.SIGINT, lambda *_: None)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


class _ThisProcess(Executor):
    """Makes each call right away."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        future: Future = Future()
        try:
            future.set_result(function(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future
