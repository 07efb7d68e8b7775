"""The proxy for an answer in another process, and the registry of functions called beside it.

A measurement is made in the answer's process, and what runs an answer (a launch, a simulated
machine) is set up there. Both processes import this package, so a function goes by its name.
"""

from __future__ import annotations

import functools
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from attention_lib.checks.calls import timeouts
from attention_lib.checks.calls.case import Case
from attention_lib.checks.calls.observation import Observation
from attention_lib.checks.calls.timeouts import OutOfTime

P = ParamSpec("P")
R = TypeVar("R")

# By name, the functions that an answer's process calls with the answer as their first argument.
FUNCTIONS: dict[str, Callable[..., Any]] = {}


class RemoteAnswer(ABC):
    """A proxy for an answer that lives in another process, and is called there."""

    @abstractmethod
    def observe_all(
        self, cases: Sequence[Case], forbidden: tuple[str, ...], limit: float
    ) -> list[Observation]:
        """Do in the answer's process what the function `observe_all` does."""

    @abstractmethod
    def measure(self, what: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return what the registered function `what` returns there, called with the answer."""

    @abstractmethod
    def staged(self, how: str) -> RemoteAnswer:
        """Return a proxy for what the registered function `how` makes there of the answer."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return, raise and warn as the answer does."""
        (seen,) = self.observe_all([Case(*args, **kwargs)], (), timeouts.CALL_SECONDS)
        for message in seen.warnings:
            warnings.warn(message, stacklevel=2)
        if seen.out_of_time:
            raise OutOfTime
        if seen.error is not None:
            raise seen.error
        return seen.value


def remote_measurement(function: Callable[P, R]) -> Callable[P, R]:
    """Register a function of an answer; given a proxy, it is called in the answer's process."""

    @functools.wraps(function)
    def measure(*args: P.args, **kwargs: P.kwargs) -> R:
        answer, *others = args
        if isinstance(answer, RemoteAnswer):
            return answer.measure(function.__name__, tuple(others), kwargs)
        return function(*args, **kwargs)

    FUNCTIONS[function.__name__] = measure
    return measure


def remote_staging(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Register what makes a function out of an answer; given a proxy, it returns a proxy."""

    @functools.wraps(function)
    def stage(answer: Any) -> Any:
        if isinstance(answer, RemoteAnswer):
            return answer.staged(function.__name__)
        return function(answer)

    FUNCTIONS[function.__name__] = stage
    return stage
