"""Feedback pages and reports as a browser sets them: no word of a table is broken."""

import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output
from playwright.sync_api import Browser

from attention_lib.grading.classroom.gradebook import Standing
from attention_lib.grading.pages.arranging import ArrangeFeedback
from attention_lib.grading.pages.feedback import FeedbackExporter
from attention_lib.grading.report.findings import ClassReport, Finding
from attention_lib.grading.report.page import as_page
from tests.grading.sample_class import ROOT, Course

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.xdist_group("pages")]

EXERCISES = ("temperature_for_entropy", "attention_backward", "softmax")
SENTENCE = (
    "The maximum is taken over forbidden scores, which temperature_for_entropy does not allow. "
)
NAMES = [
    "n" * 200,
    "Wolfeschlegelsteinhausenbergerdorff",
    "ada",
    *(f"student-{n}" for n in range(40)),
]
BROKEN = """() => {
  const broken = [];
  for (const cell of document.querySelectorAll("td, th")) {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      for (const word of texts.currentNode.data.matchAll(/[^\\s-]+/g)) {
        const range = document.createRange();
        range.setStart(texts.currentNode, word.index);
        range.setEnd(texts.currentNode, word.index + word[0].length);
        const tops = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
        if (tops.size > 1) broken.push(word[0]);
      }
    }
  }
  return broken;
}"""


def feedback_page() -> str:
    cells = []
    for name in EXERCISES:
        marks = {"grade_id": f"check_{name}", "grade": True, "score": 0, "points": 3}
        verdict = {"outcome": "wrong", "sentence": 3 * SENTENCE}
        shown = new_output("display_data", {"text/plain": ""}, metadata={"attention_lib": verdict})
        cells.append(new_code_cell("check()", metadata={"nbgrader": marks}, outputs=[shown]))
    about = {"notebook": "01_softmax", "score": 1, "max_score": 5, "late_penalty": 0}
    exporter = FeedbackExporter(config=Course(ROOT).nbgrader().config)
    exporter.register_preprocessor(ArrangeFeedback, enabled=True)
    return exporter.from_notebook_node(new_notebook(cells=cells), {"nbgrader": about})[0]


def report_page() -> str:
    finding = Finding("wrong", "temperature_for_entropy-maximum-before-the-mask", SENTENCE)
    return as_page(
        ClassReport(
            "01_softmax",
            dict.fromkeys(EXERCISES, 3.0),
            {name: Standing(dict.fromkeys(EXERCISES, 0.0)) for name in NAMES},
            {name: dict.fromkeys(EXERCISES, finding) for name in NAMES},
        )
    )


@pytest.mark.parametrize("html", [feedback_page, report_page])
@pytest.mark.parametrize("width", [390, 1000, 1100, 1200])
def test_no_word_of_a_table_is_broken_and_the_page_does_not_scroll_sideways(
    chromium: Browser, html, width
):
    page = chromium.new_page(viewport={"width": width, "height": 800})
    page.set_content(html())
    broken = page.evaluate(BROKEN)
    if width >= 1000:
        assert broken == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
