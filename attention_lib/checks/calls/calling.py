"""Calling a learner's answer while watching: what came back, and what it did besides."""

from __future__ import annotations

import contextlib
import copy
import io
import signal
import sys
import threading
import time
import traceback
import types
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from attention_lib.checks.calls.case import Answer, Case, Stream
from attention_lib.checks.calls.ufuncs import scipy_ufunc_in

TIME_LIMIT = 5.0  # seconds one call may take; right answers need milliseconds


class OutOfTime(BaseException):
    """Raised inside an answer that ran into the time limit (no `except Exception` stops it)."""


class Unreachable(BaseException):
    """Raised when the process that an answer lives in is gone; the text says why."""


@dataclass
class Observation:
    """What one call did, as data that can be sent from one process to another."""

    value: Any = None
    error: BaseException | None = None
    frames: list[traceback.FrameSummary] = field(default_factory=list)  # the error's, the learner's
    out_of_time: bool = False
    refused_call: bool = False  # the call itself failed: the answer takes other arguments
    warnings: list[str] = field(default_factory=list)
    printed: str = ""
    changed: list[str] = field(default_factory=list)
    read_again: bool = False  # an argument that can be read once, after its end
    forbidden: str = ""


class Elsewhere(ABC):
    """An answer that lives in another process, and is called there."""

    @abstractmethod
    def observe_all(
        self, cases: Sequence[Case], forbidden: tuple[str, ...], limit: float
    ) -> list[Observation]:
        """Do there what the function `observe_all` does."""

    @abstractmethod
    def measure(self, what: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call there the function `what` of `measuring` or `staging`, the answer first."""

    @abstractmethod
    def staged(self, how: str) -> Elsewhere:
        """Return what the function `how` of `staging` makes there out of the answer."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return, raise and warn as the answer does."""
        seen = observe(self, Case(*args, **kwargs))
        for message in seen.warnings:
            warnings.warn(message, stacklevel=2)
        if seen.out_of_time:
            raise OutOfTime
        if seen.error is not None:
            raise seen.error
        return seen.value


def observe_all(
    answer: Answer,
    cases: Iterable[Case],
    forbidden: tuple[str, ...] = (),
    limit: float = TIME_LIMIT,
) -> Iterator[Observation]:
    """Observe an answer on one case after the other, as long as there is something to learn.

    No more calls are made after one that ran out of time, nor if the first was of a stub.
    """
    if isinstance(answer, Elsewhere):
        yield from answer.observe_all(list(cases), forbidden, limit)
        return
    for number, case in enumerate(cases):
        seen = observe(answer, case, forbidden, limit)
        yield seen
        if seen.out_of_time or (number == 0 and of_a_stub(seen)):
            return


def of_a_stub(seen: Observation) -> bool:
    """Tell whether a call met nothing but a `raise NotImplementedError`."""
    return isinstance(seen.error, NotImplementedError) and not seen.forbidden


def observe(
    answer: Answer, case: Case, forbidden: tuple[str, ...] = (), limit: float | None = TIME_LIMIT
) -> Observation:
    """Call `answer` on copies of the case's arguments and report everything it did.

    `forbidden` names the modules or functions (by prefix) that may not do the work; `limit` is
    in seconds.
    """
    if isinstance(answer, Elsewhere):
        return answer.observe_all([case], forbidden, limit or TIME_LIMIT)[0]
    args, kwargs = copy.deepcopy((case.args, case.kwargs))
    seen = Observation()
    output = io.StringIO()
    with (
        warnings.catch_warnings(record=True) as caught,
        np.errstate(),  # what an answer does to it ends with the answer
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
    ):
        warnings.simplefilter("always")
        try:
            with time_limit(limit), watched_calls(forbidden, seen):
                seen.value = answer(*args, **kwargs)
        except OutOfTime:
            seen.out_of_time = True
        except (KeyboardInterrupt, Unreachable):
            raise
        except BaseException as error:
            seen.error, seen.frames = error, learner_frames(error)
            seen.refused_call = isinstance(error, TypeError) and not seen.frames
    seen.printed = output.getvalue()
    seen.warnings = [str(warning.message) for warning in caught]
    seen.changed = [
        str(key)
        for key, before, after in (
            *zip(range(len(args)), case.args, args, strict=True),
            *((key, case.kwargs[key], kwargs[key]) for key in kwargs),
        )
        if not _same(before, after)
    ]
    seen.read_again = any(getattr(argument, "read_again", False) for argument in args)
    if forbidden and not seen.forbidden:
        seen.forbidden = scipy_ufunc_in(answer)
    return seen


def learner_frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the frames of a traceback that are neither ours nor a library's."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = str(Path(__file__).parents[2])
    own = [frame for frame in frames if not frame.filename.startswith(ours)]
    return [frame for frame in own if "site-packages" not in frame.filename] or own


@contextlib.contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise `OutOfTime` in the body once it has run for `seconds`; None sets no limit.

    On a busy machine it may take longer: what counts is the time that the processor worked for
    it, as long as four times that has not gone by.

    A timer signal where the system has one; elsewhere (Windows) a thread that interrupts the
    main one. Off the main thread neither can interrupt, and nothing is limited.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def expire(*_: object) -> None:
        raise OutOfTime

    if hasattr(signal, "setitimer"):
        worked, begun = time.process_time(), time.monotonic()

        def expire_if_it_worked(*_: object) -> None:
            if (
                time.process_time() - worked >= 0.9 * seconds
                or time.monotonic() - begun >= 4 * seconds
            ):
                raise OutOfTime

        previous = signal.signal(signal.SIGALRM, expire_if_it_worked)
        # Repeated, in case an answer catches everything and goes on.
        signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)
    else:
        import _thread

        previous = signal.signal(signal.SIGINT, expire)
        timer = threading.Timer(seconds, _thread.interrupt_main)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            signal.signal(signal.SIGINT, previous)


