"""Record calls of withheld functions while probes, verifications and the lessons' own cells run."""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import inspect
import io
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numpy.random import default_rng

import attention_lib
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.panel import CheckFailed
from attention_lib.edition.keys import key_of_call
from attention_lib.edition.lookups import outcome_of
from attention_lib.edition.recording import SEED, Tables

__all__ = ["Tracer", "run_cells", "run_probes"]

# Of one function in one cell: where it is called more, as in a training loop, no call is recorded.
# The cell would stop with the first that is not.
MOST_BYTES = 1 << 20
MOST_CALLS = 2000


class Tracer:
    """Records the outermost calls of functions that are wrapped by it."""

    def __init__(self) -> None:
        self.tables = Tables()
        self._depth = 0
        self._bytes: Counter[str] = Counter()
        self._of_cell: dict[str, dict[str, tuple[str, Any]]] = {}  # outcomes by table and key
        self._left_out: set[str] = set()  # tables of which the cell has too much

    def begin_cell(self) -> None:
        """Keep what the last cell has called, but for functions that it called too much."""
        for table, outcomes in self._of_cell.items():
            for key, outcome in outcomes.items():
                self.tables.add(table, key, *outcome)
        self._of_cell.clear()
        self._bytes.clear()
        self._left_out.clear()

    def wrapped(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, its calls recorded under its module's name and its own."""
        signature = inspect.signature(function)
        table = f"{function.__module__}.{function.__name__}"

        @functools.wraps(function)
        def recording(*args: Any, **kwargs: Any) -> Any:
            wanted = self._depth == 0 and table not in self._left_out
            key = self._key(signature, args, kwargs) if wanted else None
            self._depth += 1
            try:
                result = function(*args, **kwargs)
            except Exception as error:
                if key:
                    self._add(table, key, *outcome_of(error=error))
                raise
            finally:
                self._depth -= 1
            if key:
                self._add(table, key, *outcome_of(result))
            return result

        return recording

    def _add(self, table: str, key: str, kind: str, outcome: Any) -> None:
        outcomes = self._of_cell.setdefault(table, {})
        if key in outcomes or key in self.tables.tables.get(table, ()):
            return
        self._bytes[table] += _bytes_of(outcome)
        if len(outcomes) == MOST_CALLS or self._bytes[table] > MOST_BYTES:
            self._left_out.add(table)
            del self._of_cell[table]
        else:
            outcomes[key] = kind, copy.deepcopy(outcome)

    def _key(self, signature: inspect.Signature, args: Any, kwargs: Any) -> str | None:
        try:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            return key_of_call(tuple(bound.arguments.values()))
        except Exception:  # an argument that is not recorded, or a function that fails
            return None

    @contextlib.contextmanager
    def replacing(self, places: Iterable[tuple[ModuleType, str]]) -> Iterator[None]:
        """Wrap functions by the names that modules have for them."""
        before = [(module, name, getattr(module, name)) for module, name in places]
        try:
            for module, name, function in before:
                setattr(module, name, self.wrapped(function))
            yield
        finally:
            for module, name, function in before:
                setattr(module, name, function)
            self.begin_cell()


def _bytes_of(value: Any) -> int:
    if isinstance(value, (tuple, list)):
        return sum(map(_bytes_of, value))
    return int(getattr(value, "nbytes", 0))


def run_probes(exercise: Exercise, module: ModuleType, declared: dict[str, ast.expr]) -> None:
    """Run on the reference what an exercise measures, remarks on and verifies.

    `declared` are the expressions of its declaration: the probes are made again, so that they
    take the functions that `module` now has.
    """
    answer = getattr(attention_lib, exercise.name) if exercise.run else exercise.reference
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for keyword in ("probes", "remarks"):
            if keyword in declared:
                code = compile(ast.Expression(declared[keyword]), module.__name__, "eval")
                for probe in eval(code, vars(module)):
                    probe(answer)
        for case in exercise.cases(default_rng(SEED)):
            if case.verify:
                case.verify(exercise.on_cases(answer)(*case.args, **case.kwargs))


def run_cells(
    cells: Iterable[str], folder: Path, begin_cell: Callable[[], None]
) -> list[FunctionType]:
    """Run the code cells of a lesson one after the other, without what they print.

    `begin_cell` is called before each. A check that fails, on a busy machine, stops nothing.

    Returns
    -------
    list of functions
        Those that the cells define.
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    state = np.get_printoptions()
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
            contextlib.chdir(folder),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            for cell in cells:
                begin_cell()
                with contextlib.suppress(CheckFailed):
                    exec(compile(cell, "<lesson>", "exec"), namespace)
    finally:
        np.set_printoptions(**state)
    return [
        value
        for value in namespace.values()
        if isinstance(value, FunctionType) and value.__globals__ is namespace
    ]
