"""Count what one page may still show in HTML elements and CPU time, and limit each piece of it."""

from __future__ import annotations

import contextlib
import html
import re
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from jinja2.runtime import Context

from attention_lib.grading import limits
from attention_lib.grading.resource_limits import TooSlow, cpu_limit

KEY = "attention_lib_budget"  # among a page's resources
TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
# Void elements, and those whose end tag may be left out.
NOT_NESTED = frozenset(
    "br col dd dt hr img input li p tbody td tfoot th thead tr wbr".split()  # noqa: SIM905
)

# A formula that defines its own commands can double itself as often as it likes.
TEX_DEFINITION = re.compile(r"\\([egx]?def|let|(re)?new(command|environment)|Declare\w+|require)\b")


class TooRich(ValueError):
    """Something is not rendered, as it would take too much; the text says why, as a sentence."""


class Budget:
    """What a page may still take."""

    def __init__(self) -> None:
        self._elements = limits.PAGE_ELEMENTS
        self._seconds = limits.PAGE_PIECES_CPU_SECONDS
        self._pixels = limits.PAGE_PIXELS
        self._formulas = limits.PAGE_FORMULAS

    @contextlib.contextmanager
    def piece(self) -> Iterator[None]:
        """Render one piece of the page in the body.

        Raises
        ------
        TooRich
            If it takes too long, or those before it did.
        """
        if self._seconds <= 0:
            raise TooRich("The page above took too long to render.")
        began = time.process_time()
        try:
            with cpu_limit(min(limits.PIECE_CPU_SECONDS, self._seconds)):
                yield
        except TooSlow:
            raise TooRich("It took too long to render.") from None
        finally:
            self._seconds -= time.process_time() - began

    def take(self, elements: int) -> None:
        """Use up some of the elements, or raise TooRich if one piece may not have so many."""
        if elements > min(limits.PIECE_ELEMENTS, self._elements):
            raise TooRich("It has more parts than are shown.")
        self._elements -= elements

    def draw(self, pixels: int, times: int) -> None:
        """Use up the pixels of a picture with so many frames, or raise TooRich."""
        if pixels > limits.PICTURE_PIXELS:
            most = limits.PICTURE_PIXELS // 1_000_000
            raise TooRich(f"It has more than {most} megapixels.")
        if pixels * times > self._pixels:
            raise TooRich("It and the pictures above have more pixels than a page shows.")
        self._pixels -= pixels * times

    def typeset(self, shown: str) -> None:
        """Use up the formulas in HTML that MathJax will draw, or raise TooRich."""
        text = html.unescape(shown)
        if TEX_DEFINITION.search(text):
            raise TooRich("It defines commands of TeX.")
        signs = text.count("$") + text.count("\\begin") + text.count("\\(")
        if signs > min(limits.PIECE_FORMULAS, self._formulas):
            raise TooRich("It has more formulas than are shown.")
        self._formulas -= signs


def budget_of(context: Context) -> Budget:
    """Return the budget of the page that is being rendered."""
    resources = context.get("resources")
    return Budget() if resources is None else budget_in(resources)


def budget_in(resources: dict[str, Any]) -> Budget:
    """Return the budget of the page that has these resources."""
    budget: Budget = resources.setdefault(KEY, Budget())
    return budget


def require_bounds(markup: str) -> None:
    """Raise TooRich if HTML has too many tags, or nests them too deeply; it need not be valid."""
    if markup.count("<") > limits.PIECE_ELEMENTS:
        raise TooRich("It has more parts than are shown.")
    depth, is_open = 0, Counter[str]()
    for match in TAG.finditer(markup):
        name = match[2].lower()
        if name in NOT_NESTED:
            continue
        if not match[1]:
            is_open[name] += 1
            depth += 1
        elif is_open[name]:  # parsers ignore an end tag without a start tag
            is_open[name] -= 1
            depth -= 1
        if depth > 100:
            raise TooRich("It is nested too deeply.")
