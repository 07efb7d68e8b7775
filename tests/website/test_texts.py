"""The start page shows the lessons first, and its links lead to the site's own pages."""

from pathlib import Path

import pytest

from attention_lib.lessons import LESSONS
from website.texts import DOCS, index, section, with_sections, with_site_links

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("link", "turned"),
    [
        ("[01](../notebooks/01_softmax/01_softmax.ipynb)", "[01](lessons/01_softmax.ipynb)"),
        ("[terms](glossary.md)", "[terms](glossary.md)"),
        ("![A panel.](check.png)", "![A panel.](pictures/check.png)"),
        (
            "[nbgrader](https://nbgrader.readthedocs.io)",
            "[nbgrader](https://nbgrader.readthedocs.io)",
        ),
        ("[how](../CONTRIBUTING.md)", "[how](https://example.org/c/blob/HEAD/CONTRIBUTING.md)"),
    ],
)
def test_links_lead_to_pages_of_the_site_or_to_the_repository(link, turned):
    assert with_site_links(link, "docs/", "https://example.org/c") == turned


def test_words_of_a_link_stay_where_the_repository_is_not_known():
    assert with_site_links("See [the code](../Makefile).", "docs/", "") == "See the code."


def test_start_page_leads_to_every_lesson_and_page():
    text = index(README, list(LESSONS), ["glossary", "assistants"], "")
    for lesson in LESSONS:
        assert f"| [`{lesson}`](lessons/{lesson}.ipynb) |" in text
        assert f"\nlessons/{lesson}\n" in text
    assert "\nglossary\nassistants\n" in text


def test_start_page_begins_with_the_first_lesson_and_leads_to_teaching():
    text = index(README, list(LESSONS), list(DOCS), "")
    start, table, check, model, teaching = (
        text.index(part)
        for part in (
            "[Start with lesson 01]",
            "| lesson |",
            "/check.png)",
            "/model.png)",
            "](teaching.md)",
        )
    )
    assert start < table < check < model < teaching
    assert "make" not in text[:check]


def test_missing_section_of_the_readme_is_named():
    with pytest.raises(ValueError, match="no section 'Nowhere'"):
        section(README, "Nowhere")


def test_glossary_leads_to_the_section_that_has_a_term_in_bold_or_else_first():
    lesson = "# 01\n\n**Early**, and late.\n\n## First\n\nLate, again.\n\n### Why √d_k, again?\n\n**late**"
    row = "| **{}** | Words. | [01](../notebooks/01_softmax/01_softmax.ipynb{}) |\n"
    plain = row.format("early", "") + row.format("late", "") + row.format("again", "")
    linked = (
        row.format("early", "")
        + row.format("late", "#why-d_k-again")
        + row.format("again", "#first")
    )
    assert with_sections(plain, {"01_softmax": lesson}) == linked
