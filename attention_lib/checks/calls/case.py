"""Define a case, the arguments of one call and what its result must be, and an observation of the call."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Answer = Callable[..., Any]


class Case:
    """One call to try an answer on.

    Parameters
    ----------
    *args
        The positional arguments. The answer and the reference get deep copies of them.
    raises
        The exception that the contract requires. Then no value is compared.
    verify
        If the contract allows several results: a function of the returned value that returns None
        or the sentence on what is wrong with it. Then no value is compared.
    **kwargs
        The keyword arguments.
    """

    __slots__ = ("args", "kwargs", "raises", "verify")

    def __init__(
        self,
        *args: Any,
        raises: type[Exception] | None = None,
        verify: Callable[[Any], str | None] | None = None,
        **kwargs: Any,
    ) -> None:
        self.args = args
        self.kwargs = kwargs
        self.raises = raises
        self.verify = verify


class Stream:
    """An argument of a case that can be read once, item by item.

    Each copy starts at the first item, and records whether it is read again after its end.
    """

    def __init__(self, items: Iterable[np.ndarray]) -> None:
        self.items = tuple(items)
        self.read_again = False
        self._next = 0

    def __iter__(self) -> Iterator[np.ndarray]:
        self.read_again |= self._next > len(self.items)
        return self

    def __next__(self) -> np.ndarray:
        self._next += 1
        if self._next > len(self.items):
            raise StopIteration
        return self.items[self._next - 1]

    def __deepcopy__(self, _memo: dict[int, Any]) -> Stream:
        return Stream(item.copy() for item in self.items)

    def __repr__(self) -> str:
        items = (np.array2string(item, separator=", ", threshold=12) for item in self.items)
        return f"iter([{', '.join(items)}])"


class Unreachable(BaseException):
    """The process of an answer has ended; the text says why."""


@dataclass
class Observation:
    """The result, the error and the side effects of one call."""

    value: Any = None
    error: BaseException | None = None
    # Those of the learner's code, from the error.
    frames: list[traceback.FrameSummary] = field(default_factory=list)
    explanation: str = ""  # of a time-out, or of an error in another process
    is_quoted: bool = False  # the explanation comes from the submission's process
    out_of_time: bool = False
    waited: bool = False  # out of time, with less CPU time than the limit
    refused_call: bool = False  # the answer's signature does not take the arguments
    warnings: list[str] = field(default_factory=list)
    printed: str = ""
    changed: list[str] = field(default_factory=list)  # arguments, by position or by name
    read_again: bool = False  # a Stream was read again after its end
    forbidden: str = ""  # the forbidden function that was called


def explanation_of(seen: Observation) -> str:
    """Return the explanation, in quotes if it comes from the submission's process."""
    if seen.explanation and seen.is_quoted:
        return f'Its own process says: "{seen.explanation}"'
    return seen.explanation


def of_a_stub(seen: Observation) -> bool:
    """Tell whether a call ended in a stub's `raise NotImplementedError`."""
    return isinstance(seen.error, NotImplementedError) and not seen.forbidden
