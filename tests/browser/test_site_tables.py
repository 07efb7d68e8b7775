"""Tables of a built page on a phone: no word or name is cut in two, and nothing leaves the page."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

STYLE = Path(__file__).parents[2] / "website" / "static" / "site.css"
TABLE = """
<article style="margin: 0 1rem; font-family: monospace">
<table class="docutils" style="border-collapse: collapse">
<tr><td><strong>automatic differentiation</strong></td>
<td>Computing derivatives by a program that follows the calculation step by step
with the chain rule.</td>
<td>04</td></tr></table></article>
"""
TABLE_OF_COMMANDS = """
<article role="main" style="margin: 0 1rem; font-family: monospace">
<div class="table-wrapper docutils container" style="overflow-x: auto">
<table class="docutils" style="border-collapse: collapse">
<tr><td>What is different here, and the command that shows it.</td>
<td><code>.venv/bin/python</code></td>
<td><code>attention_lib.exercises.softmax.normalize_by_sum</code></td></tr></table></div></article>
"""
LINES_OF_CODE = "() => [...document.querySelectorAll('code')].map(c => c.getClientRects().length)"
LINES_OF_WORD = """() => {
    const text = document.querySelector("strong").firstChild;
    const word = document.createRange();
    word.setStart(text, text.data.indexOf("differentiation"));
    word.setEnd(text, text.data.length);
    return word.getClientRects().length;
}"""


@pytest.mark.browser
@pytest.mark.xdist_group("browser")
def test_word_of_first_column_stays_on_one_line_on_a_phone(chromium: Browser):
    page = chromium.new_page(viewport={"width": 390, "height": 844})
    page.set_content(TABLE)
    page.add_style_tag(path=STYLE)
    assert page.evaluate(LINES_OF_WORD) == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.browser
@pytest.mark.xdist_group("browser")
def test_name_in_code_stays_on_one_line_and_its_table_scrolls_on_a_phone(chromium: Browser):
    page = chromium.new_page(viewport={"width": 390, "height": 844})
    page.set_content(TABLE_OF_COMMANDS)
    page.add_style_tag(path=STYLE)
    assert page.evaluate(LINES_OF_CODE) == [1, 1]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
