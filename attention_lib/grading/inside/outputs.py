"""What one cell shows, up to a size: cut where it is made, and again where it comes in."""

from __future__ import annotations

import re
from typing import Any

MOST_CHARACTERS = 100_000  # of text that one cell shows
MOST_RICH_CHARACTERS = 4_000_000  # of pictures, HTML and the like
MOST_OUTPUTS = 200
SHOWN_KINDS = {  # of output; anything else needs a program to be shown
    "text/plain",
    "text/html",
    "text/markdown",
    "text/latex",
    "image/png",
    "image/jpeg",
    "image/gif",
}
CUT = "\n[The rest of this cell's output is left out: it is too long.]\n"


class Outputs:
    """What one cell has shown so far, as nbformat writes it."""

    def __init__(self) -> None:
        self.shown: list[dict[str, Any]] = []
        self._characters = MOST_CHARACTERS
        self._rich_characters = MOST_RICH_CHARACTERS

    def write(self, name: str, text: str) -> None:
        """Add text to a stream, together with what was written just before."""
        if self._characters <= 0:
            return
        if len(text) > self._characters or len(self.shown) >= MOST_OUTPUTS:
            text, self._characters = text[: self._characters] + CUT, 0
        self._characters -= len(text)
        last = self.shown[-1] if self.shown else {}
        if last.get("output_type") == "stream" and last["name"] == name:
            last["text"] += text
        else:
            self.shown.append({"output_type": "stream", "name": name, "text": text})

    def display(self, data: dict[str, Any], count: int | None = None) -> None:
        """Add something rich: text by MIME type. Its metadata are the student's, and stay here."""
        bundle = {
            kind: content
            for kind, content in data.items()
            if kind in SHOWN_KINDS and isinstance(content, str) and _is_sound(kind, content)
        }
        self._rich_characters -= sum(map(len, bundle.values()))
        if self._rich_characters < 0 or len(self.shown) >= MOST_OUTPUTS:
            self.write("stdout", CUT)
            self._characters = 0
            return
        shown: dict[str, Any] = {"output_type": "display_data", "data": bundle, "metadata": {}}
        if count is not None:
            shown.update(output_type="execute_result", execution_count=count)
        self.shown.append(shown)

    def error(self, name: str, text: str, traceback: list[str]) -> None:
        """Add the error that ended the cell."""
        lines = [line[:20_000] for line in traceback[:50]]
        shown = {"ename": name[:200], "evalue": text[:5000], "traceback": lines}
        if len(self.shown) <= MOST_OUTPUTS:
            self.shown.append({"output_type": "error", **shown})


def _is_sound(kind: str, content: str) -> bool:
    """Tell whether a picture is nothing but its bytes, and could not end the tag around it."""
    is_encoded = kind in ("image/png", "image/jpeg", "image/gif")
    return not is_encoded or re.fullmatch(r"[A-Za-z0-9+/=\s]*", content) is not None
