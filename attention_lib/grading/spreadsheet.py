"""Make text safe to open in a spreadsheet."""

from __future__ import annotations

import re

from attention_lib.grading.terminal import escaped

# What a spreadsheet takes for the start of a formula: at the start of a cell, or after a semicolon,
# which separates cells where commas are for decimals. East Asian ones take wide signs too.
FORMULA = re.compile(r"(^\s*|;\s*)(?=[=+\-@＝＋－＠])")


def as_text_cell(value: str) -> str:
    """Keep a spreadsheet from running a student's words as a formula, and to one line."""
    return FORMULA.sub(r"\1'", escaped(value))
