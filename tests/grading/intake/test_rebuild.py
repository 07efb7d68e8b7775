"""Rebuilding submitted notebooks: what students may change, and what is put back."""

from copy import deepcopy

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_raw_cell
from nbgrader.nbgraderformat import MetadataValidator

from attention_lib.grading import limits
from attention_lib.grading.intake.rebuild import ForeignNotebook, rebuild
from attention_lib.grading.lesson.cell_ids import id_of
from tests.grading.intake.released import ANSWER, CHECK, RELEASED, STUB, marks


@pytest.fixture
def submitted():
    """A submission with the right answer in it."""
    notebook = deepcopy(RELEASED)
    notebook.cells[2].source = ANSWER
    return notebook


def rebuilt(submitted):
    """Rebuild, and hold to what must be true of every result."""
    before = deepcopy(submitted)
    notebook, changes, _ = rebuild(RELEASED, submitted)
    assert submitted == before
    nbformat.validate(notebook)
    MetadataValidator().validate_nb(notebook)
    released = {cell.id: cell for cell in RELEASED.cells}
    copies = [cell for cell in notebook.cells if cell.id in released]
    assert [cell.id for cell in copies] == list(released)
    for cell in copies:
        assert cell.metadata == released[cell.id].metadata
        assert cell.cell_type == released[cell.id].cell_type
        if cell.id not in ("double", "why"):
            assert cell.source == released[cell.id].source
    for cell in notebook.cells:
        assert cell.id in released or cell.metadata == {}
    assert notebook.metadata == RELEASED.metadata
    return [cell.source for cell in notebook.cells], changes


def sources(*replaced, **added):
    """The sources to expect: the released ones with the right answer, and what was added."""
    texts = [cell.source for cell in RELEASED.cells]
    texts[2] = ANSWER
    for old, new in replaced:
        texts[texts.index(old)] = new
    for after, text in added.items():
        index = [cell.id for cell in RELEASED.cells].index(after)
        texts.insert(index + 1, text)
    return texts


def test_honest_submission_is_unchanged(submitted):
    submitted.cells[4].source = "Because."
    assert rebuilt(submitted) == (sources(("YOUR ANSWER HERE", "Because.")), [])


def test_added_cells_keep_their_positions(submitted):
    submitted.cells.insert(2, new_code_cell("helper = 1"))
    submitted.cells.insert(0, new_markdown_cell("My name"))
    texts, changes = rebuilt(submitted)
    assert texts == ["My name", *sources(imports="helper = 1")]
    assert changes == []


@pytest.mark.parametrize("gone", [0, 1, 3, 5])
def test_deleted_cell_is_put_back(submitted, gone):
    del submitted.cells[gone]
    texts, changes = rebuilt(submitted)
    assert texts == sources()
    assert len(changes) == 1
    assert "put back" in changes[0]


def test_deleted_answer_is_replaced_by_the_released_cell(submitted):
    submitted.cells[4].source = "Because."
    del submitted.cells[2]
    texts, changes = rebuilt(submitted)
    assert texts == sources((ANSWER, STUB), ("YOUR ANSWER HERE", "Because."))
    assert changes == ["The answer cell of double was missing and was put back."]


@pytest.mark.parametrize(
    "text", ["pass", "double = None", CHECK.replace("check", "print"), "raise SystemExit"]
)
def test_edited_check_is_replaced_by_the_released_one(submitted, text):
    submitted.cells[3].source = text
    texts, changes = rebuilt(submitted)
    assert texts == sources(check_double=text)
    assert changes == ["The check cell of double had been changed; the lesson's own decides."]


def test_copied_check_is_removed(submitted):
    submitted.cells.insert(4, deepcopy(submitted.cells[3]))
    texts, changes = rebuilt(submitted)
    assert texts == sources()
    assert "check cell of double was there 2 times" in changes[0]


def test_moved_cells_are_put_back_in_order(submitted):
    submitted.cells = submitted.cells[::-1]
    assert rebuilt(submitted)[0] == sources()


