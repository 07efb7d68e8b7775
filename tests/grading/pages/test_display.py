"""Sanitizing what feedback and formgrader show of a submission."""

import pytest
from bs4 import BeautifulSoup
from nbconvert.exporters import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from attention_lib.checks.panel import as_html
from attention_lib.checks.verdict import Report
from attention_lib.grading.pages import display
from attention_lib.grading.pages.display import clean_html
from tests.grading.sample_class import EXERCISES, ROOT, Course


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


def test_missing_picture_is_shown_as_text_without_a_warning(show, caplog):
    assert "![](attachment:missing.png)" in show(new_markdown_cell("![](attachment:missing.png)"))
    assert caplog.records == []


def test_error_in_rendering_is_logged_and_shown_as_text(show, caplog, monkeypatch):
    def broken(markup):
        raise KeyError("a mistake of ours")

    monkeypatch.setattr(display, "clean_html", broken)
    assert "<pre>some *words*</pre>" in show(new_markdown_cell("some *words*"))
    (record,) = caplog.records
    assert "rendering it failed" in record.message
    assert "a mistake of ours" in record.exc_text


def test_panels_and_figures_are_unchanged():
    panel = as_html(Report(EXERCISES["softmax"], "wrong", "Look at the axis."))
    figure = '<img src="data:image/png;base64,iVBORw0KGgo=" alt="A figure." width="300">'
    cleaned = clean_html(panel + figure)
    for part in ("border-left", "#D55E00", "padding", 'data-outcome="wrong"', "Look at the axis."):
        assert part in cleaned
    assert clean_html(figure) == figure
