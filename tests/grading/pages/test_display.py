"""Sanitizing what feedback and formgrader show of a submission."""

import re
from unittest import TestCase

import pytest
from bs4 import BeautifulSoup
from nbconvert.exporters import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from attention_lib.checks.show.panel import as_html
from attention_lib.checks.verdict import Report
from attention_lib.grading import limits
from attention_lib.grading.pages import display
from attention_lib.grading.pages.display import clean_html
from attention_lib.grading.resource_limits import cpu_limit
from tests.grading.sample_class import EXERCISES, ROOT, Course

# A limit may strike in a finalizer, where Python warns and the limit strikes again.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(scope="module")
def show():
    """Show a notebook as nbgrader's pages do, with the course's settings."""
    exporter = HTMLExporter(config=Course(ROOT).nbgrader().config, template_name="classic")

    def html_of(*cells):
        return exporter.from_notebook_node(new_notebook(cells=list(cells)))[0]

    return html_of


@pytest.mark.parametrize(
    "attack",
    [
        "<script>stolen()</script>",
        "<img src=x onerror=stolen()>",
        "<b onclick='stolen()'>b</b>",
        "<a href='javascript:stolen()'>a</a>",
        "<a href='data:text/html,stolen()'>a</a>",
        "<iframe src='http://stolen'></iframe>",
        "<img src='http://stolen/'>",
        "<div style='background: URL(http://stolen)'>d</div>",
        r"<div style='background: u\72l(http://stolen)'>d</div>",
        "<div style='background: image-set(\"http://stolen\" 1x)'>d</div>",
        "<a href='d&#97;t&#9;a:text/html,stolen()'>a</a>",
        "<style>body { background: url(http://stolen) }</style>",
        "<svg onload='stolen()'></svg>",
        "<p class='fade modal-backdrop'>over the whole page</p>",
        "<meta http-equiv=refresh content='0;url=http://stolen'>",
    ],
)
def test_html_that_runs_scripts_or_fetches_is_escaped(show, attack):
    output = new_output("display_data", data={"text/html": attack})
    for cell in (new_markdown_cell(attack), new_code_cell("", outputs=[output])):
        body = BeautifulSoup(show(cell), features="html.parser").body
        assert body.find_all(["iframe", "meta", "script", "style", "svg"]) == []
        for tag in body.find_all():
            assert not [name for name in tag.attrs if name.startswith("on")]
            for name in ("href", "src", "style"):
                assert "stolen" not in tag.attrs.get(name, "")
            assert "modal-backdrop" not in tag.attrs.get("class", [])


def test_markdown_is_rendered_with_its_pictures(show):
    cell = new_markdown_cell("Some *words*, `a<b`\n\n| a |\n|---|\n| 1 |\n\n![p](attachment:p.png)")
    cell.attachments = {"p.png": {"image/png": "iVBORw0KGgo="}}
    shown = show(cell)
    assert "<em>words</em>" in shown
    assert "<code>a&lt;b</code>" in shown
    assert "<table>" in shown
    assert 'src="data:image/png;base64,iVBORw0KGgo="' in shown


@pytest.mark.parametrize(
    "source",
    ["![](attachment:p) " * 100, f"[p]: data:image/png;base64,{'A' * 9000}\n\n" + "![][p]" * 500],
)
def test_markdown_that_grows_too_much_is_shown_as_text(show, source):
    cell = new_markdown_cell(source)
    cell.attachments = {"p": {"image/png": "A" * 9000}}
    assert len(show(cell)) - len(show(new_markdown_cell("short"))) < 3 * len(source)


def test_missing_picture_is_shown_as_text_without_a_warning(show):
    picture = "![](attachment:missing.png)"
    with TestCase().assertNoLogs(level="WARNING"):
        assert picture in show(new_markdown_cell(picture))


