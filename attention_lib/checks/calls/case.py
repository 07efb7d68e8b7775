"""Define a case: the arguments of one call, and what the contract requires of its result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
