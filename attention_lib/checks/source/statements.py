"""Small changes of a block of statements: each function makes one kind.

Each yields a rank, the new block, what to do, and the fault that this repairs.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator

from attention_lib.checks.source.scope import Scope

Block = list[ast.stmt]
Changes = Iterator[tuple[int, Block, str, str]]


def changes(block: Block, parent: ast.AST, scope: Scope) -> Changes:
    """Yield the small changes of one block."""
    for change in KINDS:
        yield from change(block, parent, scope)


def _quoted(statement: ast.stmt) -> str:
    return f"`{ast.unparse(statement).splitlines()[0]}` (line {statement.lineno})"


def left_out(block: Block, parent: ast.AST, scope: Scope) -> Changes:
    """Leave out one statement."""
    for index, statement in enumerate(block):
        if isinstance(statement, (ast.Assign, ast.AugAssign, ast.If)) and len(block) > 1:
            what = _quoted(statement)
            fault = f"{what} does not belong there"
            yield 5, block[:index] + block[index + 1 :], f"leave out {what}", fault


def in_other_order(block: Block, parent: ast.AST, scope: Scope) -> Changes:
    """Do one statement before the one above it."""
    for index, (first, second) in enumerate(itertools.pairwise(block)):
        if isinstance(first, ast.Return) or isinstance(second, ast.Return):
            continue
        stored, loaded = _names([first], ast.Store), _names(block[index + 2 :], ast.Load)
        if isinstance(parent, ast.FunctionDef) and stored and not stored & loaded:
            continue  # where it would stand, nobody would need it
        words = f"put {_quoted(second)} before {_quoted(first)}"
        fault = f"{_quoted(first)} and {_quoted(second)} stand in the wrong order"
        yield 4, [*block[:index], second, first, *block[index + 2 :]], words, fault


def _names(block: Block, use: type[ast.expr_context]) -> set[str]:
    """Return the variables that statements store or load."""
    nodes = (node for statement in block for node in ast.walk(statement))
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, use)}


def after_the_loop(block: Block, parent: ast.AST, scope: Scope) -> Changes:
    """Do the last statement of a loop once, after it."""
    for index, loop in enumerate(block):
        if not isinstance(loop, (ast.For, ast.While)) or len(loop.body) < 2:
            continue
        last = loop.body[-1]
        shorter = _loop_with(loop, loop.body[:-1])
        where = f"move {_quoted(last)} out of the loop, to the line after it"
        once = "is done in every round of the loop, where once is meant"
        fault = f"{_quoted(last)} {once}"
        yield 2, [*block[:index], shorter, last, *block[index + 1 :]], where, fault
        first = loop.body[0]
        if isinstance(first, (ast.Assign, ast.AnnAssign)):
            later = _loop_with(loop, loop.body[1:])
            where = f"move {_quoted(first)} out of the loop, to the line before it"
            fault = f"{_quoted(first)} {once}"
            yield 2, [*block[:index], first, later, *block[index + 1 :]], where, fault


def into_the_loop(block: Block, parent: ast.AST, scope: Scope) -> Changes:
    """Do the statement after a loop in each of its rounds."""
    for index, (loop, after) in enumerate(itertools.pairwise(block)):
        if isinstance(loop, (ast.For, ast.While)) and not isinstance(after, ast.Return):
            longer = _loop_with(loop, [*loop.body, after])
            where = f"move {_quoted(after)} into the loop, as its last line"
            fault = f"{_quoted(after)} is done once, after the loop, and every round needs it"
            yield 3, [*block[:index], longer, *block[index + 2 :]], where, fault


def _loop_with(loop: ast.For | ast.While, body: Block) -> ast.stmt:
    if isinstance(loop, ast.For):
        return ast.copy_location(ast.For(loop.target, loop.iter, body, loop.orelse), loop)
    return ast.copy_location(ast.While(loop.test, body, loop.orelse), loop)


def assignments(block: Block, parent: ast.AST, scope: Scope) -> Changes:
    """Add up instead of assigning, assign instead of adding up, or make a new array."""
    for index, statement in enumerate(block):
        for new, fault in _other_assignments(statement):
            new = ast.fix_missing_locations(ast.copy_location(new, statement))
            words = (
                f"in line {statement.lineno}, write `{ast.unparse(new)}` in place of "
                f"`{ast.unparse(statement)}`"
            )
            fault = f"{_quoted(statement)} {fault}"
            yield 3, [*block[:index], new, *block[index + 1 :]], words, fault


def _other_assignments(statement: ast.stmt) -> Iterator[tuple[ast.stmt, str]]:
    if isinstance(statement, ast.AugAssign):
        loaded = ast.parse(ast.unparse(statement.target), mode="eval").body
        value = ast.BinOp(loaded, statement.op, statement.value)
        changes_it = "changes the array in its place, which others may still use"
        yield ast.Assign([statement.target], value), changes_it
        keeps = "works on the value from before, which is to be replaced"
        yield ast.Assign([statement.target], statement.value), keeps
        for operation in (ast.Sub, ast.Mult, ast.Add, ast.Div):
            if not isinstance(statement.op, operation):
                new = ast.AugAssign(statement.target, operation(), statement.value)
                yield new, "does the wrong operation"
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, (ast.Name, ast.Subscript)):
            for operation in (ast.Add, ast.Mult):
                new = ast.AugAssign(target, operation(), statement.value)
                yield new, "forgets the value from before, which is to be kept in it"
    elif isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Constant):
        names = dict.fromkeys(
            node.id for node in ast.walk(statement.value) if isinstance(node, ast.Name)
        )
        for name in names:
            if name not in ("np", "torch", "math"):
                kept = ast.Assign([ast.Name(name, ast.Store())], statement.value)
                yield kept, "computes a value and does not keep it"
        if isinstance(statement.value, ast.Call) and statement.value.args:
            yield ast.Return(statement.value.args[0]), NOT_RETURNED
        yield ast.Return(statement.value), NOT_RETURNED


NOT_RETURNED = "computes the result and does not return it"


def returned(block: Block, parent: ast.AST, scope: Scope) -> Changes:
    """Return a variable at the end, where nothing is returned."""
    if not isinstance(parent, ast.FunctionDef) or isinstance(block[-1], ast.Return):
        return
    for name in reversed((*scope.arguments, *scope.variables)):
        words = f"end with `return {name}`"
        fault = "the function ends without a return"
        yield 2, [*block, ast.Return(ast.Name(name, ast.Load()))], words, fault


def otherwise(block: Block, parent: ast.AST, scope: Scope) -> Changes:
    """Make the second of two conditions an `elif` of the first."""
    for index, (first, second) in enumerate(itertools.pairwise(block)):
        if isinstance(first, ast.If) and isinstance(second, ast.If) and not first.orelse:
            joined = ast.copy_location(ast.If(first.test, first.body, [second]), first)
            words = f"in line {second.lineno}, write `elif` in place of `if`"
            fault = (
                f"the if of line {second.lineno} is asked also where the first was true, and its "
                "else undoes what the first did"
            )
            yield 1, [*block[:index], joined, *block[index + 2 :]], words, fault


def raised(block: Block, parent: ast.AST, scope: Scope) -> Changes:
    """Raise ValueError where an assert stands, or where an error is returned."""
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
        new = ast.fix_missing_locations(ast.copy_location(new, statement))
        yield 1, [*block[:index], new, *block[index + 1 :]], words, fault


KINDS: tuple[Callable[[Block, ast.AST, Scope], Changes], ...] = (
    otherwise,
    raised,
    returned,
    after_the_loop,
    into_the_loop,
    assignments,
    in_other_order,
    left_out,
)
