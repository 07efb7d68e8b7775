"""Record an exercise: its cases, and what reference and known mistakes do on all that a check asks."""

from __future__ import annotations

import contextlib
import copy
import importlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from attention_lib.checks.calls.case import Case
from attention_lib.checks.calls.timeouts import OutOfTime, time_limit
from attention_lib.checks.cases import cases_of, widened_arguments
from attention_lib.checks.changed_arguments import Change, changes_for
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.hypotheses import MISTAKE_SECONDS, contradict, quiet
from attention_lib.edition.checksums import summed
from attention_lib.edition.keys import Undescribed, key_of
from attention_lib.edition.lookups import outcome_of, table_of
from attention_lib.edition.packing import Packer, Unpacker

Call = tuple[str, Case]  # with its key

__all__ = ["SEED", "Tables", "recorded"]

SEED = 0  # of a learner's cases; those of other seeds stay hidden


class Tables:
    """What functions did on calls: by table and key, the number of an outcome."""

    def __init__(self) -> None:
        self.packer = Packer()
        self._numbers: dict[str, int] = {}
        self._outcomes: list[Any] = []
        self.tables: dict[str, dict[str, int]] = {}

    def add(self, table: str, key: str, kind: str, outcome: Any) -> None:
        """Store an outcome, if it is of a kind that can be."""
        try:
            encoded = [kind, self.packer.encoded(outcome)]
        except Undescribed:
            return
        number = self._numbers.setdefault(json.dumps(encoded), len(self._outcomes))
        if number == len(self._outcomes):
            self._outcomes.append(encoded)
        self.tables.setdefault(table, {})[key] = number

    def add_all(self, records: Unpacker) -> None:
        """Store all that another process has recorded."""
        for name in records.content["tables"]:
            for key, number in table_of(records, name).items():
                kind, encoded = records.content["outcomes"][number]
                self.add(name, key, kind, records.decoded(encoded))

    def content(self, **more: Any) -> dict[str, Any]:
        """Return all of it as JSON can hold it, and each key once: tables have many in common."""
        keys: dict[str, int] = {}
        tables = {
            name: [[keys.setdefault(key, len(keys)) for key in table], list(table.values())]
            for name, table in self.tables.items()
        }
        return {"outcomes": self._outcomes, "keys": list(keys), "tables": tables, **more}


def recorded(exercise: Exercise) -> tuple[Packer, dict[str, Any]]:
    """Record an exercise of kind "function".

    Returns
    -------
    tuple of Packer and dict
        What encoded it, and the content to write with it.

    Raises
    ------
    Undescribed
        If a case has an argument of a kind that is not recorded.
    """
    if exercise.accelerated:  # before any clock runs: an import that is broken off does not recover
        importlib.import_module("attention_lib.lessons.gpu.launch")
    tables = Tables()
    cases = cases_of(exercise, SEED)
    encoded = [
        tables.packer.encoded(
            (case.args, case.kwargs, case.raises.__name__ if case.raises else None, case.verify)
        )
        for case in cases
    ]
    changes: dict[str, Change] = {}
    for case in () if exercise.run else cases:  # an argument of a launch is none of the answer's
        for change in changes_for(exercise, case):
            changes.setdefault(change.text, change)
    verified = any(case.verify for case in cases)
    with quiet():
        _record_cases(tables, exercise, cases)
        wide = [_wide(case) for case in cases]
        for change in changes.values():
            for case in cases:
                change.changed(exercise, case)  # which may call a function that is traced
            changed = _keyed(change.changed(exercise, case) or case for case in wide)
            _record(tables, "reference", exercise.on_cases(exercise.reference), changed)
            for name, variant in _variants_with(exercise, change):
                function = exercise.on_cases(variant)
                if not verified:
                    function = _summing(function)
                _record(tables, name, function, changed)
    return tables.packer, tables.content(cases=encoded)


def _record_cases(tables: Tables, exercise: Exercise, cases: Sequence[Case]) -> None:
    _record(tables, "reference", exercise.reference, _keyed([*cases, *map(_wide, cases)]))
    if exercise.magnitude:
        sized = [_wide(case) for case in cases if not case.raises and not case.verify]
        _record(tables, "magnitude", exercise.magnitude, _keyed(sized))
    calls = _keyed(cases)
    for name, function in _variants(exercise):
        _record(tables, name, exercise.on_cases(function), calls)


def _summing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose results are compared with an answer's numbers, and not looked at."""
    return lambda *args, **kwargs: summed(function(*args, **kwargs))


def _variants_with(exercise: Exercise, change: Change) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the known mistakes that are called with changed arguments: none, if few make that change."""
    if change.common:
        yield from (
            (name, variant)
            for name, variant in _variants(exercise)
            if not contradict(
                exercise.mistakes[int(name.partition(".")[0])].sentence, change.sentence_beside
            )
        )


def _variants(exercise: Exercise) -> Iterator[tuple[str, Callable[..., Any]]]:
    for number, mistake in enumerate(exercise.mistakes):
        if not mistake.measured:
            for place, variant in enumerate(mistake.variants):
                yield f"{number}.{place}", variant


def _wide(case: Case) -> Case:
    args, kwargs = copy.deepcopy((case.args, case.kwargs))
    return Case(*widened_arguments(args), **widened_arguments(kwargs))


def _record(tables: Tables, name: str, function: Callable[..., Any], calls: Iterable[Call]) -> None:
    """Record what a function does on calls, until one of them runs out of time."""
    known = tables.tables.setdefault(name, {})
    pending = [(key, case) for key, case in calls if key not in known]
    try:
        with time_limit(MISTAKE_SECONDS):  # for all: the clock that it reads is slow
            while pending:
                tables.add(name, pending[0][0], *_outcome(function, pending[0][1]))
                del pending[0]
    except OutOfTime:
        for key, case in pending:
            try:
                with time_limit(MISTAKE_SECONDS):
                    tables.add(name, key, *_outcome(function, case))
            except OutOfTime as error:
                tables.add(name, key, *outcome_of(error=error))
                return


def _outcome(function: Callable[..., Any], case: Case) -> tuple[str, Any]:
    args, kwargs = copy.deepcopy((case.args, case.kwargs))
    try:
        return outcome_of(function(*args, **kwargs))
    except Exception as error:
        return outcome_of(error=error)


def _keyed(cases: Iterable[Case]) -> list[Call]:
    """Return the cases with their keys, without those that have none."""
    calls = []
    for case in cases:
        with contextlib.suppress(Undescribed):
            calls.append((key_of(case.args, case.kwargs), case))
    return calls
