"""Figures of a built page: on a phone they scroll sideways in their place, large enough to be read."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

STATIC = Path(__file__).parents[2] / "website" / "static"
FIGURE = '<img alt="A." width="700" height="300" style="max-width: 100%; height: auto">'
OUTPUT = f"""
<body style="margin: 0"><article><div class="cell_output"><div class="output text_html">
<div class="frames"><div class="frames-sliders"><label><span>scale</span>
<input type="range" data-values="[1, 2]" max="1"><output></output></label></div>
{FIGURE}{FIGURE.replace("<img", "<img hidden")}</div></div></div></article></body>
"""


@pytest.mark.browser
@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize(("screen", "smallest"), [(390, 600), (1440, 700)])
def test_figure_is_shown_large_enough_and_only_it_scrolls(chromium: Browser, screen, smallest):
    page = chromium.new_page(viewport={"width": screen, "height": 844})
    page.set_content(OUTPUT)
    page.add_style_tag(path=STATIC / "site.css")
    for script in ("frames.js", "scrolling.js"):
        page.add_script_tag(path=STATIC / script)
    assert page.locator("img:visible").bounding_box()["width"] >= smallest
    assert page.evaluate("document.documentElement.scrollWidth") == screen
    box = page.locator(".output")
    assert box.get_attribute("tabindex") == ("0" if screen < smallest else None)
    box.evaluate("box => box.scrollLeft = 1000")
    assert page.get_by_label("scale").bounding_box()["x"] >= 0  # the slider stays where it is
