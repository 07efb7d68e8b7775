"""The exporter of feedback pages writes the same HTML as nbconvert's."""

from copy import deepcopy

import pytest
from bs4 import BeautifulSoup
from jinja2 import Environment
from nbconvert.exporters import HTMLExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from attention_lib.grading import limits
from attention_lib.grading.pages.display import clean_html, markdown2html
from attention_lib.grading.pages.feedback import FeedbackExporter

# A limit may strike in a finalizer, where Python warns and the limit strikes again.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
NOTEBOOK = new_notebook(
    cells=[
        new_markdown_cell(
            f"*No* &amp; <img src='data:image/png;base64,{DOT}' title='a > b' alt='c'> <b>open"
        ),
        new_code_cell(
            "x = '<img src=1>'",
            outputs=[
                new_output("display_data", {"image/png": DOT, "text/plain": "a dot"}),
                new_output(
                    "display_data", {"text/html": f"<img src='data:image/png;base64,{DOT}'>"}
                ),
                new_output("stream", text="<img src=2> \x1b[31mred\x1b[0m"),
            ],
        ),
    ]
)


def exported(exporter):
    filters = {"clean_html": clean_html, "markdown2html": markdown2html}
    settings = {"sanitize_html": True, "template_name": "classic", "filters": filters}
    page, _ = exporter(**settings).from_notebook_node(NOTEBOOK)
    return page


def test_page_equals_that_of_nbconvert():
    page, stock = exported(FeedbackExporter), exported(HTMLExporter)
    assert str(BeautifulSoup(page, "html.parser")) == stock


def test_every_picture_has_an_alternative_text():
    pictures = BeautifulSoup(exported(FeedbackExporter), "html.parser").select("img")
    assert len(pictures) == 3
    assert all(picture["alt"] for picture in pictures)


def test_templates_are_compiled_once(monkeypatch):
    exported(FeedbackExporter)
    compiled = []
    compile_template = Environment.compile

    def counted(environment, source, name=None, *args, **kwargs):
        compiled.append(name)
        return compile_template(environment, source, name, *args, **kwargs)

    monkeypatch.setattr(Environment, "compile", counted)
    exported(HTMLExporter)
    assert compiled
    compiled.clear()
    exported(FeedbackExporter)
    assert compiled == []


def graded_notebook():
    """A notebook with a graded answer in it, as nbgrader marks it."""
    notebook = deepcopy(NOTEBOOK)
    marks = {"grade_id": "why", "grade": True, "solution": True, "points": 3, "score": 2}
    notebook.cells.append(new_markdown_cell("Because.", metadata={"nbgrader": marks}))
    return notebook


def endless(*_):
    while True:
        pass


def huge(*_):
    return "x" * (50 << 30)


def too_deep(*_):
    return too_deep()


@pytest.mark.slow
@pytest.mark.parametrize("broken", [endless, huge, too_deep])
def test_notebook_that_takes_too_much_gets_a_page_without_it(monkeypatch, broken):
    monkeypatch.setattr(limits, "PAGE_CPU_SECONDS", 1.0)
    exporter = FeedbackExporter(template_name="classic")
    exporter.register_filter("ansi2html", broken)
    page, _ = exporter.from_notebook_node(graded_notebook())
    assert "This notebook takes too long, or too much memory, to be shown." in page
    assert "img src=2" not in page
    assert "Because." not in page


def test_page_can_be_written_without_the_notebook():
    exporter = FeedbackExporter(template_name="classic", points_alone=True)
    page, _ = exporter.from_notebook_node(graded_notebook())
    assert "too much memory, to be shown" in page
    assert "Because." not in page
