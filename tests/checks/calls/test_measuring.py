"""What a call costs is measured: memory as NumPy and Python hold it, growth by the work."""

import gc
import tracemalloc

import numpy as np
import pytest

from attention_lib.checks.calls.measuring import (
    growth_of_work,
    lines_run,
    overflows,
    peak_bytes,
    with_result,
    work_done,
)
from tests.checks.calls.by_value import ByValue


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


def only_ones(size):
    return (np.ones(size),)


def entry_by_entry(x):
    total = 0.0
    for one in x:
        total += one
    return total


def sum_again_for_each(x):
    return np.array([one - x.sum() for one in x])


def product_again_for_each(x):
    result = np.empty_like(x)
    for place in range(len(x)):
        result[place] = np.asarray(x) @ x
    return result


def loops_in_python(x):
    return [sum(one * other for other in x.tolist()) for one in x.tolist()]


@pytest.mark.parametrize(
    ("function", "power"),
    [
        (lambda x: x * 2 - x.sum(), 1),
        (lambda x: np.einsum("i,i->", x, x) * x, 1),
        (lambda x: np.vectorize(lambda p, g: p * (g - p @ g), signature="(n),(n)->(n)")(x, x), 1),
        (entry_by_entry, 1),
        (sum_again_for_each, 2),
        (product_again_for_each, 2),
        (loops_in_python, 2),
        (lambda x: x[:, None] * x, 2),
        (lambda x: x[:, None] @ x[None], 2),
    ],
)
def test_work_is_counted_and_not_timed(function, power):
    growth = [growth_of_work(function, only_ones, (250, 1000)) for _ in range(2)]
    assert growth[0] == growth[1]
    assert 2 * 4 ** (power - 1) < growth[0] <= 4**power * 1.1


def test_a_garbage_collection_adds_no_lines():
    def collected(phase, info):
        """Run a line, as a callback of another library does."""
        info.clear()

    quiet = lines_run(make_lists)
    threshold = gc.get_threshold()
    gc.callbacks.append(collected)
    gc.set_threshold(1)
    try:
        assert lines_run(make_lists) == quiet
        assert gc.isenabled()
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(collected)


def make_lists():
    return [[] for _ in range(100)]


def test_a_count_leaves_numpy_and_the_result_as_they_are():
    array = np.array
    result = with_result(lambda x: np.array(x) * 2, "work_done", np.ones(3))[1]
    assert type(result) is np.ndarray
    assert np.array is array
    with pytest.raises(ZeroDivisionError):
        work_done(lambda x: 1 / 0, np.ones(3))
    assert np.array is array


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
    assert growth_of_work(answer, only_ones, (100, 200)) < 3
    assert answer.measured == ["peak_bytes", "lines_run"] + ["work_done"] * 3


def test_an_iterator_is_read_item_by_item_in_another_process_too():
    def last(blocks):
        for block in blocks:
            latest = block
        return latest

    held = peak_bytes(ByValue(last), (np.ones(100_000) for _ in range(9)))
    assert held == pytest.approx(1_600_000, rel=0.05)  # the last, while the next one is made
