"""Sanitize the HTML and Markdown of submissions by allow-lists, for feedback and formgrader.

nbconvert can sanitize HTML outputs by itself, but then drops figures and colors, and leaves the
HTML in Markdown cells as it is. These Jinja filters replace its own in both of nbgrader's pages.
"""

from __future__ import annotations

import html
import logging
import re

import bleach
from bleach.css_sanitizer import CSSSanitizer
from jinja2 import pass_context
from jinja2.runtime import Context
from nbconvert.filters.markdown_mistune import InvalidNotebook, IPythonRenderer, MarkdownWithMath
from nbgrader.preprocessors import ClearHiddenTests, NbGraderPreprocessor
from traitlets import List

from attention_lib.grading import limits

_EXTRA_TAGS = """
    br caption dd del details div dl dt figcaption figure h1 h2 h3 h4 h5 h6 hr img p pre span sub
    summary sup table tbody td tfoot th thead tr
"""
_ATTRIBUTES = """
    align alt aria-label class colspan data-outcome height id role rowspan style title width
"""
_CSS = """
    background background-color border border-bottom border-collapse border-left border-radius
    border-right border-spacing border-top color display flex-wrap font-family font-size
    font-style font-weight gap height line-height margin margin-bottom margin-left margin-right
    margin-top max-width min-width opacity outline overflow-x padding text-align vertical-align
    white-space width
"""
ALLOWED_TAGS = bleach.ALLOWED_TAGS | set(_EXTRA_TAGS.split())
ALLOWED_ATTRIBUTES = frozenset(_ATTRIBUTES.split())
CSS_SANITIZER = CSSSanitizer(allowed_css_properties=_CSS.split())
# CSS functions that fetch nothing; a call's name, or a backslash, which could hide one.
ALLOWED_CSS_FUNCTIONS = {"rgb", "rgba", "hsl", "hsla", "calc", "linear-gradient"}
CSS_CALL = re.compile(r"([^\s,:;()]*)\(|\\")
# Of panels, tables and colored code. With others in nbgrader's pages, an element could cover all.
ALLOWED_CLASSES = re.compile(r"attention-\w+|dataframe|anchor-link|highlight|hl-\w+|[a-z]{1,2}\d?")
PICTURE_ADDRESSES = ("data:image/png;", "data:image/jpeg;", "data:image/gif;")


class TooManyPictures(ValueError):
    """A cell's pictures are shown so often that the page would become too large."""


NOT_RENDERED = (InvalidNotebook, RecursionError, TooManyPictures)  # for what a student wrote

logger = logging.getLogger(__name__)


def clean_html(markup: str | bytes) -> str:
    """Return HTML with everything escaped that could run a script or fetch from a server."""
    text = markup.decode() if isinstance(markup, bytes) else str(markup)
    return bleach.clean(
        text,
        tags=ALLOWED_TAGS,
        attributes=_is_allowed,
        protocols={"http", "https", "mailto", "data"},
        css_sanitizer=CSS_SANITIZER,
    )


@pass_context
def markdown2html(context: Context, source: str) -> str:
    """Render a cell's Markdown with its pictures, as nbconvert does, and sanitize it.

    Markdown that cannot be rendered, or grows too much, is shown as plain text.
    """
    cell = context.get("cell") or {}
    pictures = _Pictures(cell.get("attachments", {}))
    renderer = IPythonRenderer(escape=False, attachments=pictures)
    try:
        rendered = MarkdownWithMath(renderer=renderer).render(source)
        if len(rendered) <= limits.MARKDOWN_GROWTH * len(source) + pictures.characters:
            return clean_html(rendered)
    except NOT_RENDERED as problem:  # a picture that is missing, or text nested too deeply
        logger.info("Markdown is shown as plain text: %r", problem)
    except Exception:
        logger.warning("Markdown is shown as plain text: rendering it failed", exc_info=True)
    return f"<pre>{html.escape(source)}</pre>"


class _Pictures(dict[str, dict[str, str]]):
    """The pictures pasted into a cell, which may be shown PICTURE_REPEATS times each on average."""

    def __init__(self, pictures: dict[str, dict[str, str]]) -> None:
        super().__init__(pictures)
        lengths = (len(data) for bundle in pictures.values() for data in bundle.values())
        self.characters = limits.PICTURE_REPEATS * sum(lengths)
        self._characters_left = self.characters

    def __getitem__(self, name: str) -> dict[str, str]:
        picture = super().__getitem__(name)
        self._characters_left -= max(map(len, picture.values()))
        if self._characters_left < 0:
            raise TooManyPictures("The pictures of this cell are shown too often.")
        return picture


def _is_allowed(tag: str, name: str, value: str) -> bool:
    if name == "src":
        return tag == "img" and value.startswith(PICTURE_ADDRESSES)
    value = html.unescape(value)
    if name == "href":
        return tag == "a" and not re.sub(r"[\s\0-\x1f]", "", value).lower().startswith("data:")
    if name == "style":
        return all(name.lower() in ALLOWED_CSS_FUNCTIONS for name in CSS_CALL.findall(value))
    if name == "class":
        return all(map(ALLOWED_CLASSES.fullmatch, value.split()))
    return name in ALLOWED_ATTRIBUTES


class HideChecks(ClearHiddenTests):
    """nbgrader's ClearHiddenTests for feedback pages, with the setting that HTML exporters pass."""

    display_data_priority = List(NbGraderPreprocessor.display_data_priority.default()).tag(
        config=True
    )
