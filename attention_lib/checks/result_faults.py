"""Undo a fault of the whole result, such as its sign or a factor, to find the fault behind it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from attention_lib.checks.comparing import Comparison
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.sizes import sizes

# Takes a call's arguments, by name, and its result; returns the result without the fault.
Undone = Callable[[dict[str, Any], Any], Any]


def faults_of_result(
    exercise: Exercise, first: Comparison
) -> Iterator[tuple[str, Callable[[Comparison], Comparison]]]:
    """Yield the sentence of each fault of a result, and a function that undoes it in a comparison.

    The sizes that a factor may be are read from the first comparison.
    """
    value = first.seen.value
    if isinstance(value, np.ndarray) and value.dtype.kind == "b":
        return  # with only two values, many faults look the same
    arguments = exercise.arguments_of(first.trial.case)
    several = isinstance(value, (tuple, list))
    if several and not isinstance(first.trial.expected, tuple):
        one = "Several results are returned, where one is asked for: leave out the others."
        yield one, functools.partial(_without, lambda _, value: value[0], exercise)
    for sentence, undone in _of_several(len(value)) if several else _of_one(arguments):
        yield sentence, functools.partial(_without, undone, exercise)


def _without(undone: Undone, exercise: Exercise, one: Comparison) -> Comparison:
    seen, case = one.seen, one.trial.case
    if seen.error is not None or case.raises:
        return one
    try:
        with np.errstate(all="ignore"):
            value = undone(exercise.arguments_of(case), seen.value)
    except Exception:
        value = seen.value
    return dataclasses.replace(one, seen=dataclasses.replace(seen, value=value))


TURNED: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("every number has the wrong sign", np.negative),
    ("the last two axes are exchanged", lambda value: np.swapaxes(value, -1, -2)),
)


def _of_several(count: int) -> Iterator[tuple[str, Undone]]:
    yield (
        "The results stand in reverse order: return them in the order of the contract.",
        lambda arguments, value: value[::-1],
    )
    for place in range(count):
        for clause, turn in TURNED:
            yield f"In result {place + 1}, {clause}.", functools.partial(_turned, place, turn)


def _turned(place: int, turn: Callable[[Any], Any], arguments: dict[str, Any], value: Any) -> Any:
    return (*value[:place], turn(value[place]), *value[place + 1 :])


def _of_one(arguments: dict[str, Any]) -> Iterator[tuple[str, Undone]]:
    for clause, turn in TURNED:
        yield f"{clause[0].upper()}{clause[1:]}.", functools.partial(_turned_whole, turn)
    for text in dict.fromkeys(named.text for named in sizes(arguments)):
        for verb, power in (("divided", 1), ("multiplied", -1)):
            yield (
                f"Every number is {verb} by {text} once more than it should be.",
                functools.partial(_scaled, text, power),
            )


def _turned_whole(turn: Callable[[Any], Any], arguments: dict[str, Any], value: Any) -> Any:
    return turn(value)


def _scaled(text: str, power: int, arguments: dict[str, Any], value: Any) -> Any:
    return value * next((one.value for one in sizes(arguments) if one.text == text), 1.0) ** power
