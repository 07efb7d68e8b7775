"""What the exercises on boolean masks share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer
from attention_lib.checks.exercise import Table


def distances(length: int) -> NDArray:
    """Return how far back each key, a column, lies from each query, a row."""
    positions = np.arange(length)
    return positions[:, None] - positions


def as_float_masks(reference: Answer) -> Table:
    """List the mistake of a float mask where booleans are asked for."""
    return (
        "float-mask: This is a float mask, to be added to scores. Here booleans are asked for: True "
        "where allowed.",
        lambda *args: np.where(reference(*args), 0.0, -np.inf),
        lambda *args: np.where(reference(*args), 0.0, -1e9),
    )
