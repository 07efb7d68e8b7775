"""Collect a cell's outputs in nbformat's form, up to a size limit.

The student's process does this while a cell runs. The grader does it again with what that process
sends.
"""

from __future__ import annotations

import re
from typing import Any

from attention_lib.grading import limits

PICTURE_TYPES = ("image/png", "image/jpeg", "image/gif")
BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*", re.ASCII)
ALLOWED_TYPES = {  # MIME types that need no program to be shown
    "text/plain",
    "text/html",
    "text/markdown",
    "text/latex",
    *PICTURE_TYPES,
}
CUT = "\n[The rest of this cell's output is left out: it is too long.]\n"


class Outputs:
    """The outputs of one cell so far."""

    def __init__(self) -> None:
        self.shown: list[dict[str, Any]] = []
        self._characters = limits.CELL_CHARACTERS
        self._rich_characters = limits.CELL_RICH_CHARACTERS

    def write(self, name: str, text: str) -> None:
        """Add text to a stream, joined to text just written to the same stream."""
        if self._characters <= 0:
            return
        if len(text) > self._characters or len(self.shown) >= limits.CELL_OUTPUTS:
            text, self._characters = text[: self._characters] + CUT, 0
        self._characters -= len(text)
        last = self.shown[-1] if self.shown else {}
        if last.get("output_type") == "stream" and last["name"] == name:
            last["text"] += text
        else:
            self.shown.append({"output_type": "stream", "name": name, "text": text})

    def display(self, data: dict[str, Any], count: int | None = None) -> None:
        """Add a display by MIME type, without its metadata, which the student controls."""
        bundle = {
            kind: content
            for kind, content in data.items()
            if kind in ALLOWED_TYPES and isinstance(content, str) and _is_sound(kind, content)
        }
        if "text/latex" in bundle:  # pages render LaTeX anywhere, but limit formulas in Markdown
            bundle.setdefault("text/markdown", bundle.pop("text/latex"))
        self._rich_characters -= sum(map(len, bundle.values()))
        if self._rich_characters < 0 or len(self.shown) >= limits.CELL_OUTPUTS:
            self.write("stdout", CUT)
            self._characters = 0
            return
        shown: dict[str, Any] = {"output_type": "display_data", "data": bundle, "metadata": {}}
        if count is not None:
            shown.update(output_type="execute_result", execution_count=count)
        self.shown.append(shown)

    def error(self, name: str, text: str, traceback: list[str]) -> None:
        """Add the error that ended the cell."""
        most = 20_000
        lines = [line[:most] for line in traceback[:50]]
        shown = {
            "ename": name[:200],
            "evalue": text[:5000],
            "traceback": lines,
        }
        if len(self.shown) <= limits.CELL_OUTPUTS:
            self.shown.append({"output_type": "error", **shown})


def _is_sound(kind: str, content: str) -> bool:
    """Return whether a picture is only base64, so that it cannot close the HTML tag around it."""
    return kind not in PICTURE_TYPES or BASE64.fullmatch(content) is not None
