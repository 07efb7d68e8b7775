"""Small changes of what is indexed: a last axis of length 1 taken off, the bounds of a block.

Each yields pairs of a rank and the new expression, as the changes in `expressions` do.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from attention_lib.checks.source.expressions import Changes, made
from attention_lib.checks.source.scope import Scope


def changes(node: ast.expr, parent: ast.AST, field: str, scope: Scope) -> Changes:
    """Yield the small changes of one index, and of one result."""
    if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
        return
    for change in KINDS:
        yield from change(node, parent, field, scope)


def without_last_axis(node: ast.expr, parent: ast.AST, field: str, scope: Scope) -> Changes:
    """Return a result without its last axis, or an operand without the axis that is summed."""
    in_result = isinstance(parent, ast.Return) or (
        isinstance(parent, ast.Tuple) and field == "elts"
    )
    if in_result and isinstance(node, (ast.Name, ast.BinOp)):
        yield 3, made("X[..., 0]", X=node)
    if (
        {"axis", "keepdims"} <= set(scope.arguments)
        and isinstance(parent, ast.BinOp)
        and isinstance(node, ast.Name)
    ):
        yield 4, made("X if keepdims else np.squeeze(X, axis=axis)", X=node)


def bounds_of_blocks(node: ast.expr, parent: ast.AST, field: str, scope: Scope) -> Changes:
    """Begin block number i at i times the length of a block, and not at i."""
    if not isinstance(node, ast.Slice) or node.step is not None:
        return
    lower, upper = node.lower, node.upper
    if not isinstance(lower, ast.Name) or not isinstance(upper, ast.BinOp):
        return
    if not isinstance(upper.op, ast.Add):
        return
    for number, length in ((upper.left, upper.right), (upper.right, upper.left)):
        is_number = isinstance(number, ast.Name) and number.id == lower.id
        if is_number and isinstance(length, ast.Name):
            first = made("I * N", I=lower, N=length)
            yield 3, ast.Slice(first, made("(I + 1) * N", I=lower, N=length))


KINDS: tuple[Callable[[ast.expr, ast.AST, str, Scope], Changes], ...] = (
    without_last_axis,
    bounds_of_blocks,
)
