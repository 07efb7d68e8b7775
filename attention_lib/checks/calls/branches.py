"""Explaining a variable that only some branches of a function give a value."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from attention_lib.checks.calls.failing_line import UNKNOWN, FailingLine, quoted


def unset_variable(error: BaseException, line: FailingLine) -> str:
    """Say which branch alone sets a variable, and by which condition it did not run."""
    name = getattr(error, "name", None) or _quoted_name(str(error))
    if not isinstance(error, UnboundLocalError) or not name or line.function is None:
        return ""
    places = list(_assignments(line.function, name, ()))
    if len(places) != 1:
        return ""
    ((statement, branches),) = places
    if len(branches) != 1 or statement.lineno >= line.statement.lineno:
        return ""
    ((branch, holds),) = branches
    if not isinstance(branch, ast.If):
        return ""  # a loop that may not have run
    value = line.value(branch.test)
    if value is UNKNOWN or not _is_truth(value) or bool(value) == holds:
        return ""
    condition = quoted(branch.test)
    where = f"under `if` with {condition}" if holds else f"in the `else` of {condition}"
    return (
        f"`{name}` gets a value in line {statement.lineno} alone, {where}, and {condition} is "
        f"{bool(value)} in this call: give `{name}` a value for the other case too, before line "
        f"{line.statement.lineno} reads it."
    )


def _quoted_name(message: str) -> str:
    parts = message.split("'")
    return parts[1] if len(parts) > 2 else ""


def _is_truth(value: object) -> bool:
    try:
        return bool(value) in (True, False)
    except Exception:  # an array of several
        return False


Branches = tuple[tuple[ast.AST, bool], ...]  # and whether the body is meant, not the else


def _assignments(
    node: ast.AST, name: str, branches: Branches
) -> Iterator[tuple[ast.stmt, Branches]]:
    """Yield the statements that set a variable, with the branches they stand in."""
    for field in ("body", "orelse", "finalbody", "handlers"):
        for statement in getattr(node, field, []):
            inside = branches
            if isinstance(node, (ast.If, ast.For, ast.While, ast.Try)):
                inside = (*branches, (node, field == "body"))
            if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                continue
            if _sets(statement, name):
                yield statement, inside
            yield from _assignments(statement, name, inside)


def _sets(statement: ast.AST, name: str) -> bool:
    own = [child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt)]
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for child in own
        for node in ast.walk(child)
    )
