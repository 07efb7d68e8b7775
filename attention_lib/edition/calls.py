"""Calls of functions that an edition withholds: the learner's own, or what was recorded."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attention_lib.edition import storage
from attention_lib.edition.curves import value_at
from attention_lib.edition.keys import Undescribed, key_of_call
from attention_lib.edition.lookups import NotRecorded, table_of, value_of
from attention_lib.edition.packing import Unpacker
from attention_lib.lessons import LESSONS, modules_of
from attention_lib.record import learner_folder

__all__ = [
    "RECORDS",
    "advice",
    "call",
    "call_on_machine",
    "curve",
    "own",
    "own_function",
    "remember",
]

RECORDS = Path(__file__).parents[1] / "records"
OF_LESSONS = "attention_lib.lessons."

# By name, the functions that have passed their checks in this kernel.
own: dict[str, Callable[..., Any]] = {}


@functools.cache
def _calls() -> Unpacker:
    return Unpacker(RECORDS / "calls.bin")


def remember(name: str, function: Callable[..., Any]) -> str:
    """Call this function from now on, in later kernels too; if only in this one, say why."""
    own[name] = function
    folder = learner_folder()
    if folder is None:
        return ""
    try:
        storage.store(folder, name, function)
    except storage.NotStored as reason:
        return (
            f"lib.{name} is your own function until this kernel stops; it could not be stored for "
            f"other notebooks ({reason})."
        )
    return ""


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a withheld function with a value for each of its parameters.

    Raises
    ------
    NotRecorded
        If the learner has not written it yet, and no such call is recorded.
    """
    if function.__module__.startswith(OF_LESSONS):
        own_one = own_function(function.__name__)
        if own_one is not None:
            return own_one(*_without_defaults(function, arguments))
    return _looked_up(function, arguments)


def call_on_machine(function: Callable[[], Any]) -> Any:
    """Call a withheld function of no arguments that goes by the devices of this machine."""
    import torch

    own_one = own_function(function.__name__)
    if own_one is not None:
        return own_one()
    return _looked_up(function, (torch.cuda.is_available(), torch.backends.mps.is_available()))


def curve(function: Callable[..., float], of: Any, number: Any) -> float:
    """Return what a function of something recorded is at a number."""
    return value_at(_looked_up(function, (of,)), float(number))


def own_function(name: str) -> Callable[..., Any] | None:
    """Return the learner's own function; another notebook may have stored it just now."""
    if name in own:
        return own[name]
    folder = learner_folder()
    return storage.load(folder, name) if folder else None


def _looked_up(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    name = function.__name__
    table = table_of(_calls(), f"{function.__module__}.{name}")
    try:
        number = table.get(key_of_call(arguments))
    except Undescribed:
        number = None
    if number is None:
        raise NotRecorded(advice(name, function.__module__))
    return value_of(_calls(), number)


def _without_defaults(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Leave out what stands at the end and is the default: an answer need not take it."""
    defaults = [one.default for one in inspect.signature(function).parameters.values()]
    count = len(arguments)
    while count and arguments[count - 1] is defaults[count - 1]:
        count -= 1
    return arguments[:count]


def advice(name: str, module: str = OF_LESSONS) -> str:
    """Say what must come before a call that is not recorded."""
    from attention_lib.exercises import EXERCISES  # in an edition, it imports this module

    if not module.startswith(OF_LESSONS):
        return f"This edition of the course has no recorded result of {name} for these arguments."
    if name in EXERCISES:
        where = "there" if learner_folder() else "in this notebook"
        return (
            f"{name} is an exercise of lesson {EXERCISES[name].lesson[:2]}: once "
            f"check({name!r}, {name}) has passed {where}, lib.{name} is your own function."
        )
    file = module.removeprefix(OF_LESSONS).partition(".")[0]
    lesson = next(one for one in LESSONS if file in modules_of(one))
    return (
        f"{name} has no recorded result for these arguments: this edition of the course withholds "
        f"it until lesson {lesson[:2]} is over, and records the calls of the lesson's own cells and checks."
    )
