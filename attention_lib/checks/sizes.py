"""Name numbers: the sizes and numbers of a call, their roots, and constants."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from attention_lib.checks.calls.tensors import is_tensor

CONSTANTS = {
    "2": 2.0,
    "3": 3.0,
    "4": 4.0,
    "10": 10.0,
    "1000": 1000.0,
    "ln 2, the factor between logarithms to base 2 and natural ones": math.log(2),
    "ln 10, the factor between logarithms to base 10 and natural ones": math.log(10),
    "√2": math.sqrt(2),
    "π": math.pi,
    "e": math.e,
}


class Named(NamedTuple):
    """A number, and how a learner would write it."""

    text: str
    value: float


def named_numbers(arguments: dict[str, Any]) -> Iterator[Named]:
    """Yield the numbers that a factor may be, the simplest first."""
    atoms = [*_given(arguments), *sizes(arguments)]
    for text, value in atoms:
        yield Named(text, value)
        if value > 0:
            yield Named(f"the square root of {text}", math.sqrt(value))
    for text, value in atoms:
        yield Named(f"the square of {text}", value**2)
        if value > 1:
            yield Named(f"{text} / ({text} - 1)", value / (value - 1))
            yield Named(f"the logarithm of {text}", math.log(value))
    for text, value in CONSTANTS.items():
        yield Named(text, value)


def _given(arguments: dict[str, Any]) -> Iterator[Named]:
    for name, value in arguments.items():
        plain = isinstance(value, (int, float)) and not isinstance(value, bool)
        if plain and name != "axis" and value > 0 and value != 1:
            yield Named(name, float(value))


def sizes(arguments: dict[str, Any]) -> Iterator[Named]:
    """Yield the sizes of a call's arrays."""
    arrays = {
        name: value
        for name, value in arguments.items()
        if isinstance(value, np.ndarray) or is_tensor(value)
    }
    axis = arguments.get("axis")
    for name, value in arrays.items():
        if isinstance(axis, int) and -value.ndim <= axis < value.ndim and value.shape[axis] > 1:
            yield Named(f"the length of a row, {name}.shape[axis]", float(value.shape[axis]))
    for axis in (-1, -2, -3, -4):
        for name, value in arrays.items():
            if value.ndim >= -axis and value.shape[axis] > 1:
                yield Named(f"{name}.shape[{axis}]", float(value.shape[axis]))
    for name, value in arrays.items():
        for heads in ("num_heads", "num_groups"):
            if heads in arguments and value.ndim and arguments[heads]:
                size = value.shape[-1] / arguments[heads]
                if size > 1:
                    yield Named(f"{name}.shape[-1] / {heads}", size)
        if value.ndim > 2:
            items = float(np.prod(tuple(value.shape[:-2])))
            if items > 1:
                yield Named("the number of batch items", items)
        if value.ndim > 1:
            yield Named(f"{name}.size", float(np.prod(tuple(value.shape))))
