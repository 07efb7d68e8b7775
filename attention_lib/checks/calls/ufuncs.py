"""SciPy's ufuncs in an answer's code: their calls leave no trace, so the code is read instead."""

from __future__ import annotations

import functools
import os
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

OWN_FOLDER = str(Path(__file__).parents[2])  # attention_lib
LIBRARY_FOLDERS = (OWN_FOLDER, os.path.dirname(os.__file__))  # and Python's own


def scipy_ufunc_in(answer: Any) -> str:
    """Name a ufunc of scipy.special that an answer can reach, or return an empty string."""
    special = sys.modules.get("scipy.special")
    if special is None:
        return ""
    for value in _reached(answer, set()):
        name = getattr(value, "__name__", "")
        if isinstance(value, np.ufunc) and getattr(special, name, None) is value:
            return f"scipy.special.{name}"
    return ""


def _reached(value: Any, visited: set[int]) -> Iterator[Any]:
    """Yield what a value holds and its code names, and the same for the learner's own helpers."""
    if id(value) in visited:
        return
    visited.add(id(value))
    for held in _held(value):
        yield held
        yield from _reached(held, visited)


def _held(value: Any) -> Iterator[Any]:
    if isinstance(value, types.ModuleType):
        return
    if isinstance(value, types.FunctionType):
        if not _from_a_library(value.__code__.co_filename):
            yield from _held_by_function(value)
    elif isinstance(value, (staticmethod, classmethod, types.MethodType)):
        yield value.__func__
        yield getattr(value, "__self__", None)
    elif isinstance(value, functools.partial):
        yield from (value.func, *value.args, *value.keywords.values())
    elif isinstance(value, np.vectorize):
        yield value.pyfunc
    elif hasattr(value, "__wrapped__"):  # functools.cache and the like
        yield value.__wrapped__
    elif isinstance(value, (tuple, list, dict)):
        if len(value) <= 100:
            yield from value.values() if isinstance(value, dict) else value
    elif isinstance(value, type):
        if not _from_a_library(_file_of(value)):
            yield from value.__bases__
            yield from vars(value).values()
    elif hasattr(value, "__dict__"):
        yield type(value)
        if not _from_a_library(_file_of(type(value))):
            yield from vars(value).values()


def _held_by_function(function: types.FunctionType) -> Iterator[Any]:
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # a name that nothing is bound to yet
            continue
    codes: list[types.CodeType] = [function.__code__]
    for code in codes:
        codes.extend(const for const in code.co_consts if isinstance(const, types.CodeType))
        # Strings too: getattr and import_module take names as such.
        names = {*code.co_names, *(const for const in code.co_consts if isinstance(const, str))}
        values = [function.__globals__[n] for n in code.co_names if n in function.__globals__]
        yield from values
        in_scipy = any(
            isinstance(value, types.ModuleType) and value.__name__.partition(".")[0] == "scipy"
            for value in values
        )
        if in_scipy or any(name.partition(".")[0] == "scipy" for name in names):
            special = vars(sys.modules["scipy.special"])
            yield from (special[name] for name in names if name in special)


def _file_of(kind: type) -> str:
    return getattr(sys.modules.get(kind.__module__), "__file__", None) or (
        "" if kind.__module__ == "__main__" else LIBRARY_FOLDERS[-1]  # builtins have no file
    )


def _from_a_library(filename: str) -> bool:
    return "site-packages" in filename or filename.startswith(LIBRARY_FOLDERS)
