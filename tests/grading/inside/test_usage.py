"""What all processes of a submission use together."""

import pytest

from attention_lib.grading import limits
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
    counted = Usage(0)

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


@pytest.fixture
def memory_of(monkeypatch):
    """Return a function that counts the memory of processes, of which each begins with 100."""
    monkeypatch.setattr(limits, "SUBMISSION_MEMORY_BYTES", 1000)
    monkeypatch.setattr(usage, "_last_pid", lambda: 1)
    monkeypatch.setattr(usage.Process, "read", lambda pid: usage.Process(1, 0, 0, 100))

    def measure(resident, proportional=None):
        processes = {pid: usage.Process(1, 0, 0, size) for pid, size in enumerate(resident, 2)}
        first = {1: usage.Process(0, 0, 0, 100)}
        monkeypatch.setattr(usage, "_descendants", lambda _: first | processes)
        shares = lambda pid, _: proportional[pid - 2]  # noqa: E731
        monkeypatch.setattr(usage, "_proportional_memory", shares)
        counted = Usage(0)
        counted.measure(1)
        return counted.memory_bytes

    return measure


def test_what_a_process_began_with_is_not_counted(memory_of):
    assert memory_of([100]) == 0
    assert memory_of([150]) == 50


def test_memory_of_many_processes_counts_though_each_holds_what_it_began_with(memory_of):
    assert memory_of([100] * 20, [100] * 20) == 1900


def test_memory_that_many_processes_share_counts_once(memory_of):
    assert memory_of([100] * 20, [5] * 20) == 0
    assert memory_of([700, 700], [400, 400]) == 700


def test_process_whose_shared_memory_cannot_be_read_counts_in_full():
    process = usage.Process(1, 0, 0, 100)
    assert usage._proportional_memory(2**30, process) == 100
