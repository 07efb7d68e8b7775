"""Exercises whose reference and known mistakes are look-ups in what was recorded."""

from __future__ import annotations

import builtins
import functools
import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from numpy.random import Generator

from attention_lib.checks.calls.case import Case
from attention_lib.checks.exercise import Exercise, Mistake
from attention_lib.edition import calls
from attention_lib.edition.lookups import Lookup, table_of
from attention_lib.edition.packing import Unpacker

__all__ = ["recorded_exercise"]

# A known mistake: its sentence, its id, whether it is measured, and how many variants it has.
Known = tuple[str, str, bool, int]


def recorded_exercise(
    name: str,
    module: str,
    mistakes: tuple[Known, ...],
    has_magnitude: bool,
    is_over: bool,
    folder: Path | None = None,
    lazy: Callable[..., Any] | None = None,
    run: Callable[[Any], Any] | None = None,
    **declared: Any,
) -> Exercise:
    """Make an exercise from what was recorded; `module` has the function with its signature.

    If the lesson is over, that function is the reference itself. Where the module needs torch,
    `lazy` makes a reference that imports it when it is used. The cases are the same for every
    seed: others are not recorded.
    """
    path = (folder or calls.RECORDS) / f"{name}.bin"
    records = functools.cache(lambda: Unpacker(path))
    if lazy:
        reference = lazy(name, truth=_deferred(records, "reference"))
    else:
        function = getattr(importlib.import_module(module), name)
        reference = function if is_over else _deferred(records, "reference", function)
    return Exercise(
        name=name,
        reference=reference,
        run=functools.partial(_run, run) if run else None,
        magnitude=_deferred(records, "magnitude") if has_magnitude else None,
        cases=lambda rng: _cases(records(), rng),
        mistakes=tuple(
            Mistake(
                id,
                sentence,
                tuple(_variant(records, f"{number}.{place}") for place in range(count)),
                measured,
            )
            for number, (sentence, id, measured, count) in enumerate(mistakes)
        ),
        **declared,
    )


def _run(run: Callable[[Any], Any], answer: Any) -> Any:
    """Run an answer on the cases; what known mistakes did there is recorded as it was run."""
    return answer if getattr(answer, "is_recorded", False) else run(answer)


def _deferred(records: Callable[[], Unpacker], table: str, wrapped: Any = None) -> Any:
    """Return a look-up that reads the file with the first call.

    Signature and source are those of the function that it wraps.
    """
    lookup = functools.cache(lambda: Lookup(records(), table_of(records(), table)))

    def looked_up(*args: Any, **kwargs: Any) -> Any:
        return lookup()(*args, **kwargs)

    if wrapped is not None:
        looked_up.__wrapped__ = wrapped  # type: ignore[attr-defined]
    return looked_up


def _variant(records: Callable[[], Unpacker], table: str) -> Any:
    looked_up = _deferred(records, table)
    looked_up.is_recorded = True
    return looked_up


def _cases(records: Unpacker, _: Generator) -> Iterator[Case]:
    for encoded in records.content["cases"]:
        args, kwargs, raises, verify = records.decoded(encoded)
        error = getattr(builtins, raises) if raises else None
        yield Case(*args, raises=error, verify=verify, **kwargs)
