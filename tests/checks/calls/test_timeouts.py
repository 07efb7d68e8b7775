"""The time limit of a call counts the time of the processor."""

import signal
import time
import weakref

import pytest

from attention_lib.checks.calls import timeouts


def test_waiting_for_a_busy_processor_is_no_endless_loop():
    with timeouts.time_limit(0.5):
        time.sleep(0.6)


def test_a_limit_reached_while_the_processor_works_for_others_is_tried_again_soon(monkeypatch):
    process_time, set_timer, delays = time.process_time, signal.setitimer, []
    working = iter([process_time()] * 2)  # at first the processor works for others

    def note(which, delay, *repeated):
        delays.append(delay)
        return set_timer(which, delay, *repeated)

    monkeypatch.setattr(time, "process_time", lambda: next(working, None) or process_time())
    monkeypatch.setattr(signal, "setitimer", note)
    with pytest.raises(timeouts.OutOfTime), timeouts.time_limit(0.1):
        _loop_forever()
    assert len(delays) > 2  # at the start, again, and at the end
    assert max(delays) <= 0.1


def _loop_forever():
    while True:
        pass


class _Referent:
    pass


def _busy(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


@pytest.mark.parametrize("after", [0.0, 0.1])
def test_an_error_of_the_limit_is_not_lost_in_the_callback_of_a_weak_reference(after):
    def call():
        one = _Referent()
        _watch = weakref.ref(one, lambda _: _busy(0.2))
        del one  # the limit is reached in the callback, where Python ignores errors
        _busy(after)

    with pytest.raises(timeouts.OutOfTime), timeouts.time_limit(0.05):
        call()


def test_other_errors_that_python_ignores_are_reported_as_ever(monkeypatch):
    seen = []
    monkeypatch.setattr("sys.unraisablehook", seen.append)
    with timeouts.time_limit(5):
        one = _Referent()
        _watch = weakref.ref(one, lambda _: 1 / 0)
        del one
    assert [type(each.exc_value) for each in seen] == [ZeroDivisionError]