def test_error_in_rendering_is_logged_and_shown_as_text(show, monkeypatch):
    def broken(markup):
        raise KeyError("a mistake of ours")

    monkeypatch.setattr(display, "clean_html", broken)
    with TestCase().assertLogs() as logged:
        assert "<pre>some *words*</pre>" in show(new_markdown_cell("some *words*"))
    (line,) = logged.output
    assert "rendering it failed" in line
    assert "a mistake of ours" in line


def test_panels_and_figures_are_unchanged():
    panel = as_html(Report(EXERCISES["softmax"], "wrong", "Look at the axis."))
    figure = '<img src="data:image/png;base64,iVBORw0KGgo=" alt="A figure." width="300">'
    cleaned = clean_html(panel + figure)
    for part in ("border-left", "#D55E00", "padding", 'data-outcome="wrong"', "Look at the axis."):
        assert part in cleaned
    assert clean_html(figure) == figure


MOVES_NOTHING = ("opacity", "height", "width")
RICH = {
    "open tags": {"text/html": "<b>" * 350_000 + "x"},
    "open tags with ends of others": {"text/html": "<b></i>" * 3_000 + "x"},
    "different open tags in paragraphs": {
        "text/html": "".join(f"<b title={n}>" for n in range(90)) + "<p>x" * 3_000
    },
    "headings": {"text/markdown": "# x\n" * 900_000},
    "brackets in Markdown": {"text/markdown": "[" * 20_000},
    "a color with millions of parameters": {"text/plain": "\x1b[" + "1;" * 1_900_000 + "m"},
    "a color in HTML": {"text/html": f"<b style='color:rgb({'1,' * 1_900_000}1)'>x</b>"},
    "brackets in a style": {"text/html": f"<b style='color:{'[' * 5_000}'>x</b>"},
    "a long style": {"text/html": f"<b style='color:{'a' * 100_000}'>x</b>"},
    "many colors": {"text/plain": "\x1b[31mx\x1b[0m" * 100_000},
}


@pytest.mark.parametrize("bundle", RICH.values(), ids=RICH)
def test_rich_output_is_shown_in_bounded_time(show, bundle):
    with cpu_limit(30):
        page = show(new_code_cell("", outputs=[new_output("display_data", data=bundle)]))
    assert page.count("<") < 30_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "heading", ["[" * 19_000, "<b>" * 6_000, "![x](" * 3_000], ids=["brackets", "tags", "pictures"]
)
def test_headings_after_slow_ones_are_not_rendered(show, heading, monkeypatch):
    monkeypatch.setattr(limits, "PIECE_CPU_SECONDS", 0.1)
    monkeypatch.setattr(limits, "PAGE_PIECES_CPU_SECONDS", 0.1)
    page = show(*[new_markdown_cell(f"# {heading}") for _ in range(20)])
    assert page.count("The page above took too long to render.") > 10


def test_elements_of_all_outputs_of_a_page_are_bounded(show, monkeypatch):
    monkeypatch.setattr(limits, "PAGE_ELEMENTS", 5_000)
    output = new_output("display_data", data={"text/html": "<b>x</b>" * 200})
    page = show(*[new_code_cell("", outputs=[output]) for _ in range(20)])
    assert 2_000 < page.count("<b>") <= 2_500
    assert "It has more parts than are shown. It is shown as plain text." in page


@pytest.mark.parametrize("after", ["", "\nx = 1" * 5_000])
def test_code_is_shown_in_the_order_in_which_python_reads_it(show, after):
    shown = BeautifulSoup(
        show(new_code_cell(f"a = 'ad\u202emin\u2066' # \u05d3{after}")), "html.parser"
    )
    assert "a = 'ad\\u202emin\\u2066' # \u05d3" in shown.text


def test_long_code_is_shown_without_color(show):
    page = show(new_code_cell("a = b + 1\n" * 10_000))
    assert page.count("<span") < 1_000
    assert page.count("a = b + 1") == 10_000


