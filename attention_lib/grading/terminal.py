"""Make text safe to print on a terminal, and to set among others'."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Sequence


def printable(text: str) -> str:
    """Return a text without characters that steer the terminal, and with few marks on each."""
    return few_marks("".join(c if c.isprintable() else "?" for c in text))


def first_few(names: Sequence[str], most: int) -> str:
    """List the first names, and say how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def few_marks(text: str) -> str:
    """Return a text with at most three combining marks on each character: more cover other lines."""
    if text.isascii():
        return text
    stretches = itertools.groupby(text, _is_mark)
    kept = (itertools.islice(own, 3) if marks else own for marks, own in stretches)
    return "".join(itertools.chain.from_iterable(kept))


def _is_mark(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Me")  # drawn above, below or around another
