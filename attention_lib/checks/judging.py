"""Judging an answer: against the reference on every case, then against the known mistakes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from attention_lib.checks.calling import TIME_LIMIT, Observation, learner_frames, observe
from attention_lib.checks.exercise import Answer, Case, Exercise, Stream
from attention_lib.checks.tensors import (
    as_numbers,
    is_tensor,
    precision_of,
    short_dtype,
    widened,
)

Outcome = Literal["right", "wrong", "error", "unattempted"]

# Rounding allowed, in units of the dtype's epsilon at the size of the numbers formed. Right
# answers stay within a few; a mistake in float64 is off by ten thousand times as much.
SLACK = 32.0

# The lessons' modules in order: an answer may use those before its own, and none after.
LESSON_MODULES = (
    "softmax",
    "stability",
    "scaling",
    "gradients",
    "attention",
    "multihead",
    "flash",
    "gpu",
)

EXACT = np.finfo(np.float64)
NUMERIC = (np.ndarray, np.generic, int, float)
FUSED = (  # attention that torch has ready
    "torch._C._nn.scaled_dot_product_attention",
    "torch._scaled_dot_product",
    "torch.nn.attention",
    "torch.nn.functional.multi_head_attention_forward",
    "torch.nn.modules.activation.MultiheadAttention",
)
OTHER_LIBRARIES = ("scipy", "torch", "jax", "tensorflow", "sklearn")


@dataclass(frozen=True)
class Trial:
    """One case, what the answer did with it, and what is right."""

    case: Case
    seen: Observation
    expected: Any = None  # in the dtype of the contract, values computed in float64
    allowed: Any = None  # the rounding allowed, entry by entry
    precision: Any = EXACT  # of the arguments: the limits of their coarsest dtype


@dataclass(frozen=True)
class Report:
    """The verdict on an answer: one sentence, and the trial that shows it."""

    exercise: Exercise
    outcome: Outcome
    sentence: str
    trial: Trial | None = None
    trials: int = 0
    notes: tuple[str, ...] = field(default=())


def judge(exercise: Exercise, answer: Any, seed: int) -> Report:
    """Try an answer on the exercise's cases and say what is right or wrong with it."""
    if answer is None or answer is Ellipsis:
        return Report(exercise, "unattempted", _unattempted(exercise))
    if exercise.kind == "value":
        return _judge_value(exercise, answer)
    if not callable(answer):
        return Report(
            exercise,
            "wrong",
            f"check was given {_described(answer)}; give it the function itself, not a result: "
            f'check("{exercise.name}", {exercise.name}).',
        )

    forbidden = _forbidden_modules(exercise)
    handed_in, answer = answer, _callable_on_cases(exercise, answer)
    trials = []
    for case in exercise.cases(np.random.default_rng(seed)):
        seen = observe(answer, case, forbidden)
        if isinstance(seen.error, NotImplementedError) and not (trials or seen.forbidden):
            return Report(exercise, "unattempted", _unattempted(exercise, seen.error))
        trial = _trial(exercise, case, seen)
        trials.append(trial)
        if seen.out_of_time:
            return Report(
                exercise,
                "wrong",
                f"{exercise.name} was still running after {TIME_LIMIT:.0f} seconds and was "
                "stopped: look for a loop that never ends.",
                trial,
            )
    return (
        _recognize(exercise, trials)
        or _judge_calls(exercise, trials)
        or _judge_reading(exercise, trials)
        or _judge_results(exercise, trials)
        or _judge_manners(exercise, trials)
        or _probe(exercise, handed_in)
        or Report(exercise, "right", "Right.", trials=len(trials))
    )


def _callable_on_cases(exercise: Exercise, answer: Answer) -> Answer:
    return exercise.run(answer) if exercise.run else answer


def _unattempted(exercise: Exercise, error: NotImplementedError | None = None) -> str:
    frames = learner_frames(error) if error else []
    if len(frames) > 1:  # the stub is that of another exercise, which this answer calls
        return f"{exercise.name} calls {frames[-1].name}, which is not written yet."
    return (
        "Write your answer in the cell above in place of raise NotImplementedError(), run that "
        f'cell, then this one. hint("{exercise.name}") helps.'
    )


