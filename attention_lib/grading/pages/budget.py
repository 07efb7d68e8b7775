"""Keep a page's budget of HTML elements, CPU time, pixels and formulas; limit each piece of it."""

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

KEY = "attention_lib_budget"  # key in a page's resources
TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
# Void elements, and elements whose end tag may be left out.
NOT_NESTED = frozenset(
    "br col dd dt hr img input li p tbody td tfoot th thead tr wbr".split()  # noqa: SIM905
)

# TeX that defines its own commands can double a formula any number of times.
TEX_DEFINITION = re.compile(r"\\([egx]?def|let|(re)?new(command|environment)|Declare\w+|require)\b")


class TooRich(ValueError):
    """Something is not rendered, because it would use too much; the text is a sentence that says why."""


class Budget:
    """The budget that is left for a page."""

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
            If the piece takes too long, or earlier pieces used up the time.
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
        """Use up elements of the budget, or raise TooRich if one piece may not have so many."""
        if elements > min(limits.PIECE_ELEMENTS, self._elements):
            raise TooRich("It has more parts than are shown.")
        self._elements -= elements

    def draw(self, pixels: int, times: int) -> None:
        """Use up the pixels of all frames of a picture, or raise TooRich."""
        if pixels > limits.PICTURE_PIXELS:
            most = limits.PICTURE_PIXELS // 1_000_000
            raise TooRich(f"It has more than {most} megapixels.")
        if pixels * times > self._pixels:
            raise TooRich("It and the pictures above have more pixels than a page shows.")
        self._pixels -= pixels * times

    def typeset(self, shown: str) -> None:
        """Use up the formulas that MathJax will render in this HTML, or raise TooRich."""
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
    """Return the budget of the page with these resources."""
    budget: Budget = resources.setdefault(KEY, Budget())
    return budget


def require_bounds(markup: str) -> None:
    """Raise TooRich if HTML, valid or not, has too many tags or nests them too deeply."""
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
