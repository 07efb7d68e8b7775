"""The time limit of a call counts the time of the processor."""

import time

from attention_lib.checks.calls import timeouts


def test_waiting_for_a_busy_processor_is_no_endless_loop():
    with timeouts.time_limit(0.5):
        time.sleep(0.6)
