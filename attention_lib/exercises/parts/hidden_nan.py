"""Remark on a right answer that turns NaN into a number, and so hides a model that has diverged."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from attention_lib.checks.calls.case import Answer


def remark_on_hidden_nan(name: str, *args: NDArray) -> Callable[[Answer], str | None]:
    """Return a function that calls an answer on one row with a NaN, and remarks if none comes back."""

    def remark(answer: Answer) -> str | None:
        result = answer(*(array.copy() for array in args))
        if np.isnan(np.asarray(result, float)).any():
            return None
        return (
            f"A row with a NaN comes back from {name} without one, so a model that has diverged "
            "looks healthy. Let NaN through: np.nan_to_num and np.nansum hide it, and so may a "
            "comparison, which is False for NaN."
        )

    return remark
