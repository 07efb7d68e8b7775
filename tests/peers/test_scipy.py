"""SciPy's own tests of softmax, log_softmax and logsumexp, run on this library's functions.

The test classes are imported from SciPy, where they find this library's functions under SciPy's
names. SciPy reduces the whole array by default, or several axes, and this library one: the
stand-ins below make one axis of several and change nothing else. What asks for more than the functions
offer is not collected, nor is SciPy's test of a private helper for complex angles.
"""

import re
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

# What asks for the factors b, the sign of the result, or complex scores, which ours do not offer.
_MORE = re.compile("_b$|_b_|_ab|_sign|_shape|_writeback|_device|_imaginary|21610|22903|23548")
for _name in [*filter(_MORE.search, vars(TestLogSumExp))]:
    delattr(TestLogSumExp, _name)


def _is_real(case):
    values = case if isinstance(case, tuple) else (case,)
    return not any(isinstance(v, complex) or str(v).startswith("complex") for v in values)


for _test in vars(TestLogSumExp).values():
    if hasattr(_test, "pytestmark"):
        _test.pytestmark = [
            pytest.mark.parametrize(mark.args[0], [*filter(_is_real, mark.args[1])]).mark
            if mark.name == "parametrize"
            else mark
            for mark in _test.pytestmark
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
    def with_scipy_signature(a, axis=None, keepdims=False):
        if function is attention_lib.logsumexp:
            return over_axes(function, a, axis, keepdims)
        return along_axes(function, a, axis)

    return with_scipy_signature
