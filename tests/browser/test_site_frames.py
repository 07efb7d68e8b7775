"""The sliders of a built page move between its frames, with the mouse's and the keyboard's events."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from attention_lib.plots.style import Slider, lesson_style, new_figure
from website.frames import explore

SCRIPT = Path(__file__).parents[2] / "website" / "static" / "frames.js"

pytestmark = pytest.mark.browser


@lesson_style
def draw(row, column):
    figure, _ = new_figure(f"Row {row}, column {column}.", height=0.5)
    return figure


def test_slider_shows_the_frame_of_its_value_and_says_the_value(chromium: Browser):
    frames = explore(draw, row=Slider([1, 2], 1, "row"), column=Slider([0, 5, 9], 0, "column"))
    page = chromium.new_page()
    page.set_content(frames._repr_html_())
    visible = page.locator(".frames img:visible")
    assert not page.get_by_label("column").is_visible()  # without the script
    page.add_script_tag(path=SCRIPT)
    page.get_by_label("column").press("ArrowRight")
    assert visible.get_attribute("alt") == "Row 1, column 5."
    page.get_by_label("row").press("ArrowRight")
    assert visible.get_attribute("alt") == "Row 2, column 5."
    assert visible.count() == 1
    assert page.locator("output").all_inner_texts() == ["2", "5"]
    assert page.get_by_label("column").get_attribute("aria-valuetext") == "5"
