"""Make text safe to print on a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return a text without characters that would steer the terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)
