"""Report problems of an answer: wrong results, errors, forbidden calls, side effects, probes."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from traceback import FrameSummary

import numpy as np

from attention_lib.checks.calls import timeouts
from attention_lib.checks.calls.calling import observe
from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.calls.explaining_errors import explained
from attention_lib.checks.calls.observation import Observation, explanation_of
from attention_lib.checks.calls.remote import RemoteAnswer
from attention_lib.checks.cases import Trial, trials_of
from attention_lib.checks.compared import ComparedAnswer, WrongWhereMeasured
from attention_lib.checks.comparing import Comparison, alike
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.hypotheses import Hypothesis
from attention_lib.checks.remedies import remedy
from attention_lib.checks.source.cell import silenced
from attention_lib.checks.source.search import Search, Tried, search
from attention_lib.checks.source.writing import written_line
from attention_lib.checks.table import Table
from attention_lib.checks.verdict import Report
from attention_lib.checks.wording import LIBRARY, full_name, known_name

MOST_ERROR_CHARACTERS = 1000  # of an error's text


@dataclass(frozen=True)
class Attempt:
    """An answer to an exercise, and its comparison with the reference on each case."""

    exercise: Exercise
    answer: Answer
    comparisons: Sequence[Comparison]
    seed: int = 0  # of the probes
    is_cut: bool = False  # slow and wrong, so not called on all cases
    reads_source: bool = False  # the answer lives in this process, so its source may be read
    is_rest: bool = False  # some calls are left out, as their fault is explained already
    known: Sequence[Comparison] = ()  # those of them that a known mistake explains
    tried: Tried = dataclasses.field(
        default_factory=dict
    )  # kept for attempts on a part of the calls

    @functools.cached_property
    def table(self) -> Table:
        """The hypotheses, compared with the answer's results."""
        return Table(self.exercise, self.comparisons)

    @functools.cached_property
    def search(self) -> Search | None:
        """The search for small changes of the answer's source."""
        return search(self.exercise, self.answer, self.comparisons, self.tried)

    @functools.cached_property
    def problem(self) -> Report | None:
        """The first wrong result or error."""
        return next(results(self), None)

    def leaves_known(self, edited: Answer) -> bool:
        """Tell whether an edit leaves the numbers that a known mistake explains."""
        function = self.exercise.on_cases(edited)
        return all(
            alike(
                one.seen.value, observe(function, trial.case).value, trial.allowed, trial.precision
            )
            for one in self.known
            if (trial := one.trial) and one.wrong_in_numbers
        )


def forbidden_calls(attempt: Attempt) -> Iterator[Report]:
    """Report the first call of a forbidden function."""
    exercise = attempt.exercise
    name = next((one.seen.forbidden for one in attempt.comparisons if one.seen.forbidden), "")
    if not name:
        return
    for function, reason in exercise.not_by.items():
        if name == full_name(function):
            sentence = f"{exercise.name} hands its work to {LIBRARY}.{function.__name__}, {reason}."
            yield Report(exercise, "wrong", sentence)
            return
    package = name.partition(".")[0]
    whose, write_it = f"{package}'s work", "write it with NumPy"
    if exercise.accelerated and package == "torch":
        whose = "fused attention"
        write_it = "write it with matrix products and other plain tensor operations"
    elif package == "attention_lib":
        whose = "the course's own solution"
        tools = "PyTorch" if exercise.accelerated else "NumPy"
        write_it = f"write it with {tools} and functions of earlier lessons"
        own = name.rpartition(".")[2]
        if own in exercise.built_on:
            write_it = f"call your own {own}, without lib., from earlier in this lesson"
    sentence = f"{exercise.name} calls {known_name(name)}, {whose}: {write_it}."
    yield Report(exercise, "wrong", sentence)


def second_readings(attempt: Attempt) -> Iterator[Report]:
    """Report a wrong result of a call that reads an iterator twice."""
    for comparison in attempt.comparisons:
        if comparison.seen.read_again and comparison.failed:
            yield Report(
                attempt.exercise,
                "wrong",
                f"{attempt.exercise.name} reads its input a second time and finds nothing there: "
                "an iterator can be read once. Keep what you need of each item as it comes.",
                comparison,
            )


def results(attempt: Attempt) -> Iterator[Report]:
    """Report every wrong result and every error."""
    for comparison in attempt.comparisons:
        if comparison.stopped:
            yield _error_report(attempt.exercise, comparison)
        elif comparison.problem:
            asked = _error_asked_for(attempt.exercise, comparison.trial.case)
            yield Report(attempt.exercise, "wrong", f"{asked}{comparison.problem}", comparison)


