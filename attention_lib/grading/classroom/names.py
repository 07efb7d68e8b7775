"""Compare names as people and platforms write them: the exact name before any reduced one.

A platform may write a name's parts in either order, in small letters, or without spaces. It does not
exchange letters, and accents and vowel signs (Unicode's marks) are part of them: किरण is not करण.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Callable, Sequence
from typing import Literal

APOSTROPHES = "'\u2019\u2018\u02bc\u02bb`\u00b4"  # which platforms leave out


def _small(form: Literal["NFC", "NFKC"], text: str) -> str:
    return unicodedata.normalize(form, unicodedata.normalize(form, text).lower())


# From exact to reduced: as written, in small letters, then without full width and ligatures.
FORMS: Sequence[Callable[[str], str]] = (
    functools.partial(unicodedata.normalize, "NFC"),
    functools.partial(_small, "NFC"),
    functools.partial(_small, "NFKC"),
)


def words(name: str) -> list[str]:
    """Split a name at all that is no letter, mark or digit; joiners and apostrophes split nothing."""
    kept = (c for c in name if unicodedata.category(c) != "Cf" and c not in APOSTROPHES)
    return "".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in kept).split()


def letters(name: str) -> str:
    """Return a name without what is between its words."""
    return "".join(words(name))


def keys_of_person(first: str, last: str, *whole: str) -> list[set[tuple[str, ...]]]:
    """Return the keys of a person, for each form; `whole` are an id or an address."""
    found = []
    for form in FORMS:
        one, two = letters(form(first)), letters(form(last))
        keys = {(one, two), (two, one), (one + two,), (two + one,)}
        keys |= {(letters(form(name)),) for name in whole}
        found.append({key for key in keys if any(key)})
    return found


def keys_of_name(name: str) -> list[set[tuple[str, ...]]]:
    """Return the keys that a written name may have, for each form.

    Where it has spaces these say where the first name may end: Ann Ali is not Anna Li.
    """
    found = []
    for form in FORMS:
        parts = words(form(name))
        cuts = range(len(parts) + 1) if len(parts) > 1 else ()
        keys: set[tuple[str, ...]] = {("".join(parts[:cut]), "".join(parts[cut:])) for cut in cuts}
        if len(parts) == 1 or not any(c.isspace() for c in name.strip()):
            keys.add(("".join(parts),))
        found.append({key for key in keys if any(key)})
    return found
