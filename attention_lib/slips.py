"""Find slips in a cell's text: a misspelled name, Markdown's code fences."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from attention_lib.exercises import EXERCISES

_DEFINED = re.compile(r"^(?:def\s+)?(\w+)\s*(?:\(.*\)\s*(?:->.*)?:|=(?!=))", re.MULTILINE)


def defined_names(cells: Iterable[str]) -> list[str]:
    """Return the functions and variables that cells define, line by line."""
    return [name for cell in cells for name in _DEFINED.findall(cell)]


def near_name(name: str, cells: Iterable[str]) -> str:
    """Return the similar name that cells define, unless it is an exercise's; otherwise ""."""
    others = [one for one in defined_names(cells) if one not in EXERCISES]
    return next(iter(difflib.get_close_matches(name, others, n=1, cutoff=0.8)), "")


def fences(source: str) -> str:
    """Return which lines of a cell are Markdown's code fences (```), or ""."""
    lines = [
        str(number)
        for number, line in enumerate(source.splitlines(), 1)
        if line.lstrip().startswith("```")
    ]
    if not lines:
        return ""
    return (
        f"delete line{'s' * (len(lines) > 1)} {' and '.join(lines)}, Markdown's marks of code (```)"
    )
