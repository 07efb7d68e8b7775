"""Sanitize the HTML and Markdown of submissions by allow-lists, for feedback and formgrader.

nbconvert can sanitize HTML outputs itself, but then it drops figures and colors, and it does not
sanitize the HTML in Markdown cells. These Jinja filters replace its own in both of nbgrader's
pages. Content with too many parts, or too slow to render, is shown as plain text.

nbconvert sanitizes with bleach. nh3 would save 4 of the 40 ms that a page takes, but no limit on
CPU time interrupts it, and it drops unknown tags, which bleach shows: in `i<n and j>0`, words.
"""

from __future__ import annotations

import builtins
import html
import logging
import re
from collections.abc import Callable
from typing import Any

import bleach
from bleach.css_sanitizer import CSSSanitizer
from jinja2 import pass_context
from jinja2.runtime import Context
from nbconvert.filters import ansi
from nbconvert.filters.highlight import Highlight2HTML
from nbconvert.filters.markdown_mistune import InvalidNotebook, IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode
from nbgrader.preprocessors import ClearHiddenTests, NbGraderPreprocessor
from nbgrader.utils import is_grade, is_solution
from traitlets import List

from attention_lib.grading import limits
from attention_lib.grading.pages.arranging import PAGE_DATA
from attention_lib.grading.pages.budget import (
    TooRich,
    budget_of,
    require_bounds,
)
from attention_lib.grading.pages.marking import link_to_next
from attention_lib.grading.pages.pictures import ADDRESS, leave_out_pictures

_EXTRA_TAGS = """
    br caption dd del details div dl dt figcaption figure h1 h2 h3 h4 h5 h6 hr img p pre span sub
    summary sup table tbody td tfoot th thead tr
"""
_ATTRIBUTES = """
    align alt aria-label class colspan data-outcome height role rowspan style title width
"""  # no id: nbgrader's pages find their own elements by id
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
# Allowed CSS functions, which fetch nothing. The pattern finds the name of each call, and a
# backslash, which could hide one.
ALLOWED_CSS_FUNCTIONS = {"rgb", "rgba", "hsl", "hsla", "linear-gradient"}
CSS_CALL = re.compile(r"([^\s,:;()]*)\(|\\")
NEGATIVE = re.compile(r"-\s*[\d.]")  # moves an element out of its place
# Classes of panels, tables and colored code. With other classes of nbgrader's pages, an element
# could cover the whole page.
ALLOWED_CLASSES = re.compile(r"attention-\w+|dataframe|anchor-link|highlight|hl-\w+|[a-z]{1,2}\d?")
# Nothing inside is drawn or takes a click outside of it, and its height is limited.
CONTAINER = """\
<div{} style="max-height:20000px;overflow:auto"><div style="contain:paint;overflow:auto">{}</div></div>"""
NO_FORMULAS = ' class="tex2jax_ignore"'  # for MathJax, which formgrader has
SPAN = re.compile(r"[1-9]\d?")  # rows or columns of a table
REORDERS = re.compile("[\u202a-\u202e\u2066-\u2069]")  # these change the order of letters in a line
ESCAPE = re.compile(r"\x1b(?!\[[0-9;]{0,30}m)")  # all but the codes for colors

logger = logging.getLogger(__name__)
_highlight = Highlight2HTML()


class TooManyPictures(ValueError):
    """A cell's pictures are shown so often that the page would become too large."""


NOT_RENDERED = (InvalidNotebook, RecursionError, TooManyPictures)  # because of a student's text


class Shown(str):
    """HTML that is already cleaned and bounded: nbconvert's templates filter some of it twice."""


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
def show_html(context: Context, markup: str | bytes) -> Shown:
    """Clean HTML and keep it inside its cell."""
    if isinstance(markup, Shown):
        return markup
    source = markup.decode() if isinstance(markup, bytes) else str(markup)
    return _within_budget(
        context, source, lambda: _cleaned_in_container(context, source, NO_FORMULAS)
    )


@pass_context
def markdown2html(context: Context, source: str) -> Shown:
    """Render a cell's Markdown with its pictures, as nbconvert does, and clean it.

    Markdown that cannot be rendered, or grows too much, is shown as plain text.
    """

    def render() -> str:
        shown = _cleaned_in_container(context, _render(context, source))
        budget_of(context).typeset(shown)
        return shown

    shown = _within_budget(context, source, render)
    return Shown(shown + link_to_next(context.get("cell") or {}))


