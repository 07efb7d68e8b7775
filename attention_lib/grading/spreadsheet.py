"""Make text safe to open in a spreadsheet."""

from __future__ import annotations

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for the start of one


def as_text_cell(value: str) -> str:
    """Keep a spreadsheet from running a student's words as a formula."""
    return f"'{value}" if value.startswith(FORMULA) else value
