"""What a submission does not see while it is graded: the solutions of its lesson, and later ones."""

from __future__ import annotations

from typing import Any


class NotThere(RuntimeError):
    """Raised when something that is withheld is used."""


class Withheld:
    """A name that can be imported and passed on, but not used."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise NotThere(
            f"{self.__name__} is not there while this lesson is graded: use what you wrote "
            "yourself, and functions of earlier lessons."
        )

    def __getattr__(self, name: str) -> Withheld:
        if name.startswith("__"):
            raise AttributeError(name)
        return Withheld(f"{self.__name__}.{name}")
