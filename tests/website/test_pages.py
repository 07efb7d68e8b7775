"""A lesson's page folds hints and answers, and keeps everything else as the notebook has it."""

import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from attention_lib.exercises import EXERCISES
from attention_lib.lessons import LESSONS
from website.execution import answered, released
from website.pages import OPTIONAL, page, with_optional_folded
from website.texts import DOCS

STUB = "def softmax(scores, axis=-1):\n    # YOUR CODE HERE\n    raise NotImplementedError()"
RIGHT = "softmax: right. All 19 cases, 3 points."


def notebook() -> nbformat.NotebookNode:
    """A small released lesson with one exercise of code and one of words."""
    return new_notebook(
        cells=[
            new_markdown_cell("# 01 · A title\n\nFirst words.", id="title"),
            new_code_cell(STUB, id="softmax"),
            new_code_cell('check("softmax", softmax)', id="check_softmax"),
            new_markdown_cell("YOUR ANSWER HERE", id="written_softmax"),
            new_markdown_cell("Last words.", id="end"),
            new_code_cell("progress()", id="last", metadata={"tags": ["progress"]}),
        ]
    )


@pytest.fixture
def cells() -> list[nbformat.NotebookNode]:
    executed = answered(notebook())
    executed.cells[2].outputs = [new_output("stream", text=RIGHT)]
    return page(notebook(), executed, "01_softmax", "https://example.org/course").cells


def place(cells: list[nbformat.NotebookNode], text: str) -> int:
    """Return the place of the one cell whose source contains the text."""
    (found,) = (i for i, cell in enumerate(cells) if text in cell.source)
    return found


def test_answer_cell_shows_what_a_learner_finds_there(cells):
    stub = cells[place(cells, "YOUR CODE HERE")]
    assert stub.source == STUB
    assert stub.outputs == []


def test_progress_of_whoever_made_the_page_is_left_out(cells):
    assert cells[-1].source == "Last words."


def test_check_is_shown_without_the_verdict_on_our_answer(cells):
    check = cells[place(cells, 'check("softmax"')]
    assert check.outputs == []


def test_output_that_arrived_in_pieces_is_shown_as_one():
    executed = answered(notebook())
    figure = new_output("display_data", {"text/plain": "A figure"})
    pieces = [new_output("stream", text="one "), new_output("stream", text="line\n")]
    executed.cells[2].outputs = [*pieces, figure, new_output("stream", text="after")]
    cells = page(notebook(), executed, "01_softmax", "").cells
    outputs = cells[place(cells, "Answer to softmax") + 1].outputs
    assert [output.get("text", output.output_type) for output in outputs] == [
        "one line\n",
        "display_data",
        "after",
    ]


def test_hints_come_before_the_answer_each_in_a_fold_of_its_own(cells):
    hints = cells[place(cells, "Hint 1 of 3")].source
    assert hints.count("<details") == hints.count("</details>") == 3
    assert "\n\n" not in hints  # a blank line would end the HTML, and read the rest as Markdown
    for hint in EXERCISES["softmax"].hints:
        assert f"<p>{hint}</p>" in hints
    assert place(cells, "Hint 1 of 3") < place(cells, "Answer to softmax")


def test_answer_and_its_verdict_stand_in_a_fold(cells):
    opening = place(cells, "Answer to softmax")
    answer, closing = cells[opening + 1 : opening + 3]
    assert "np.exp(scores)" in answer.source
    assert answer.outputs[0].text == RIGHT
    assert closing.source == "</details>"


def test_answer_in_words_stands_in_a_fold_instead_of_its_placeholder(cells):
    opening = place(cells, "Answer to written_softmax")
    assert cells[opening + 1].cell_type == "markdown"
    assert len(cells[opening + 1].source) > 100
    assert not any("YOUR ANSWER HERE" in cell.source for cell in cells)


def test_commands_that_run_the_lesson_stand_below_its_title(cells):
    lines = cells[0].source.splitlines()
    assert lines[0] == "# 01 · A title"
    assert (
        "    git clone https://example.org/course attention-course && cd attention-course" in lines
    )
    assert "    make lab" in lines
    assert lines[-1] == "First words."


@pytest.mark.parametrize("lesson", LESSONS)
def test_links_to_other_pages_lead_to_pages_of_the_site(lesson):
    made = page(released(lesson), answered(released(lesson)), lesson, "")
    links = re.findall(r"\]\((\.\.?/[^)#]+)", "".join(cell.source for cell in made.cells))
    assert set(links) <= {f"../{name}.md" for name in ("index", *DOCS)}


def test_unknown_address_is_not_made_up():
    text = page(notebook(), answered(notebook()), "01_softmax", "").cells[0].source
    assert "git clone" not in text
    assert "make lab" in text


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_exercise_of_a_lesson_is_answered_and_folded(lesson):
    lesson_page = page(released(lesson), answered(released(lesson)), lesson, "")
    nbformat.validate(lesson_page)
    source = "\n".join(cell.source for cell in lesson_page.cells)
    names = [exercise.name for exercise in EXERCISES.values() if exercise.lesson == lesson]
    assert [f"Answer to {name}</summary>" in source for name in names] == [True] * len(names)
    assert source.count("<details") == source.count("</details>")


def test_optional_sections_are_folded_up_to_the_next_heading():
    cells = [
        new_markdown_cell("Before.\n\n## Optional: more\n\nMore."),
        new_code_cell("more()"),
        new_markdown_cell("### Even more\n\nStill more."),
        new_markdown_cell("## To read next\n\nAfter."),
        new_markdown_cell("### Optional: at the end"),
    ]
    assert [cell.source for cell in with_optional_folded(cells)] == [
        *("Before.", "## Optional: more", OPTIONAL, "More.", "more()"),
        *("**Even more**", "Still more.", "</details>", "## To read next", "After."),
        *("### Optional: at the end", OPTIONAL, "</details>"),
    ]
