"""Report what a call did: a wrong result, an error, a forbidden call, a side effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from traceback import FrameSummary

import numpy as np

from attention_lib.checks.attempt import Attempt
from attention_lib.checks.calls import timeouts
from attention_lib.checks.calls.calling import observe
from attention_lib.checks.calls.case import Case, Observation, explanation_of
from attention_lib.checks.calls.remote import RemoteAnswer
from attention_lib.checks.compare.comparing import Comparison, in_own_dtype
from attention_lib.checks.edits.writing import written_line
from attention_lib.checks.errors.explaining import explanation
from attention_lib.checks.errors.remedies import remedy
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.findings.finding import (
    Explains,
    Finding,
    Label,
    everything,
    nothing,
    way_of,
)
from attention_lib.checks.wording import LIBRARY, full_name, known_name

MOST_ERROR_CHARACTERS = 1000  # of an error's text
NAN_OF = {  # operations, and the operands that make NaN
    "subtract": "inf - inf",
    "add": "inf - inf",
    "reduce": "inf - inf",
    "multiply": "0 * inf",
    "matmul": "0 * inf or inf - inf",
    "divide": "0 / 0 or inf / inf",
    "log": "the logarithm of a negative number",
    "sqrt": "the root of a negative number",
}


def forbidden_calls(attempt: Attempt) -> Iterator[Finding]:
    """Find the first call of a forbidden function."""
    exercise = attempt.exercise
    shown = next((one for one in attempt.comparisons if one.seen.forbidden), None)
    if shown is None:
        return
    name = shown.seen.forbidden
    for function, reason in exercise.not_by.items():
        if name == full_name(function):
            text = f"{exercise.name} hands its work to {LIBRARY}.{function.__name__}, {reason}."
            yield Finding("forbidden", text)
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
    yield Finding("forbidden", f"{exercise.name} calls {known_name(name)}, {whose}: {write_it}.")


def second_readings(attempt: Attempt) -> Iterator[Finding]:
    """Find a wrong result of a call that reads an iterator twice."""
    for one in attempt.failing:
        if one.seen.read_again:
            text = (
                f"{attempt.exercise.name} reads its input a second time and finds nothing there: "
                "an iterator can be read once. Keep what you need of each item as it comes."
            )
            yield Finding("reread", text, one, everything)


def changed_inputs(attempt: Attempt) -> Iterator[Finding]:
    """Find a changed input if results are wrong only in their dtype.

    Then writing into the input is the cause: an array keeps its dtype.
    """
    if not attempt.failing or not attempt.failing[0].seen.changed:
        return
    if not any(one.stopped or one.wrong_in_numbers for one in attempt.comparisons):
        yield changed(attempt, attempt.failing[0], everything)


def results(attempt: Attempt) -> Iterator[Finding]:
    """Find every wrong result and every error."""
    exercise = attempt.exercise
    for one in attempt.failing:
        way = way_of(in_own_dtype(one))

        def in_this_way(other: Comparison, way: object = way) -> bool:
            return way_of(other) == way

        if one.stopped:
            yield _finding_of_error(exercise, one, in_this_way)
        else:
            asked = _error_asked_for(exercise, one.trial.case)
            topics = frozenset({"dtype"} if way == ("dtype", 0) else ())
            label: Label = "raises" if one.trial.case.raises else "result"
            opening = f"{asked}{one.problem}"
            origin = _origin_of_nan(attempt, one) if way == ("spoiled", 0) else ""
            yield Finding(label, origin, one, in_this_way, opening, topics=topics)


def _origin_of_nan(attempt: Attempt, one: Comparison) -> str:
    """Return a sentence on where the first NaN of a call arises, or "" if unknown."""
    if "Mean of empty slice" in " ".join(one.seen.warnings):
        return "It is the mean of an empty array: look where all entries are lost."
    if isinstance(attempt.answer, RemoteAnswer):
        return ""
    with np.errstate(invalid="raise"):
        seen = observe(attempt.exercise.on_cases(attempt.answer), one.trial.case)
    operation = str(seen.error).rpartition(" ")[2]
    if not isinstance(seen.error, FloatingPointError) or operation not in NAN_OF:
        return ""
    place = _place_of(seen.frames, attempt.exercise.name)
    return f"The first NaN arises{place}, from {NAN_OF[operation]}." if place else ""


def _finding_of_error(exercise: Exercise, one: Comparison, explains: Explains) -> Finding:
    seen, name = one.seen, exercise.name
    error, frames = seen.error, seen.frames
    assert error is not None
    if isinstance(error, RecursionError) and frames:  # the line that calls again, not the innermost
        again = Counter((frame.filename, frame.lineno) for frame in frames).most_common(1)[0][0]
        frames = [one for one in frames if (one.filename, one.lineno) == again]
    lines = frozenset(frame.lineno for frame in frames[-1:] if frame.lineno)
    if seen.refused_call:
        text = (
            f"{name} cannot be called this way ({_text_of(error)}); its first line should be "
            f"{exercise.first_line}:"
        )
        return Finding("result", "", one, everything, text)
    stopped = f"stopped{_place_of(frames, name)} with {type(error).__name__}"
    found, topic = (explanation_of(seen), "") if seen.explanation else explanation(error)
    if found:
        return Finding(
            "error",
            f"{name} {stopped}: {found}",
            one,
            explains,
            topics=frozenset({topic}) - {""},
            lines=lines,
            outcome="error",
        )
    stopped += f": {_text_of(error)}".rstrip() if str(error) else "."
    if one.trial.case.raises:
        asked = _error_asked_for(exercise, one.trial.case)
        return Finding("raises", "", one, explains, f"{asked}it {stopped}", lines=lines)
    advice, topic = remedy(error, frames)
    if not advice and frames and (frames[-1].line or "").startswith("raise"):  # the learner's own
        allowed = numbers_of(exercise, one.trial.case) or "this call"
        stopped = f"{stopped.rstrip('.')}. The contract allows {allowed}."
    if advice:
        said = frozenset({topic}) - {""}
        text = f"{name} {stopped.rstrip('.')}. {advice}"
        return Finding("error", text, one, explains, topics=said, lines=lines, outcome="error")
    return Finding("error", "", one, explains, f"{name} {stopped}", lines=lines, outcome="error")


def _error_asked_for(exercise: Exercise, case: Case) -> str:
    """Return a clause on the error that a case requires, and for which numbers; or ""."""
    if not case.raises:
        return ""
    numbers = numbers_of(exercise, case)
    where = f"for {numbers}" if numbers else "here"
    return f"{exercise.name} should raise {case.raises.__name__} {where}; "


def numbers_of(exercise: Exercise, case: Case) -> str:
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
    """Return the learner's line, cell or file in which a call stopped, or ""."""
    if not frames or "site-packages" in frames[-1].filename:
        return ""
    line, file = frames[-1].lineno, frames[-1].filename
    function = next((f.name for f in reversed(frames) if not f.name.startswith("<")), "")
    if file.endswith(".py") and "ipykernel" not in file:
        return f" in line {line} of {file.replace(chr(92), '/').rpartition('/')[2]}"
    if function in ("", name):
        return f" in line {line} of its cell"
    return f" in line {line} of the cell with {function}"


