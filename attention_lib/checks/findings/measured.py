"""Run an exercise's probes, which measure an answer whose values are right, and its remarks."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import numpy as np

from attention_lib.checks.attempt import Attempt
from attention_lib.checks.calls import timeouts
from attention_lib.checks.calls.calling import observe
from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.calls.observation import explanation_of
from attention_lib.checks.calls.remote import RemoteAnswer
from attention_lib.checks.compare.cases import Trial
from attention_lib.checks.compare.compared import ComparedAnswer, WrongWhereMeasured
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
