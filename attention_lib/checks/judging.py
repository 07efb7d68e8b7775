"""Judge an answer: call it on the cases, compare, explain, return a verdict."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from attention_lib.checks.attempt import Attempt
from attention_lib.checks.calls.calling import observe_all
from attention_lib.checks.calls.case import Observation, of_a_stub
from attention_lib.checks.calls.measuring import thread_time
from attention_lib.checks.compare.cases import cases_of, trials_of
from attention_lib.checks.compare.comparing import Comparison
from attention_lib.checks.compare.values import judge_value
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.findings.measured import remarks
from attention_lib.checks.findings.observed import (
    forbidden_calls,
    out_of_time,
    printed,
    side_effects,
)
from attention_lib.checks.handing_in import missing_when_graded
from attention_lib.checks.resolve import resolve
from attention_lib.checks.verdict import Report
from attention_lib.checks.wording import described, full_name
from attention_lib.lessons import LESSONS, module_of

FUSED = (  # torch's own attention
    "torch._C._nn.scaled_dot_product_attention",
    "torch._scaled_dot_product",
    "torch.nn.attention",
    "torch.nn.functional.multi_head_attention_forward",
    "torch.nn.modules.activation.MultiheadAttention",
)
OTHER_LIBRARIES = ("scipy", "torch", "jax", "tensorflow", "sklearn")
FORBIDDEN = "forbidden call"  # the start of the kind of such a report
MOST_SECONDS = (
    5.0  # of CPU time, a thousand times the usual: then a wrong answer is not called again
)


@dataclass(frozen=True)
class Policy:
    """Which problems count, and whether they are explained."""

    is_own: bool = False  # the answer runs in this process, so side effects count
    values_only: bool = False  # no probes and no remarks
    explains: bool = True
    forbidden_costs: bool = False  # a forbidden call that the answer's process admits


LEARNER = Policy(is_own=True)
GRADER = Policy()  # calls and side effects in another process cannot be proven
HIDDEN_NUMBERS = Policy(values_only=True)  # after GRADER judged it right


def judge(
    exercise: Exercise,
    answer: Any,
    seed: int,
    policy: Policy = LEARNER,
    unseen: int | None = None,
) -> Report:
    """Judge an answer on the cases of an exercise.

    Parameters
    ----------
    exercise
        The exercise that is answered.
    answer
        A function, or the proxy of one in another process; for an exercise of kind "value", the
        value.
    seed
        The seed of the random cases.
    policy
        What counts: for a LEARNER everything, for a GRADER what can be proven from outside, for
        HIDDEN_NUMBERS only the results.
    unseen
        The seed of the inputs of measurements, if it is not `seed`.

    Returns
    -------
    Report
        The gravest problem, or a verdict of "right".
    """
    if answer is Ellipsis or (answer is None and exercise.kind == "value"):
        return _unattempted(exercise)
    if answer is None:
        sentence = (
            f"{exercise.name} is None, not a function: either its decorator returns nothing, or the name "
            "was given to something else."
        )
        return Report(exercise, "wrong", sentence)
    if exercise.kind == "value":
        return judge_value(exercise, answer)
    if not callable(answer):
        return Report(
            exercise,
            "wrong",
            f"check was given {described(answer)}; give it the function itself, not a result: "
            f'check("{exercise.name}", {exercise.name}).',
        )

    forbidden = _forbidden_modules(exercise) if not policy.values_only else ()
    trials = trials_of(exercise, seed)  # importing torch does not count as the answer's time
    if exercise.accelerated:  # for the same reason
        with contextlib.suppress(ImportError):
            importlib.import_module("torch")
    comparisons, begun = list[Comparison](), thread_time()
    calls = observe_all(exercise.on_cases(answer), cases_of(exercise, seed), forbidden)
    for seen, trial in zip(calls, trials, strict=False):
        if not comparisons and of_a_stub(seen):
            return _unattempted(exercise, seen)
        comparisons.append(Comparison(exercise.name, trial, seen))
        is_slow = thread_time() - begun > MOST_SECONDS
        # Only what makes the verdict *wrong* may end the calls: a grader forgives forbidden calls.
        if is_slow and (comparisons[-1].failed or (policy.is_own and seen.forbidden)):
            break
    if comparisons and (last := comparisons[-1]).seen.out_of_time:
        return Report(exercise, "wrong", out_of_time(exercise, last.seen), last)
    is_cut = len(comparisons) < len(trials)
    probed = seed if unseen is None else unseen
    attempt = Attempt(exercise, answer, comparisons, probed, is_cut, policy.is_own)
    if report := resolve(attempt, policy.explains, measures=not policy.values_only):
        return report
    if is_cut:  # no answer is right that was not compared on all cases
        sentence = f"{len(comparisons)} of {len(trials)} calls of {exercise.name} came to an end."
        return Report(exercise, "wrong", sentence)
    if policy.forbidden_costs:  # after all cases, so that nothing is left unjudged
        for call in forbidden_calls(attempt):
            sentence = f"{call.text} The numbers are right; this call costs the points."
            return Report(exercise, "wrong", sentence, kind=f"{FORBIDDEN}: {call.text}")
    advice = tuple(_remarks(attempt, policy))
    return Report(exercise, "right", "Right.", case_count=len(comparisons), advice=advice)


def _remarks(attempt: Attempt, policy: Policy) -> Iterator[str]:
    """Yield what a right answer should still do differently."""
    if policy.values_only:
        return
    if policy.is_own:
        yield from missing_when_graded(attempt.exercise, attempt.answer)
    else:
        yield from (one.text for one in (*forbidden_calls(attempt), *side_effects(attempt)))
    wide = (one.wrong_dtype or one.wide_dtype for one in attempt.comparisons)
    yield from filter(None, (printed(attempt), next(filter(None, wide), "")))
    yield from remarks(attempt)


def _unattempted(exercise: Exercise, seen: Observation | None = None) -> Report:
    frames = seen.frames if seen else []
    if len(frames) > 1:  # the answer calls the stub of another exercise
        stub = frames[-1].name
        sentence = f"{exercise.name} calls {stub}, which is not written yet."
        return Report(exercise, "unattempted", sentence, awaits=stub)
    sentence = (
        "Write your answer in the cell above in place of raise NotImplementedError(), run that "
        f'cell, then this one. hint("{exercise.name}") helps.'
    )
    return Report(exercise, "unattempted", sentence)


def _forbidden_modules(exercise: Exercise) -> tuple[str, ...]:
    """List what an answer may not call, as prefixes of dotted names.

    These are the modules of its lesson and of later ones, other libraries, and the functions in
    `not_by`.
    """
    lessons = LESSONS[LESSONS.index(exercise.lesson) :]
    library = tuple(f"attention_lib.lessons.{module_of(lesson)}" for lesson in lessons)
    earlier = tuple(map(full_name, exercise.not_by))
    return library + earlier + (FUSED if exercise.accelerated else OTHER_LIBRARIES)
