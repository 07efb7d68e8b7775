"""An interrupt at any line of what restores the state of a process leaves nothing changed."""

import contextlib
import gc
import signal
import sys
import tracemalloc
import warnings

import numpy as np
import pytest

from attention_lib.checks.calls import calling, measuring, timeouts
from attention_lib.checks.restoring import restored


def state():
    return (
        *(np.geterr(), np.errstate, np.einsum, list(warnings.filters), warnings.showwarning),
        *(signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)),
        *(sys.getprofile(), sys.stdout, sys.stderr, tracemalloc.is_tracing()),
    )


def interrupted(number, body):
    """Run a function, and interrupt it where it begins its call or line of that number."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        count += 1
        if count == number:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    with restored():
        sys.settrace(trace)
        try:
            body()
        finally:
            sys.settrace(None)
    return count


def observes():
    calling.observe(np.exp, calling.Case(np.ones(2)), ("scipy",), 5.0)


def measures():
    measuring.overflows(np.exp, np.ones(2))
    measuring.peak_bytes(np.exp, np.ones(2))
    with timeouts.time_limit(5.0):
        pass


@pytest.fixture
def no_collection():
    """Collect no garbage: an interrupt in Hypothesis's callback of a collection would be lost."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.skipif(sys.gettrace() is not None, reason="a debugger traces this process already")
@pytest.mark.parametrize("body", [observes, measures])
def test_an_interrupt_at_any_line_leaves_nothing_changed(body, no_collection):
    before = state()
    lines = interrupted(0, body)
    assert lines > 50
    for number in range(1, lines + 1):
        with contextlib.suppress(KeyboardInterrupt):
            interrupted(number, body)
        now = state()
        restore_by_force(before)
        assert now == before, number


def restore_by_force(before):
    """Undo what an interrupt has left, so that one failure causes no other."""
    np.seterr(**before[0])
    np.errstate, np.einsum = before[1:3]
    warnings.filters[:] = before[3]
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before[5])
    sys.setprofile(None)
    sys.stdout, sys.stderr = before[8:10]
