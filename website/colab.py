"""Say on a lesson's page how to open it in Google Colab, with the address and cell of docs/colab.md."""

from __future__ import annotations

import re
import textwrap

from attention_lib.lessons import LESSONS
from website.execution import ROOT

GITHUB = "https://github.com/"
ADDRESS = re.compile(r"https://colab\.research\.google\.com/github/[^\s`]+")
CELL = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
KNOWN = """\
Or open [{lesson} in Google Colab]({address}), add a code cell at the top, and run it first
([what differs there](../colab.md)):

{cell}"""
UNKNOWN = "It also runs [in Google Colab](../colab.md)."


def with_repository(text: str, repository: str) -> str:
    """Replace OWNER/NAME by the repository, if it is on GitHub."""
    if not repository.startswith(GITHUB):
        return text
    return text.replace("OWNER/NAME", repository.removeprefix(GITHUB))


def how_to_open(lesson: str, repository: str) -> str:
    """Return Markdown with the lesson's address in Colab and the cell to run first there.

    Colab opens notebooks that lie on GitHub. For a repository elsewhere, or one whose address is not
    known, it is a link to the page on Colab.
    """
    if not repository.startswith(GITHUB):
        return UNKNOWN
    page = with_repository((ROOT / "docs" / "colab.md").read_text(encoding="utf-8"), repository)
    address, cell = ADDRESS.search(page), CELL.search(page)
    assert address, "docs/colab.md names no notebook's address"
    assert cell, "docs/colab.md has no cell"
    return KNOWN.format(
        lesson=lesson,
        address=address[0].replace(LESSONS[0], lesson),
        cell=textwrap.indent(cell[1].rstrip(), "    "),
    )
