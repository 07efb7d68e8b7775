"""Compare names as people and platforms write them: the exact form first, then reduced forms.

A platform may change the order of a name's parts, write small letters, or leave out spaces. It does
not change letters. Accents and vowel signs (Unicode's marks) belong to letters: किरण is not करण.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Callable, Sequence
from typing import Literal

APOSTROPHES = "'\u2019\u2018\u02bc\u02bb`\u00b4"  # platforms leave these out


def _lowercase(form: Literal["NFC", "NFKC"], text: str) -> str:
    return unicodedata.normalize(form, unicodedata.normalize(form, text).lower())


# From exact to reduced: as written; lowercase; lowercase without full width and ligatures.
FORMS: Sequence[Callable[[str], str]] = (
    functools.partial(unicodedata.normalize, "NFC"),
    functools.partial(_lowercase, "NFC"),
    functools.partial(_lowercase, "NFKC"),
)


def words(name: str) -> list[str]:
    """Split a name at all but letters, marks and digits; joiners and apostrophes split nothing."""
    kept = (c for c in name if unicodedata.category(c) != "Cf" and c not in APOSTROPHES)
    return "".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in kept).split()


def letters(name: str) -> str:
    """Return a name without the characters between its words."""
    return "".join(words(name))


def keys_of_person(first: str, last: str, *whole: str) -> list[set[tuple[str, ...]]]:
    """Return a person's keys for each form; each of `whole` is an id or an email address."""
    found = []
    for form in FORMS:
        one, two = letters(form(first)), letters(form(last))
        keys = {(one, two), (two, one), (one + two,), (two + one,)}
        keys |= {(letters(form(name)),) for name in whole}
        found.append({key for key in keys if any(key)})
    return found


def keys_of_name(name: str) -> list[set[tuple[str, ...]]]:
    """Return all keys that a written name may have, for each form.

    Spaces limit where the first name may end: Ann Ali is not Anna Li.
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
