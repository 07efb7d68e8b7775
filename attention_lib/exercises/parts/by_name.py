"""Bind the arguments of a call to a reference's parameters, for answers that need some of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from attention_lib.checks.calls.case import Answer


def by_name(reference: Answer) -> Callable[[Callable[..., Any]], Answer]:
    """Let a function take those of the reference's arguments that its parameters name."""
    signature = inspect.signature(reference)

    def bind(function: Callable[..., Any]) -> Answer:
        names = tuple(inspect.signature(function).parameters)

        def answer(*args: Any, **named: Any) -> Any:
            bound = signature.bind(*args, **named)
            bound.apply_defaults()
            return function(**{name: bound.arguments[name] for name in names})

        return answer

    return bind
