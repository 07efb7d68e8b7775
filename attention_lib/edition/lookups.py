"""Look-ups: functions that return what was recorded for their arguments, and compute nothing."""

from __future__ import annotations

import builtins
import functools
from typing import Any

from attention_lib.checks.calls.observation import Unavailable
from attention_lib.checks.calls.timeouts import OutOfTime
from attention_lib.edition.keys import Undescribed, key_of
from attention_lib.edition.packing import Unpacker

__all__ = ["Lookup", "NotRecorded", "outcome_of", "table_of", "value_of"]


class NotRecorded(Unavailable):
    """Raised by a look-up for arguments that nothing is recorded for."""


class Lookup:
    """A function by its recorded calls: it returns and raises what the function did."""

    def __init__(self, records: Unpacker, table: dict[str, int]) -> None:
        self._records, self._table = records, table

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            number = self._table.get(key_of(args, kwargs))
        except Undescribed:
            number = None
        if number is None:
            raise NotRecorded("Nothing is recorded for these arguments.")
        return value_of(self._records, number)


def outcome_of(value: Any = None, error: BaseException | None = None) -> tuple[str, Any]:
    """Return what a call did as plain values: its kind, and the value or what the error was."""
    if isinstance(error, OutOfTime):
        return "late", None
    if error is None:
        return "value", value
    names = [kind.__name__ for kind in type(error).__mro__ if kind not in (object, BaseException)]
    return "error", (names, str(error), repr(error))


@functools.cache
def table_of(records: Unpacker, name: str) -> dict[str, int]:
    """Return the numbers of a table's outcomes by key; empty if there is none of that name."""
    if name not in records.content["tables"]:
        return {}
    keys = records.content["keys"]
    places, numbers = records.content["tables"][name]
    return {keys[place]: number for place, number in zip(places, numbers, strict=True)}


def value_of(records: Unpacker, number: int) -> Any:
    """Return the value of a recorded outcome, or raise its error."""
    kind, content = records.content["outcomes"][number]
    if kind == "late":
        raise OutOfTime
    if kind == "error":
        raise _error(*records.decoded(content))
    return records.decoded(content)


def _error(names: list[str], text: str, representation: str) -> Exception:
    """Make an error of the same name, text and built-in base."""
    base = next(kind for kind in (getattr(builtins, name, None) for name in names) if kind)
    methods = {"__str__": lambda self: text, "__repr__": lambda self: representation}
    return type(names[0], (base,), methods)(text)
