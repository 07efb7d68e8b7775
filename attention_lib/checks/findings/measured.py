"""Run an exercise's probes, which measure an answer whose values are right, and its remarks.

What a measured call returns is compared with the reference's result.
"""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from attention_lib.checks.attempt import Attempt
from attention_lib.checks.calls import timeouts
from attention_lib.checks.calls.calling import observe, observe_all
from attention_lib.checks.calls.case import Answer, Case, Observation, explanation_of
from attention_lib.checks.calls.measuring import with_result
from attention_lib.checks.calls.remote import FUNCTIONS, RemoteAnswer
from attention_lib.checks.compare.cases import Trial
from attention_lib.checks.compare.comparing import Comparison
from attention_lib.checks.findings.finding import Finding


def measured(attempt: Attempt, right: Answer | None = None) -> Iterator[Finding]:
    """Run the probes of an exercise, and yield what they find. Each finding's topic is its probe.

    `right` computes the numbers that count as right, by default the reference.
    """
    exercise, answer = attempt.exercise, attempt.answer
    # The process of a remote answer has its own time limit; one here would cut off the reply.
    limit = math.inf if isinstance(answer, RemoteAnswer) else None
    if not exercise.accelerated:  # kernels cannot be called through a proxy
        answer = ComparedAnswer(answer, right or exercise.reference, exercise.name)
    for number, probe in enumerate(exercise.probes):
        rng = np.random.default_rng(attempt.seed)
        seen = observe(functools.partial(probe, answer, rng), Case(), limit=limit)
        error, topics = seen.error, frozenset({f"probe {number}"})
        if seen.out_of_time:
            took = (
                f"{exercise.name} took over {timeouts.CALL_SECONDS:.0f} seconds on a larger input."
            )
            yield Finding("measured", f"{took} {explanation_of(seen)}".rstrip(), topics=topics)
        elif isinstance(error, WrongWhereMeasured) and not right:
            yield Finding("result", str(error), topics=topics)
        elif error is not None and not right:
            said = f"{exercise.name} stopped on a larger input with {type(error).__name__}: {error}"
            shown = Comparison(exercise.name, Trial(Case()), seen)
            yield Finding("error", said[:1000], shown, topics=topics, outcome="error")
        elif error is None and seen.value:
            yield Finding("measured", seen.value, topics=topics)


def remarks(attempt: Attempt) -> Iterator[str]:
    """Yield the exercise's remarks on a right answer; a remark that raises an error is dropped."""
    limit = math.inf if isinstance(attempt.answer, RemoteAnswer) else None
    for remark in attempt.exercise.remarks:
        seen = observe(functools.partial(remark, attempt.answer), Case(), limit=limit)
        if isinstance(seen.value, str):
            yield seen.value


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
