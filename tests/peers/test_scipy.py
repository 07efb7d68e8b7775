"""SciPy's own tests of softmax, log_softmax and logsumexp, run on this library's functions.

The test classes are imported from SciPy, where they find this library's functions under SciPy's
names. SciPy reduces the whole array by default, or several axes, and this library one: the
stand-ins below make one axis of several and change nothing else. A test skips where it asks for
what the functions do not offer. Left out is SciPy's test of a private helper for complex angles.
"""

import warnings

import numpy as np
import pytest

import attention_lib
from tests.peers.adapters import along_axes, over_axes

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from scipy.special.tests import test_logsumexp as scipy_tests
    from scipy.special.tests.test_logsumexp import (  # noqa: F401 - collected by pytest
        TestLogSoftmax,
        TestLogSumExp,
        TestSoftmax,
    )

# SciPy hands pytest the cases of this test as an iterator, which pytest is about to refuse.
_infinities = TestLogSumExp.test_gh22601_infinite_elements
_infinities.pytestmark = [
    pytest.mark.parametrize(names, list(cases)).mark
    for names, cases in (mark.args for mark in _infinities.pytestmark)
]


@pytest.fixture
def xp():
    """Stand for the array library under test."""
    return np


@pytest.fixture
def devices():
    """Name the devices that NumPy has."""
    return ["cpu"]


@pytest.fixture(autouse=True)
def _our_functions(monkeypatch):
    for name in ("softmax", "log_softmax", "logsumexp"):
        monkeypatch.setattr(scipy_tests, name, _stand_in(getattr(attention_lib, name)))


def _stand_in(function):
    def with_scipy_signature(a, axis=None, b=None, keepdims=False, return_sign=False):
        if return_sign:
            pytest.skip("logsumexp returns no sign")
        if b is not None:
            pytest.skip("logsumexp has no factors b")
        if np.iscomplexobj(a):
            pytest.skip("scores are real; complex ones are refused")
        if function is attention_lib.logsumexp:
            return over_axes(function, a, axis, keepdims)
        return along_axes(function, a, axis)

    return with_scipy_signature
