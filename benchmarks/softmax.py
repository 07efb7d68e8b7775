"""Accuracy and time of softmax, log_softmax and logsumexp beside SciPy and PyTorch."""

from __future__ import annotations

from statistics import median

import numpy as np
import scipy.special
import torch
from numpy.typing import NDArray

from attention_lib import log_softmax, logsumexp, softmax
from benchmarks.measuring import median_ratio, print_table, timed_in_turn

SHAPE = (1024, 1024)
SPREADS = (1.0, 10.0)  # standard deviations of the scores
REPEATS = 25

FUNCTIONS = {
    "softmax": {
        "ours": lambda x: softmax(x),
        "SciPy": lambda x: scipy.special.softmax(x, axis=-1),
        "PyTorch": lambda x: torch.softmax(torch.from_numpy(x), -1).numpy(),
    },
    "log_softmax": {
        "ours": lambda x: log_softmax(x),
        "SciPy": lambda x: scipy.special.log_softmax(x, axis=-1),
        "PyTorch": lambda x: torch.log_softmax(torch.from_numpy(x), -1).numpy(),
    },
    "logsumexp": {
        "ours": lambda x: logsumexp(x),
        "SciPy": lambda x: scipy.special.logsumexp(x, axis=-1),
        "PyTorch": lambda x: torch.logsumexp(torch.from_numpy(x), -1).numpy(),
    },
}


def main() -> None:
    torch.set_num_threads(1)
    scores = {spread: drawn(spread) for spread in SPREADS}
    rows = []
    for name, peers in FUNCTIONS.items():
        errors = {
            peer: [ulps(function(x), exact(name, x)) for x in scores.values()]
            for peer, function in peers.items()
        }
        times = [timed(peers, x) for x in scores.values()]
        for peer in peers:
            cells = [f"{name}, {peer}", *(f"{error:.1f}" for error in errors[peer])]
            for seconds in times:
                cells.append(f"{1e3 * median(seconds[peer]):.2f}")
                cells.append(f"{median_ratio(seconds[peer], seconds['SciPy']):.2f}")
            rows.append(cells)
    header = ["", *(f"ulp, spread {spread:g}" for spread in SPREADS)]
    for spread in SPREADS:
        header += [f"ms, spread {spread:g}", "of SciPy's"]
    print_table(
        f"Softmax of {SHAPE[0]} rows of {SHAPE[1]} scores, float32, one thread: largest error in "
        "units in the last\nplace of the exact value, and time. Target: at most 1 unit, "
        "at most 2.5 of SciPy's time.",
        header,
        rows,
    )


def drawn(spread: float) -> NDArray[np.float32]:
    return (np.random.default_rng(0).normal(size=SHAPE) * spread).astype(np.float32)


def timed(peers: dict, x: NDArray[np.float32]) -> dict[str, list[float]]:
    calls = {peer: lambda f=function: f(x) for peer, function in peers.items()}
    return timed_in_turn(calls, dict.fromkeys(calls, REPEATS))


def exact(name: str, x: NDArray[np.float32]) -> NDArray[np.longdouble]:
    """Return the true values, to far below a float32's last place."""
    wide = x.astype(np.longdouble)
    shifted = wide - wide.max(axis=-1, keepdims=True)
    exponentials = np.exp(shifted)
    if name == "softmax":
        return exponentials / exponentials.sum(axis=-1, keepdims=True)
    # Each row's maximum adds a 1: log1p of the others is exact also when they are tiny.
    others = np.sort(exponentials, axis=-1)[:, :-1].sum(axis=-1, keepdims=True)
    if name == "log_softmax":
        return shifted - np.log1p(others)
    return (wide.max(axis=-1, keepdims=True) + np.log1p(others))[:, 0]


def ulps(got: NDArray[np.float32], exact_values: NDArray[np.longdouble]) -> float:
    """Return the largest distance from the exact values, in units in their last place."""
    unit = np.spacing(np.abs(exact_values).astype(np.float32)).astype(np.longdouble)
    return float(np.max(np.abs(got - exact_values) / unit))


if __name__ == "__main__":
    main()
