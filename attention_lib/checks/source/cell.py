"""The syntax tree of an answer, and of the helper functions that stand in the same cell."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import linecache
import types
import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from attention_lib.checks.calls.failing_line import parsed


@dataclass(frozen=True)
class Source:
    """An answer's function, its helpers, and the names that both may use."""

    function: ast.FunctionDef
    helpers: tuple[ast.FunctionDef, ...]
    namespace: dict[str, Any]  # the notebook's variables
    lines: tuple[str, ...]  # of the cell
    compiled: dict[ast.FunctionDef, types.CodeType]  # before any change is made in a tree

    @property
    def functions(self) -> tuple[ast.FunctionDef, ...]:
        """The answer's function first, then its helpers."""
        return (self.function, *self.helpers)

    def made(self, changed: Collection[ast.AST]) -> Callable[..., Any] | None:
        """Compile the function again with its changed parts; None if that fails."""
        names = dict(self.namespace)
        try:
            for function, code in reversed(self.compiled.items()):  # the helpers first
                exec(_code_of(function) if function in changed else code, names)
        except Exception:  # a tree that makes no sense, or a default that is not there
            return None
        answer: Callable[..., Any] | None = names.get(self.function.name)
        return answer


def _code_of(function: ast.FunctionDef) -> types.CodeType:
    return compile(ast.Module([function], []), "<edited answer>", "exec")


def source_of(answer: Any) -> Source | None:
    """Parse the cell or file of a function; None where there is no such text."""
    if not isinstance(answer, types.FunctionType) or answer.__code__.co_freevars:
        return None
    code = answer.__code__
    tree = parsed(code.co_filename)
    function = _function_at(tree, code.co_firstlineno, answer.__name__) if tree else None
    if tree is None or function is None:
        return None
    helpers = _helpers_of(function, tree, answer)
    compiled = {one: _code_of(one) for one in (function, *helpers)}
    lines = tuple(linecache.getlines(code.co_filename))
    return Source(function, helpers, answer.__globals__, lines, compiled)


def _function_at(tree: ast.Module, line: int, name: str) -> ast.FunctionDef | None:
    lambdas = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            if line in (node.lineno, *(decorator.lineno for decorator in node.decorator_list)):
                return node
        elif isinstance(node, ast.Lambda) and node.lineno == line:
            lambdas.append(node)
    if name != "<lambda>" or len(lambdas) != 1:
        return None
    (node,) = lambdas
    returned = ast.copy_location(ast.Return(node.body), node.body)
    function = ast.FunctionDef("answer", node.args, [returned], [])
    return ast.fix_missing_locations(ast.copy_location(function, node))


def _helpers_of(
    function: ast.FunctionDef, tree: ast.Module, answer: types.FunctionType
) -> tuple[ast.FunctionDef, ...]:
    """Find the functions of the same cell that a function calls, and those that these call."""
    defined = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    helpers: dict[str, ast.FunctionDef] = {}
    pending = [function]
    while pending:
        for node in ast.walk(pending.pop()):
            name = node.id if isinstance(node, ast.Name) else ""
            helper = defined.get(name)
            if helper is None or helper is function or name in helpers:
                continue
            value = answer.__globals__.get(name)
            if inspect.isfunction(value) and value.__code__.co_filename == (
                answer.__code__.co_filename
            ):
                helpers[name] = helper
                pending.append(helper)
    return tuple(helpers.values())


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Hide what the calls of a changed or watched answer print and warn of."""
    with (
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield
