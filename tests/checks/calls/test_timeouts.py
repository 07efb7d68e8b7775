"""The time limit of a call counts the time of the processor."""

import time

from attention_lib.checks.calls import timeouts


def test_waiting_for_a_busy_processor_is_no_endless_loop():
    with timeouts.time_limit(0.5):
        time.sleep(0.6)


def test_a_short_limit_ends_a_loop_on_a_busy_processor_soon(monkeypatch):
    working = iter([0.0, 0.0])  # at first the processor works for others
    process_time = time.process_time
    monkeypatch.setattr(time, "process_time", lambda: next(working, None) or process_time())
    begin = time.monotonic()
    try:
        with timeouts.time_limit(0.1):
            while time.monotonic() < begin + 5:
                pass
    except timeouts.OutOfTime:
        pass
    assert time.monotonic() < begin + 0.45