def test_last_answer_above_the_check_is_graded(submitted):
    first, last = deepcopy(submitted.cells[2]), deepcopy(submitted.cells[2])
    first.source, last.source = ANSWER + "  # try", ANSWER + "  # later"
    submitted.cells.insert(2, first)
    submitted.cells.append(last)
    texts, changes = rebuilt(submitted)
    assert texts == [*sources(imports=first.source), last.source]
    assert "answer cell of double was there 3 times" in changes[0]


def test_answer_pasted_right_below_its_check_is_not_graded(submitted):
    below = deepcopy(submitted.cells[2])
    below.source = ANSWER + "  # later"
    submitted.cells.insert(4, below)
    assert rebuilt(submitted)[0] == sources(check_double=below.source)


def test_unchanged_copy_of_an_answer_cell_is_no_answer(submitted):
    submitted.cells.insert(3, deepcopy(RELEASED.cells[2]))
    assert rebuilt(submitted)[0] == sources()


def test_answer_in_an_added_cell_is_found_by_its_definition(submitted):
    submitted.cells[2] = new_code_cell(ANSWER)
    assert rebuilt(submitted)[0] == sources()


@pytest.mark.parametrize("index", [2, 3])
@pytest.mark.parametrize("make", [new_markdown_cell, new_raw_cell])
def test_cells_of_another_type_are_turned_back(submitted, index, make):
    old = submitted.cells[index]
    submitted.cells[index] = make(old.source, id=old.id, metadata=old.metadata)
    texts, changes = rebuilt(submitted)
    assert texts == sources()
    assert "another type" in changes[0]


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"nbgrader": None},
        {"nbgrader": {}},
        {"nbgrader": {"grade_id": ["x"]}},
        {"tags": ["skip-execution"], **marks("check_double", grade=True, points=2)},
        marks("something_else", grade=True, points=2),
        marks("check_double", solution=True),
    ],
)
def test_changed_nbgrader_settings_are_put_back(submitted, metadata):
    submitted.cells[3].metadata = nbformat.from_dict(metadata)
    texts, changes = rebuilt(submitted)
    assert texts == sources()
    assert changes == [
        "The check cell of double had lost or changed its settings; they were put back."
    ]


def test_other_points_are_not_the_students_change(submitted):
    submitted.cells[3].metadata = nbformat.from_dict(marks("check_double", grade=True, points=200))
    assert rebuilt(submitted) == (sources(), [])


def test_tags_of_the_release_are_no_changed_settings(submitted):
    released = deepcopy(RELEASED)
    for notebook in (released, submitted):
        notebook.cells[3].metadata.tags = ["raises-exception"]
    assert rebuild(released, submitted)[1] == []


@pytest.mark.parametrize("version", [0, 2, 4, "new", None])
def test_schema_version_is_ignored(submitted, version):
    for cell in submitted.cells[2:5]:
        cell.metadata.nbgrader.schema_version = version
    assert rebuilt(submitted) == (sources(), [])


def test_notebook_without_cell_ids_is_rebuilt(submitted):
    submitted.cells.insert(2, new_code_cell("helper = 1"))
    for cell in submitted.cells:
        del cell["id"]
    assert rebuilt(submitted) == (sources(imports="helper = 1"), [])


def test_changed_lesson_cell_runs_after_the_released_one(submitted):
    submitted.cells[1].source = "import math, cmath"
    texts, changes = rebuilt(submitted)
    assert texts == sources(imports="import math, cmath")
    assert "Changed cells of the lesson (1)" in changes[0]


def test_pasted_pictures_are_the_only_attachments_taken(submitted):
    submitted.cells[4].source = "![](attachment:a.png)"
    submitted.cells[4].attachments = {
        "a.png": {"image/png": "iVBORw0KGgo="},
        "b.html": {"text/html": "<script>"},
        "c": "nothing",
        "d.png": {"image/png": '"><script>'},
        "e.png": {"image/png": "\ud800"},
        "\ud800.png": {"image/png": "iVBORw0KGgo="},
    }
    notebook, *_ = rebuild(RELEASED, submitted)
    assert notebook.cells[4].attachments == {"a.png": {"image/png": "iVBORw0KGgo="}}