@pass_context
def markdown2html_without_math(context: Context, source: str) -> Shown:
    """Render a cell's Markdown for pages without scripts: formulas are shown as TeX."""

    def render() -> str:
        return _cleaned_in_container(context, _render(context, source, _TexAsCode))

    return _within_budget(context, source, lambda: _cached(context, source, render))


@pass_context
def highlight_code(
    context: Context, source: str, language: str | None = None, metadata: Any = None
) -> Shown:
    """Highlight code as nbconvert does, in the order in which Python reads it."""
    source = REORDERS.sub(lambda match: f"\\u{ord(match[0]):x}", source)
    if len(source) > 20_000:
        return _as_code(source)

    def render() -> str:
        return str(_highlight(source, language, metadata))

    return _within_budget(context, source, lambda: _cached(context, source, render), _as_code)


@pass_context
def ansi2html(context: Context, source: str) -> Shown:
    """Show text with a terminal's colors, as nbconvert does, but without other escape codes."""
    text = source[: limits.CELL_CHARACTERS]
    if len(text) < len(source):
        text += NOT_ALL
    text = ESCAPE.sub("", text)
    return _within_budget(context, text, lambda: ansi.ansi2html(text), _as_text)


def strip_files_prefix(text: str) -> str:
    """Return HTML unchanged. nbconvert's filter fixes links in notebooks from before 2014."""
    return text


NOT_ALL = "\n[The rest is left out: it is too long.]"


def _within_budget(
    context: Context,
    source: str,
    render: Callable[[], str],
    plain: Callable[[str], Shown] | None = None,
) -> Shown:
    """Render a piece of a page, or show its source as plain text if that takes too much."""
    budget, why = budget_of(context), ""
    try:
        with budget.piece():
            shown = render()
        budget.take(shown.count("<"))
        return Shown(shown)
    except TooRich as problem:
        why = f"{problem} It is shown as plain text."
        logger.info("Shown as plain text: %s", problem)
    except NOT_RENDERED as problem:  # a missing picture, or text nested too deeply
        logger.info("Shown as plain text: %r", problem)
    except Exception:
        logger.warning("Shown as plain text: rendering it failed", exc_info=True)
    return plain(source) if plain else _as_paragraph(source, why)


# Cache of the HTML of a lesson's cells, by kind and text: it is the same on each page of a class.
_lesson_html: dict[tuple[str, str], str] = {}


def _cached(context: Context, source: str, render: Callable[[], str]) -> str:
    """Render text of the lesson once in this process, and other text each time."""
    cell = context.get("cell") or {}
    of_lesson = cell.get("metadata", {}).get(PAGE_DATA, {}).get("of_lesson")
    if not of_lesson or source != cell["source"] or cell.get("attachments"):
        return render()
    key = cell["cell_type"], source
    if key not in _lesson_html:
        if len(_lesson_html) >= 1_000:
            _lesson_html.clear()
        _lesson_html[key] = render()
    return _lesson_html[key]


def _cleaned_in_container(context: Context, markup: str, attributes: str = "") -> str:
    require_bounds(markup)
    shown = leave_out_pictures(clean_html(markup), budget_of(context))
    return CONTAINER.format(attributes, shown)


class _TexAsCode(IPythonRenderer):
    """A renderer that shows formulas like code."""

    def inline_math(self, body: str) -> str:
        return f'<code class="attention-tex">{self.escape_html(body.strip())}</code>'

    def block_math(self, body: str) -> str:
        return f'<pre class="attention-tex">{self.escape_html(body.strip())}</pre>'

    def latex_environment(self, name: str, body: str) -> str:
        return self.block_math(f"\\begin{{{name}}}{body}\\end{{{name}}}")


def _render(
    context: Context, source: str, renderer_class: type[IPythonRenderer] = IPythonRenderer
) -> str:
    if len(source) > limits.MARKDOWN_CELL_CHARACTERS:
        raise TooRich("It is too long.")
    pictures = _Pictures((context.get("cell") or {}).get("attachments", {}))
    renderer = renderer_class(escape=False, attachments=pictures, exclude_anchor_links=True)
    rendered = MarkdownWithMath(renderer=renderer).render(source)
    # A tag of about 40 characters may be added to each character of code.
    if len(rendered) > 40 * len(source) + pictures.characters:
        raise TooRich("It grows too much.")
    return rendered


