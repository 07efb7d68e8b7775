"""What all processes of a submission use together."""

import pytest

from attention_lib.grading.inside import usage
from attention_lib.grading.inside.usage import Usage


@pytest.fixture
def measured(monkeypatch):
    """Return a function that measures at a time, when the kernel has given out so many numbers."""
    now = {"time": 0.0, "pid": 100}
    monkeypatch.setattr(usage, "PROCESSORS", 2)
    monkeypatch.setattr(usage, "_last_pid", lambda: now["pid"])
    monkeypatch.setattr(usage.time, "monotonic", lambda: now["time"])
    monkeypatch.setattr(usage.Process, "read", lambda pid: usage.Process(1, 0, 0, 0))
    monkeypatch.setattr(usage, "_descendants", lambda first: {})
    counted = Usage(0, 0)

    def measure(time, pid):
        now.update(time=time, pid=pid)
        counted.measure(1)
        return counted.cpu_seconds

    return measure


def test_processes_that_came_and_went_are_counted(measured):
    assert measured(0.1, 101) == pytest.approx(0.05)
    assert measured(0.2, 103) == pytest.approx(0.15)


def test_many_short_threads_count_no_more_than_the_processors_can_do(measured):
    assert measured(0.1, 1_100) == pytest.approx(0.2)
    assert measured(0.2, 2_100) == pytest.approx(0.4)
