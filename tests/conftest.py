"""What all tests share: the count of outside cases at the end of a run."""

from collections import Counter

PEERS = {"test_onnx.py": "ONNX", "test_torch.py": "PyTorch", "test_scipy.py": "SciPy"}


def pytest_terminal_summary(terminalreporter):
    """Say how many of the cases other projects publish were held, and how many cannot apply."""
    counts = Counter(
        (peer, outcome)
        for outcome in ("passed", "failed", "skipped")
        for report in terminalreporter.stats.get(outcome, [])
        for file, peer in PEERS.items()
        if f"tests/peers/{file}" in report.nodeid
    )
    if counts:
        terminalreporter.section("cases of other projects")
    for peer in PEERS.values():
        if any(name == peer for name, _ in counts):
            terminalreporter.line(
                f"{peer}: {counts[peer, 'passed']} passed, {counts[peer, 'failed']} failed, "
                f"{counts[peer, 'skipped']} cannot apply (-rs says why)"
            )
