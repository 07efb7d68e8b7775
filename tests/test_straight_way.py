"""The straight way through a lesson takes the minutes that its page states.

It is what a learner reads and does up to the end of the summary. Counted are the words of the
learners' notebook, those of headings, tables, lists and formulas too; for each code cell, those of
exercises too, half a minute or a minute for 15 lines, whichever is more; and the exercises' own
minutes. What cells print and the alt text of figures are not counted, nor is what comes after the
summary.
"""

import builtins
import math
import re
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from attention_lib.exercises import EXERCISES
from tests.exercises.chosen import chosen_lessons
from tests.grading.test_lessons import names_in

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
WORDS_A_MINUTE = 200
MINUTES_A_CODE_CELL = 0.5  # at least, or as long as its lines take
LINES_A_MINUTE = 15
STATED = re.compile(r"\babout (\d+) minutes\b")  # before the first section
STEP = 5  # minutes are stated in steps of 5, rounded up
AT_MOST = 120  # README.md: each takes an hour to two


def pytest_generate_tests(metafunc):
    if "lesson" in metafunc.fixturenames:
        metafunc.parametrize("lesson", chosen_lessons(metafunc.config))


def cells_of(lesson):
    return nbformat.read(NOTEBOOKS / lesson / f"{lesson}.ipynb", as_version=4).cells


def sections(cells):
    """Return pairs (heading, cells), Markdown cells cut at headings of the second level."""
    found = [("", [])]
    for cell in cells:
        is_text = cell.cell_type == "markdown"
        for piece in re.split(r"^(?=## )", cell.source, flags=re.M) if is_text else [cell.source]:
            if is_text and piece.startswith("## "):
                found.append((piece.partition("\n")[0][3:].strip(), []))
            if piece:
                found[-1][1].append(NotebookNode({**cell, "source": piece}))
    return found


def straight_way(cells):
    """Return the cells up to the end of the section "Summary"."""
    way = []
    for heading, inside in sections(cells):
        way += inside
        if heading == "Summary":
            return way
    raise AssertionError('The lesson has no section "## Summary".')


def words(text):
    """Count the pieces between blanks that hold a letter or a digit."""
    return sum(any(letter.isalnum() for letter in piece) for piece in text.split())


def minutes(cells):
    """Return the minutes that a learner needs for these cells, by the formula above."""
    read = sum(words(cell.source) for cell in cells if cell.cell_type == "markdown")
    run = sum(
        max(MINUTES_A_CODE_CELL, len(cell.source.splitlines()) / LINES_A_MINUTE)
        for cell in cells
        if cell.cell_type == "code"
    )
    done = sum(EXERCISES[cell.id].minutes for cell in cells if cell.id in EXERCISES)
    return read / WORDS_A_MINUTE + run + done


def test_the_straight_way_takes_the_minutes_that_the_page_states(lesson):
    cells = cells_of(lesson)
    counted = minutes(straight_way(cells))
    stated = [int(number) for number in STATED.findall(cells[0].source)]
    right = math.ceil(counted / STEP) * STEP
    if stated != [right]:
        pytest.fail(
            f"solutions/{lesson}.md takes {counted:.1f} minutes and states {stated}: write "
            f'"about {right} minutes" in its first cell, or take words away; then run make release.'
        )
    assert right <= AT_MOST


def test_the_minutes_for_exercises_are_theirs(lesson):
    of_exercises = sum(one.minutes for one in EXERCISES.values() if one.lesson == lesson)
    first = cells_of(lesson)[0].source
    for stated in re.findall(r"\b(\d+) of them for the exercises", first):
        assert int(stated) == of_exercises, (
            f"Write in the first cell of solutions/{lesson}.md: {of_exercises} of them for the exercises."
        )


def test_what_is_not_needed_stands_behind_the_summary(lesson):
    headings = [heading for heading, _ in sections(cells_of(lesson))]
    behind = headings[headings.index("Summary") + 1 :]
    optional = [heading for heading in headings if heading.startswith("Optional: ")]
    assert behind == ["What comes next", *optional, "To read next"]
    assert "> **Optional" not in "".join(cell.source for cell in cells_of(lesson))


def test_an_optional_section_runs_without_the_others(lesson):
    cells = cells_of(lesson)
    way = straight_way(cells)
    known = set(dir(builtins)) | bound(way)
    for heading, inside in sections(cells):
        if heading.startswith("Optional: "):
            here = known | bound(inside)
            for cell in inside:
                assert cell.id not in EXERCISES, f"{cell.id} stands in {heading!r}."
                if cell.cell_type == "code":
                    missing = names_in(cell.source)[0] - here
                    assert not missing, f"{heading!r} takes {missing} from another section."


def bound(cells):
    """Return the names that code cells assign, import or define."""
    named = [names_in(cell.source) for cell in cells if cell.cell_type == "code"]
    return set().union(*(assigned | fixed for _, assigned, fixed in named))


def test_the_count_is_of_words_cells_and_exercises():
    text = "# 05 · Two words, $p_i$ and\n\n| a | 1 |\n|:--|:--|"
    answer = nbformat.v4.new_code_cell("def softmax(scores): ...", id="softmax")
    end = "## Summary\n\nIt is."
    behind = "## What comes next\n\nMore."
    cells = [*markdown(text), answer, *markdown(f"{end}\n\n{behind}"), *markdown("More still.")]
    way = straight_way(cells)
    assert [cell.source.strip() for cell in way] == [text, answer.source, end]
    assert words(text) == 7  # 05, Two, words, p_i, and, a, 1
    assert minutes(way) == (7 + 3) / 200 + 0.5 + EXERCISES["softmax"].minutes


def markdown(text):
    return [nbformat.v4.new_markdown_cell(text)]
