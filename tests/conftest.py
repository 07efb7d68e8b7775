"""What all tests share: drawn cases, exact values, and what a run says at its end."""

import logging
import re
from collections import Counter

import hypothesis
import mpmath
import numpy as np
import pytest

from attention_lib import commands, record

PEERS = {
    "test_onnx.py": "ONNX",
    "test_onnx_heads.py": "ONNX",
    "test_torch.py": "PyTorch",
    "test_scipy.py": "SciPy",
}
MISSING_PROGRAM = re.compile("not installed|bubblewrap|could not import|no build for")

# The same cases in every run, and no clock: a slow machine is no failure.
hypothesis.settings.register_profile("course", deadline=None, derandomize=True, max_examples=100)
hypothesis.settings.register_profile(
    "quick", parent=hypothesis.settings.get_profile("course"), max_examples=25
)
hypothesis.settings.load_profile("course")


def pytest_make_parametrize_id(val, argname):
    """Name a long text by its argument: a notebook has random cell ids, which differ between workers."""
    return argname if isinstance(val, (str, bytes)) and len(val) > 200 else None


@pytest.fixture(autouse=True, scope="session")
def _exact_digits():
    """Let mpmath carry digits enough for values far below the smallest float64."""
    with mpmath.workdps(60):
        yield


@pytest.fixture(autouse=True)
def _fresh_kernel(monkeypatch):
    """Begin with a kernel that has checked nothing and given no hint, whatever ran before."""
    monkeypatch.setattr(record, "_unwritten", [])
    monkeypatch.setattr(commands, "_checked", [])
    monkeypatch.setattr(commands, "_hints_given", {})


@pytest.fixture(autouse=True)
def _no_explanation_fails():
    """Fail on an error of ours that leaves an answer without an explanation."""
    failed, log = [], logging.getLogger("attention_lib.checks.resolve")
    handler, level = logging.Handler(), log.level
    handler.emit = failed.append
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    yield
    log.removeHandler(handler)
    log.setLevel(level)
    assert [record.exc_info for record in failed] == []


@pytest.fixture
def ulps():
    """Measure the largest distance of results from exact values, in units in the last place."""

    def largest_distance(got, exact):
        got = np.asarray(got)
        return max(
            float(abs(mpmath.mpf(float(g)) - e)) / _ulp(e, got.dtype)
            for g, e in zip(got.ravel(), exact, strict=True)
        )

    return largest_distance


def _ulp(exact, dtype):
    """Return the gap between neighboring numbers of `dtype` at `exact`."""
    limits = np.finfo(dtype)
    if exact == 0:
        return float(limits.smallest_subnormal)
    exponent = max(int(mpmath.floor(mpmath.log(abs(exact), 2))), limits.minexp)
    return float(mpmath.ldexp(1, exponent - limits.nmant))


def pytest_terminal_summary(terminalreporter):
    """Count the cases of other projects that were held, and the tests that a program is missing for."""
    counts = Counter()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            for file, peer in PEERS.items():
                if f"tests/peers/{file}" in report.nodeid:
                    counts[peer, outcome] += dict(report.user_properties).get("cases", 1)
    if counts:
        terminalreporter.section("cases of other projects")
    for peer in dict.fromkeys(PEERS.values()):
        if any(name == peer for name, _ in counts):
            terminalreporter.line(
                f"{peer}: {counts[peer, 'passed']} passed, {counts[peer, 'failed']} failed"
            )
    missing = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    )
    missing = {why: count for why, count in missing.items() if MISSING_PROGRAM.search(why)}
    if missing:
        terminalreporter.section("what did not run for want of a program")
    for why, count in missing.items():
        terminalreporter.line(f"{count} test{'s' * (count > 1)} did not run: {why}")
