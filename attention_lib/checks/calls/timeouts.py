"""Limit the time of a call."""

from __future__ import annotations

import contextlib
import math
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

CALL_SECONDS = 5.0  # for one call; right answers need milliseconds
WORKED = 0.9  # a call that has used this share of the limit as CPU time is stopped
SOON = 0.001  # seconds until it is raised again
REPEATED_AFTER = 0.5  # seconds until the signal repeats


class OutOfTime(BaseException):
    """Raised inside an answer at the time limit; no `except Exception` catches it.

    `waited` means that it used less CPU time: it slept, or the machine was busy.
    """

    def __init__(self, waited: bool = False) -> None:
        super().__init__()
        self.waited = waited


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `OutOfTime` in the body after `seconds` of CPU time; infinity sets no limit.

    It is also raised after four times `seconds` of real time. If a weak reference's callback or a
    destructor lost it, because Python ignores errors there, it is raised once more. A timer signal
    interrupts the body. On Windows, which has no such signal, a second thread interrupts it after
    `seconds` of real time. Outside the main thread, and in a browser, there is no limit.
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

        lost, report = list[OutOfTime](), sys.unraisablehook

        def raise_again(ignored: Any) -> None:
            if not isinstance(ignored.exc_value, OutOfTime):
                report(ignored)
                return
            lost.append(ignored.exc_value)
            signal.setitimer(signal.ITIMER_REAL, SOON, REPEATED_AFTER)

        previous = signal.signal(signal.SIGALRM, expire_if_it_worked)
        sys.unraisablehook = raise_again
        # The signal repeats in case an answer catches everything and continues.
        signal.setitimer(signal.ITIMER_REAL, seconds, REPEATED_AFTER)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)
            sys.unraisablehook = report
        if lost:  # the body ended before it was raised again
            raise OutOfTime(lost[0].waited)
    else:
        import _thread

        previous = signal.signal(signal.SIGINT, expire)
        timer = threading.Timer(seconds, _thread.interrupt_main)
        try:
            with contextlib.suppress(RuntimeError):  # no threads, as in a browser
                timer.start()
            yield
        finally:
            timer.cancel()
            signal.signal(signal.SIGINT, previous)
