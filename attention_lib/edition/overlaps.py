"""Find functions that answer an exercise which is still graded, whatever lesson they are of."""

from __future__ import annotations

import ast
import contextlib
import copy
import importlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from attention_lib.checks.calls.timeouts import OutOfTime, time_limit
from attention_lib.checks.cases import cases_of, trials_of
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.judges import results
from attention_lib.checks.judging import Policy, judge
from attention_lib.checks.source.cell import silenced
from attention_lib.edition.recording import SEED
from attention_lib.exercises.model_answers import model_answer
from attention_lib.lessons import modules_of

__all__ = ["answered_by", "functions_of", "shown_by", "stand_in"]

VALUES = Policy((results,))
SECONDS = 1.0  # of a call, which most functions fail
FIRST_CALLS = 2  # after so many wrong ones no more are tried
FEWEST_CALLS = 2  # one may be right by chance


def answered_by(function: Callable[..., Any], exercises: Iterable[Exercise]) -> Iterator[Exercise]:
    """Yield the exercises whose check a function passes, as far as values go."""
    for exercise in exercises:
        if exercise.kind == "function" and not exercise.run and _fits(function, exercise):
            with silenced():
                is_right = judge(exercise, function, SEED, VALUES).outcome == "right"
            if is_right:
                yield exercise


def shown_by(
    functions: Iterable[Callable[..., Any]], exercises: Iterable[Exercise]
) -> Iterator[tuple[str, Exercise]]:
    """Yield the names of a notebook's functions that do an exercise's work on some of its calls.

    Functions that call the answer are passed over.
    """
    exercises = [one for one in exercises if one.kind == "function" and not one.run]
    for function in functions:
        used = _names_used(function)
        for exercise in exercises:
            if exercise.name not in used and _right_calls(function, exercise) >= FEWEST_CALLS:
                yield function.__name__, exercise


def _names_used(function: Callable[..., Any], known: frozenset[str] = frozenset()) -> set[str]:
    """Return the names in a function's code, and in that of functions beside it which it calls."""
    codes, names = [function.__code__], set[str]()
    while codes:
        code = codes.pop()
        names.update(code.co_names)
        codes += [one for one in code.co_consts if isinstance(one, CodeType)]
    for name in names - known:
        other = function.__globals__.get(name)
        if isinstance(other, FunctionType) and other.__globals__ is function.__globals__:
            names = names | _names_used(other, known | names)
    return names


def _right_calls(function: Callable[..., Any], exercise: Exercise) -> int:
    """Count calls with right results; none if the first fail."""
    count = 0
    for place, trial in enumerate(trials_of(exercise, SEED)):
        args, kwargs = copy.deepcopy((trial.case.args, trial.case.kwargs))
        if trial.case.raises or trial.case.verify or not all(map(_is_finite, args)):
            continue
        with contextlib.suppress(Exception, OutOfTime), silenced(), time_limit(SECONDS):
            count += _is_near(function(*args, **kwargs), trial.expected)
        if place == FIRST_CALLS and not count:
            return 0
    return count


def _is_finite(argument: Any) -> bool:
    return not isinstance(argument, np.ndarray) or bool(np.isfinite(argument).all())


def _is_near(value: Any, expected: Any) -> bool:
    """Tell whether numbers are right to the digits of float32."""
    if isinstance(expected, tuple):
        return len(value) == len(expected) and all(map(_is_near, value, expected))
    same = np.shape(value) == np.shape(expected.values)
    return same and bool(np.allclose(value, expected.values, 1e-5, 1e-6))


def _fits(function: Callable[..., Any], exercise: Exercise) -> bool:
    """Call a function on one case: the many that take other arguments need not be judged."""
    case = next(case for case in cases_of(exercise, SEED) if not case.raises)
    args, kwargs = copy.deepcopy((case.args, case.kwargs))
    with contextlib.suppress(Exception, OutOfTime), silenced(), time_limit(SECONDS):
        function(*args, **kwargs)
        return True
    return False


def functions_of(lesson: str) -> Iterator[tuple[ModuleType, str]]:
    """Yield the functions that a lesson's modules define, private ones among them."""
    for name in modules_of(lesson):
        module = importlib.import_module(f"attention_lib.lessons.{name}")
        for function, value in vars(module).items():
            if inspect.isfunction(value) and value.__module__ == module.__name__:
                yield module, function


def stand_in(
    module: ModuleType, name: str, known: Mapping[str, Exercise], graded: Iterable[Exercise]
) -> ast.FunctionDef | None:
    """Return the lesson's own model answer, unless that answers a graded exercise, too."""
    source = model_answer(known[name]) if name in known else None
    if source is None:
        return None
    namespace = dict(vars(module))
    exec(source, namespace)
    if any(answered_by(namespace[name], graded)):
        return None
    nodes = ast.parse(source).body
    return next(n for n in nodes if isinstance(n, ast.FunctionDef) and n.name == name)
