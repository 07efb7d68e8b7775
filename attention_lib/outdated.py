"""Error messages for a lesson that is newer than the installed library."""

from __future__ import annotations

__all__ = ["OLDER", "unknown_name"]

OLDER = (
    "If a lesson asks for it, this copy of the course is older than the lesson: update it, with "
    "git pull in its folder."
)


def unknown_name(module: str, name: str) -> AttributeError:
    """Return the error to raise for a name that a module does not have."""
    return AttributeError(f"module {module!r} has no attribute {name!r}. {OLDER}")