def changed_inputs(attempt: Attempt) -> Iterator[Report]:
    """Report a changed input if results are wrong only in their dtype.

    Writing into the input is the cause: an array keeps its dtype.
    """
    first = attempt.problem.comparison if attempt.problem else None
    if first is None or not first.seen.changed or first.stopped or first.wrong_in_numbers:
        return
    if not any(one.stopped or one.wrong_in_numbers for one in attempt.comparisons):
        sentence = _effects_in(attempt, first)["changed"]
        yield Report(attempt.exercise, "wrong", sentence, first)


def _error_report(exercise: Exercise, comparison: Comparison) -> Report:
    name, seen, raises = exercise.name, comparison.seen, comparison.trial.case.raises
    error, frames = seen.error, seen.frames
    assert error is not None
    if seen.refused_call:
        sentence = (
            f"{name} cannot be called this way ({_text_of(error)}); its first line should be "
            f"{exercise.first_line}:"
        )
        return Report(exercise, "wrong", sentence, comparison)
    stopped = f"stopped{_place_of(frames, name)} with {type(error).__name__}"
    explanation = explanation_of(seen) or explained(error)
    if explanation:
        sentence = f"{name} {stopped}: {explanation}"
        return Report(exercise, "error", sentence, comparison)
    stopped += f": {_text_of(error)}".rstrip() if str(error) else "."
    if raises:
        sentence = f"{_error_asked_for(exercise, comparison.trial.case)}it {stopped}"
        return Report(exercise, "wrong", sentence, comparison)
    advice = remedy(error, frames)
    if not advice and frames and (frames[-1].line or "").startswith("raise"):  # of the learner
        advice = (
            f". The contract allows {_numbers_of(exercise, comparison.trial.case) or 'this call'}."
        )
    stopped = stopped.rstrip(".") if advice else stopped
    return Report(exercise, "error", f"{name} {stopped}{advice}", comparison)


def is_explained(seen: Observation) -> bool:
    """Tell whether more is said of an error than its own words."""
    error = seen.error
    assert error is not None
    return bool(explanation_of(seen) or explained(error) or remedy(error, seen.frames))


def _error_asked_for(exercise: Exercise, case: Case) -> str:
    """Say which error a case asks for, and for which numbers; empty if for none."""
    if not case.raises:
        return ""
    numbers = _numbers_of(exercise, case)
    where = f"for {numbers}" if numbers else "here"
    return f"{exercise.name} should raise {case.raises.__name__} {where}; "


def _numbers_of(exercise: Exercise, case: Case) -> str:
    """List the arguments of a call that are plain numbers: ``p = 1``."""
    return " and ".join(
        f"{name} = {x}" if isinstance(x, bool) else f"{name} = {x:g}"
        for name, x in exercise.arguments_of(case).items()
        if isinstance(x, int | float)
    )


def _text_of(error: BaseException) -> str:
    text = str(error)
    return text if len(text) <= MOST_ERROR_CHARACTERS else f"{text[:MOST_ERROR_CHARACTERS]}…"


def _place_of(frames: Sequence[FrameSummary], name: str) -> str:
    """Name the learner's line, cell or file in which a call stopped; empty if there is none."""
    if not frames or "site-packages" in frames[-1].filename:
        return ""
    line, file = frames[-1].lineno, frames[-1].filename
    function = next((f.name for f in reversed(frames) if not f.name.startswith("<")), "")
    if file.endswith(".py") and "ipykernel" not in file:
        return f" in line {line} of {file.replace(chr(92), '/').rpartition('/')[2]}"
    if function in ("", name):
        return f" in line {line} of its cell"
    return f" in line {line} of the cell with {function}"


RIGHT = "returns the right values but |The output is right, but "  # of what a probe measures
ABOUT_CHANGES = (
    "changes (its|the array)|changed in place|calls? finds|on a copy|a copy of|put it back|/= y"
)
# Probes of wrong answers too.
OF_ANY_NUMBERS = "on the CPU whatever|No gradient flows|future are handed to INNER"
ABOUT_DTYPE = "dtype|float64|float32|astype"


def beside(attempt: Attempt, problem: Report) -> Report:
    """Add other problems to a report: a missing error, a warning, a changed input."""
    if not attempt.problem:
        return problem
    with silenced():
        try:
            faults = list(_besides(attempt, problem))
        except Exception:  # an explanation that fails leaves the verdict as it is
            return problem
    sentence = problem.sentence
    for one in (re.sub(RIGHT, "", fault).strip() for fault in faults):
        if _without_numbers(one) not in _without_numbers(sentence):
            sentence += f" Besides: {one}"
    return dataclasses.replace(problem, sentence=sentence)