def _trial(exercise: Exercise, case: Case, seen: Observation) -> Trial:
    if case.raises or case.verify:
        return Trial(case, seen, allowed=exercise.tolerance or None)
    args, kwargs = copy.deepcopy((case.args, case.kwargs))
    contract = exercise.reference(*args, **kwargs)
    wide_args, wide_kwargs = _widened(case.args), _widened(case.kwargs)
    expected = exercise.reference(*wide_args, **wide_kwargs)
    with np.errstate(over="ignore"):
        size = exercise.magnitude(*wide_args, **wide_kwargs) if exercise.magnitude else None
    precision = _coarsest((case.args, case.kwargs))
    allowed = _allowed(expected, size, precision)
    return Trial(case, seen, _typed(expected, contract), allowed, precision)


def _allowed(expected: Any, size: Any, precision: Any) -> Any:
    """Return the rounding allowed in each entry; for a tuple of results, a tuple of these."""
    if isinstance(expected, tuple):
        sizes = size if isinstance(size, tuple) else (size,) * len(expected)
        return tuple(map(_allowed, expected, sizes, (precision,) * len(expected)))
    expected, size = as_numbers(expected), as_numbers(size)
    size = np.abs(np.asarray(expected, np.float64)) if size is None else np.abs(size)
    eps = float(precision.eps)
    with np.errstate(over="ignore"):
        allowed = SLACK * eps * np.asarray(size, np.float64)
    # Below the smallest normal number nothing is promised; and even where the scores are so
    # large that their own rounding swallows everything, a result is not arbitrary.
    ceiling = max(1e-3, 8 * eps) * np.maximum(
        1.0, np.abs(np.where(np.isfinite(expected), expected, 0.0))
    )
    return np.minimum(allowed, ceiling) + float(precision.tiny)


@dataclass(frozen=True)
class Expected:
    """A result's exact values beside the dtype it is to have."""

    values: NDArray
    dtype: Any  # NumPy's or, of a tensor, torch's
    scalar: bool
    device: Any = None  # of a tensor


def _typed(expected: Any, contract: Any) -> Any:
    if isinstance(expected, tuple):
        return tuple(map(_typed, expected, contract))
    if is_tensor(contract):
        return Expected(as_numbers(expected), contract.dtype, False, contract.device)
    return Expected(np.asarray(expected), np.asarray(contract).dtype, np.ndim(contract) == 0)


# Each of the following looks at all trials for one kind of problem, gravest kind first.


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
            return Report(exercise, "wrong", f"{exercise.name} calls {name}, {whose}: {write_it}.")
    return None


def _judge_reading(exercise: Exercise, trials: list[Trial]) -> Report | None:
    """Tell a wrong answer that it looked twice into what can be read once."""
    for trial in trials:
        if trial.seen.read_again and _fails(exercise, trial):
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
            frames = learner_frames(error)
            line = f" in line {frames[-1].lineno}" if frames else ""
            stopped = f"stopped{line} with {type(error).__name__}"
            stopped += f": {error}" if str(error) else "."
            if trial.case.raises:
                asked_for = f"should raise {trial.case.raises.__name__} here; it {stopped}"
                return Report(exercise, "wrong", f"{exercise.name} {asked_for}", trial)
            return Report(exercise, "error", f"{exercise.name} {stopped}", trial)
        sentence = problem_with_result(exercise, trial)
        if sentence:
            return Report(exercise, "wrong", sentence, trial)
    return None


