"""Find misleading lines: one function for each pattern, with its sentence.

The sentence is true of the source for any result of the answer.
"""

from __future__ import annotations

import ast
from typing import Any

from attention_lib.checks.edits.cell import Scope, Source, source_of

BUILT_IN = (list, dict, set)
Found = tuple[str, int]  # the sentence, and the line


def lasting_globals(source: Source) -> Found | None:
    """Find a variable of the notebook that a function changes, so that it lasts between calls."""
    for function in source.functions:
        scope = Scope.of(function, False)
        own = {*scope.arguments, *scope.variables}
        nodes = list(ast.walk(function))
        declared = {name for one in nodes if isinstance(one, ast.Global) for name in one.names}
        mutable = {
            name
            for name, value in source.namespace.items()
            if name not in own and (isinstance(value, BUILT_IN) or _is_learners(value, source))
        }
        for node in nodes:
            stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            changed = {node.id} & declared if isinstance(node, ast.Name) and stored else set()
            changed |= {name for name in mutable if _changes(node, name, source)}
            if changed:
                line = getattr(node, "lineno", function.lineno)
                text = (
                    f"`{min(changed)}` is a variable of the notebook that line {line} changes: the "
                    "next call finds it changed. Keep what is needed in variables of the function, "
                    "and return it."
                )
                return text, line
    return None


def _is_learners(value: Any, source: Source) -> bool:
    """Tell whether a value is an object of a class in the notebook."""
    return type(value).__module__ == source.namespace.get("__name__", "")


def _changes(node: ast.AST, name: str, source: Source) -> bool:
    """Tell whether a node changes a variable in place, or may, as the learner's own methods may."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner = node.func.value
        changes = node.func.attr in ("append", "extend", "update", "insert", "add", "setdefault")
        changes |= _is_learners(source.namespace[name], source)
        return changes and isinstance(owner, ast.Name) and owner.id == name
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return isinstance(node.value, ast.Name) and node.value.id == name
    return False


def unseeded(source: Source) -> Found | None:
    """Find a call that draws random numbers."""
    for function in source.functions:
        for node in ast.walk(function):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                if ".random." in name or name.startswith(("random.", "torch.rand")):
                    text = (
                        f"Line {node.lineno} draws random numbers: an estimate from samples is never "
                        "exact, and the result can be computed without any."
                    )
                    return text, node.lineno
    return None


def read(answer: Any) -> Found | None:
    """Find a misleading line of a wrong answer."""
    source = source_of(answer)
    return (lasting_globals(source) or unseeded(source)) if source else None