@pytest.mark.parametrize(
    "style",
    [
        "margin-top:-900px;height:2000px;opacity:0",
        "margin: 0 0 0 - 5px",
        "position:fixed;top:0;left:0;width:100vw;height:100vh",
        "z-index:99",
        "transform:translate(0px,100px)",
        "margin-top:calc(0px - 100vh)",
        "margin-top:min(0px,1px)",
        "inset:0",
        "float:left",
    ],
)
def test_style_that_moves_an_element_out_of_its_cell_is_dropped(show, style):
    over = f'<div style="{style}"><a href="https://stolen" id="check_softmax">click</a></div>'
    output = new_output("display_data", data={"text/html": over})
    for cell in (new_markdown_cell(over), new_code_cell("", outputs=[output])):
        link = BeautifulSoup(show(cell), features="html.parser").find("a", string="click")
        assert "id" not in link.attrs
        for word in re.split(r"[:;(]", style)[0::2]:
            assert word not in link.parent.attrs.get("style", "") or word in MOVES_NOTHING
        assert "contain:paint" in link.parent.parent.attrs["style"]


def test_text_whose_bytes_are_no_characters_is_shown(show):
    outputs = [
        new_output("stream", text="\udc80 text"),
        new_output("display_data", data={"text/html": "<b>\udc80</b>", "text/plain": "\udc80"}),
        new_output("error", ename="\udc80", evalue="\udc80", traceback=["\udc80"]),
    ]
    assert "text" in show(new_code_cell("'\udc80'", outputs=outputs), new_markdown_cell("\udc80"))


FORMULAS = {
    "def": r"$\def\a{\a\a}\a$",
    "newcommand": r"$\newcommand{\b}{\a\a}$ $\b$",
    "an entity": "<div>$&#92;let\\a\\b$</div>",
    "require": r"$$\require{unicode}$$",
    "many": "$x$ " * 1_000,
    "many environments": r"\begin{a}\end{a}" * 1_100,
    "many in parentheses": r"\\(x\\) " * 2_000,
}


@pytest.mark.parametrize("source", FORMULAS.values(), ids=FORMULAS)
def test_formulas_that_would_take_mathjax_long_are_shown_as_text(show, source):
    for cell in (
        new_markdown_cell(source),
        new_code_cell("", outputs=[new_output("display_data", {"text/markdown": source})]),
    ):
        page = BeautifulSoup(show(cell), "html.parser")
        assert source in [text.text for text in page.select("pre")]


def test_formulas_of_a_page_are_bounded(show, monkeypatch):
    monkeypatch.setattr(limits, "PAGE_FORMULAS", 20)
    page = show(*[new_markdown_cell("$x$ and $y$") for _ in range(8)])
    assert page.count("It has more formulas than are shown.") == 3


def test_html_of_an_output_has_no_formulas(show):
    output = new_output("display_data", {"text/html": "<p>$x$</p>"})
    paragraph = BeautifulSoup(show(new_code_cell("", outputs=[output])), "html.parser").find("p")
    assert paragraph.parent.parent["class"] == ["tex2jax_ignore"]
    assert "tex2jax_ignore" not in show(new_markdown_cell("$x$"))


def test_tables_have_spans_of_a_table_and_no_title_is_endless():
    cell = '<td colspan="{0}" rowspan="{0}" title="{1}">x</td>'
    kept = cell.format(12, "a tip")
    assert clean_html(f"<table><tbody><tr>{kept}</tr></tbody></table>").count('="12"') == 2
    for value in ("100", "65534", "1e9", "-1", "0", "&#54;5534"):
        assert "span" not in clean_html(
            f"<table><tr>{cell.format(value, 't' * 1_001)}</tr></table>"
        )
        assert "title" not in clean_html(f"<p title={'t' * 1_001}>x</p>")


def test_tall_content_scrolls_inside_its_cell(show):
    tall = "<p style='padding:9999999px;font-size:9999em'>x</p><img height=9999999>"
    output = new_output("display_data", data={"text/html": tall})
    for cell in (new_markdown_cell(tall), new_code_cell("", outputs=[output])):
        around = BeautifulSoup(show(cell), "html.parser").find("p", string="x").parent.parent
        assert around["style"] == "max-height:20000px;overflow:auto"
