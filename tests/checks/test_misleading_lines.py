"""Lines that do not do what they seem to are named, and lines like them that do are not."""

import numpy as np
import pytest

from attention_lib.checks.edits.cell import source_of
from attention_lib.checks.findings import source

seen_words = []


def _collected_outside(x):
    seen_words.append(x)
    return len(seen_words)


def _collected_inside(x):
    words = []
    words.append(x)
    return len(words)


class _Cache:
    def added(self, x):
        self.words = [*getattr(self, "words", []), x]
        return len(self.words)


kept = _Cache()


def _kept_outside(x):
    return kept.added(x)


def _kept_inside(x):
    kept = _Cache()
    return kept.added(x)


def _by_chance(x):
    return np.random.randn(100).std() * x  # noqa: NPY002


PAIRS = [
    (source.lasting_globals, _collected_outside, "`seen_words` is a variable", _collected_inside),
    (source.lasting_globals, _kept_outside, "`kept` is a variable", _kept_inside),
    (source.unseeded, _by_chance, "draws random numbers", _collected_inside),
]


@pytest.mark.parametrize(("pattern", "answer", "said", "alike"), PAIRS)
def test_a_pattern_is_named_and_what_looks_like_it_is_not(pattern, answer, said, alike):
    text, line = pattern(source_of(answer))
    assert said in text
    assert f"ine {line} " in text
    assert pattern(source_of(alike)) is None