def problem_with_result(exercise: Exercise, trial: Trial) -> str | None:
    """Say in one sentence what is wrong with the value of a call that came back."""
    name, value = exercise.name, trial.seen.value
    if trial.case.raises:
        if trial.seen.error is not None:
            return None
        return (
            f"{name} should raise {trial.case.raises.__name__} here; it returned "
            f"{_described(value)}."
        )
    if trial.case.verify:
        if value is None:
            return f"{name} returned None: does every way through it end in a return?"
        return trial.case.verify(value)
    if isinstance(trial.expected, tuple):
        return _problem_with_parts("result", name, value, trial.expected, trial.allowed)
    return _problem_with_array(name, value, trial.expected, trial.allowed)


def _problem_with_parts(
    part: str, name: str, value: Any, expected: tuple[Any, ...], allowed: tuple[Any, ...]
) -> str | None:
    count = len(expected)
    if not isinstance(value, (tuple, list)) or len(value) != count:
        return f"{name} returned {_described(value)}; it should return {count} {part}s."
    for number, (one, right, size) in enumerate(zip(value, expected, allowed, strict=True), 1):
        place = f"{part} {number} of {name}"
        sentence = (
            _problem_with_parts("part", place, one, right, size)
            if isinstance(right, tuple)
            else _problem_with_array(place, one, right, size)
        )
        if sentence:
            return sentence
    return None


def _problem_with_array(name: str, value: Any, expected: Expected, allowed: Any) -> str | None:
    if value is None:
        return f"{name} returned None: does every way through it end in a return?"
    if expected.device is not None:
        sentence = _problem_with_tensor(name, value, expected)
        return sentence or _problem_with_values(name, as_numbers(value), expected, allowed)
    if is_tensor(value):
        return f"{name} returned a torch tensor; it should return a NumPy array."
    if not expected.scalar and not isinstance(value, np.ndarray):
        return f"{name} returned {_described(value)}; it should return a NumPy array."
    if isinstance(value, (list, tuple, dict, set, str, bytes)) or callable(value):
        return f"{name} returned {_described(value)}; it should return a number."
    got = np.asarray(value)
    if got.dtype.kind not in "biuf":
        return f"{name} returned values of dtype {got.dtype}; they should be real numbers."
    if got.shape != expected.values.shape:
        return f"{name} returned shape {got.shape}; it should be {expected.values.shape}."
    kinds_fit = expected.dtype.kind in "iu" and got.dtype.kind in "iuf"
    if not expected.scalar and got.dtype != expected.dtype and not kinds_fit:
        return f"{name} returned dtype {got.dtype}; for this input it should be {expected.dtype}."
    return _problem_with_values(name, got, expected, allowed)


def _problem_with_tensor(name: str, value: Any, expected: Expected) -> str | None:
    if not is_tensor(value):
        return f"{name} returned {_described(value)}; it should return a torch tensor."
    if tuple(value.shape) != expected.values.shape:
        return f"{name} returned shape {tuple(value.shape)}; it should be {expected.values.shape}."
    if value.device != expected.device:
        return (
            f"{name} returned a tensor on {value.device}; its inputs are on {expected.device}, "
            "and so should the result be."
        )
    if value.dtype != expected.dtype:
        return (
            f"{name} returned dtype {short_dtype(value.dtype)}; for this input it should be "
            f"{short_dtype(expected.dtype)}."
        )
    return None


def _problem_with_values(name: str, got: NDArray, expected: Expected, allowed: Any) -> str | None:
    if np.isnan(got).any():
        return f"{name} returned NaN (not a number) {_place(np.isnan(got))}."
    off = differing(got, expected.values, allowed)
    if off.any():
        spot = tuple(int(i) for i in np.argwhere(off)[0])
        got_text, right_text = _distinguished(got[spot], expected.values[spot])
        at = f" at {list(spot)}" if spot else ""
        return f"{name} gives {got_text}{at}; it should be {right_text}."
    return None


