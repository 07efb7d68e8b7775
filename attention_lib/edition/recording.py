"""Record an exercise: its cases, and what reference and known mistakes do on all that a check asks."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

from attention_lib.checks.calls.case import Case
from attention_lib.checks.calls.timeouts import OutOfTime, time_limit
from attention_lib.checks.cases import cases_of, widened_arguments
from attention_lib.checks.changed_arguments import Change, changes_for
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.hypotheses import MISTAKE_SECONDS, contradict, quiet
from attention_lib.edition.keys import Undescribed, key_of
from attention_lib.edition.lookups import outcome_of
from attention_lib.edition.packing import Packer

__all__ = ["SEED", "Tables", "recorded"]

SEED = 0  # of a learner's cases; those of other seeds stay hidden


class Tables:
    """What functions did on calls: by table and key, the number of an outcome."""

    def __init__(self) -> None:
        self.packer = Packer()
        self._numbers: dict[str, int] = {}
        self._outcomes: list[Any] = []
        self.tables: dict[str, dict[str, int]] = {}

    def add(self, table: str, key: str, kind: str, outcome: Any) -> bool:
        """Store an outcome; return whether it could be."""
        try:
            encoded = [kind, self.packer.encoded(outcome)]
        except Undescribed:
            return False
        number = self._numbers.setdefault(json.dumps(encoded), len(self._outcomes))
        if number == len(self._outcomes):
            self._outcomes.append(encoded)
        self.tables.setdefault(table, {})[key] = number
        return True

    def content(self, **more: Any) -> dict[str, Any]:
        """Return all of it as JSON can hold it."""
        return {"outcomes": self._outcomes, "tables": self.tables, **more}


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
    tables = Tables()
    cases = cases_of(exercise, SEED)
    encoded = [
        tables.packer.encoded(
            (case.args, case.kwargs, case.raises.__name__ if case.raises else None, case.verify)
        )
        for case in cases
    ]
    changes: dict[str, Change] = {}
    for case in cases:
        for change in changes_for(exercise, case):
            changes.setdefault(change.text, change)
    with quiet():
        for case in cases:
            _record_case(tables, exercise, case)
        wide = [_wide(case) for case in cases]
        for change in changes.values():
            for case in cases:
                change.changed(exercise, case)  # which may call a function that is traced
            changed = [change.changed(exercise, case) or case for case in wide]
            for name, function in _functions(exercise, change):
                _record(tables, name, exercise.on_cases(function), changed)
    return tables.packer, tables.content(cases=encoded)


def _record_case(tables: Tables, exercise: Exercise, case: Case) -> None:
    wide = _wide(case)
    _record(tables, "reference", exercise.reference, [case, wide])
    if exercise.magnitude and not case.raises and not case.verify:
        _record(tables, "magnitude", exercise.magnitude, [wide])
    for name, function in _variants(exercise):
        _record(tables, name, exercise.on_cases(function), [case])


def _functions(exercise: Exercise, change: Change) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield what is called with changed arguments: known mistakes too, if the change is common."""
    yield "reference", exercise.reference
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


def _record(tables: Tables, name: str, function: Callable[..., Any], cases: list[Case]) -> None:
    """Record what a function does on cases, until it runs out of time."""
    for case in cases:
        try:
            key = key_of(case.args, case.kwargs)
        except Undescribed:
            continue
        if key in tables.tables.get(name, {}):
            continue
        args, kwargs = copy.deepcopy((case.args, case.kwargs))
        try:
            with time_limit(MISTAKE_SECONDS):
                outcome = outcome_of(function(*args, **kwargs))
        except (Exception, OutOfTime) as error:
            outcome = outcome_of(error=error)
        tables.add(name, key, *outcome)
        if outcome[0] == "late":
            return