def _besides(attempt: Attempt, problem: Report) -> Iterator[str]:
    named = attempt.table.variants_of(problem.mistake)
    for one in attempt.comparisons:
        case = one.trial.case
        is_told = "raise" in problem.sentence or any(not m.predict(case).error for m in named)
        if case.raises and one.failed and not is_told:
            missing = next(results(dataclasses.replace(attempt, comparisons=[one])))
            yield missing.sentence
            break
    decides = "returned" if attempt.exercise.dtype_decides else "returned.*(bool|int)"
    odd = next(
        (one for one in attempt.comparisons if re.search(decides, one.about_dtype or "")), None
    )
    if odd and not re.search(ABOUT_DTYPE, problem.sentence):
        by_mistake = (dataclasses.replace(odd, seen=m.predict(odd.trial.case)) for m in named)
        if not any(one.about_dtype for one in by_mistake):
            yield _about_dtype(dataclasses.replace(attempt, comparisons=[odd]))
    right = (one for one in attempt.comparisons if one.seen.warnings and not one.failed)
    if (warns := next(right, None)) and "warn" not in problem.sentence:
        with np.errstate(all="warn"):
            known = [observe(attempt.exercise.on_cases(m.variant), warns.trial.case) for m in named]
        if not any(seen.warnings for seen in known):
            yield _side_effects_of(attempt.exercise, warns.seen)["warnings"]
    measured = (report.sentence for report in probes(attempt))
    if not any(one.stopped or one.wrong_in_numbers for one in attempt.comparisons):
        yield from itertools.islice(measured, 0 if problem.edit else 1)
    elif attempt.exercise.accelerated and not (named and attempt.exercise.run):
        yield from (one for one in measured if re.search(OF_ANY_NUMBERS, one))
    elif named:
        yield from _measured_beside(attempt, named)
    changed = next((one for one in attempt.comparisons if one.seen.changed), None)
    if changed and not re.search(ABOUT_CHANGES, problem.sentence):
        yield _effects_in(attempt, changed)["changed"]


def _measured_beside(attempt: Attempt, named: Sequence[Hypothesis]) -> Iterator[str]:
    """Report what a probe finds wrong in an answer, and not in the known mistake that it makes."""
    for mistake in named:
        if all(attempt.table.explains(mistake, one) for one in attempt.table.wrong):
            own = next((one.sentence for one in probes(attempt, mistake.variant)), "")
            known = dataclasses.replace(attempt, answer=mistake.variant)
            others = probes(known, mistake.variant) if own else ()
            if own and _without_numbers(own) not in {
                _without_numbers(one.sentence) for one in others
            }:
                yield own
            return


def side_effects(attempt: Attempt) -> Iterator[Report]:
    """Report each kind of side effect once."""
    for sentence, comparison in _first_effects(attempt).values():
        yield Report(attempt.exercise, "wrong", sentence, comparison)


def _first_effects(attempt: Attempt) -> dict[str, tuple[str, Comparison]]:
    """Return the sentence and the first call of each kind of side effect."""
    first: dict[str, tuple[str, Comparison]] = {}
    for comparison in attempt.comparisons:
        if {*_side_effects_of(attempt.exercise, comparison.seen)} - {"printed", *first}:
            for kind, sentence in _effects_in(attempt, comparison).items():
                if kind != "printed":
                    first.setdefault(kind, (sentence, comparison))
    return first


def _effects_in(attempt: Attempt, comparison: Comparison) -> dict[str, str]:
    """Return a sentence for each kind of side effect of a call, with the line that writes."""
    exercise, sentences = attempt.exercise, _side_effects_of(attempt.exercise, comparison.seen)
    if "changed" not in sentences or isinstance(attempt.answer, RemoteAnswer):
        return sentences
    function, case = exercise.on_cases(attempt.answer), comparison.trial.case
    if line := written_line(function, case, comparison.seen.changed[0]):
        sentences["changed"] = f"{sentences['changed'].partition(':')[0]}. {line}"
    return sentences


def printed_or_wider(attempt: Attempt) -> Iterator[Report]:
    """Remark on the output of a right answer, and on a wider dtype than asked for."""
    exercise = attempt.exercise
    printed = (_side_effects_of(exercise, one.seen).get("printed") for one in attempt.comparisons)
    for sentence in (next(filter(None, printed), None), _about_dtype(attempt)):
        if sentence:
            yield Report(exercise, "right", sentence)


def _about_dtype(attempt: Attempt) -> str:
    """Say that a dtype is wrong, or wider than asked for, and which line makes it so."""
    for one in attempt.comparisons:
        if one.about_dtype:
            return one.about_dtype
    return ""


