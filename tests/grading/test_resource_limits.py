"""Limits on the CPU time and the memory of a block of code."""

import contextlib
import gc
import re
import signal
import threading
import time

import pytest

from attention_lib.grading import resource_limits
from attention_lib.grading.resource_limits import TooSlow, cpu_limit, memory_limit

# A limit may strike in a finalizer, where Python warns and the limit strikes again.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

needs_timers = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")


def work(seconds):
    begin = time.process_time()
    while time.process_time() - begin < seconds:
        pass


@needs_timers
def test_block_that_takes_too_much_cpu_time_is_stopped():
    with pytest.raises(TooSlow, match=r"more than 0\.05 s"), cpu_limit(0.05):
        work(5)


@needs_timers
def test_regular_expression_that_backtracks_is_stopped():
    with pytest.raises(TooSlow), cpu_limit(0.05):
        re.match(r"(a+)+b", "a" * 40)  # hours


@needs_timers
def test_block_is_stopped_where_a_finalizer_swallows_the_first_stop():
    class Slow:
        def __del__(self):
            work(0.06)

    def swallow_once():
        Slow()
        work(5)

    begin = time.process_time()
    with pytest.raises(TooSlow), cpu_limit(0.05):
        swallow_once()
    assert time.process_time() - begin < 1


@needs_timers
def test_block_is_stopped_after_a_callback_of_the_garbage_collector():
    def slow(phase, _):
        work(0.06 if phase == "start" else 0)

    def collect_and_work():
        gc.collect(0)
        work(5)

    gc.collect()  # or finalizers of what is left of other tests could run below
    begin = time.process_time()
    gc.callbacks.append(slow)
    try:
        with pytest.raises(TooSlow), cpu_limit(0.05):
            collect_and_work()
    finally:
        gc.callbacks.remove(slow)
    assert time.process_time() - begin < 1


@needs_timers
def test_block_in_time_leaves_no_timer():
    before = signal.getsignal(signal.SIGPROF)
    with cpu_limit(5):
        pass
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGPROF) == before


@needs_timers
def test_outer_limit_goes_on_after_an_inner_one():
    def stopped_once():
        with pytest.raises(TooSlow, match=r"0\.05 s"), cpu_limit(0.05):
            work(5)
        work(5)

    with pytest.raises(TooSlow, match=r"0\.2 s"), cpu_limit(0.2):
        stopped_once()


@needs_timers
def test_outer_limit_is_raised_again_after_an_inner_one():
    def swallow_once():
        with cpu_limit(5):
            pass
        with contextlib.suppress(TooSlow):
            work(5)
        work(5)

    begin = time.process_time()
    with pytest.raises(TooSlow), cpu_limit(0.1):
        swallow_once()
    assert time.process_time() - begin < 1


@needs_timers
def test_inner_limit_does_not_lengthen_an_outer_one():
    begin = time.process_time()
    with pytest.raises(TooSlow), cpu_limit(0.05), cpu_limit(5):
        work(5)
    assert time.process_time() - begin < 2


def test_other_threads_run_without_a_limit():
    def run():
        with cpu_limit(0.01):
            work(0.05)
        done.append(True)

    done = []
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert done


@pytest.mark.skipif(not resource_limits.HAS_RLIMIT, reason="memory is not counted here")
def test_memory_beyond_the_limit_is_refused_and_given_afterwards():
    with pytest.raises(MemoryError), memory_limit(10_000_000):
        bytearray(8_000_000_000)  # more than a heap may have kept
    assert len(bytearray(100_000_000)) == 100_000_000
