"""Repairs of a wrong result: what is left to recognize once one fault is taken away."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from attention_lib.checks.comparing import Comparison
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.sizes import sizes

# From the arguments of a call, by name, and the value that came back, to a value repaired.
Repaired = Callable[[dict[str, Any], Any], Any]


def repairs_of(
    exercise: Exercise, first: Comparison
) -> Iterator[tuple[str, Callable[[Comparison], Comparison]]]:
    """Yield the sentence of each fault that can be taken away, and what takes it from a comparison.

    Which sizes there are is read from the first comparison.
    """
    if isinstance(first.seen.value, np.ndarray) and first.seen.value.dtype.kind == "b":
        return  # two values alone: many a fault may have exchanged them
    repairs = _of_several if isinstance(first.seen.value, (tuple, list)) else _of_one_result
    for sentence, repaired in repairs(_arguments(exercise, first)):
        yield sentence, functools.partial(_applied, repaired, exercise)


def _arguments(exercise: Exercise, comparison: Comparison) -> dict[str, Any]:
    case = comparison.trial.case
    return dict(zip(exercise.parameters, case.args, strict=False)) | case.kwargs


def _applied(repaired: Repaired, exercise: Exercise, comparison: Comparison) -> Comparison:
    seen = comparison.seen
    if seen.error is not None or comparison.trial.case.raises:
        return comparison
    try:
        with np.errstate(all="ignore"):
            value = repaired(_arguments(exercise, comparison), seen.value)
    except Exception:
        value = seen.value
    return dataclasses.replace(comparison, seen=dataclasses.replace(seen, value=value))


def _of_several(arguments: dict[str, Any]) -> Iterator[tuple[str, Repaired]]:
    yield (
        "The results stand in reverse order: return them in the order of the contract.",
        lambda arguments, value: value[::-1],
    )


def _of_one_result(arguments: dict[str, Any]) -> Iterator[tuple[str, Repaired]]:
    yield "Every number has the wrong sign.", lambda arguments, value: -value
    yield (
        "The last two axes of the result are exchanged: np.swapaxes(result, -1, -2) puts them "
        "right.",
        lambda arguments, value: np.swapaxes(value, -1, -2),
    )
    texts = {named.text: None for named in sizes(arguments)}
    for text in texts:
        yield (
            f"Every number is divided by {text} once more than it should be.",
            functools.partial(_times, text),
        )
        yield (
            f"Every number is multiplied by {text} once more than it should be.",
            functools.partial(_divided, text),
        )


def _times(text: str, arguments: dict[str, Any], value: Any) -> Any:
    return value * _number(text, arguments)


def _divided(text: str, arguments: dict[str, Any], value: Any) -> Any:
    return value / _number(text, arguments)


def _number(text: str, arguments: dict[str, Any]) -> float:
    return next((one.value for one in sizes(arguments) if one.text == text), 1.0)
