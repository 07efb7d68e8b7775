"""Name the sizes of a call's arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from attention_lib.checks.calls.tensors import is_tensor


def sizes(arguments: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the sizes of a call's arrays, each with its name."""
    arrays = {
        name: value
        for name, value in arguments.items()
        if isinstance(value, np.ndarray) or is_tensor(value)
    }
    axis = arguments.get("axis")
    for name, value in arrays.items():
        if isinstance(axis, int) and -value.ndim <= axis < value.ndim and value.shape[axis] > 1:
            yield f"the length of a row, {name}.shape[axis]", float(value.shape[axis])
    for axis in (-1, -2, -3, -4):
        for name, value in arrays.items():
            if value.ndim >= -axis and value.shape[axis] > 1:
                yield f"{name}.shape[{axis}]", float(value.shape[axis])
    for name, value in arrays.items():
        for heads in ("num_heads", "num_groups"):
            if heads in arguments and value.ndim and arguments[heads]:
                size = value.shape[-1] / arguments[heads]
                if size > 1:
                    yield f"{name}.shape[-1] / {heads}", size
        if value.ndim > 2:
            items = float(np.prod(tuple(value.shape[:-2])))
            if items > 1:
                yield "the number of batch items", items
        if value.ndim > 1:
            yield f"{name}.size", float(np.prod(tuple(value.shape)))
