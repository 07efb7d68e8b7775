"""Lines that do not do what they seem to: one function a pattern, each with its sentence.

What is said is true of the source as it stands, whatever the answer returns.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from attention_lib.checks.calls.tensors import is_tensor
from attention_lib.checks.comparing import Comparison
from attention_lib.checks.exercise import Exercise
from attention_lib.checks.source.cell import Source, source_of
from attention_lib.checks.source.scope import Scope


def globals_for_arguments(source: Source, given: Collection[str]) -> str:
    """Find a variable of the notebook that is used where an argument should be."""
    scope = Scope.of(source.function, False)
    for node in _names(source.function):
        value = source.namespace.get(node.id)
        if node.id not in scope.free or not _is_data(value) or node.id.isupper():
            continue
        text = f"`{node.id}` in line {node.lineno} is a variable of the notebook, the same in every call"
        if len(scope.unused) == 1:
            return f"{text}, and the argument `{scope.unused[0]}` is never used: write that in its place."
        return f"{text}: a function computes with its arguments."
    return ""


def _is_data(value: Any) -> bool:
    module = type(value).__module__
    return (
        is_tensor(value)
        or (module == "numpy" and hasattr(value, "dtype"))
        or (
            isinstance(value, (list, float, int))
            and not isinstance(value, (bool, types.ModuleType))
        )
    )


def unused_arguments(source: Source, given: Collection[str]) -> str:
    """Find an argument that wrong calls give, and that is never used."""
    for name in Scope.of(source.function, False).unused:
        if name in given:
            return f"The argument `{name}` is never used."
    return ""


def lasting_globals(source: Source, given: Collection[str]) -> str:
    """Find a variable of the notebook that a function changes, and so finds changed again."""
    for function in source.functions:
        scope = Scope.of(function, False)
        own = {*scope.arguments, *scope.variables}
        nodes = list(ast.walk(function))
        declared = {name for one in nodes if isinstance(one, ast.Global) for name in one.names}
        mutable = {
            name
            for name, value in source.namespace.items()
            if name not in own and isinstance(value, (list, dict, set))
        }
        for node in nodes:
            stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            changed = {node.id} & declared if isinstance(node, ast.Name) and stored else set()
            changed |= {name for name in mutable if _changes(node, name)}
            if changed:
                line = getattr(node, "lineno", function.lineno)
                return (
                    f"`{min(changed)}` is a variable of the notebook that line {line} changes: the "
                    "next call finds it changed. Keep what is needed in variables of the function, "
                    "and return it."
                )
    return ""


def _changes(node: ast.AST, name: str) -> bool:
    """Tell whether a node changes a variable's own contents."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner = node.func.value
        changes = node.func.attr in ("append", "extend", "update", "insert", "add", "setdefault")
        return changes and isinstance(owner, ast.Name) and owner.id == name
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return isinstance(node.value, ast.Name) and node.value.id == name
    return False


def unseeded(source: Source, given: Collection[str]) -> str:
    """Find random numbers, which differ from call to call."""
    for function in source.functions:
        for node in ast.walk(function):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                if ".random." in name or name.startswith(("random.", "torch.rand")):
                    return (
                        f"Line {node.lineno} draws random numbers: an estimate from samples is never "
                        "exact, and the result can be computed without any."
                    )
    return ""


def _names(function: ast.AST) -> Iterator[ast.Name]:
    return (node for node in ast.walk(function) if isinstance(node, ast.Name))


# The plainest first; those that explain an answer only sometimes last.
PATTERNS: tuple[Callable[[Source, Collection[str]], str], ...] = (
    globals_for_arguments,
    lasting_globals,
    unused_arguments,
    unseeded,
)


def read(exercise: Exercise, answer: Any, comparisons: Sequence[Comparison]) -> str:
    """Say which line of a wrong answer does not do what it seems to; empty if none is found.

    An unused argument is named only if every wrong call gives it.
    """
    source = source_of(answer)
    if source is None:
        return ""
    failing = [one.trial.case for one in comparisons if one.failed]
    given = set[str]()
    if failing and exercise.run is None:
        given = set.intersection(*({*exercise.arguments_of(case)} for case in failing))
    return next((text for pattern in PATTERNS if (text := pattern(source, given))), "")
