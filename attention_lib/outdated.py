"""Errors for unknown names: mistyped, or of a lesson that is newer than the installed library."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["OLDER", "UnknownExercise", "nearest", "unknown_name"]

OLDER = (
    "If a lesson asks for it, this copy of the course is older than the lesson: update it, with "
    "git pull in its folder."
)


class UnknownExercise(ValueError):
    """Raised for a name that no exercise has."""

    def _render_traceback_(self) -> list[str]:
        """Replace Jupyter's traceback by the error's one line."""
        return [f"ValueError: {self}"]


def unknown_name(module: str, name: str, names: Iterable[str]) -> AttributeError:
    """Return the error to raise for a name that is not among the names of a module."""
    near = nearest(name, names)
    return AttributeError(f"module {module!r} has no attribute {name!r}. {near or OLDER}")


def nearest(name: str, names: Iterable[str]) -> str:
    """Ask whether names like this one are meant; empty if there is none."""
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.75)
    return f"Did you mean {' or '.join(near)}?" if near else ""
