"""Bind the arguments of a call to a reference's parameters, for answers that need some of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from attention_lib.checks.calls.case import Answer


@functools.cache
def by_name(reference: Answer) -> Callable[[Callable[..., Any]], Answer]:
    """Let a function take those of the reference's arguments that its parameters name."""
    parameters = inspect.signature(reference).parameters
    defaults = {
        name: one.default for name, one in parameters.items() if one.default is not one.empty
    }

    def bind(function: Callable[..., Any]) -> Answer:
        names = function.__code__.co_varnames[: function.__code__.co_argcount]

        def answer(*args: Any, **named: Any) -> Any:
            given = defaults | dict(zip(parameters, args, strict=False)) | named
            return function(*(given[name] for name in names))

        return answer

    return bind
