"""Make text safe to print on a terminal, and in a line with other text."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Sequence

JOINERS = "\u200c\u200d"  # parts of names in Persian and in scripts of India
BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"  # printable, but nothing is drawn


def printable(text: str) -> str:
    """Replace characters that control the terminal, and limit the marks on each character."""
    return few_marks("".join(c if c.isprintable() or c in JOINERS else "?" for c in text))


def escaped(text: str) -> str:
    """Escape, as Python does, each character that is invisible or reorders others.

    So two different names never look the same.
    """
    if text.isascii() and text.isprintable():
        return text
    return few_marks("".join(map(_escaped, text)))


def _escaped(character: str) -> str:
    if unicodedata.category(character) == "Zs":  # any space, such as those in East Asian names
        return " "
    if character.isprintable() and character not in BLANK:
        return character
    return character.encode("unicode_escape").decode("ascii")


def shown_name(name: str, most: int = 40) -> str:
    """Return a name, escaped and shortened in the middle: a long one would widen a whole table."""
    shown = escaped(name)
    if len(shown) <= most:
        return shown
    head, tail = most // 2, (most - 1) // 2
    return f"{shown[:head]}…{shown[-tail:]}"


def first_few(names: Sequence[str], most: int) -> str:
    """List the first names, and say how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def few_marks(text: str) -> str:
    """Keep at most three combining marks on each character: more would cover other lines."""
    if text.isascii():
        return text
    stretches = itertools.groupby(text, _is_mark)
    kept = (itertools.islice(own, 3) if marks else own for marks, own in stretches)
    return "".join(itertools.chain.from_iterable(kept))


def _is_mark(character: str) -> bool:
    return unicodedata.category(character) in ("Mn", "Me")  # drawn above, below or around another