def test_malformed_cells_are_left_out(submitted):
    odd = ["text", None, {}, {"cell_type": 7, "source": 7, "metadata": 7, "id": 7}]
    odd.append({"cell_type": "code", "source": ["a = 1\n", None, "b = '\ud800'"]})
    content = {**submitted, "cells": [*odd, *submitted.cells], "metadata": None}
    notebook, *_ = rebuild(RELEASED, content)
    nbformat.validate(notebook)
    nbformat.writes(notebook).encode("utf-8")
    assert ANSWER in [cell.source for cell in notebook.cells]


def test_nbformat_3_is_rebuilt(submitted):
    submitted.cells.insert(2, new_code_cell("helper = 1"))
    submitted.cells.insert(0, new_markdown_cell("## Mine"))
    old = nbformat.convert(deepcopy(submitted), 3)
    assert old.worksheets[0].cells[0].cell_type == "heading"
    assert rebuilt(old) == (["## Mine", *sources(imports="helper = 1")], [])


def test_nul_and_lone_surrogates_are_replaced(submitted):
    submitted.cells[2].source = ANSWER + "\0"
    submitted.cells.append(new_code_cell("'\ud800'"))
    texts, _ = rebuilt(submitted)
    assert texts == [*sources((ANSWER, ANSWER + "\ufffd")), "'?'"]


def test_answer_that_is_too_long_is_left_out(submitted):
    submitted.cells[2].source = ANSWER + " " * limits.CODE_CELL_CHARACTERS
    submitted.cells[4].source = "Because. " * limits.MARKDOWN_CELL_CHARACTERS
    texts, changes = rebuilt(submitted)
    assert texts == sources((ANSWER, STUB))
    assert changes == [
        f"The answer cell of {name} held more than 200,000 characters of code or 20,000 of text; "
        "what it held was not taken."
        for name in ("double", "why")
    ]
    assert rebuild(RELEASED, submitted).told == changes


def test_of_two_answers_the_shorter_than_the_limit_is_graded(submitted):
    submitted.cells.insert(3, deepcopy(submitted.cells[2]))
    submitted.cells[3].source = "x" * (limits.CODE_CELL_CHARACTERS + 1)
    texts, changes = rebuilt(submitted)
    assert texts == sources()
    assert "answer cell of double was there 2 times" in changes[0]


def test_cells_that_are_too_long_are_left_out(submitted):
    submitted.cells[0].source = "x" * (limits.MARKDOWN_CELL_CHARACTERS + 1)
    submitted.cells.append(new_code_cell("x" * (limits.CODE_CELL_CHARACTERS + 1)))
    submitted.cells.append(new_code_cell("x" * limits.CODE_CELL_CHARACTERS))
    texts, changes = rebuilt(submitted)
    assert texts == [*sources(), "x" * limits.CODE_CELL_CHARACTERS]
    assert changes == [
        "Changed cells of the lesson (1): the lesson's own was run, then yours.",
        "Cells of more than 200,000 characters of code or 20,000 of text (2) were left out.",
    ]
    assert rebuild(RELEASED, submitted).told == changes[1:]


@pytest.mark.parametrize(("limit", "value"), [("ADDED_CELLS", 3), ("ADDED_CHARACTERS", 15)])
def test_of_too_many_added_cells_the_first_are_taken(submitted, monkeypatch, limit, value):
    monkeypatch.setattr(limits, limit, value)
    submitted.cells += [new_code_cell(f"x = {i}") for i in range(10)]
    texts, changes = rebuilt(submitted)
    assert texts == [*sources(), "x = 0", "x = 1", "x = 2"]
    assert len(changes) == 1
    assert changes[0].endswith("are taken at most; 7 were left out.")


