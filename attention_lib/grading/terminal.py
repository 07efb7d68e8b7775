"""Make text safe to print on a terminal, and to set among others'."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterator

MOST_MARKS = 3  # combining marks on one character, which more would pile up over other lines


def printable(text: str) -> str:
    """Return a text without characters that steer the terminal, and with few marks on each."""
    return few_marks("".join(c if c.isprintable() else "?" for c in text))


def few_marks(text: str) -> str:
    """Return a text with at most three combining marks on each character."""
    if text.isascii():
        return text
    kept = (itertools.islice(own, MOST_MARKS) if mark else own for mark, own in _by_kind(text))
    return "".join(itertools.chain.from_iterable(kept))


def _by_kind(text: str) -> Iterator[tuple[bool, Iterator[str]]]:
    """Split a text into stretches of combining marks and of other characters."""
    return itertools.groupby(text, lambda character: unicodedata.combining(character) > 0)
