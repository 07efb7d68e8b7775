"""Placeholders for the functions of a submission's lesson and of later ones, while it is graded."""

from __future__ import annotations

from typing import Any


class NotAvailable(RuntimeError):
    """Raised when something that is withheld is used."""


class Withheld:
    """A name that can be imported and passed on, but not used."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, *_: Any, **__: Any) -> Any:
        """Raise NotAvailable."""
        raise NotAvailable(
            f"{self.__name__} is not available while this lesson is graded: use what you wrote "
            "yourself, and functions of earlier lessons."
        )

    def __getattr__(self, name: str) -> Withheld:
        if name.startswith("__"):
            raise AttributeError(name)
        return Withheld(f"{self.__name__}.{name}")
