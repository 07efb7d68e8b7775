"""Detect calls of forbidden functions."""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from attention_lib.checks.calls.case import Observation


@contextlib.contextmanager
def watched_calls(forbidden: tuple[str, ...], seen: Observation) -> Iterator[None]:
    """Record in `seen` the first call of a function whose dotted name has a forbidden prefix."""
    if not forbidden:
        yield
        return

    packages = {name.partition(".")[0] for name in forbidden}
    imported: types.FrameType | None = (
        None  # a forbidden module while it is imported, which is not a call
    )

    def watch(frame: types.FrameType, event: str, called: Any) -> None:
        nonlocal imported
        if imported is not None:
            if event == "return" and frame is imported:
                imported = None
        elif event == "call":
            module = str(frame.f_globals.get("__name__", ""))
            name = f"{module}.{frame.f_code.co_qualname}"
            if frame.f_code.co_name == "<module>" and module.partition(".")[0] in packages:
                imported = frame
            elif name.startswith(forbidden) and not seen.forbidden:
                seen.forbidden = name
        elif event == "c_call" and not seen.forbidden:
            module = _module_of_builtin(called)
            if f"{module}.{called.__name__}".startswith(forbidden):
                seen.forbidden = f"{module.partition('.')[0]}.{called.__name__}"

    previous = sys.getprofile()
    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(previous)


@contextlib.contextmanager
def unwatched() -> Iterator[None]:
    """Suspend watching in the body, for calls of this library."""
    previous = sys.getprofile()
    sys.setprofile(None)
    try:
        yield
    finally:
        sys.setprofile(previous)


def _module_of_builtin(called: Any) -> str:
    owner = getattr(called, "__self__", None)
    if isinstance(owner, types.ModuleType):
        return owner.__name__
    if owner is not None:
        return (owner if isinstance(owner, type) else type(owner)).__module__ or ""
    return getattr(called, "__module__", None) or ""


def scipy_ufunc_in(answer: Any) -> str:
    """Return the name of a scipy.special ufunc among the names that an answer uses, or "".

    A profiler does not see calls of ufuncs.
    """
    special = sys.modules.get("scipy.special")
    code = getattr(answer, "__code__", None)
    if special is None or code is None:
        return ""
    names, known = code.co_names, answer.__globals__
    values = [known[name] for name in names if name in known]
    if any(_of_scipy(name) for name in names) or any(map(_is_scipy, values)):
        others = [name for name in names if name not in known and not hasattr(np, name)]
        values += [vars(special).get(name) for name in others]
    for value in values:
        name = value.__name__ if isinstance(value, np.ufunc) else ""
        if name and vars(special).get(name) is value:
            return f"scipy.special.{name}"
    return ""


def _is_scipy(value: Any) -> bool:
    return isinstance(value, types.ModuleType) and _of_scipy(value.__name__)


def _of_scipy(name: str) -> bool:
    return name.partition(".")[0] == "scipy"