def _judge_manners(exercise: Exercise, trials: list[Trial]) -> Report | None:
    """Refuse what an answer does besides returning the right values."""
    for trial in trials:
        seen, name = trial.seen, exercise.name
        if seen.changed:
            parameters = exercise.first_line.partition("(")[2].rstrip(")").split(", ")
            key = seen.changed[0]
            changed = parameters[int(key)].partition("=")[0] if key.isdigit() else key
            return Report(
                exercise,
                "wrong",
                f"{name} returns the right values but changes its input {changed}: work on a copy, "
                "or write x = x - y instead of x -= y.",
                trial,
            )
        if seen.warnings:
            return Report(
                exercise,
                "wrong",
                f'{name} returns the right values but warns: "{seen.warnings[0]}". Avoid the '
                "operation that warns where its result is not used.",
                trial,
            )
        if seen.printed:
            text = seen.printed.strip().splitlines()
            return Report(
                exercise,
                "wrong",
                f"{name} returns the right values but prints {text[0][:40] if text else ''!r}: "
                "remove the print, an answer only returns.",
                trial,
            )
    return None


def _probe(exercise: Exercise, answer: Answer) -> Report | None:
    for probe in exercise.probes:
        seen = observe(lambda probe=probe: probe(answer), Case())
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


def _recognize(exercise: Exercise, trials: list[Trial]) -> Report | None:
    """Name the known mistake whose numbers are the learner's own, on every case."""
    failing = next((t for t in trials if _fails(exercise, t)), None)
    if failing is None:
        return None
    for mistake in exercise.mistakes:
        if mistake.measured:
            continue
        if any(_agrees(exercise, variant, trials) for variant in mistake.variants):
            return Report(exercise, "wrong", mistake.sentence, failing)
    return None


def _fails(exercise: Exercise, trial: Trial) -> bool:
    if trial.seen.error is not None:
        return not (trial.case.raises and isinstance(trial.seen.error, trial.case.raises))
    return problem_with_result(exercise, trial) is not None


def _agrees(exercise: Exercise, variant: Answer, trials: list[Trial]) -> bool:
    """Tell whether a mistake does what the answer did on every case, errors included.

    An error alone proves little, nor does a dtype: one wrong number at least must be shared.
    """
    variant = _callable_on_cases(exercise, variant)
    shared_a_wrong_number = False
    for trial in trials:
        with np.errstate(all="ignore"):
            other = observe(variant, trial.case, limit=1.0)
        asked_for = trial.case.raises or ()  # in words of the learner's own
        if isinstance(other.error, asked_for) and isinstance(trial.seen.error, asked_for):
            continue
        if other.out_of_time or repr(other.error) != repr(trial.seen.error):
            return False
        if other.error is None:
            if not _alike(trial.seen.value, other.value, trial.allowed, trial.precision):
                return False
            shared_a_wrong_number |= _wrong_in_numbers(trial)
    return shared_a_wrong_number


def _alike(value: Any, other: Any, allowed: Any, precision: Any) -> bool:
    """Tell whether two results are the same but for rounding, whatever their dtypes."""
    if isinstance(value, (tuple, list)) and isinstance(other, (tuple, list)):
        parts = allowed if isinstance(allowed, tuple) else (allowed,) * len(other)
        return len(value) == len(other) and all(
            map(_alike, value, other, parts, (precision,) * len(other))
        )
    if value is None:
        return other is None
    value, other = as_numbers(value), as_numbers(other)
    if not isinstance(value, NUMERIC) or not isinstance(other, NUMERIC):
        return type(value) is type(other) and value.__hash__ is not None and value == other
    value, other = np.asarray(value), np.asarray(other)
    if (
        value.shape != other.shape
        or value.dtype.kind not in "biuf"
        or other.dtype.kind not in "biuf"
    ):
        return False
    size = np.abs(np.where(np.isfinite(other), other, 0.0))
    rounding = 8 * SLACK * float(precision.eps) * size
    if allowed is not None and _broadcasts(allowed, other.shape):
        rounding = rounding + allowed
    both_nan = np.isnan(value) & np.isnan(other)
    return not (differing(value, other, rounding) & ~both_nan).any()


def _broadcasts(array: Any, shape: tuple[int, ...]) -> bool:
    try:
        np.broadcast_to(array, shape)
    except ValueError:
        return False
    return True


