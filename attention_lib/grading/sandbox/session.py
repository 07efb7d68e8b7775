"""Talk to one student's process: requests and replies, callbacks, time limits."""

from __future__ import annotations

import contextlib
import itertools
import logging
import math
import time
from collections.abc import Mapping
from typing import Any, NoReturn, Protocol

import numpy as np

from attention_lib.checks.calls import timeouts
from attention_lib.grading import limits
from attention_lib.grading.inside.wire import (
    Channel,
    Closed,
    Malformed,
    Message,
    error_by_value,
)
from attention_lib.grading.sandbox.errors import NoSandbox, SessionEnded

log = logging.getLogger(__name__)


class Supervisor(Protocol):
    """Interface that interrupts a student's process, counts its CPU time, and ends it."""

    def interrupt(self) -> None:
        """Send SIGINT to the process."""

    def cpu_seconds(self) -> float:
        """Return the CPU time of the process and its children; raise OSError if it has ended."""

    def close(self) -> None:
        """End the process, and all processes that it has started."""


class Session:
    """The conversation with one student's process."""

    def __init__(
        self,
        channel: Channel,
        supervisor: Supervisor,
        files: Mapping[str, bytes],
        deadline: float = math.inf,
    ) -> None:
        """Wait until the process is ready, and send it the student's files.

        It ends at the deadline on the monotonic clock.

        Raises
        ------
        NoSandbox
            If the process could not be started with all restrictions.
        """
        self._channel = channel
        self._supervisor = supervisor
        self._deadline = deadline
        self.ended = ""  # the reason, once the process has ended
        self.waited = False  # whether anything was lost to a limit of wall-clock time
        self.overdue = False  # whether such a limit stopped anything
        self._asked_seconds = 0.0  # the wall-clock time of all requests
        self._idle_before = 0.0  # the part of it that was idle at the last stop
        self._wait_until_ready()
        arrays = {name: np.frombuffer(content, np.uint8) for name, content in files.items()}
        with contextlib.suppress(SessionEnded):  # the first cell will report it
            self.ask({"do": "begin", "files": arrays}, limits.SANDBOX_START_SECONDS)

    def _wait_until_ready(self) -> None:
        """Read the first message, which is sent before any of the student's code runs."""
        try:
            first = self._channel.receive(limits.SANDBOX_START_SECONDS)
        except TimeoutError:
            reason = f"it was not ready after {limits.SANDBOX_START_SECONDS:g} seconds"
        except (Closed, Malformed):
            reason = "it ended before it was ready"
        else:
            if first.get("ready") is True:
                return
            reason = str(first.get("failed"))
        self.close()
        raise NoSandbox(f"The process for a submission could not be started: {reason}.")

    def at_most(self, seconds: float) -> float:
        """Return a time limit for a cell or a check that leaves half of the remaining time to others."""
        left = self._deadline - time.monotonic()
        return min(seconds, left / 2) if left > limits.SHORTEST_SECONDS else 0.0

    def ask(self, request: Message, seconds: float) -> Message:
        """Send a request and return the reply.

        A process that has not replied in time is interrupted. If it does not reply to that either,
        it is ended.

        Raises
        ------
        SessionEnded
            If the process has ended, or its reply cannot be read.
        """
        if self.ended:
            raise SessionEnded(self.ended)
        callbacks: list[Any] = []
        seconds = min(seconds, self._deadline - time.monotonic())
        if seconds <= 0:
            self.note_stop(limits.SUBMISSION_WALL_SECONDS)
            self.end("The notebook took too long altogether.")
        begun = time.monotonic()
        try:
            try:
                self._channel.send(request, seconds, callbacks)
                return self._reply(callbacks, seconds)
            except TimeoutError:
                self._asked_seconds += time.monotonic() - begun
                begun = time.monotonic()
                self.note_stop(seconds)
                self._supervisor.interrupt()
                reply = self._reply(callbacks, limits.INTERRUPT_GRACE_SECONDS)
                return {**reply, "interrupted": True}
        except TimeoutError:
            self.end("This did not end in time, and could not be interrupted.")
        except Malformed:  # the text may be a submission's own
            log.debug("no message", exc_info=True)
            self.end("What came back from Python was no answer.")
        except OSError:  # also Closed
            self.end("Python ended while this ran, by itself or for the time or memory it took.")
        finally:
            self._asked_seconds += time.monotonic() - begun

    def note_stop(self, seconds: float) -> None:
        """Record that a limit of `seconds` stopped something, and whether the process waited.

        It waited if it was idle for more than a tenth of that time, by the supervisor's count.
        The times that the student's process reports decide nothing.
        """
        self.overdue = True
        with contextlib.suppress(OSError):  # the process is gone
            idle = self._asked_seconds - self._supervisor.cpu_seconds()
            self.waited |= idle - self._idle_before > (1 - timeouts.WORKED) * seconds
            self._idle_before = idle

    def _reply(self, callbacks: list[Any], seconds: float) -> Message:
        """Wait for the reply, and serve callbacks in the meantime."""
        deadline = time.monotonic() + seconds
        while True:
            reply = self._channel.receive(max(0.0, deadline - time.monotonic()))
            if "ask" not in reply:
                return reply
            answer = call_back(callbacks, reply)
            self._channel.send(answer, max(0.1, deadline - time.monotonic()))

    def end(self, reason: str) -> NoReturn:
        """End the process and raise SessionEnded."""
        self.ended = reason
        self.close()
        raise SessionEnded(reason)

    def close(self) -> None:
        """End the process, and all processes that it has started."""
        self._supervisor.close()
        self._channel.close()


def call_back(callbacks: list[Any], question: Message) -> Message:
    """Call one of the grader's functions, or advance one of its iterators, for the student's process.

    Its arguments are untrusted: only None and small arrays of numbers are accepted.
    """
    try:
        callback = callbacks[question["ask"]]
        if question["what"] == "next":
            return {"value": list(itertools.islice(callback, 1))}
        arguments = question["args"]
        if not all(map(_is_small, arguments)):
            most = limits.CALLBACK_ARGUMENT_NUMBERS
            raise TypeError(f"it takes an array of at most {most:,} numbers")
        with np.errstate(all="ignore"):
            return {"value": callback(*arguments)}
    except Exception as error:
        return {"error": error_by_value(error)}


def _is_small(argument: Any) -> bool:
    """Tell whether arithmetic on an argument is cheap; on huge integers it is not."""
    if argument is None:
        return True
    if _count_numbers(argument) > limits.CALLBACK_ARGUMENT_NUMBERS:
        return False
    return np.asarray(argument).dtype.kind in "biufc"


def _count_numbers(argument: Any) -> int:
    """Count the numbers in arrays and containers, without making an array of them."""
    if isinstance(argument, (list, tuple)):
        return sum(map(_count_numbers, argument))
    return argument.size if isinstance(argument, np.ndarray) else 1
