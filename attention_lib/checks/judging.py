"""Judging an answer: the gravest thing wrong with it, in one sentence."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from attention_lib.checks.calls.calling import observe_all
from attention_lib.checks.calls.observation import Observation, of_a_stub
from attention_lib.checks.cases import cases_of, trials_of
from attention_lib.checks.comparing import Comparison
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.explaining import (
    changed_calls,
    known_mistakes_beside_errors,
    known_mistakes_by_calls,
    known_mistakes_by_results,
    known_mistakes_in_part,
    pairs_of_faults,
    regions_and_contrasts,
    relations,
    two_known_mistakes_by_calls,
)
from attention_lib.checks.judges import (
    Attempt,
    changed_inputs,
    first_axis_loops,
    forbidden_calls,
    known_mistakes,
    nonfinite_origins,
    out_of_time,
    printed_or_wider,
    probes,
    remarks,
    results,
    second_readings,
    side_effects,
    source_leftovers,
    source_readings,
    source_repairs,
    unavailable_functions,
)
from attention_lib.checks.values import judge_value
from attention_lib.checks.verdict import Report
from attention_lib.checks.wording import described, full_name
from attention_lib.lessons import LESSONS, modules_of

FUSED = (  # attention that torch has ready
    "torch._C._nn.scaled_dot_product_attention",
    "torch._scaled_dot_product",
    "torch.nn.attention",
    "torch.nn.functional.multi_head_attention_forward",
    "torch.nn.modules.activation.MultiheadAttention",
)
OTHER_LIBRARIES = ("scipy", "torch", "jax", "tensorflow", "sklearn")
NOT_WRITTEN_YET = "which is not written yet."  # of a stub: the end of a sentence

Judge = Callable[[Attempt], Iterator[Report]]


@dataclass(frozen=True)
class Policy:
    """What makes an answer wrong, the gravest kind first, and what is only remarked on."""

    judges: tuple[Judge, ...]
    remarks: tuple[Judge, ...] = ()

    @property
    def watches_calls(self) -> bool:
        """Whether calls of functions that may not do an answer's work are looked for."""
        return forbidden_calls in self.judges + self.remarks


# What is said of wrong numbers that no known mistake gives on all calls, the surest first.
EXPLANATIONS: tuple[Judge, ...] = (
    known_mistakes_beside_errors,
    relations,
    changed_calls,
    pairs_of_faults,
)
KNOWN_IN_PART: tuple[Judge, ...] = (
    two_known_mistakes_by_calls,
    known_mistakes_in_part,
    known_mistakes_by_results,
    known_mistakes_by_calls,
)
PARTIAL_EXPLANATIONS: tuple[Judge, ...] = (*KNOWN_IN_PART, regions_and_contrasts)


def guarded(*judges: Judge) -> Judge:
    """Join judges that explain: one that fails on odd values must not take away the verdict."""

    def reports(attempt: Attempt) -> Iterator[Report]:
        for judge in judges:
            try:
                yield from judge(attempt)
            except Exception:
                continue

    return reports


# Of an answer in another process, its calls and side effects cannot be proven.
LEARNER = Policy(
    (
        unavailable_functions,
        known_mistakes,
        forbidden_calls,
        second_readings,
        changed_inputs,
        source_repairs,
        guarded(*EXPLANATIONS),
        source_leftovers,
        guarded(*KNOWN_IN_PART),
        nonfinite_origins,
        first_axis_loops,
        guarded(regions_and_contrasts),
        source_readings,
        results,
        side_effects,
        probes,
    ),
    remarks=(printed_or_wider, remarks),
)
GRADER = Policy(
    (
        known_mistakes,
        second_readings,
        guarded(*EXPLANATIONS, *PARTIAL_EXPLANATIONS),
        results,
        probes,
    ),
    remarks=(forbidden_calls, side_effects, printed_or_wider, remarks),
)
HIDDEN_NUMBERS = Policy(
    (known_mistakes, second_readings, guarded(*EXPLANATIONS, *PARTIAL_EXPLANATIONS), results)
)  # after GRADER found it right


def judge(exercise: Exercise, answer: Any, seed: int, policy: Policy = LEARNER) -> Report:
    """Try an answer on the exercise's cases and say what is right or wrong with it.

    Parameters
    ----------
    exercise
        What the answer is for.
    answer
        A function, or the proxy of one in another process; for an exercise of kind "value", the
        value.
    seed
        What the random cases are drawn from.
    policy
        What counts: for a LEARNER everything, for a GRADER what can be proven from outside, on
        HIDDEN_NUMBERS the results alone.

    Returns
    -------
    Report
        The gravest problem, or that there is none.
    """
    if answer is None or answer is Ellipsis:
        return Report(exercise, "unattempted", _unattempted(exercise))
    if exercise.kind == "value":
        return judge_value(exercise, answer)
    if not callable(answer):
        return Report(
            exercise,
            "wrong",
            f"check was given {described(answer)}; give it the function itself, not a result: "
            f'check("{exercise.name}", {exercise.name}).',
        )

    forbidden = _forbidden_modules(exercise) if policy.watches_calls else ()
    cases = cases_of(exercise, seed)
    observations = list(observe_all(exercise.on_cases(answer), cases, forbidden))
    if of_a_stub(observations[0]):
        return Report(exercise, "unattempted", _unattempted(exercise, observations[0]))
    comparisons = [
        Comparison(exercise.name, trial, seen)
        for trial, seen in zip(trials_of(exercise, seed), observations, strict=False)
    ]
    if observations[-1].out_of_time:
        sentence = out_of_time(exercise, observations[-1])
        return Report(exercise, "wrong", sentence, comparisons[-1])
    attempt = Attempt(exercise, answer, comparisons)
    for problem in _reports(policy.judges, attempt):
        return problem
    advice = tuple(remark.sentence for remark in _reports(policy.remarks, attempt))
    return Report(exercise, "right", "Right.", case_count=len(comparisons), advice=advice)


def _reports(judges: tuple[Judge, ...], attempt: Attempt) -> Iterator[Report]:
    return itertools.chain.from_iterable(judge(attempt) for judge in judges)


def _unattempted(exercise: Exercise, seen: Observation | None = None) -> str:
    frames = seen.frames if seen else []
    if len(frames) > 1:  # the stub is that of another exercise, which this answer calls
        return f"{exercise.name} calls {frames[-1].name}, {NOT_WRITTEN_YET}"
    return (
        "Write your answer in the cell above in place of raise NotImplementedError(), run that "
        f'cell, then this one. hint("{exercise.name}") helps.'
    )


def _forbidden_modules(exercise: Exercise) -> tuple[str, ...]:
    """Name what may not do an answer's work.

    These are the modules of its lesson and of later ones, other libraries, and the functions
    of earlier lessons that the exercise lists.
    """
    lessons = LESSONS[LESSONS.index(exercise.lesson) :]
    modules = [module for lesson in lessons for module in modules_of(lesson)]
    library = tuple(f"attention_lib.lessons.{module}" for module in modules)
    earlier = tuple(map(full_name, exercise.not_by))
    return library + earlier + (FUSED if exercise.accelerated else OTHER_LIBRARIES)
