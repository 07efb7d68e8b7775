"""Make text safe to open in a spreadsheet, and read the tables that spreadsheets save."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator

from attention_lib.grading.terminal import escaped

# What a spreadsheet takes for the start of a formula: at the start of a cell, or after a semicolon,
# which separates cells where commas are for decimals. East Asian ones take wide signs too.
FORMULA = re.compile(r"(^\s*|;\s*)(?=[=+\-@＝＋－＠])")
DELIMITERS = (",", ";", "\t")


class UnclosedQuote(ValueError):
    """Quotes do not enclose a whole cell; the text is the number of the line in which they begin."""


def as_text_cell(value: str) -> str:
    """Keep a spreadsheet from running a student's words as a formula, and to one line."""
    return FORMULA.sub(r"\1'", escaped(value))


def decoded(content: bytes) -> str:
    """Return the text of a file in UTF-8, or in UTF-16 with its mark at the start.

    Raises
    ------
    UnicodeDecodeError
        If it is neither.
    """
    is_utf_16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return content.decode("utf-16" if is_utf_16 else "utf-8-sig")


def delimiter_of(text: str) -> str:
    """Return what is between the columns of a table: what its first line has most of."""
    first = text.lstrip().partition("\n")[0]
    return max(DELIMITERS, key=first.count)


def read_table(text: str) -> Iterator[tuple[int, list[str]]]:
    """Read the lines of a table that are not empty: each one's number, and its cells.

    Empty cells at the end of a line, which spreadsheets add, are left out, and so is the line by which
    Excel says what is between the columns.

    Raises
    ------
    UnclosedQuote
        If quotes do not enclose a whole cell: all lines below may be in one cell.
    """
    delimiter = delimiter_of(text)
    if text[:4].lower() == "sep=":
        text = "\n" + text.partition("\n")[2]
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begin = 1
    while True:
        try:
            row = next(rows, None)
        except csv.Error:
            raise UnclosedQuote(begin) from None
        if row is None:
            return
        begin = rows.line_num + 1
        cells = [cell.strip() for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield rows.line_num, cells
