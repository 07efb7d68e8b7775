"""Each term of docs/glossary.md stands in the lesson that the glossary names, and not bold before."""

import re
from pathlib import Path

import pytest

from attention_lib.lessons import LESSONS

ROOT = Path(__file__).parents[2]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
TEXTS = {
    lesson: (ROOT / "solutions" / f"{lesson}.md").read_text(encoding="utf-8") for lesson in LESSONS
}
ROW = re.compile(r"^\| (.+?) \| (.+) \| \[(\d\d)\]\(\.\./notebooks/(\w+)/(\w+)\.ipynb\) \|$", re.M)
ROWS = [match.groups() for match in ROW.finditer(GLOSSARY)]
TERMS = {name.strip("*"): lesson for name, _, _, lesson, _ in ROWS if name.startswith("**")}
SYMBOLS = {name: lesson for name, _, _, lesson, _ in ROWS if not name.startswith("**")}


def letters(term: str) -> str:
    return re.sub(r"[^a-z ]", "", term.lower())


def test_every_row_is_read_and_names_one_lesson():
    rows = [line for line in GLOSSARY.splitlines() if line.startswith("| ")]
    assert len(ROWS) == len(rows) - 2  # the two heads
    assert all(lesson == file and lesson.startswith(number) for *_, number, lesson, file in ROWS)
    assert {lesson for *_, lesson in ROWS} == set(LESSONS)


def test_terms_are_in_alphabetical_order_and_unique():
    assert list(TERMS) == sorted(set(TERMS), key=letters)
    assert len(TERMS) + len(SYMBOLS) == len(ROWS)


@pytest.mark.parametrize("term", TERMS)
def test_term_stands_in_its_lesson_and_is_introduced_in_no_earlier_one(term):
    lesson = TERMS[term]
    assert term.lower() in TEXTS[lesson].lower(), f"{lesson} does not have the term {term!r}."
    introduced = re.compile(rf"\*\*{re.escape(term)}s?\*\*", re.IGNORECASE)
    earlier = LESSONS[: LESSONS.index(lesson)]
    assert [name for name in earlier if introduced.search(TEXTS[name])] == []


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_symbol_stands_in_its_lesson(symbol):
    signs = [sign.strip("$`") for sign in symbol.split(", ")]
    missing = [sign for sign in signs if sign not in TEXTS[SYMBOLS[symbol]]]
    assert missing == [], f"{SYMBOLS[symbol]} does not have {missing}."
