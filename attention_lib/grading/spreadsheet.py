"""Make text safe to open in a spreadsheet, and read tables that spreadsheets save."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence

from attention_lib.grading.terminal import escaped

# The start of a formula, to a spreadsheet: at the start of a cell, or after a semicolon, which
# separates cells where decimals have commas. East Asian versions also accept full-width signs.
FORMULA = re.compile(r"(^\s*|;\s*)(?=[=+\-@＝＋－＠])")
DELIMITERS = (",", ";", "\t")


class UnclosedQuote(ValueError):
    """Quotes do not enclose a whole cell; the text is the number of the line where they start."""


def as_text_cell(value: str) -> str:
    """Return a student's text as one line that no spreadsheet runs as a formula."""
    return FORMULA.sub(r"\1'", escaped(value))


def csv_text(rows: Iterable[Sequence[str]], delimiter: str = ",") -> str:
    """Return rows as CSV."""
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue()


def decoded(content: bytes) -> str:
    """Decode a file in UTF-8, in UTF-16 with a byte-order mark, or in cp1252 as Excel on Windows saves CSV.

    Raises
    ------
    UnicodeDecodeError
        If it is none of these.
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16")
    with contextlib.suppress(UnicodeDecodeError):
        return content.decode("utf-8-sig")
    return content.decode("cp1252")


def delimiter_of(text: str) -> str:
    """Return the delimiter of a table: the most frequent one in its first line."""
    first = text.lstrip().partition("\n")[0]
    return max(DELIMITERS, key=first.count)


def read_table(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of each line of a table that is not empty.

    Leave out empty cells at the end of a line, which spreadsheets add, and the line `sep=` in which
    Excel names the delimiter.

    Raises
    ------
    UnclosedQuote
        If quotes do not enclose a whole cell: all further lines may be in one cell.
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