def side_effects(attempt: Attempt) -> Iterator[Finding]:
    """Find the first call with each kind of side effect that makes an answer wrong."""
    if one := next((one for one in attempt.comparisons if one.seen.changed), None):
        yield changed(attempt, one)
    if one := next((one for one in attempt.comparisons if one.seen.warnings), None):
        yield warned(attempt.exercise, one)


def changed(attempt: Attempt, one: Comparison, explains: Explains = nothing) -> Finding:
    """Return the finding that a call changes its input, and in which line."""
    exercise, key = attempt.exercise, one.seen.changed[0]
    name = exercise.parameters[int(key)] if key.isdigit() else key
    what, lines = "work on a copy, or write x = x - y instead of x -= y.", frozenset[int]()
    said = f"{exercise.name} changes its input {name}: {what}"
    if not isinstance(attempt.answer, RemoteAnswer):
        written = written_line(exercise.on_cases(attempt.answer), one.trial.case, key)
        if written:
            said, lines = (
                f"{exercise.name} changes its input {name}. {written[0]}",
                frozenset({written[1]}),
            )
    return Finding(
        "changed",
        said,
        one,
        explains,
        topics=frozenset({"changed"}),
        lines=lines,
    )


def warned(exercise: Exercise, one: Comparison) -> Finding:
    """Return the finding that a call warns."""
    quiet, warning = "", one.seen.warnings[0]
    if "encountered in" in warning:  # a floating-point warning of NumPy
        quiet = " or, where its result is what you want, keep it quiet with np.errstate"
    text = f'{exercise.name} warns: "{warning}". Avoid the operation that warns{quiet}.'
    return Finding("warns", text, one, topics=frozenset({"warns"}))


def printed(attempt: Attempt) -> str:
    """Return a remark on what an answer prints, or ""."""
    for one in attempt.comparisons:
        if one.seen.printed:
            text = one.seen.printed.strip().splitlines()
            shown = repr(text[0][:40] if text else "")
            return (
                f"{attempt.exercise.name} prints {shown}: remove the print, an answer only returns."
            )
    return ""


def out_of_time(exercise: Exercise, seen: Observation) -> str:
    """Return a sentence on a call that was stopped, and where it was."""
    limit = f"{timeouts.CALL_SECONDS:.0f} seconds"
    where = explanation_of(seen) or "Look for a loop that never ends, or takes too many steps."
    return f"{exercise.name} was still running after {limit} and was stopped. {where}"
