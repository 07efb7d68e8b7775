"""Parse an answer and the helper functions in its cell."""

from __future__ import annotations

import ast
import builtins
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

from attention_lib.checks.errors.line import parsed

EDITED = "<edited answer>"  # the file name of an answer that is compiled again


@dataclass(frozen=True)
class Source:
    """The syntax trees of an answer and its helpers, and their global namespace."""

    function: ast.FunctionDef
    helpers: tuple[ast.FunctionDef, ...]
    namespace: dict[str, Any]  # the notebook's variables
    lines: tuple[str, ...]  # of the cell
    compiled: dict[ast.FunctionDef, types.CodeType]  # the unchanged functions

    @property
    def functions(self) -> tuple[ast.FunctionDef, ...]:
        """The answer's function first, then its helpers."""
        return (self.function, *self.helpers)

    def made(self, changed: Collection[ast.AST]) -> Callable[..., Any] | None:
        """Compile the changed functions, and return the answer; None if that fails."""
        names = dict(self.namespace)
        try:
            for function, code in reversed(self.compiled.items()):  # the helpers first
                exec(_code_of(function) if function in changed else code, names)
        except Exception:  # an invalid tree, or a default with an undefined name
            return None
        answer: Callable[..., Any] | None = names.get(self.function.name)
        return answer


def _code_of(function: ast.FunctionDef) -> types.CodeType:
    return compile(ast.Module([function], []), EDITED, "exec")


def source_of(answer: Any) -> Source | None:
    """Parse a function's cell or file; return None if it cannot be read, or is a closure."""
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
    """Find the functions of a cell that a function uses, directly or through others."""
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
    """Hide the output and the warnings of calls in the body."""
    with (
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


@dataclass(frozen=True)
class Scope:
    """A function's arguments and variables, and the keywords of its library."""

    arguments: tuple[str, ...]
    variables: dict[str, int]  # local ones, without the arguments, and the first line of each
    unused: tuple[str, ...]  # arguments that are never read
    is_torch: bool
    takes_logarithms: bool = False
    differences: tuple[Any, ...] = ()  # nodes that subtract
    free: tuple[str, ...] = ()  # variables of the notebook: neither local nor called

    @classmethod
    def of(cls, function: ast.FunctionDef, is_torch: bool) -> Scope:
        """Collect the names of a function."""
        given = function.args
        arguments = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
        stored = dict[str, int]()
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                stored[node.id] = min(node.lineno, stored.get(node.id, node.lineno))
        loaded = {
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        called = {
            node.func.id
            for node in ast.walk(function)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        return cls(
            tuple(arguments),
            {name: line for name, line in stored.items() if name not in arguments},
            tuple(name for name in arguments if not loaded & {name, "locals"}),
            is_torch,
            any(getattr(node, "attr", "").startswith("log") for node in ast.walk(function)),
            tuple(n for n in ast.walk(function) if isinstance(getattr(n, "op", None), ast.Sub)),
            tuple(sorted(loaded - {*arguments, *stored, *called, *dir(builtins)})),
        )

    @property
    def axis(self) -> str:
        """The keyword for an axis: axis or dim."""
        return "dim" if self.is_torch else "axis"

    @property
    def keepdims(self) -> str:
        """The keyword that keeps a reduced axis: keepdims or keepdim."""
        return "keepdim" if self.is_torch else "keepdims"
