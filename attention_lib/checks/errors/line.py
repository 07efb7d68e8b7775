"""Find the line of an answer that raised an error: its syntax tree, and the values of its names.

A traceback holds the variables of its frames. They do not leave this process: explanations are text
with names and shapes.
"""

from __future__ import annotations

import ast
import functools
import linecache
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from attention_lib.checks.calls.tensors import is_tensor

MOST_CHARACTERS = 60  # of code that a sentence quotes
LIBRARY = str(Path(__file__).parents[2])
UNKNOWN: Any = object()  # a value that only the learner's own code could compute

PURE_BUILTINS = ("len", "int", "float", "abs", "slice", "tuple")
PURE_METHODS = {
    *(
        "sum",
        "max",
        "min",
        "mean",
        "reshape",
        "transpose",
        "swapaxes",
        "astype",
        "squeeze",
        "ravel",
    ),
    *("flatten", "unsqueeze", "view", "expand", "permute", "float", "half", "double", "T", "dot"),
}
IMPURE = ("random", "seterr", "save", "load", "put", "copyto", "place", "fill", "manual_seed")


@dataclass(frozen=True)
class FailingLine:
    """The expression that raised an error, in the learner's innermost function."""

    node: ast.AST  # an operation, a call or an index; otherwise the whole statement
    statement: ast.stmt
    function: ast.FunctionDef | ast.Lambda | None
    frame: types.FrameType

    def value(self, node: ast.AST) -> Any:
        """Evaluate an operand again if it is pure, such as names and NumPy's functions; else UNKNOWN."""
        if not isinstance(node, ast.expr) or not self._is_pure(node):
            return UNKNOWN
        try:
            code = compile(ast.unparse(node), "<operand>", "eval")  # also an assignment target
            with np.errstate(all="ignore"):
                return eval(code, self.frame.f_globals, dict(self.frame.f_locals))
        except Exception:
            return UNKNOWN

    def _is_pure(self, node: ast.expr) -> bool:
        return not isinstance(node, ast.Starred) and all(
            isinstance(part, PURE_NODES)
            and (not isinstance(part, ast.Call) or self._is_known(part))
            for part in ast.walk(node)
        )

    def _is_known(self, call: ast.Call) -> bool:
        function = call.func
        if isinstance(function, ast.Name):
            shadowed = function.id in self.frame.f_locals or function.id in self.frame.f_globals
            return function.id in PURE_BUILTINS and not shadowed
        if not isinstance(function, ast.Attribute) or function.attr in IMPURE:
            return False
        owner = function.value
        if isinstance(owner, ast.Name):
            module = self.frame.f_globals.get(owner.id)
            if isinstance(module, types.ModuleType):
                return module.__name__ in ("numpy", "torch", "math")
        owned = self.value(owner)
        of_an_array = isinstance(owned, (np.ndarray, np.generic)) or is_tensor(owned)
        return of_an_array and function.attr in PURE_METHODS

    def origin(self, name: str) -> ast.Assign | None:
        """Return the assignment that made a variable, or None if several may have made it."""
        if self.function is None or isinstance(self.function, ast.Lambda):
            return None
        made: list[tuple[ast.Assign, tuple[ast.AST, ...]]] = []
        ours: tuple[ast.AST, ...] = ()
        for node, blocks in _statements(self.function, ()):
            if node is self.statement:
                ours = blocks
            elif any(
                isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) and one.id == name
                for one in _targets(node)
            ):
                if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
                    return None
                made.append((node, blocks))
        before = [pair for pair in made if pair[0].lineno < self.statement.lineno]
        if len(before) != len(made) or not before:
            return None
        node, blocks = before[-1]
        return node if all(block in ours for block in blocks) else None


PURE_NODES = (
    *(ast.Name, ast.Constant, ast.Attribute, ast.Subscript, ast.BinOp, ast.UnaryOp, ast.Compare),
    *(ast.Call, ast.keyword, ast.Tuple, ast.List, ast.Slice, ast.Starred),
    *(ast.operator, ast.unaryop, ast.cmpop, ast.expr_context),
)


def is_kernel(function: ast.AST) -> bool:
    """Tell whether a function is a Triton kernel."""
    return any(isinstance(node, ast.Name) and node.id == "tl" for node in ast.walk(function))


def is_learners(frame: types.FrameType) -> bool:
    """Tell whether a frame runs the learner's own code."""
    name = frame.f_code.co_filename
    return not name.startswith(LIBRARY) and "site-packages" not in name


def parsed(file: str) -> ast.Module | None:
    """Parse a cell or file; return None if its text is missing, too long or malformed."""
    lines = linecache.getlines(file)
    return _parsed("".join(lines)) if 0 < len(lines) <= 4000 else None


@functools.lru_cache(maxsize=8)
def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def failing_line(error: BaseException) -> FailingLine | None:
    """Find the learner's expression that raised an error, itself or in a call; or return None."""
    place = None
    trace = error.__traceback__
    while trace is not None:
        if is_learners(trace.tb_frame):
            place = trace
        trace = trace.tb_next
    if place is None:
        return None
    code = place.tb_frame.f_code
    tree = parsed(code.co_filename)
    if tree is None:
        return None
    positions = list(code.co_positions())
    where = positions[place.tb_lasti // 2] if place.tb_lasti >= 0 else (None,) * 4
    line, end_line, column, end_column = where
    node = statement = function = None
    for candidate in ast.walk(tree):
        if not isinstance(candidate, (ast.expr, ast.stmt)):
            continue
        begin, end = candidate.lineno, candidate.end_lineno or candidate.lineno
        if isinstance(candidate, (ast.FunctionDef, ast.Lambda)):
            named = getattr(candidate, "name", "<lambda>") == code.co_name
            if named and code.co_firstlineno <= begin <= place.tb_lineno <= end:
                function = candidate
        elif isinstance(candidate, ast.stmt) and begin <= place.tb_lineno <= end:
            ends = (end, candidate.end_col_offset or 0)
            if (
                line is None
                or column is None
                or (begin, candidate.col_offset) <= (line, column) < ends
            ):
                statement = candidate  # the innermost, because the walk goes inward
        at = (
            candidate.lineno,
            candidate.end_lineno,
            candidate.col_offset,
            candidate.end_col_offset,
        )
        if at == (line, end_line, column, end_column) and not isinstance(candidate, ast.Expr):
            stored = isinstance(getattr(candidate, "ctx", None), ast.Store)
            node = None if stored else candidate  # unpacking concerns the whole statement
    if statement is None:
        return None
    return FailingLine(node or statement, statement, function, place.tb_frame)


def _statements(node: ast.AST, blocks: tuple[ast.AST, ...]) -> list[tuple[ast.stmt, tuple]]:
    """List the statements of a function, each with its enclosing branches and loops."""
    found: list[tuple[ast.stmt, tuple]] = []
    for field in ("body", "orelse", "finalbody"):
        for statement in getattr(node, field, []):
            if isinstance(statement, ast.stmt):
                found.append((statement, blocks))
                if not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                    found += _statements(statement, (*blocks, statement))
    return found


def _targets(statement: ast.stmt) -> list[ast.AST]:
    if isinstance(statement, ast.Assign):
        targets: list[ast.expr] = statement.targets
    elif isinstance(statement, (ast.AugAssign, ast.AnnAssign, ast.For)):
        targets = [statement.target]
    else:
        return []
    return [node for target in targets for node in ast.walk(target)]


def quoted(node: ast.AST) -> str:
    """Quote code in backticks, shortened."""
    text = ast.unparse(node)
    return f"`{text}`" if len(text) <= MOST_CHARACTERS else f"`{text[:MOST_CHARACTERS]}...`"


def shape_of(value: Any) -> tuple[int, ...] | None:
    """Return the shape of an array, a tensor or a number; None for anything else."""
    if isinstance(value, np.ndarray) or is_tensor(value):
        return tuple(value.shape)
    return () if isinstance(value, (bool, int, float, np.generic)) else None


def described_operand(line: FailingLine, node: ast.AST) -> str:
    """Describe an operand: ```total`, made in line 3 by `e.sum()`, has shape (3,)``."""
    shape = shape_of(line.value(node))
    what = "is a number" if shape == () else f"has shape {shape}"
    return f"{quoted(node)}{made_in(line, node)} {what}"


def made_in(line: FailingLine, node: ast.AST) -> str:
    """Return a clause on the line that made a variable, or "" if several may have made it."""
    origin = line.origin(node.id) if isinstance(node, ast.Name) else None
    if origin is None:
        return ""
    return f", made in line {origin.lineno} by {quoted(origin.value)},"
