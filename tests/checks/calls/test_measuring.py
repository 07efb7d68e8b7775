"""What a call costs is measured: memory as NumPy and Python hold it, growth by the clock."""

import tracemalloc

import numpy as np
import pytest

from attention_lib.checks.calls import measuring
from attention_lib.checks.calls.measuring import (
    cpu_seconds,
    grows_faster_than_its_input,
    lines_run,
    overflows,
    peak_bytes,
)
from tests.checks.calls.by_value import ByValue

SIZES = [2**power for power in range(4, 14)]
LONGER = [2**power for power in range(6, 16)]


def test_peak_counts_what_is_held_at_once():
    def one_after_another():
        for _ in range(5):
            np.zeros(100_000)

    assert peak_bytes(one_after_another) == pytest.approx(800_000, rel=0.05)
    assert peak_bytes(lambda: [np.zeros(100_000) for _ in range(5)]) == pytest.approx(
        4_000_000, rel=0.05
    )


def test_an_overflow_is_seen_that_is_ignored():
    def product(left, right):
        with np.errstate(over="ignore", invalid="ignore"):
            return left @ right

    large, errstate = np.full((2, 2), 1e200), np.errstate
    assert overflows(product, large, large)
    assert not overflows(product, large, np.ones((2, 2)))
    assert not overflows(product, large, np.full((2, 2), np.inf))
    assert np.errstate is errstate


@pytest.mark.parametrize(
    "form",
    [
        np.matmul,
        np.dot,
        lambda left, right: np.inner(left, right.T),
        lambda left, right: np.tensordot(left, right, 1),
        lambda left, right: np.einsum("ld,ds->ls", left, right),
        lambda left, right: np.einsum("ld,ds->ls", left, right, optimize=True),
        lambda left, right: (left[:, None, :] * right.T).sum(axis=-1),
    ],
)
def test_every_operation_that_overflows_counts_once(form):
    left, right = np.ones((3, 2)), np.ones((2, 4))
    left[1, 0], right[0, 2] = -1e200, 1e200

    def twice(left, right):
        return form(left, right), form(left, right)

    assert overflows(form, left, right) == 1
    assert overflows(twice, left, right) == 2
    assert overflows(twice, left, np.ones((2, 4))) == 0


def test_peak_leaves_out_what_was_held_before():
    tracemalloc.start()
    try:
        held = np.zeros(1_000_000)
        assert peak_bytes(lambda: np.ones(1000)) < 100_000
        assert tracemalloc.is_tracing()  # whoever traces goes on tracing
    finally:
        tracemalloc.stop()
    assert held.size == 1_000_000


def test_peak_stops_tracing_even_when_the_call_fails():
    with pytest.raises(ZeroDivisionError):
        peak_bytes(lambda: 1 / 0)
    assert not tracemalloc.is_tracing()


class Clocks:
    """Time of a test's own, which passes when it is called."""

    def __init__(self):
        self.now = 0.0
        self.process_tick = self.thread_tick = 0.0

    def __call__(self, seconds):
        self.now += seconds

    def read(self, tick):
        return self.now // tick * tick if tick else self.now


@pytest.fixture
def work(monkeypatch):
    """Return a function that passes CPU time on clocks of the test's own."""
    clocks = Clocks()
    monkeypatch.setattr(measuring.time, "process_time", lambda: clocks.read(clocks.process_tick))
    monkeypatch.setattr(measuring.time, "thread_time", lambda: clocks.read(clocks.thread_tick))
    return clocks


def only_the_size(size):
    return (size,)


@pytest.mark.parametrize("seconds_each", [1e-7, 1e-4, 1e-2])
def test_linear_work_is_never_called_slow(work, seconds_each):
    def linear(size):
        work(seconds_each * size)

    assert grows_faster_than_its_input(linear, only_the_size, SIZES) is None


def test_a_single_slow_moment_is_not_held_against_an_answer(work):
    calls = []

    def linear_but_once(size):
        calls.append(size)
        disturbed = size == SIZES[-1] and calls.count(size) == 1
        work(1e-5 * size * (10 if disturbed else 1))

    assert grows_faster_than_its_input(linear_but_once, only_the_size, SIZES) is None
    assert calls.count(SIZES[-1]) == 2


@pytest.mark.parametrize("seconds_each", [1e-8, 1e-5])
def test_quadratic_work_is_found_as_soon_as_it_can_be_measured(work, seconds_each):
    def quadratic(size):
        work(seconds_each * size**2)

    smaller, size, factor = grows_faster_than_its_input(quadratic, only_the_size, SIZES)
    assert factor == pytest.approx((size / smaller) ** 2)
    assert size == next(n for n in SIZES[4:] if seconds_each * n**2 > measuring.ENOUGH_TO_MEASURE)


def test_quadratic_work_is_found_behind_what_each_step_costs(work):
    def row_by_row(size):
        work(size * (7.5e-6 + 5e-10 * size))

    smaller, size, _ = grows_faster_than_its_input(row_by_row, only_the_size, LONGER)
    assert size == 2**13
    assert smaller == 2**7


@pytest.mark.parametrize("begun", [0.0, 0.001, 0.003])
@pytest.mark.parametrize("seconds_each", [8e-6, 1e-5, 3e-5])
def test_linear_work_is_not_called_slow_by_a_coarse_clock(work, seconds_each, begun):
    work.process_tick = work.thread_tick = 1 / 64  # as on Windows
    work(begun)

    def linear(size):
        work(seconds_each * size)

    assert grows_faster_than_its_input(linear, only_the_size, SIZES) is None


def test_the_clock_of_the_thread_goes_on_where_that_of_the_process_ticks(work):
    work.process_tick = 0.004  # as in the sandbox, which limits the processor's time

    def quadratic(size):
        work(1e-8 * size**2)

    smaller, size, factor = grows_faster_than_its_input(quadratic, only_the_size, SIZES)
    assert factor == pytest.approx((size / smaller) ** 2, rel=0.2)


class Recording(ByValue):
    """A proxy that notes what is measured, and refuses to be called."""

    def __init__(self, function):
        super().__init__(function)
        self.measured = []

    def measure(self, what, args, kwargs):
        self.measured.append(what)
        return super().measure(what, args, kwargs)

    def __call__(self, *args, **kwargs):
        raise AssertionError("It is called where it lives.")


def test_an_answer_in_another_process_is_measured_there():
    def squares(numbers, repeats=1):
        return [np.square(numbers) for _ in range(repeats)]

    answer, numbers = Recording(squares), np.ones(100_000)
    assert peak_bytes(answer, numbers, repeats=3) == pytest.approx(2_400_000, rel=0.05)
    assert lines_run(answer, numbers, repeats=30) == lines_run(squares, numbers, repeats=30)
    assert cpu_seconds(answer, numbers) >= 0
    assert grows_faster_than_its_input(answer, lambda size: (np.ones(size),), SIZES) is None
    assert answer.measured == ["peak_bytes", "lines_run"] + ["cpu_seconds"] * (1 + len(SIZES))


def test_an_iterator_is_read_item_by_item_in_another_process_too():
    def last(blocks):
        for block in blocks:
            latest = block
        return latest

    held = peak_bytes(ByValue(last), (np.ones(100_000) for _ in range(9)))
    assert held == pytest.approx(1_600_000, rel=0.05)  # the last, while the next one is made
