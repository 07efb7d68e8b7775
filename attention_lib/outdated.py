"""Errors for unknown names: mistyped, or of a lesson that is newer than the installed library."""

from __future__ import annotations

import difflib
from collections.abc import Collection

from attention_lib.arguments import OneLine

__all__ = ["OLDER", "NotUnderstood", "nearest", "unknown_name"]

OLDER = (
    "If a lesson asks for it, this copy of the course is older than the lesson: update it, with "
    "git pull in its folder."
)


class NotUnderstood(OneLine, ValueError):
    """A call names no exercise or lesson, or lacks an answer."""


def unknown_name(module: str, name: str, names: Collection[str]) -> AttributeError:
    """Return the error to raise for a name that is not among the names of a module."""
    near = nearest(name, names)
    error = AttributeError(f"module {module!r} has no attribute {name!r}. {near or OLDER}")
    error._render_traceback_ = lambda: [
        f"AttributeError: {error}"
    ]  # as OneLine, under its own name
    return error


def nearest(name: str, names: Collection[str]) -> str:
    """Return a question whether a similar name is meant, or ""."""
    name = name.strip().lower()
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.75)
    if name in near:
        near = [name]  # in other letter case
    elif not near and len(name) > 1:
        near = [known for known in names if name in known][:3]
    return f"Did you mean {' or '.join(near)}?" if near else ""
