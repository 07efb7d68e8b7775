"""A call that ran out of time is called slow where its loops have an end, and endless where none has."""

import itertools

import numpy as np
import pytest

from attention_lib.checks.calls.calling import observe
from attention_lib.checks.calls.case import Case


def _entry_by_entry(n):
    total = 0.0
    for i in range(n):
        for j in range(n):
            total += np.exp(-i * j)
    return total


def _in_one_loop(n):
    total = 0.0
    for i in range(n):
        total += np.exp(-i)
    return total


def _until_it_is_small(n):
    step = 1.0
    while step > 0:
        for _ in range(10):
            step += 1e-9
    return step


def _without_an_end(n):
    total = 0.0
    for i in itertools.count():
        total += i
    return total


def _in_no_loop(n):
    return sum(1 for _ in itertools.repeat(n))


def explanation(answer):
    seen = observe(answer, Case(10**7), limit=0.1)
    assert seen.out_of_time
    return seen.explanation


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            _entry_by_entry,
            "slow rather than endless: it was in loops within loops, of lines 14 and 15",
        ),
        (_in_one_loop, "slow rather than endless: it was in the loop of line 22."),
        (_until_it_is_small, "the loop of line 29, while step > 0, where step was 1.0"),
        (_until_it_is_small, "does that ever become false?"),
    ],
)
def test_the_loops_of_a_call_that_ran_out_of_time_are_named(answer, said):
    assert said in explanation(answer)


@pytest.mark.parametrize("answer", [_without_an_end, _in_no_loop])
def test_nothing_is_called_slow_that_may_be_endless(answer):
    assert explanation(answer) == ""
