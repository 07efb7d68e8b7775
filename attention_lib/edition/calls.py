"""Calls of functions that an edition withholds: the learner's own, or what was recorded."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attention_lib.edition import storage
from attention_lib.edition.keys import Undescribed, key_of
from attention_lib.edition.lookups import NotRecorded, table_of, value_of
from attention_lib.edition.packing import Unpacker
from attention_lib.lessons import LESSONS, modules_of
from attention_lib.record import learner_folder

__all__ = ["RECORDS", "call", "own", "remember"]

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
    name, module = function.__name__, function.__module__
    own_function = _own(name) if module.startswith(OF_LESSONS) else None
    if own_function is not None:
        return own_function(*_without_defaults(function, arguments))
    table = table_of(_calls(), f"{module}.{name}")
    try:
        number = table.get(key_of(arguments))
    except Undescribed:
        number = None
    if number is not None:
        return value_of(_calls(), number)
    raise NotRecorded(_advice(name, module))


def _own(name: str) -> Callable[..., Any] | None:
    """Return the learner's own function; another notebook may have stored it just now."""
    if name in own:
        return own[name]
    folder = learner_folder()
    return storage.load(folder, name) if folder else None


def _without_defaults(function: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Leave out what stands at the end and is the default: an answer need not take it."""
    defaults = [one.default for one in inspect.signature(function).parameters.values()]
    count = len(arguments)
    while count and arguments[count - 1] is defaults[count - 1]:
        count -= 1
    return arguments[:count]


def _advice(name: str, module: str) -> str:
    """Say what must come before a call that is not recorded."""
    from attention_lib.exercises import EXERCISES  # in an edition, it imports this module

    if not module.startswith(OF_LESSONS):
        return f"{name} has no recorded result for these arguments."
    if name in EXERCISES:
        where = "there" if learner_folder() else "in this notebook"
        return (
            f"{name} is an exercise of lesson {EXERCISES[name].lesson[:2]}: once "
            f"check({name!r}, {name}) has passed {where}, lib.{name} is your own function."
        )
    file = module.removeprefix(OF_LESSONS)
    lesson = next(one for one in LESSONS if file in modules_of(one))
    return (
        f"{name} has no recorded result for these arguments: this edition of the course withholds "
        f"it until lesson {lesson[:2]} is over."
    )