@contextlib.contextmanager
def watched_calls(forbidden: tuple[str, ...], seen: Observation) -> Iterator[None]:
    """Note in `seen` the first call of a function whose dotted name begins with a forbidden one."""
    if not forbidden:
        yield
        return

    packages = {name.partition(".")[0] for name in forbidden}
    imported: types.FrameType | None = None  # a module of theirs: to be imported is no work done

    def watch(frame: types.FrameType, event: str, called: Any) -> None:
        nonlocal imported
        if imported is not None:
            if event == "return" and frame is imported:
                imported = None
        elif event == "call":
            module = str(frame.f_globals.get("__name__", ""))
            name = f"{module}.{frame.f_code.co_qualname}"
            if frame.f_code.co_name == "<module>" and module.partition(".")[0] in packages:
                imported = frame
            elif name.startswith(forbidden) and not seen.forbidden:
                seen.forbidden = name
        elif event == "c_call" and not seen.forbidden:
            module = _module_of_builtin(called)
            if f"{module}.{called.__name__}".startswith(forbidden):
                seen.forbidden = f"{module.partition('.')[0]}.{called.__name__}"

    previous = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(previous)


@contextlib.contextmanager
def unwatched() -> Iterator[None]:
    """Let the library itself run in the body, while an answer is being watched."""
    previous = sys.getprofile()
    sys.setprofile(None)
    try:
        yield
    finally:
        sys.setprofile(previous)


def _module_of_builtin(called: Any) -> str:
    owner = getattr(called, "__self__", None)
    if isinstance(owner, types.ModuleType):
        return owner.__name__
    if owner is not None:
        return (owner if isinstance(owner, type) else type(owner)).__module__ or ""
    return getattr(called, "__module__", None) or ""


def _same(before: Any, after: Any) -> bool:
    """Tell whether an argument is as it was (NaN equals NaN)."""
    if isinstance(before, np.ndarray):
        return (
            isinstance(after, np.ndarray)
            and before.dtype == after.dtype
            and before.shape == after.shape
            and np.array_equal(before, after, equal_nan=before.dtype.kind in "fc")
        )
    if isinstance(before, Stream):
        return _same(before.items, after.items)
    if isinstance(before, (tuple, list)):
        return len(before) == len(after) and all(map(_same, before, after))
    if hasattr(before, "detach"):  # a torch tensor, perhaps one without values
        return before.shape == after.shape and (before.is_meta or bool((before == after).all()))
    return True  # numbers cannot be changed; functions and iterators have no state to compare
