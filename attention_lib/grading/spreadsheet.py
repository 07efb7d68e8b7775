"""Make text safe to open in a spreadsheet."""

from __future__ import annotations

from attention_lib.grading.terminal import printable

FORMULA = ("=", "+", "-", "@")  # what a spreadsheet takes for the start of one


def as_text_cell(value: str) -> str:
    """Keep a spreadsheet from running a student's words as a formula, and to one line."""
    value = printable(value)
    return f"'{value}" if value.startswith(FORMULA) else value