def _wrong_in_numbers(trial: Trial) -> bool:
    value, expected, allowed = trial.seen.value, trial.expected, trial.allowed
    if trial.case.raises:
        return True
    if trial.case.verify:
        return trial.case.verify(value) is not None
    return _differ_in_numbers(value, expected, allowed)


def _differ_in_numbers(value: Any, expected: Any, allowed: Any) -> bool:
    if isinstance(expected, tuple):
        return (
            not isinstance(value, (tuple, list))
            or len(value) != len(expected)
            or any(map(_differ_in_numbers, value, expected, allowed))
        )
    value = as_numbers(value)
    return (
        not isinstance(value, NUMERIC)
        or np.shape(value) != expected.values.shape
        or bool(differing(np.asarray(value), expected.values, allowed).any())
    )


def _judge_value(exercise: Exercise, answer: Any) -> Report:
    expected = np.asarray(exercise.reference, float)
    try:
        got = np.asarray(answer, float)
    except (TypeError, ValueError):
        got = np.array(np.nan)
    if got.shape != expected.shape or np.isnan(got).any():
        sentence = (
            f"{exercise.name} should be {expected.size} numbers, such as "
            f"[0.1, 0.2, 0.7]; it is {_described(answer)}."
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


def differing(got: NDArray, expected: NDArray, allowed: Any) -> NDArray[np.bool_]:
    """Mark the entries further from the exact value than rounding explains."""
    got = got.astype(np.float64) if got.dtype.kind != "b" else got.astype(float)
    expected = np.asarray(expected, np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        close = np.abs(got - expected) <= allowed
    return ~(close | (got == expected))


def _forbidden_modules(exercise: Exercise) -> tuple[str, ...]:
    own = LESSON_MODULES.index(exercise.lesson.partition("_")[2])
    library = tuple(f"attention_lib.{module}" for module in LESSON_MODULES[own:])
    return library + (FUSED if exercise.accelerated else OTHER_LIBRARIES)


def _widened(value: Any) -> Any:
    """Copy arguments with every float32 array, and every tensor, in float64."""
    if is_tensor(value):
        return widened(value) if precision_of(value) else value
    if isinstance(value, np.ndarray):
        return value.astype(np.float64) if value.dtype == np.float32 else value.copy()
    if isinstance(value, (tuple, list)):
        return type(value)(map(_widened, value))
    if isinstance(value, Stream):
        return Stream(map(_widened, value.items))
    if isinstance(value, dict):
        return {key: _widened(item) for key, item in value.items()}
    return value


def _coarsest(arguments: Any) -> Any:
    """Return the limits of the coarsest dtype among arrays and tensors, float64's for integers."""
    limits = [
        precision_of(array)
        if is_tensor(array)
        else np.finfo(np.float32 if array.dtype == np.float32 else np.float64)
        for array in _arrays(arguments)
    ]
    return max(filter(None, limits), key=lambda limit: float(limit.eps), default=EXACT)


def _arrays(value: Any) -> Iterator[Any]:
    if isinstance(value, np.ndarray) or is_tensor(value):
        yield value
    elif isinstance(value, Stream):
        yield from value.items
    elif isinstance(value, dict):
        yield from _arrays(tuple(value.values()))
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _arrays(item)


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    if is_tensor(value):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, (bool, int, float, np.generic)):
        return f"the number {value}"
    if value is None:
        return "None"
    return f"an object of type {type(value).__name__}"


def _place(where: NDArray[np.bool_]) -> str:
    if where.ndim == 0:
        return "here"
    if where.all():
        return "in every place"
    return f"at {[int(i) for i in np.argwhere(where)[0]]}"


def _distinguished(got: Any, right: Any) -> tuple[str, str]:
    """Write two numbers with as many digits as it takes to tell them apart."""
    if isinstance(right, (bool, np.bool_)):
        return str(bool(got)), str(bool(right))
    for digits in range(4, 18):
        pair = f"{got:.{digits}g}", f"{right:.{digits}g}"
        if pair[0] != pair[1]:
            break
    return pair
