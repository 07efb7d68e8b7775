"""Judging an answer: the gravest thing wrong with it, in one sentence."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from attention_lib.checks.calls.calling import (
    TIME_LIMIT,
    Elsewhere,
    Observation,
    observe,
    observe_all,
    of_a_stub,
)
from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.calls.staging import on_cases
from attention_lib.checks.comparing import (
    Trial,
    cases_of,
    described,
    problem_with_result,
    trials_of,
)
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.recognizing import fails, recognize
from attention_lib.checks.remedies import remedy
from attention_lib.lessons import LESSONS, module_of

Outcome = Literal["right", "wrong", "error", "unattempted"]

FUSED = (  # attention that torch has ready
    "torch._C._nn.scaled_dot_product_attention",
    "torch._scaled_dot_product",
    "torch.nn.attention",
    "torch.nn.functional.multi_head_attention_forward",
    "torch.nn.modules.activation.MultiheadAttention",
)
OTHER_LIBRARIES = ("scipy", "torch", "jax", "tensorflow", "sklearn")


@dataclass(frozen=True)
class Report:
    """The verdict on an answer: one sentence, and the trial that shows it."""

    exercise: Exercise
    outcome: Outcome
    sentence: str
    trial: Trial | None = None
    trials: int = 0
    advice: tuple[str, ...] = ()  # for a right answer: what it should do otherwise all the same


def judge(
    exercise: Exercise,
    answer: Any,
    seed: int,
    method_counts: bool = True,
    values_only: bool = False,
) -> Report:
    """Try an answer on the exercise's cases and say what is right or wrong with it.

    If `method_counts`, an answer is not right that calls what should not do its work, changes
    its input, warns or prints. Otherwise it gets advice about these: of an answer in another
    process they cannot be proven. What is measured counts in any case. With `values_only`
    nothing but what comes back is looked at: for a second look, with other numbers.
    """
    if answer is None or answer is Ellipsis:
        return Report(exercise, "unattempted", _unattempted(exercise))
    if exercise.kind == "value":
        return _judge_value(exercise, answer)
    if not callable(answer):
        return Report(
            exercise,
            "wrong",
            f"check was given {described(answer)}; give it the function itself, not a result: "
            f'check("{exercise.name}", {exercise.name}).',
        )

    handed_in, answer = answer, on_cases(exercise, answer)
    cases = cases_of(exercise, seed)
    forbidden = () if values_only else _forbidden_modules(exercise)
    observations = list(observe_all(answer, cases, forbidden))
    if of_a_stub(observations[0]):
        return Report(exercise, "unattempted", _unattempted(exercise, observations[0]))
    trials = [
        dataclasses.replace(trial, seen=seen)
        for trial, seen in zip(trials_of(exercise, seed), observations, strict=False)
    ]
    if observations[-1].out_of_time:
        sentence = (
            f"{exercise.name} was still running after {TIME_LIMIT:.0f} seconds and was stopped: "
            "look for a loop that never ends."
        )
        return Report(exercise, "wrong", sentence, trials[-1])
    advice = () if method_counts else tuple(_advice(exercise, trials))
    return (
        _judge_mistakes(exercise, trials)
        or (method_counts and _judge_calls(exercise, trials))
        or _judge_reading(exercise, trials)
        or _judge_results(exercise, trials)
        or (method_counts and _judge_manners(exercise, trials))
        or (not values_only and _probe(exercise, handed_in))
        or Report(exercise, "right", "Right.", trials=len(trials), advice=advice)
    )


def _unattempted(exercise: Exercise, seen: Observation | None = None) -> str:
    frames = seen.frames if seen else []
    if len(frames) > 1:  # the stub is that of another exercise, which this answer calls
        return f"{exercise.name} calls {frames[-1].name}, which is not written yet."
    return (
        "Write your answer in the cell above in place of raise NotImplementedError(), run that "
        f'cell, then this one. hint("{exercise.name}") helps.'
    )


# Each of the following looks at all trials for one kind of problem, gravest kind first.


def _judge_mistakes(exercise: Exercise, trials: list[Trial]) -> Report | None:
    failing = next((trial for trial in trials if fails(exercise, trial)), None)
    mistake = recognize(exercise, trials) if failing else None
    return Report(exercise, "wrong", mistake.sentence, failing) if mistake else None


def _judge_calls(exercise: Exercise, trials: list[Trial]) -> Report | None:
    for trial in trials:
        name = trial.seen.forbidden
        if name:
            package = name.partition(".")[0]
            whose, write_it = f"{package}'s work", "write it with NumPy"
            if package == "attention_lib":
                whose = "the course's own solution"
                write_it += " and functions of earlier lessons"
            if exercise.accelerated:
                whose = "fused attention" if package == "torch" else whose
                write_it = "write it with matrix products and other plain tensor operations"
            sentence = f"{exercise.name} calls {known_name(name)}, {whose}: {write_it}."
            return Report(exercise, "wrong", sentence)
    return None


def known_name(name: str) -> str:
    """Return the name of a function as a learner knows it, without a library's private parts."""
    package, *inner = name.partition(".<locals>")[0].split(".")
    last = [] if "<locals>" in name else inner[-1:]
    if package == "attention_lib":
        return ".".join([package, *last])  # the name that is exported, whatever module has it
    parts = [part for part in inner[: len(inner) - len(last)] if not part.startswith("_")]
    return ".".join([package, *parts, *last])


