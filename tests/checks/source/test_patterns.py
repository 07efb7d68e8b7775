"""Lines that do not do what they seem to are named, and lines like them that do are not."""

import numpy as np
import pytest
import torch

from attention_lib.checks.source import patterns
from attention_lib.checks.source.cell import source_of

weights_of_the_notebook = np.ones(3)
seen_words = []
FACTOR = 2.0


def _alone(x):
    np.exp(x)
    return x


def _kept(x):
    y = np.exp(x)
    y.sort()
    np.exp(x, out=y)
    return y


def _of_the_notebook(x):
    return weights_of_the_notebook / weights_of_the_notebook.sum()


def _constant_of_the_notebook(x):
    return FACTOR * x


def _ended_early(x):
    total = 0.0
    for row in x:
        total += row
        return total


def _ended_when_found(x):
    for row in x:
        if row > 0:
            return row
        if row < -1:
            continue
    return 0.0


def _default_that_lasts(x, cache=[]):  # noqa: B006
    cache.append(x)
    return cache


def _default_that_is_only_read(x, axes=[0, 1]):  # noqa: B006
    return x.sum(axis=tuple(axes))


def _collected_outside(x):
    seen_words.append(x)
    return len(seen_words)


def _collected_inside(x):
    words = []
    words.append(x)
    return len(words)


def _by_its_name(fn, device):
    if device == "cuda":
        torch.cuda.synchronize()
    return fn()


def _by_its_type(fn, device):
    if device.type == "cuda":
        torch.cuda.synchronize()
    return fn()


def _asked_for_itself():
    return torch.device("cuda" if torch.cuda.is_available else "cpu")


def _asked():
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def _if_if_else(x, mask=None):
    if mask is None:
        y = x
    if mask is not None and mask.dtype == bool:  # noqa: SIM108
        y = np.where(mask, x, 0)
    else:
        y = x + mask
    return y


def _if_elif_else(x, mask=None):
    if mask is None:
        y = x
    elif mask.dtype == bool:
        y = np.where(mask, x, 0)
    else:
        y = x + mask
    return y


def _lost(x, axis=-1):
    axis = 0
    return x.sum(axis=axis)


def _completed(x, axis=None):
    axis = 0 if axis is None else axis
    return x.sum(axis=axis)


def _without_its_argument(x, axis=-1):
    return x.sum(axis=0)


def _computed_in_vain(x):
    scaled = x / 2  # noqa: F841
    return x.sum()


def _computed_and_used(x):
    scaled = x / 2
    return scaled.sum()


def _by_chance(x):
    return np.random.randn(100).std() * x  # noqa: NPY002


PAIRS = [
    (patterns.thrown_away, _alone, "computes `np.exp(x)` and does not keep it", _kept),
    (
        patterns.globals_for_arguments,
        _of_the_notebook,
        "the argument `x` is never used: write that in its place",
        _constant_of_the_notebook,
    ),
    (patterns.returns_in_loops, _ended_early, "ends it in its first round", _ended_when_found),
    (
        patterns.lasting_defaults,
        _default_that_lasts,
        "The default of `cache` is made once",
        _default_that_is_only_read,
    ),
    (patterns.lasting_globals, _collected_outside, "`seen_words` is a variable", _collected_inside),
    (patterns.device_names, _by_its_name, "device.type is the string", _by_its_type),
    (patterns.uncalled_questions, _asked_for_itself, "counts as true", _asked),
    (patterns.separate_conditions, _if_if_else, "write elif in line", _if_elif_else),
    (patterns.overwritten_arguments, _lost, "gives `axis` another value", _completed),
    (patterns.unused_arguments, _without_its_argument, "`axis` is never used", _completed),
    (patterns.unused_values, _computed_in_vain, "`scaled`, computed in line", _computed_and_used),
    (patterns.unseeded, _by_chance, "draws random numbers", _alone),
]


@pytest.mark.parametrize(("pattern", "answer", "said", "alike"), PAIRS)
def test_a_pattern_is_named_and_what_looks_like_it_is_not(pattern, answer, said, alike):
    assert said in pattern(source_of(answer), {"axis"})
    assert pattern(source_of(alike), {"axis"}) == ""


def test_an_argument_that_right_calls_alone_lack_is_not_named():
    assert patterns.unused_arguments(source_of(_without_its_argument), set()) == ""


def test_every_pattern_is_tested():
    assert {pattern for pattern, *_ in PAIRS} == set(patterns.PATTERNS)
