"""Find what a right answer's cell needs that a grader lacks: user input, a package, a newer Python."""

from __future__ import annotations

import ast
import linecache
import re
import sys
import types
from collections.abc import Iterator
from typing import Any

from attention_lib.checks.errors.line import parsed
from attention_lib.checks.exercise import Exercise

OLDEST = (3, 11)  # a grader's Python may be this old
PACKAGES = {"", "attention_lib", "IPython", "ipywidgets", "matplotlib", "numpy", "scipy"}
ASKS = {"input", "getpass"}  # functions that wait for user input


def missing_when_graded(exercise: Exercise, answer: Any) -> Iterator[str]:
    """Yield a sentence for each thing that an answer's cell needs and that may be missing in grading."""
    code = getattr(answer, "__code__", None)
    if code is None or answer.__globals__.get("__name__") != "__main__":
        return
    tree = parsed(code.co_filename) or ast.Module([], [])
    has = (
        sys.stdlib_module_names | PACKAGES | ({"torch", "triton"} if exercise.accelerated else {""})
    )
    packages = {*_imported_packages(tree), *_used_packages(answer)} - has
    if packages:
        named = " and ".join(sorted(packages))
        yield (
            f"{exercise.name} needs {named}. A notebook that is handed in is graded with Python's own "
            "modules, NumPy, SciPy and Matplotlib: elsewhere its cell would stop."
        )
    called = {node.func for node in ast.walk(tree) if isinstance(node, ast.Call)}
    names = {getattr(one, "id", getattr(one, "attr", "")) for one in called}
    if asks := sorted(ASKS & names):
        yield (
            f"The cell of {exercise.name} calls {asks[0]}(), which waits for somebody to type. "
            "Nobody does while a notebook is graded: write the value in its place."
        )
    if newer := _newer_syntax("".join(linecache.getlines(code.co_filename)), tree):
        oldest = ".".join(map(str, OLDEST))
        yield (
            f"The cell of {exercise.name} is not valid in Python {oldest}, with which it may be "
            f"graded: {newer}."
        )


def _imported_packages(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


def _used_packages(answer: Any) -> Iterator[str]:
    """Yield the packages of the modules and functions that a function uses from its notebook."""
    codes = [answer.__code__]
    while codes:
        code = codes.pop()
        codes += [one for one in code.co_consts if isinstance(one, types.CodeType)]
        for value in (answer.__globals__.get(name) for name in code.co_names):
            if isinstance(value, types.ModuleType):
                yield value.__name__.partition(".")[0]
            elif isinstance(value, (type, types.FunctionType)) and value.__module__ != "__main__":
                yield str(value.__module__).partition(".")[0]


def _newer_syntax(source: str, tree: ast.Module) -> str:
    """Return what the oldest Python would refuse in a cell, or ""."""
    try:
        ast.parse(source if tree.body else "", feature_version=OLDEST)
    except SyntaxError as refusal:
        return refusal.msg
    for node in ast.walk(tree) if sys.version_info >= (3, 12) else ():
        if isinstance(node, ast.JoinedStr) and _is_newer(source, node):
            return (
                f"an f-string with its own quotes or a backslash inside braces (line {node.lineno})"
            )
    return ""


def _is_newer(source: str, text: ast.JoinedStr) -> bool:
    """Tell whether the braces of an f-string hold what only Python 3.12 and later accept there."""
    quote = re.match(r"\w*('''|\"\"\"|'|\")", ast.get_source_segment(source, text) or "")
    inner = [
        ast.get_source_segment(source, part.value) or ""
        for part in text.values
        if isinstance(part, ast.FormattedValue)
    ]
    return quote is not None and any(quote[1] in one or "\\" in one for one in inner)
