"""List small edits of a block of statements: each function makes one kind.

It yields a rank, the new block, what to do, and the fault that this corrects.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from attention_lib.checks.edits.cell import Scope

Block = list[ast.stmt]
Changes = Iterator[tuple[int, Block, str, str]]


def changes(block: Block, parent: ast.AST, scope: Scope) -> Changes:
    """Yield the small edits of one block."""
    for change in KINDS:
        yield from change(block, parent, scope)


def _quoted(statement: ast.stmt) -> str:
    return f"`{ast.unparse(statement).splitlines()[0]}` (line {statement.lineno})"


def refuses(statement: ast.If) -> bool:
    """Tell whether a statement raises an error if its condition is true, and otherwise does nothing."""
    return isinstance(statement.body[-1], ast.Raise) and not statement.orelse


def left_out(block: Block, parent: ast.AST, scope: Scope) -> Changes:
    """Leave out one statement."""
    for index, statement in enumerate(block):
        if isinstance(statement, ast.If) and refuses(statement):
            what = _quoted(statement)
            new = [*block[:index], ast.Pass(), *block[index + 1 :]]
            yield 3, new, f"leave out {what}", f"{what} refuses what the contract allows"
        elif isinstance(statement, (ast.Assign, ast.AugAssign, ast.If)) and len(block) > 1:
            what, rank = _quoted(statement), 5
            fault = f"{what} does not belong there"
            if isinstance(statement, ast.If) and isinstance(statement.body[-1], ast.Return):
                rank, fault = (
                    1,
                    f"what is returned below {what} is wrong, and what follows it is right",
                )
            yield rank, block[:index] + block[index + 1 :], f"leave out {what}", fault


def assignments(block: Block, parent: ast.AST, scope: Scope) -> Changes:
    """Make a new array, write `+=` in place of `=`, or keep a value."""
    for index, statement in enumerate(block):
        for new, fault in _other_assignments(statement):
            if _has_no_start(statement, scope):  # the error of `x += 1` says so
                continue
            new = ast.copy_location(new, statement)
            words = (
                f"in line {statement.lineno}, write `{ast.unparse(new)}` in place of "
                f"`{ast.unparse(statement)}`"
            )
            fault = f"{_quoted(statement)} {fault}"
            yield 3, [*block[:index], new, *block[index + 1 :]], words, fault


def _has_no_start(statement: ast.stmt, scope: Scope) -> bool:
    """Tell whether `x += 1` is the first line that gives a variable a value."""
    if not isinstance(statement, ast.AugAssign) or not isinstance(statement.target, ast.Name):
        return False
    return scope.variables.get(statement.target.id) == statement.lineno


def _other_assignments(statement: ast.stmt) -> Iterator[tuple[ast.stmt, str]]:
    if isinstance(statement, ast.AugAssign):
        loaded = ast.parse(ast.unparse(statement.target), mode="eval").body
        value = ast.BinOp(loaded, statement.op, statement.value)
        changes_it = "changes the array in place, and another variable may still use it"
        yield ast.Assign([statement.target], value), changes_it
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, (ast.Name, ast.Subscript)):
            for operation in (ast.Add, ast.Mult):
                new = ast.AugAssign(target, operation(), statement.value)
                yield new, "replaces the old value, which should be kept"
    elif isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Constant):
        names = dict.fromkeys(
            node.id for node in ast.walk(statement.value) if isinstance(node, ast.Name)
        )
        for name in names:
            if name not in ("np", "torch", "math"):
                kept = ast.Assign([ast.Name(name, ast.Store())], statement.value)
                yield kept, "computes a value and does not keep it"
        yield ast.Return(statement.value), "computes the result and does not return it"


def returned(block: Block, parent: ast.AST, scope: Scope) -> Changes:
    """Return a variable at the end of a function without a return."""
    if not isinstance(parent, ast.FunctionDef) or isinstance(block[-1], ast.Return):
        return
    for name in reversed((*scope.arguments, *scope.variables)):
        words = f"end with `return {name}`"
        fault = "the function ends without a return"
        yield 2, [*block, ast.Return(ast.Name(name, ast.Load()))], words, fault


def raised(block: Block, parent: ast.AST, scope: Scope) -> Changes:
    """Raise ValueError instead of an assert or of a returned error."""
    for index, statement in enumerate(block):
        if isinstance(statement, ast.Assert):
            error = ast.parse("raise ValueError").body
            test = ast.UnaryOp(ast.Not(), statement.test)
            new: ast.stmt = ast.If(test, error, [])
            words = (
                f"in line {statement.lineno}, write `if not ({ast.unparse(statement.test)}): raise "
                "ValueError(...)` in place of the assert"
            )
            fault = f"{_quoted(statement)} raises AssertionError, and ValueError is asked for"
        elif isinstance(statement, ast.Return) and "Error" in ast.unparse(statement)[:30]:
            new = ast.Raise(statement.value)
            words = f"in line {statement.lineno}, write raise in place of return"
            fault = f"{_quoted(statement)} returns the error, and does not raise it"
        else:
            continue
        new = ast.copy_location(new, statement)
        yield 1, [*block[:index], new, *block[index + 1 :]], words, fault


KINDS: tuple[Callable[[Block, ast.AST, Scope], Changes], ...] = (
    raised,
    returned,
    assignments,
    left_out,
)