def _judge_reading(exercise: Exercise, trials: list[Trial]) -> Report | None:
    """Tell a wrong answer that it looked twice into what can be read once."""
    for trial in trials:
        if trial.seen.read_again and fails(exercise, trial):
            return Report(
                exercise,
                "wrong",
                f"{exercise.name} reads its input a second time and finds nothing there: an "
                "iterator can be read once. Keep what you need of each item as it comes.",
                trial,
            )
    return None


def _judge_results(exercise: Exercise, trials: list[Trial]) -> Report | None:
    for trial in trials:
        error = trial.seen.error
        if error is not None and not (trial.case.raises and isinstance(error, trial.case.raises)):
            if trial.seen.refused_call:
                return Report(
                    exercise,
                    "wrong",
                    f"{exercise.name} cannot be called this way ({error}); its first line should "
                    f"be {exercise.first_line}:",
                    trial,
                )
            frames = trial.seen.frames
            own = frames and "site-packages" not in frames[-1].filename
            line = f" in line {frames[-1].lineno}" if own else ""
            stopped = f"stopped{line} with {type(error).__name__}"
            stopped += f": {error}".rstrip() if str(error) else "."
            if trial.case.raises:
                asked_for = f"should raise {trial.case.raises.__name__} here; it {stopped}"
                return Report(exercise, "wrong", f"{exercise.name} {asked_for}", trial)
            sentence = f"{exercise.name} {stopped}{remedy(error, frames)}"
            return Report(exercise, "error", sentence, trial)
        sentence = problem_with_result(exercise, trial)
        if sentence:
            return Report(exercise, "wrong", sentence, trial)
    return None


def _judge_manners(exercise: Exercise, trials: list[Trial]) -> Report | None:
    """Refuse what an answer does besides returning the right values."""
    for trial in trials:
        for sentence in _bad_manners(exercise, trial.seen).values():
            return Report(exercise, "wrong", sentence, trial)
    return None


def _advice(exercise: Exercise, trials: list[Trial]) -> Iterator[str]:
    """Say of each kind of method or manners once what should be otherwise."""
    calls = _judge_calls(exercise, trials)
    if calls:
        yield calls.sentence
    said: dict[str, str] = {}
    for trial in trials:
        said = {**_bad_manners(exercise, trial.seen), **said}
    yield from said.values()


