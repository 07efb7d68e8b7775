"""Read the sizes of pictures, and leave out those that a browser would take too long to draw."""

from __future__ import annotations

import base64
import io
import re
import struct
import sys
import warnings
from typing import Any

from nbconvert.preprocessors import Preprocessor
from nbformat import NotebookNode
from PIL import Image
from traitlets import Bool

from attention_lib.grading.inside.outputs import PICTURE_TYPES
from attention_lib.grading.pages.budget import Budget, TooRich, budget_in

FORMATS = ("PNG", "JPEG", "GIF")
NOT_KNOWN = "It is not a PNG, JPEG or GIF that can be read."
SHORTEST = 24  # bytes: a shorter file ends before its size, and a browser draws nothing
NOT_READ = (  # raised by Pillow for damaged files
    OSError, ValueError, TypeError, IndexError, SyntaxError, struct.error,
)  # fmt: skip
# Only base64: a browser also decodes other forms, such as percent signs, which are not measured
# here.
ADDRESS = re.compile(r"data:image/(?:png|jpeg|gif);base64,([A-Za-z0-9+/=\s]*)", re.ASCII)
# An img tag as a sanitizer writes it: each value in quotes that it does not contain.
IMG = re.compile(r"""<img(?: [^\s"'=>]+=(?:"[^"]*"|'[^']*'))*(?: /)?>""")


class LeaveOutPictures(Preprocessor):
    """Replaces pictures in outputs that are too large by a sentence, in feedback and formgrader."""

    enabled = Bool(True).tag(config=True)

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict[str, Any], index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        budget = budget_in(resources)
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            for kind in [kind for kind in data if kind.startswith("image/")]:
                try:
                    if kind not in PICTURE_TYPES:
                        raise TooRich(NOT_KNOWN)
                    with budget.piece():
                        draw(budget, data[kind])
                except TooRich as why:
                    del data[kind]
                    data["text/plain"] = f"[A picture is left out. {why}]"
        return cell, resources


def leave_out_pictures(cleaned: str, budget: Budget) -> str:
    """Return clean HTML, with each picture that is too large replaced by a sentence."""

    def shown(tag: re.Match[str]) -> str:
        try:
            for text in ADDRESS.findall(tag[0]):
                draw(budget, text)
        except TooRich as why:
            return f"<em>[A picture is left out. {why}]</em>"
        return tag[0]

    return IMG.sub(shown, cleaned)


def draw(budget: Budget, text: str) -> None:
    """Use up a picture's pixels, or raise TooRich if it may not have so many."""
    try:
        content = base64.b64decode(text + "==")
    except ValueError:
        raise TooRich(NOT_KNOWN) from None
    if len(content) >= SHORTEST:
        budget.draw(*measure(content))


def measure(content: bytes) -> tuple[int, int]:
    """Return a picture's number of pixels, and of the frames or passes that draw them.

    Only headers are read.

    Raises
    ------
    TooRich
        If it is not a PNG, JPEG or GIF.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(content), formats=FORMATS) as picture:
                passes = content.count(b"\xff\xda") if picture.format in ("JPEG", "MPO") else 1
                return picture.width * picture.height, getattr(picture, "n_frames", 1) * passes
    except Image.DecompressionBombError:
        return sys.maxsize, 1
    except NOT_READ:
        raise TooRich(NOT_KNOWN) from None