def _side_effects_of(exercise: Exercise, seen: Observation) -> dict[str, str]:
    """Return a sentence for each kind of side effect of one call."""
    but, sentences = f"{exercise.name} returns the right values but", {}
    if seen.changed:
        key = seen.changed[0]
        changed = exercise.parameters[int(key)] if key.isdigit() else key
        sentences["changed"] = (
            f"{but} changes its input {changed}: work on a copy, or write x = x - y instead of "
            "x -= y."
        )
    if seen.warnings:
        quiet = ""
        if "encountered in" in seen.warnings[0]:  # a floating-point warning of NumPy
            quiet = " or, where its result is what you want, keep it quiet with np.errstate"
        sentences["warnings"] = (
            f'{but} warns: "{seen.warnings[0]}". Avoid the operation that warns{quiet}.'
        )
    if seen.printed:
        text = seen.printed.strip().splitlines()
        sentences["printed"] = (
            f"{but} prints {text[0][:40] if text else ''!r}: remove the print, an answer only "
            "returns."
        )
    return sentences


def left_after(attempt: Attempt, edited: Answer) -> str | None:
    """Return a problem that an edited answer still has; None if the edit is no mend."""
    function = attempt.exercise.on_cases(edited)
    others = () if attempt.is_rest else trials_of(attempt.exercise, attempt.seed + 1)
    seen = ((one, observe(function, one.case)) for one in others)
    if any(Comparison(attempt.exercise.name, *each).failed for each in seen):
        return None  # it was right by chance
    comparisons = [
        dataclasses.replace(one, seen=observe(function, one.trial.case))
        for one in attempt.comparisons
    ]
    after = Attempt(attempt.exercise, edited, comparisons, attempt.seed)
    effects, own = _first_effects(after), _first_effects(attempt)
    if effects:
        # The side effects of a call that stopped are not known.
        had = any(one.stopped for one in attempt.comparisons) or {*effects} <= {*own}
        kind = next(iter(effects))
        sentence, _ = own.get(kind) or effects[kind]  # the original names the learner's line
        return sentence.replace("returns the right values but ", "") if had else None
    problem = next(probes(after), None)
    if problem is None:
        return ""
    before = next(probes(attempt), None)
    if not before or _without_numbers(before.sentence) != _without_numbers(problem.sentence):
        return None
    # Beside an explained fault, what is measured may come of that one.
    return "" if attempt.is_rest else re.sub(RIGHT, "", problem.sentence)


def _without_numbers(sentence: str) -> str:
    return re.sub(rf"\d[\d.,]*|{RIGHT}", "", sentence)


def out_of_time(exercise: Exercise, seen: Observation) -> str:
    """Say that a call was stopped, and whether it was slow or may be endless."""
    sentence = f"{exercise.name} was still running after {timeouts.CALL_SECONDS:.0f} seconds and was stopped"
    if seen.explanation.startswith("It is slow"):
        return f"{sentence}. {explanation_of(seen)}"
    look = "look for a loop that never ends, or takes too many steps"
    return f"{sentence}: {look}. {explanation_of(seen)}".rstrip()


def probes(attempt: Attempt, right: Answer | None = None) -> Iterator[Report]:
    """Report what the probes of an exercise measure and find wrong.

    `right` computes the numbers that count as right, by default the reference.
    """
    exercise, answer = attempt.exercise, attempt.answer
    # The process of a remote answer has its own time limit; one here would cut off the reply.
    limit = math.inf if isinstance(answer, RemoteAnswer) else None
    if not exercise.accelerated:  # kernels cannot be called through a proxy
        answer = ComparedAnswer(answer, right or exercise.reference, exercise.name)
    for probe in exercise.probes:
        rng = np.random.default_rng(attempt.seed)
        seen = observe(functools.partial(probe, answer, rng), Case(), limit=limit)
        if seen.out_of_time:
            took = (
                f"{exercise.name} took over {timeouts.CALL_SECONDS:.0f} seconds on a larger input"
            )
            yield Report(exercise, "wrong", f"{took}. {explanation_of(seen)}".rstrip())
        elif right and seen.error is not None:
            continue  # it does not compute what counts as right
        elif isinstance(seen.error, WrongWhereMeasured):
            yield Report(exercise, "wrong", str(seen.error))
        elif seen.error is not None:
            sentence = (
                f"{exercise.name} stopped on a larger input with "
                f"{type(seen.error).__name__}: {_text_of(seen.error)}"
            )
            comparison = Comparison(exercise.name, Trial(Case()), seen)
            yield Report(exercise, "error", sentence, comparison)
        elif seen.value:
            yield Report(exercise, "wrong", seen.value)


def remarks(attempt: Attempt) -> Iterator[Report]:
    """Report the exercise's remarks on a right answer, except those that end in an error."""
    limit = math.inf if isinstance(attempt.answer, RemoteAnswer) else None
    for remark in attempt.exercise.remarks:
        seen = observe(functools.partial(remark, attempt.answer), Case(), limit=limit)
        if isinstance(seen.value, str):
            yield Report(attempt.exercise, "right", seen.value)
