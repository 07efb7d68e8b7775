"""Name values and functions in the sentences that learners read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from attention_lib.checks.calls.tensors import is_tensor

LIBRARY = "lib"  # the name under which the notebooks import attention_lib


def described(value: Any) -> str:
    """Describe a value: ``an array of shape (2, 3)``."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    if is_tensor(value):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, (bool, int, float, np.generic)):
        return f"the number {str(value)[:60]}"
    if value is None:
        return "None"
    if callable(value):
        return "a function"
    return f"an object of type {type(value).__name__}"


def distinguished(got: Any, right: Any) -> tuple[str, str]:
    """Write two numbers with enough digits to tell them apart."""
    if isinstance(right, (bool, np.bool_)):
        return str(bool(got)), str(bool(right))
    digits = digits_apart(got, right)
    return f"{got + 0.0:.{digits}g}", f"{right + 0.0:.{digits}g}"  # + 0.0 writes -0 as 0


def digits_apart(got: Any, right: Any) -> int:
    """Return the number of digits that tell two numbers apart, at least 4."""
    apart = (n for n in range(4, 17) if f"{got + 0.0:.{n}g}" != f"{right + 0.0:.{n}g}")
    return next(apart, 17)


def full_name(function: Callable[..., Any]) -> str:
    """Return a function's dotted name, in the form that `watched_calls` compares."""
    return f"{function.__module__}.{function.__qualname__}"


def known_name(name: str) -> str:
    """Return the public name of a function from its dotted name."""
    package, *inner = name.partition(".<locals>")[0].split(".")
    last = [] if "<locals>" in name else inner[-1:]
    if package == "attention_lib":
        return ".".join([LIBRARY, *last])  # the package exports all its public names
    parts = [part for part in inner[: len(inner) - len(last)] if not part.startswith("_")]
    return ".".join([package, *parts, *last])
