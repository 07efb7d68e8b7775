"""Restore the state of this process that an interrupted check did not restore."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import tracemalloc
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np


@contextlib.contextmanager
def restored() -> Iterator[None]:
    """Restore what calls and measurements change, however the body ends.

    They restore it themselves. But if Ctrl-C comes at the first line of their cleanup, NumPy's
    warnings would stay off, or the time limit's handler would stay in place.
    """
    numpy: Any = np  # else mypy objects to replacing a module's attributes
    replaced = numpy.errstate, numpy.einsum
    hooks, streams = (sys.gettrace(), sys.getprofile()), (sys.stdout, sys.stderr)
    is_tracing = tracemalloc.is_tracing()
    is_main = threading.current_thread() is threading.main_thread()
    if hasattr(signal, "setitimer"):
        handler = signal.getsignal(signal.SIGALRM)
    with warnings.catch_warnings(), np.errstate():
        try:
            yield
        finally:
            if hasattr(signal, "setitimer") and is_main:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, handler)
            sys.settrace(hooks[0])
            sys.setprofile(hooks[1])
            sys.stdout, sys.stderr = streams
            numpy.errstate, numpy.einsum = replaced
            if tracemalloc.is_tracing() and not is_tracing:
                tracemalloc.stop()
