"""Provide a proxy for an answer in another process, and a registry of functions to call there.

Measurements run in the answer's process, and so do wrappers that run an answer, such as a launch.
Both processes import this package, so a function is sent by its name.
"""

from __future__ import annotations

import functools
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ParamSpec, TypeVar

from attention_lib.checks.calls import timeouts
from attention_lib.checks.calls.case import Case, Observation
from attention_lib.checks.calls.timeouts import OutOfTime

P = ParamSpec("P")
R = TypeVar("R")

# Registry, by name, of functions to call in the answer's process with the answer as first argument.
FUNCTIONS: dict[str, Callable[..., Any]] = {}


class RemoteAnswer(ABC):
    """A proxy for an answer that is called in another process."""

    @abstractmethod
    def observe_all(
        self, cases: Sequence[Case], forbidden: tuple[str, ...], limit: float
    ) -> Iterable[Observation]:
        """Call `calling.observe_all` in the answer's process."""

    @abstractmethod
    def measure(self, what: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the registered function `what` with the answer in its process; return the result."""

    @abstractmethod
    def staged(self, how: str) -> RemoteAnswer:
        """Return a proxy for the answer wrapped by the registered function `how`."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the answer: return its result, raise its error, repeat its warnings."""
        (seen,) = self.observe_all([Case(*args, **kwargs)], (), timeouts.CALL_SECONDS)
        for message in seen.warnings:
            warnings.warn(message, stacklevel=2)
        if seen.out_of_time:
            raise OutOfTime
        if seen.error is not None:
            raise seen.error
        return seen.value


def remote_measurement(function: Callable[P, R]) -> Callable[P, R]:
    """Register a measurement. Given a proxy, it runs in the answer's process."""

    @functools.wraps(function)
    def measure(*args: P.args, **kwargs: P.kwargs) -> R:
        answer, *others = args
        if isinstance(answer, RemoteAnswer):
            return answer.measure(function.__name__, tuple(others), kwargs)
        return function(*args, **kwargs)

    FUNCTIONS[function.__name__] = measure
    return measure


def remote_staging(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Register a function that wraps an answer. Given a proxy, it returns a proxy."""

    @functools.wraps(function)
    def stage(answer: Any) -> Any:
        if isinstance(answer, RemoteAnswer):
            return answer.staged(function.__name__)
        return function(answer)

    FUNCTIONS[function.__name__] = stage
    return stage
