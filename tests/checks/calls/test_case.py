"""An argument of a case that can be read once."""

import copy

import numpy as np

from attention_lib.checks.calls.case import Stream


def test_a_stream_ends_for_good_and_its_copies_start_anew():
    stream = Stream([np.ones(2), np.zeros(3)])
    first = copy.deepcopy(stream)
    assert [len(item) for item in first] == [2, 3]
    assert list(first) == []
    assert [len(item) for item in copy.deepcopy(first)] == [2, 3]
    assert not stream.read_again
    assert first.read_again
