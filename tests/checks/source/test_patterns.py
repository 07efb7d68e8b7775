"""Lines that do not do what they seem to are named, and lines like them that do are not."""

import numpy as np
import pytest

from attention_lib.checks.source import patterns
from attention_lib.checks.source.cell import source_of

weights_of_the_notebook = np.ones(3)
seen_words = []
FACTOR = 2.0


def _of_the_notebook(x):
    return weights_of_the_notebook / weights_of_the_notebook.sum()


def _constant_of_the_notebook(x):
    return FACTOR * x


def _collected_outside(x):
    seen_words.append(x)
    return len(seen_words)


def _collected_inside(x):
    words = []
    words.append(x)
    return len(words)


def _completed(x, axis=None):
    axis = 0 if axis is None else axis
    return x.sum(axis=axis)


def _without_its_argument(x, axis=-1):
    return x.sum(axis=0)


def _by_chance(x):
    return np.random.randn(100).std() * x  # noqa: NPY002


PAIRS = [
    (
        patterns.globals_for_arguments,
        _of_the_notebook,
        "the argument `x` is never used: write that in its place",
        _constant_of_the_notebook,
    ),
    (patterns.lasting_globals, _collected_outside, "`seen_words` is a variable", _collected_inside),
    (patterns.unused_arguments, _without_its_argument, "`axis` is never used", _completed),
    (patterns.unseeded, _by_chance, "draws random numbers", _collected_inside),
]


@pytest.mark.parametrize(("pattern", "answer", "said", "alike"), PAIRS)
def test_a_pattern_is_named_and_what_looks_like_it_is_not(pattern, answer, said, alike):
    assert said in pattern(source_of(answer), {"axis"})
    assert pattern(source_of(alike), {"axis"}) == ""


def test_an_argument_that_right_calls_alone_lack_is_not_named():
    assert patterns.unused_arguments(source_of(_without_its_argument), set()) == ""


def test_every_pattern_is_tested():
    assert {pattern for pattern, *_ in PAIRS} == set(patterns.PATTERNS)