def _bad_manners(exercise: Exercise, seen: Observation) -> dict[str, str]:
    """Return a sentence for each kind of thing that a call did besides returning a value."""
    but, sentences = f"{exercise.name} returns the right values but", {}
    if seen.changed:
        parameters = exercise.first_line.partition("(")[2].rstrip(")").split(", ")
        key = seen.changed[0]
        changed = parameters[int(key)].partition("=")[0] if key.isdigit() else key
        sentences["changed"] = (
            f"{but} changes its input {changed}: work on a copy, or write x = x - y instead of "
            "x -= y."
        )
    if seen.warnings:
        sentences["warnings"] = (
            f'{but} warns: "{seen.warnings[0]}". Avoid the operation that warns or, where its '
            "result is what you want, keep it quiet with np.errstate."
        )
    if seen.printed:
        text = seen.printed.strip().splitlines()
        sentences["printed"] = (
            f"{but} prints {text[0][:40] if text else ''!r}: remove the print, an answer only "
            "returns."
        )
    return sentences


def _probe(exercise: Exercise, answer: Answer) -> Report | None:
    # Another process keeps the time itself: an alarm here would break off the talk with it.
    limit = None if isinstance(answer, Elsewhere) else TIME_LIMIT
    for probe in exercise.probes:
        seen = observe(lambda probe=probe: probe(answer), Case(), limit=limit)
        if seen.out_of_time:
            sentence = f"{exercise.name} took over {TIME_LIMIT:.0f} seconds on a larger input."
            return Report(exercise, "wrong", sentence)
        if seen.error is not None:
            sentence = (
                f"{exercise.name} stopped on a larger input with "
                f"{type(seen.error).__name__}: {seen.error}"
            )
            return Report(exercise, "error", sentence, Trial(Case(), seen))
        if seen.value:
            return Report(exercise, "wrong", seen.value)
    return None


def _judge_value(exercise: Exercise, answer: Any) -> Report:
    expected = np.asarray(exercise.reference, float)
    try:
        entries = np.asarray(answer, object)
    except ValueError:  # arrays whose shapes do not fit together
        entries = np.array(None)
    fits = entries.shape == expected.shape
    got = np.array([_number(entry) for entry in entries]) if fits else np.array(np.nan)
    if np.isnan(got).any():
        found = f"it is {described(answer)}"
        if fits:
            found = f"{repr(entries[np.argmax(np.isnan(got))])[:40]} is none"
        sentence = (
            f"{exercise.name} should be {expected.size} numbers, such as [0.1, 0.2, 0.7]; {found}."
        )
        return Report(exercise, "wrong", sentence)
    if (np.abs(got - expected) <= exercise.tolerance).all():
        return Report(exercise, "right", "Right.", trials=1)
    for mistake in exercise.mistakes:
        if any(
            np.abs(got - variant).max() <= 2 * exercise.tolerance for variant in mistake.variants
        ):
            return Report(exercise, "wrong", mistake.sentence)
    spot = int(np.argmax(np.abs(got - expected)))
    sentence = f"Number {spot + 1} of {exercise.name}, {got[spot]:g}, is not right to 3 decimals."
    return Report(exercise, "wrong", sentence)


def _number(entry: Any) -> float:
    """Return an entry of a value as a number: NaN for one that is none."""
    if isinstance(entry, (str, bytes)):
        return math.nan
    try:
        return float(entry)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _forbidden_modules(exercise: Exercise) -> tuple[str, ...]:
    """Name what may not do an answer's work: its lesson's module, later ones, other libraries."""
    modules = [module_of(lesson) for lesson in LESSONS[LESSONS.index(exercise.lesson) :]]
    if "flash" in modules:
        modules.append("fast_flash")
    library = tuple(f"attention_lib.lessons.{module}" for module in modules)
    return library + (FUSED if exercise.accelerated else OTHER_LIBRARIES)