def _as_text(source: str) -> Shown:
    """Show text without a terminal's escape codes."""
    return Shown(html.escape(ansi.strip_ansi(_shortened(source))))


def _as_code(source: str) -> Shown:
    return Shown(f'<div class="highlight"><pre>{html.escape(source)}</pre></div>')


def _as_paragraph(source: str, why: str) -> Shown:
    note = f"<p><em>{html.escape(why)}</em></p>" if why else ""
    return Shown(f"<pre>{html.escape(_shortened(source))}</pre>{note}")


def _shortened(text: str) -> str:
    most = 20_000
    return text if len(text) <= most else text[:most] + NOT_ALL


class _Pictures(dict[str, dict[str, str]]):
    """The pictures pasted into a cell. On average each may be shown twice."""

    def __init__(self, pictures: dict[str, dict[str, str]]) -> None:
        super().__init__(pictures)
        lengths = (len(data) for bundle in pictures.values() for data in bundle.values())
        self.characters = 2 * sum(lengths)  # a picture may be shown twice
        self._characters_left = self.characters

    def __getitem__(self, name: str) -> dict[str, str]:
        picture = super().__getitem__(name)
        self._characters_left -= max(map(len, picture.values()))
        if self._characters_left < 0:
            raise TooManyPictures("The pictures of this cell are shown too often.")
        return picture


def _is_allowed(tag: str, name: str, value: str) -> bool:
    if name == "src":
        return tag == "img" and ADDRESS.fullmatch(value) is not None
    if len(value) > 1_000:
        return False
    value = html.unescape(value)
    if name in ("colspan", "rowspan"):
        return SPAN.fullmatch(value) is not None
    if name == "href":
        return tag == "a" and not re.sub(r"[\s\0-\x1f]", "", value).lower().startswith("data:")
    if name == "style":
        return _is_allowed_style(value)
    if name == "class":
        return all(map(ALLOWED_CLASSES.fullmatch, value.split()))
    return name in ALLOWED_ATTRIBUTES


def _is_allowed_style(value: str) -> bool:
    """Tell whether a style fetches nothing, moves nothing out of its place, and is parsed quickly."""
    if sum(map(value.count, "([{")) > 20 or NEGATIVE.search(value):
        return False
    return all(name.lower() in ALLOWED_CSS_FUNCTIONS for name in CSS_CALL.findall(value))


HIDDEN_FAILED = (
    "A test failed, and not all tests of this cell are shown: run it in your notebook, and if it passes "
    "there, a hidden one failed."
)
PYTHONS_ERRORS = {
    name
    for name, one in vars(builtins).items()
    if isinstance(one, type) and issubclass(one, BaseException)
}


class HideChecks(ClearHiddenTests):
    """nbgrader's ClearHiddenTests for feedback pages, with the setting that HTML exporters pass.

    nbgrader's own leaves the tracebacks of hidden tests, and stops at its marks in a student's
    cells.
    """

    display_data_priority = List(NbGraderPreprocessor.display_data_priority.default()).tag(
        config=True
    )

    def preprocess_cell(
        self, cell: NotebookNode, resources: dict[str, Any], cell_index: int
    ) -> tuple[NotebookNode, dict[str, Any]]:
        if not is_grade(cell) or is_solution(cell):
            return cell, resources
        has_hidden = self.begin_test_delimeter in cell.source
        cell, resources = super().preprocess_cell(cell, resources, cell_index)
        if has_hidden and cell.cell_type == "code":
            cell.outputs = _without_hidden_tests(cell)
        return cell, resources


def _without_hidden_tests(cell: NotebookNode) -> list[NotebookNode]:
    """Return the outputs of a test cell to show; of a teacher's own test, only the grader's sentence.

    The student's process has read the hidden tests, so none of its own words are shown: of a visible
    test that failed, its line, and the error if Python has one of that name.
    """
    for output in cell.outputs:
        verdict = output.get("metadata", {}).get("attention_lib", {})
        if verdict.get("own"):
            errors = [one for one in cell.outputs if one.output_type == "error"]
            if errors:
                line = verdict.get("failed")
                is_visible = line and line in map(str.strip, cell.source.splitlines())
                kind = errors[-1].ename if errors[-1].ename in PYTHONS_ERRORS else "An error"
                told = f"{kind}, at: {line}" if is_visible else HIDDEN_FAILED
                verdict["sentence"] = output.data["text/plain"] = told
            return [output]
    return list(cell.outputs)