def test_answers_are_found_among_many_cells_up_to_the_limit(submitted):
    count = limits.NOTEBOOK_CELLS - len(submitted.cells)
    junk = [{"cell_type": "code", "source": f"x = {i}"} for i in range(count)]
    notebook, *_ = rebuild(RELEASED, {**submitted, "cells": [*junk, *submitted.cells]})
    assert len(notebook.cells) == limits.ADDED_CELLS + len(RELEASED.cells)
    assert ANSWER in [cell.source for cell in notebook.cells]
    with pytest.raises(ForeignNotebook, match="more than 10,000 cells"):
        rebuild(RELEASED, {**submitted, "cells": [*junk, {}, *submitted.cells]})


UNANSWERED_ELSEWHERE = new_markdown_cell(
    "YOUR ANSWER HERE", metadata=marks("another", grade=True, solution=True, points=3)
)


@pytest.mark.parametrize(
    "cells",
    [None, "none", [], [new_code_cell("1 + 1")], [UNANSWERED_ELSEWHERE]],
    ids=["none", "text", "empty", "code", "words"],
)
def test_notebook_of_another_lesson_is_refused(cells):
    with pytest.raises(ForeignNotebook, match="none of this lesson's answer cells"):
        rebuild(RELEASED, {"cells": cells})


@pytest.mark.parametrize("cell", [
    new_code_cell("...", metadata=marks("stable_softmax", solution=True)),
    new_code_cell("check(1)", metadata=marks("check_stable_softmax", grade=True, points=3)),
    new_code_cell("def stable_softmax(scores):\n    return scores"),
])  # fmt: skip
def test_notebook_of_another_lesson_is_named_with_that_lesson(cell):
    with pytest.raises(ForeignNotebook, match=r"cells; it is the notebook of 02_stability$"):
        rebuild(RELEASED, {"cells": [new_code_cell("1 + 1"), cell]})


def test_cells_of_an_earlier_version_are_recognized_by_their_ids(submitted):
    """Their ids tell that they are as they were given out; one that was edited is the student's."""
    title, demo, edited = "# Leson", "print(2)", "print(3)"
    submitted.cells[0] = new_markdown_cell(title, id=id_of("lesson", "markdown", title))
    submitted.cells[-1] = new_code_cell(demo, id=f"{id_of('lesson', 'code', demo)}-2")
    submitted.cells.append(new_code_cell(f"{edited} # mine", id=id_of("lesson", "code", edited)))
    notebook, changes, _ = rebuild(RELEASED, submitted, "lesson")
    extra = [cell for cell in notebook.cells if cell.id not in {own.id for own in RELEASED.cells}]
    assert [(cell.id, cell.source) for cell in extra] == [
        ("earlier-1", demo),
        ("added-2", f"{edited} # mine"),
    ]
    assert changes == ["Cells of an earlier version of the lesson (2) were replaced."]


def test_rebuilding_is_idempotent(submitted):
    submitted.cells[3].source = "pass"
    submitted.cells.insert(1, new_code_cell("x = 1"))
    once, *_ = rebuild(RELEASED, submitted)
    assert rebuild(RELEASED, once) == (once, [], [])


@pytest.mark.parametrize("level", [1.0, 2, "2", None, [1], True, 1e300, float("nan"), -1])
def test_heading_of_nbformat_3_may_have_any_level(level):
    old = {"cell_type": "heading", "level": level, "source": "Mine"}
    answer = {"cell_type": "code", "input": ANSWER}
    sheets = {"nbformat": 3, "worksheets": [{"cells": [answer, old]}]}
    notebook, *_ = rebuild(RELEASED, sheets)
    (mine,) = [cell.source for cell in notebook.cells if "Mine" in cell.source]
    marks = {1.0: "# ", 2: "## "}.get(level, "") if isinstance(level, int | float) else ""
    assert mine == f"{marks}Mine"
