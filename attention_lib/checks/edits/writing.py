"""Find the line in which an answer writes into its input."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from attention_lib.checks.calls import timeouts
from attention_lib.checks.calls.case import Answer, Case
from attention_lib.checks.calls.timeouts import time_limit
from attention_lib.checks.edits.cell import silenced
from attention_lib.checks.edits.edits import MOST_CHARACTERS
from attention_lib.checks.edits.faults import SIGNS
from attention_lib.checks.errors.line import FailingLine, failing_line


def written_line(function: Answer, case: Case, key: str) -> tuple[str, int] | None:
    """Return advice that names the line that writes into an argument, and the line's number; or None.

    The arrays are made read-only, so that NumPy raises an error there.
    """
    args, kwargs = copy.deepcopy((case.args, case.kwargs))
    for array in _arrays(args[int(key)] if key.isdigit() else kwargs[key]):
        array.flags.writeable = False
    try:
        with silenced(), time_limit(timeouts.CALL_SECONDS):
            function(*args, **kwargs)
    except ValueError as error:
        line = failing_line(error) if "read-only" in str(error) else None
        return (_advice(line), line.statement.lineno) if line else None
    except Exception:
        return None
    return None


def _arrays(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _arrays(one)


def _advice(line: FailingLine) -> str:
    node, statement = line.node, line.statement
    shown = statement if len(ast.unparse(statement)) <= MOST_CHARACTERS else node
    place = f"In line {line.statement.lineno}, `{ast.unparse(shown)}` writes into it"
    given = line.function.args.args if line.function else []
    if isinstance(statement, ast.AugAssign) and ast.unparse(statement.target) in {
        one.arg for one in given
    }:
        sign = SIGNS.get(type(statement.op), "")
        return f"{place}: `{sign}=` keeps the array, and x = x {sign} y makes a new one."
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Subscript):
        return f"{place}: work on a copy, or keep the old number and put it back."
    if isinstance(node, ast.Call) and any(word.arg == "out" for word in node.keywords):
        return f"{place}: without `out=` it makes a new array."
    return f"{place}: work on a copy."
