"""The time limit of a call."""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections.abc import Iterator

CALL_SECONDS = 5.0  # what one call may take; right answers need milliseconds
WORKED = 0.9  # of a limit: if the processor worked for so much of it, nothing was waited for
REPEATED_AFTER = 0.5  # seconds, long enough for the first `OutOfTime` to be dealt with


class OutOfTime(BaseException):
    """Raised inside an answer that ran into the time limit (no `except Exception` stops it).

    `waited` tells that the processor worked less for it than the limit: the answer slept, or the
    machine was busy.
    """

    def __init__(self, waited: bool = False) -> None:
        super().__init__()
        self.waited = waited


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `OutOfTime` in the body once it has run for `seconds`; infinity sets no limit.

    On a busy machine it may take longer: what counts is the time that the processor worked for
    it, as long as four times that has not gone by.

    A timer signal where the system has one; elsewhere (Windows) a thread that interrupts the
    main one. Off the main thread neither can interrupt, and nothing is limited; nor is it where
    there are no threads (Python in a browser).
    """
    if math.isinf(seconds) or threading.current_thread() is not threading.main_thread():
        yield
        return

    def expire(*_: object) -> None:
        raise OutOfTime

    if hasattr(signal, "setitimer"):
        worked, begun = time.process_time(), time.monotonic()

        def expire_if_it_worked(*_: object) -> None:
            if time.process_time() - worked >= WORKED * seconds:
                raise OutOfTime
            if time.monotonic() - begun >= 4 * seconds:
                raise OutOfTime(waited=True)
            left = seconds - (time.process_time() - worked)
            signal.setitimer(signal.ITIMER_REAL, max(left, 0.01), REPEATED_AFTER)

        previous = signal.signal(signal.SIGALRM, expire_if_it_worked)
        # Repeated, in case an answer catches everything and goes on.
        signal.setitimer(signal.ITIMER_REAL, seconds, REPEATED_AFTER)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)
    else:
        import _thread

        previous = signal.signal(signal.SIGINT, expire)
        timer = threading.Timer(seconds, _thread.interrupt_main)
        try:
            with contextlib.suppress(RuntimeError):  # no threads here
                timer.start()
            yield
        finally:
            timer.cancel()
            signal.signal(signal.SIGINT, previous)
