"""The time limit of a call."""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections.abc import Iterator

CALL_SECONDS = 5.0  # what one call may take; right answers need milliseconds
WORKED = 0.9  # share of the limit: a call that used this much CPU time was not waiting
REPEATED_AFTER = 0.5  # seconds, long enough to deal with the first `OutOfTime`


class OutOfTime(BaseException):
    """Raised inside an answer that ran into the time limit (no `except Exception` stops it).

    `waited` says that it used less CPU time than the limit: it slept, or the machine was busy.
    """

    def __init__(self, waited: bool = False) -> None:
        super().__init__()
        self.waited = waited


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `OutOfTime` in the body once it has run for `seconds`; infinity sets no limit.

    CPU time counts, so on a busy machine it may take up to four times as long.

    A timer signal interrupts it where the system has one, elsewhere (Windows) a second thread.
    Off the main thread, and without threads (Python in a browser), there is no limit.
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
