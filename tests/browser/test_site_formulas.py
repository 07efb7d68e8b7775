"""Formulas of a built page: punctuation stays beside them, and what is too wide for a phone says so."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

STATIC = Path(__file__).parents[2] / "website" / "static"
BOX = "display: inline-block; width: {width}px; height: 1em"
INLINE = """
<article style="width: 120px; font: 20px monospace"><p>The set
softmax<span class="math"><b style="{box}"></b></span>.” Then</p></article>
"""
DISPLAYED = """
<body style="margin: 0"><article><div class="math"><mjx-container display="true"
style="display: block"><b style="{box}"></b></mjx-container></div>
<div class="table-wrapper" style="overflow-x: auto"><b style="{box}"></b></div></article></body>
"""
TOPS = """() => {
    const formula = document.querySelector(".math");
    return [formula.previousSibling, formula.nextSibling].map((text) => {
        const range = document.createRange();
        range.selectNode(text);
        return range.getBoundingClientRect().top;
    });
}"""

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


def test_formula_stays_on_one_line_with_what_touches_it(chromium: Browser):
    page = chromium.new_page()
    page.set_content(INLINE.format(box=BOX.format(width=60)))
    page.add_style_tag(path=STATIC / "site.css")
    page.add_script_tag(path=STATIC / "formulas.js")
    before, after = page.evaluate(TOPS)
    assert before == after
    text = " ".join(page.locator("p").inner_text().split())
    assert text == "The set softmax.” Then"


@pytest.mark.parametrize(("width", "expected"), [(600, "swipe"), (200, "none")])
def test_formula_and_table_too_wide_for_a_phone_say_that_they_scroll(
    chromium: Browser, width, expected
):
    page = chromium.new_page(viewport={"width": 390, "height": 844})
    page.set_content(DISPLAYED.format(box=BOX.format(width=width)))
    page.add_style_tag(path=STATIC / "site.css")
    page.add_script_tag(path=STATIC / "scrolling.js")
    for place in (".math", ".table-wrapper"):
        hint = page.locator(place).evaluate("box => getComputedStyle(box, '::after').content")
        assert expected in hint
    assert page.evaluate("document.documentElement.scrollWidth") == 390
