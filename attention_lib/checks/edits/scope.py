"""Collect the names that a function uses."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass
from typing import Any


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
