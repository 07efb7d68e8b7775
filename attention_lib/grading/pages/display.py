"""What feedback and formgrader show of a submission: its HTML and Markdown, without its scripts.

nbconvert can clean HTML outputs by itself, but then drops figures and colors, and leaves the HTML
in Markdown cells as it is. These filters take the place of its own, in both nbgrader pages.
"""

from __future__ import annotations

import html
import re

import bleach
from bleach.css_sanitizer import CSSSanitizer
from jinja2 import pass_context
from jinja2.runtime import Context
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbgrader.preprocessors import ClearHiddenTests, NbGraderPreprocessor
from traitlets import List

_TAGS = """
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
TAGS = bleach.ALLOWED_TAGS | set(_TAGS.split())
ATTRIBUTES = frozenset(_ATTRIBUTES.split())
CSS = CSSSanitizer(allowed_css_properties=_CSS.split())
# Of CSS, the functions that fetch nothing; and what stands before a bracket, or hides it.
FUNCTIONS = {"rgb", "rgba", "hsl", "hsla", "calc", "linear-gradient"}
CALL = re.compile(r"([^\s,:;()]*)\(|\\")
# Panels, tables, and colored code. nbgrader's pages know others that cover a page as a whole.
CLASSES = re.compile(r"attention-\w+|dataframe|anchor-link|highlight|hl-\w+|[a-z]{1,2}\d?")
MOST_GROWTH = 40  # times that text grows as a page: a character of code may take a tag
PICTURES = ("data:image/png;", "data:image/jpeg;", "data:image/gif;")


def clean_html(markup: str | bytes) -> str:
    """Return the HTML with everything escaped that could run, or call on another server."""
    text = markup.decode() if isinstance(markup, bytes) else str(markup)
    return bleach.clean(
        text,
        tags=TAGS,
        attributes=_is_allowed,
        protocols={"http", "https", "mailto", "data"},
        css_sanitizer=CSS,
    )


@pass_context
def markdown2html(context: Context, source: str) -> str:
    """Render Markdown as nbconvert does for a cell, pictures pasted into it included, cleaned."""
    cell = context.get("cell") or {}
    pictures = _Pictures(cell.get("attachments", {}))
    renderer = IPythonRenderer(escape=False, attachments=pictures)
    try:
        shown = MarkdownWithMath(renderer=renderer).render(source)
        if len(shown) <= MOST_GROWTH * len(source) + pictures.characters:
            return clean_html(shown)
    except Exception:  # a picture that is not there, or text of absurd depth
        pass
    return f"<pre>{html.escape(source)}</pre>"


class _Pictures(dict[str, dict[str, str]]):
    """The pictures pasted into a cell: each is written out wherever it is shown, twice at most."""

    def __init__(self, pictures: dict[str, dict[str, str]]) -> None:
        super().__init__(pictures)
        self.characters = 2 * sum(len(data) for one in pictures.values() for data in one.values())
        self._room = self.characters

    def __getitem__(self, name: str) -> dict[str, str]:
        picture = super().__getitem__(name)
        self._room -= max(map(len, picture.values()))
        if self._room < 0:
            raise ValueError("The pictures of this cell are shown too often.")
        return picture


def _is_allowed(tag: str, name: str, value: str) -> bool:
    if name == "src":
        return tag == "img" and value.startswith(PICTURES)
    value = html.unescape(value)
    if name == "href":
        return tag == "a" and not re.sub(r"[\s\0-\x1f]", "", value).lower().startswith("data:")
    if name == "style":
        return all(called.lower() in FUNCTIONS for called in CALL.findall(value))
    if name == "class":
        return all(map(CLASSES.fullmatch, value.split()))
    return name in ATTRIBUTES


class HideChecks(ClearHiddenTests):
    """nbgrader's ClearHiddenTests, for feedback: it accepts what HTML exporters set."""

    display_data_priority = List(NbGraderPreprocessor.display_data_priority.default()).tag(
        config=True
    )
