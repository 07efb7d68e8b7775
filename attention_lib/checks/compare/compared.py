"""Compare an answer's results with the reference's while it is measured."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from attention_lib.checks.calls.calling import observe_all
from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.calls.measuring import with_result
from attention_lib.checks.calls.observation import Observation
from attention_lib.checks.calls.remote import FUNCTIONS, RemoteAnswer

CLOSE = 1e-6  # the tolerance, relative to the largest number of an array


class WrongWhereMeasured(Exception):
    """A measured call returned something other than the reference."""


class ComparedAnswer(RemoteAnswer):
    """A proxy for an answer that compares each measured result with the reference's.

    Without it, an answer could recognize the inputs of a measurement by their size and do nothing.
    """

    def __init__(self, answer: Answer, reference: Callable[..., Any], name: str) -> None:
        self._answer, self._reference, self._name = answer, reference, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._answer(*args, **kwargs)

    def observe_all(
        self, cases: Sequence[Case], forbidden: tuple[str, ...], limit: float
    ) -> list[Observation]:
        return list(observe_all(self._answer, cases, forbidden, limit))

    def measure(self, what: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        unchanged = copy.deepcopy(args)
        amount, result = with_result(self._answer, what, *args, **kwargs)
        with np.errstate(all="ignore"):
            right = self._reference(*unchanged)
        if not _close(result, right):
            raise WrongWhereMeasured(
                f"{self._name} returns other numbers where it is measured"
                f"{_shapes(unchanged)}: an answer does the same work for every size."
            )
        return amount

    def staged(self, how: str) -> Any:
        return FUNCTIONS[how](self._answer)


def _close(result: Any, right: Any) -> bool:
    if isinstance(right, tuple):
        same_length = isinstance(result, (tuple, list)) and len(result) == len(right)
        return same_length and all(map(_close, result, right))
    try:
        if np.shape(result) != right.shape:
            return False
        return np.allclose(result, right, CLOSE, CLOSE * np.max(np.abs(right), initial=0.0))
    except (TypeError, ValueError):
        return False


def _shapes(args: Sequence[Any]) -> str:
    shapes = [str(one.shape) for one in args if isinstance(one, np.ndarray)]
    return f", on arrays of shape {', '.join(shapes)}" if shapes else ""
