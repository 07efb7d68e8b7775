"""Placeholders for the functions of the graded lesson and of later ones."""

from __future__ import annotations

from typing import Any


class NotAvailable(RuntimeError):
    """A function that is not available during grading was used."""


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
