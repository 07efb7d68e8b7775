"""List changes of a call's arguments: without the mask, say, or with another axis.

If a wrong answer has the right numbers of the changed call, it treats that argument wrongly.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_lib.checks.calls.case import Case
from attention_lib.checks.calls.tensors import is_tensor
from attention_lib.checks.exercise import Exercise
from attention_lib.lessons.softmax import softmax

Arguments = dict[str, Any]


@dataclass(frozen=True)
class ArgumentChange:
    """A change of a call's arguments, and the advice for an answer that it explains."""

    text: str  # to follow the words "a call"
    advice: str
    apply: Callable[[Arguments], Arguments | None]  # None where it changes nothing

    @property
    def sentence(self) -> str:
        """What is said of an answer that has the right numbers of the changed call."""
        return f"The call is treated as one {self.text}: {self.advice}."

    def changed(self, exercise: Exercise, case: Case) -> Case | None:
        """Return the case with changed arguments, or None if the change does not apply."""
        names, arguments = exercise.parameters, exercise.arguments_of(case)
        with np.errstate(all="ignore"):
            try:
                changes = self.apply(arguments)
            except Exception:  # the argument is of another kind
                return None
        if changes is None:
            return None
        arguments |= changes
        args = tuple(arguments[name] for name, _ in zip(names, case.args, strict=False))
        kwargs = {name: arguments[name] for name in arguments if name not in names[: len(args)]}
        return Case(*args, **kwargs)


def changes_for(exercise: Exercise, case: Case) -> Iterator[ArgumentChange]:
    """Yield the changes that fit the arguments of an exercise, the likeliest first."""
    arguments = exercise.arguments_of(case)
    parameters = inspect.signature(exercise.on_cases(exercise.reference)).parameters
    for name, parameter in parameters.items():
        if parameter.default is not inspect.Parameter.empty:
            yield _left_out(name, parameter.default)
    if "axis" in parameters:
        yield from map(_along, (-1, 0, 1, -2, None))
    arrays = [name for name in parameters if _is_array(arguments.get(name))]
    for one, other in itertools.combinations(arrays, 2):
        yield _exchanged(one, other)
    if {"key", "value"} <= set(arguments):
        yield from _without_rows("key", "value")
    matrices = [name for name in arrays if name.startswith("w_")]
    if len(matrices) > 1:
        yield ArgumentChange(
            f"with {', '.join(matrices[:-1])} and {matrices[-1]} transposed",
            "the matrices multiply from the right as they are, x @ w",
            lambda arguments: {name: arguments[name].mT for name in matrices},
        )
    for name in parameters:
        yield from _of_one(name, arguments.get(name))


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or is_tensor(value)


def _left_out(name: str, default: Any) -> ArgumentChange:
    def apply(arguments: Arguments) -> Arguments | None:
        return {name: default} if arguments.get(name, default) is not default else None

    advice = f"use {name} when it is given"
    return ArgumentChange(f"without {name}", advice, apply)


def _along(axis: int | None) -> ArgumentChange:
    def apply(arguments: Arguments) -> Arguments | None:
        return {"axis": axis} if arguments.get("axis", -1) != axis else None

    return ArgumentChange(f"with axis={axis}", "use the axis that is given, in every line", apply)


def _exchanged(one: str, other: str) -> ArgumentChange:
    def apply(arguments: Arguments) -> Arguments | None:
        return {one: arguments[other], other: arguments[one]}

    advice = "each is where the other belongs"
    return ArgumentChange(f"with {one} and {other} exchanged", advice, apply)


def _without_rows(*names: str) -> Iterator[ArgumentChange]:
    for text, kept in (("last", slice(None, -1)), ("first", slice(1, None))):

        def apply(arguments: Arguments, kept: slice = kept) -> Arguments | None:
            return {name: arguments[name][..., kept, :] for name in names}

        rows = f"without the {text} row of {' and '.join(names)}"
        yield ArgumentChange(rows, f"take the {text} one too", apply)


def _of_one(name: str, value: Any) -> Iterator[ArgumentChange]:
    """Yield the changes of a single argument."""
    operations: tuple[tuple[str, Callable[[Any], Any]], ...] = ()
    advice = f"use {name} as it is given"
    if isinstance(value, np.ndarray) and value.dtype == bool:
        operations = (("~{}", np.invert),)
        advice = f"True and False of {name} are swapped"
    elif isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.ndim:
        operations = (
            ("{} + 1", lambda x: x + 1),
            ("{} - 1", lambda x: x - 1),
            ("np.arange({}.shape[-1])", lambda x: np.broadcast_to(np.arange(x.shape[-1]), x.shape)),
        )
    elif _is_array(value):
        operations = (("{}.mT", lambda x: x.mT), ("the softmax of {}", softmax))
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and name != "axis":
        operations = (("{} + 1", lambda x: x + 1), ("{} - 1", lambda x: x - 1))
    for text, operation in operations:
        used = f"with {text.format(name)} in place of {name}"
        yield ArgumentChange(used, advice, _applied(name, operation))


def _applied(name: str, operation: Callable[[Any], Any]) -> Callable[[Arguments], Arguments | None]:
    def apply(arguments: Arguments) -> Arguments | None:
        value = arguments.get(name)
        return None if value is None else {name: operation(value)}

    return apply
