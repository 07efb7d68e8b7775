"""Undo a fault of the whole result, such as its sign or its order, to find the fault behind it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from attention_lib.checks.compare.comparing import Comparison

Undone = Callable[[Any], Any]  # takes a result, and returns it without the fault


def faults_of_result(first: Comparison) -> Iterator[tuple[str, Callable[[Comparison], Comparison]]]:
    """Yield the sentence of each fault of a result, and a function that undoes it in a comparison."""
    value = first.seen.value
    if isinstance(value, np.ndarray) and value.dtype.kind == "b":
        return  # with only two values, many faults look the same
    several = isinstance(value, (tuple, list))
    if several and not isinstance(first.trial.expected, tuple):
        one = "Several results are returned, where one is asked for: leave out the others."
        yield one, functools.partial(_without, lambda value: value[0])
    for sentence, undone in _of_several(len(value)) if several else _of_one():
        yield sentence, functools.partial(_without, undone)


def _without(undone: Undone, one: Comparison) -> Comparison:
    seen = one.seen
    if seen.error is not None or one.trial.case.raises:
        return one
    try:
        value = undone(seen.value)
    except Exception:
        value = seen.value
    return dataclasses.replace(one, seen=dataclasses.replace(seen, value=value))


TURNED: tuple[tuple[str, Undone], ...] = (
    ("every number has the wrong sign", np.negative),
    ("the last two axes are exchanged", lambda value: np.swapaxes(value, -1, -2)),
)


def _of_several(count: int) -> Iterator[tuple[str, Undone]]:
    yield (
        "The results are in reverse order: return them in the order of the contract.",
        lambda value: value[::-1],
    )
    for place in range(count):
        for clause, turn in TURNED:
            yield (
                f"In result {place + 1}, {clause}.",
                functools.partial(_with_part_turned, place, turn),
            )


def _with_part_turned(place: int, turn: Undone, value: Any) -> Any:
    return (*value[:place], turn(value[place]), *value[place + 1 :])


def _of_one() -> Iterator[tuple[str, Undone]]:
    yield "Every number has the wrong sign.", np.negative
