"""Rebuild a submission: the student's text in a copy of the released notebook."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_code_cell, new_markdown_cell

from attention_lib.grading import limits
from attention_lib.grading.intake.cells import (
    BEFORE_FIRST,
    Cell,
    definition_of,
    exercise_of,
    grade_id,
    is_answer,
    is_check,
    lessons_of,
    normalized,
    normalized_released,
    read_cells,
)
from attention_lib.grading.intake.elsewhere import find_elsewhere
from attention_lib.grading.intake.words import with_comments_shown
from attention_lib.grading.lesson.cell_ids import id_of

ADDED = "added-"  # how the ids of the student's own cells begin


class ForeignNotebook(ValueError):
    """The submitted notebook is not one of the lesson's; the text says why not."""


class Rebuilt(NamedTuple):
    """A notebook to run, and whole sentences about what was corrected in it."""

    notebook: NotebookNode
    changes: list[str]
    told: list[str]  # those of the changes that an instructor should know


def rebuild(released: NotebookNode, submitted: Mapping[str, Any], lesson: str = "") -> Rebuilt:
    """Put a student's text into a copy of the released notebook.

    Layout, metadata, points and check cells come from the release. From the submission come the
    text of the answer cells, and as plain cells in their places all other cells with text of their
    own: added cells, and after a lesson's cell the student's version of it. An answer counts in any
    of these cells. If it is not in its own cell, the placeholder is removed there, and the answer
    cell says where the answer is.

    Cells of earlier versions of the `lesson` are recognized by their ids, which depend on its name.
    Of these, Markdown is dropped and code is kept: the student's code may need it.

    Raises
    ------
    ForeignNotebook
        If the submission has none of the released answer cells, or too many cells.
    """
    cells = list(itertools.islice(read_cells(submitted), limits.NOTEBOOK_CELLS + 1))
    if len(cells) > limits.NOTEBOOK_CELLS:
        raise ForeignNotebook(f"it has more than {limits.NOTEBOOK_CELLS:,} cells")
    _match_cells(released.cells, cells)
    for cell in cells:
        cell.is_earlier = cell.released_index is None and _is_of_an_earlier_version(cell, lesson)
    chosen, copies = _choose_all(released.cells, cells)
    added, left_out = _own_cells(released.cells, cells, chosen)
    elsewhere = find_elsewhere(released.cells, chosen, added)
    if not elsewhere.answered and not any(is_answer(released.cells[index]) for index in chosen):
        others = [other for other, _ in lessons_of(cells).most_common(1)]
        known = f"; it is the notebook of {others[0]}" if others else ""
        raise ForeignNotebook(f"it has none of this lesson's answer cells{known}")
    changes = _corrections(released.cells, cells, copies, chosen, elsewhere.exercises)
    told = _too_long(released.cells, cells, chosen) + elsewhere.sentences
    notebook = from_dict({**released, "cells": []})
    count = 0
    for index in range(BEFORE_FIRST, len(released.cells)):
        if index != BEFORE_FIRST:
            answer = chosen.get(index) if is_answer(released.cells[index]) else None
            source = elsewhere.sources.get(index)
            notebook.cells.append(_released_cell(released.cells[index], answer, source))
        for cell in added.get(index, []):
            count += 1
            origin = "earlier-" if cell.is_earlier else ADDED
            notebook.cells.append(_plain_cell(cell, f"{origin}{count}"))
    return Rebuilt(notebook, changes + left_out + told, told)


def is_blank(released: NotebookNode, submitted: Mapping[str, Any], lesson: str = "") -> bool:
    """Tell whether a notebook answers nothing, even if a student has added notes."""
    if all(cell.normalized in _texts_given_out(released) for cell in read_cells(submitted)):
        return True
    try:
        return answers_nothing(released, rebuild(released, submitted, lesson).notebook)
    except ForeignNotebook:
        return False


def answers_nothing(released: NotebookNode, rebuilt: NotebookNode) -> bool:
    """Tell whether every answer of a rebuilt notebook is empty or as it was given out."""
    given_out = _texts_given_out(released)
    return all(normalized(cell.source) in given_out for cell in rebuilt.cells if is_answer(cell))


def _texts_given_out(released: NotebookNode) -> set[str]:
    return {"", *(normalized_released(cell.source) for cell in released.cells)}


def _match_cells(released: list[NotebookNode], cells: list[Cell]) -> None:
    """Match submitted cells with released ones: by name, then by id, then by text."""
    by_name = {grade_id(cell): i for i, cell in enumerate(released) if grade_id(cell)}
    by_id = {cell.get("id"): i for i, cell in enumerate(released)}
    for cell in cells:
        if isinstance(cell.name, str) and cell.name in by_name:
            cell.released_index = by_name[cell.name]
        elif cell.cell_id is not None:
            cell.released_index = by_id.get(cell.cell_id)
    matched = {cell.released_index for cell in cells}
    unmatched = defaultdict(list)
    for index, released_cell in enumerate(released):
        if index not in matched:
            unmatched[normalized_released(released_cell.source)].append(index)
    for cell in cells:
        named = isinstance(cell.name, str)  # of another lesson's exercise
        if cell.released_index is None and not named and unmatched.get(cell.normalized):
            cell.released_index = unmatched[cell.normalized].pop(0)
    for index in sorted(index for indices in unmatched.values() for index in indices):
        answer = released[index]
        if is_answer(answer) and answer.cell_type == "code":
            _match_by_position(index, cells, definition_of(answer))
        elif is_answer(answer) and any(is_answer(cell) for cell in _matches(released, cells)):
            _match_by_position(index, cells)


def _matches(released: list[NotebookNode], cells: list[Cell]) -> Iterator[NotebookNode]:
    """Yield the released cells that submitted ones are matched with."""
    for cell in cells:
        if cell.released_index is not None:
            yield released[cell.released_index]


def _is_of_an_earlier_version(cell: Cell, lesson: str) -> bool:
    """Return whether a cell is unchanged since its release: its id is made from its text."""
    digest = (cell.cell_id or "").partition("-")[0]
    return digest == id_of(lesson, cell.kind, cell.text.replace("\r\n", "\n"))


def _match_by_position(
    index: int, cells: list[Cell], definition: re.Pattern[str] | None = None
) -> None:
    """Match a missing answer with cells between its neighbors: those that define it, or with text."""
    matched = [(c.released_index, c.position) for c in cells if c.released_index is not None]
    before = [position for other, position in matched if other < index]
    after = [position for other, position in matched if other > index]
    start, stop = max(before, default=-1), min(after, default=len(cells))
    for cell in cells:
        if cell.released_index is not None or not start < cell.position < stop:
            continue
        if definition and cell.kind == "code" and definition.search(cell.text):
            cell.released_index = index
        elif not definition and cell.kind == "markdown":
            cell.released_index = index
            return


def _choose_all(
    released: list[NotebookNode], cells: list[Cell]
) -> tuple[dict[int, Cell], Mapping[int | None, list[Cell]]]:
    """Choose one submitted cell for each released one; also return all copies of each."""
    chosen: dict[int, Cell] = {}
    check_positions = {
        exercise_of(released[cell.released_index]): cell.position
        for cell in reversed(cells)
        if cell.released_index is not None and is_check(released[cell.released_index])
    }
    copies = defaultdict(list)
    for cell in cells:
        copies[cell.released_index].append(cell)
    for index, released_cell in enumerate(released):
        if copies[index]:
            check_position = check_positions.get(exercise_of(released_cell), len(cells))
            chosen[index] = _choose(released_cell, copies[index], check_position)
    return chosen, copies


def _corrections(
    released: list[NotebookNode],
    cells: list[Cell],
    copies: Mapping[int | None, list[Cell]],
    chosen: Mapping[int, Cell],
    answered_elsewhere: set[str],
) -> list[str]:
    """Return sentences on what was corrected."""
    changes: list[str] = []
    missing, edited = 0, 0
    for index, released_cell in enumerate(released):
        cell = chosen.get(index)
        if exercise_of(released_cell):
            if cell or is_check(released_cell) or grade_id(released_cell) not in answered_elsewhere:
                changes += _corrections_of_cell(released_cell, copies[index], cell)
        elif cell is None:
            missing += 1
        elif not cell.is_unchanged(released_cell):
            edited += 1
    earlier = sum(cell.is_earlier for cell in cells)
    if earlier:
        changes.append(f"Cells of an earlier version of the lesson ({earlier}) were replaced.")
    missing -= min(missing, earlier)
    if missing:
        changes.append(f"Missing cells of the lesson ({missing}) were put back.")
    if edited:
        changes.append(
            f"Changed cells of the lesson ({edited}): the lesson's own was run, then yours."
        )
    return changes


def _choose(released_cell: NotebookNode, copies: list[Cell], check_position: int) -> Cell:
    """Choose among copies of a cell; of an answer, the last one above its check cell.

    Copies that bind the answer's name come first: an answer may be split into several cells.
    """
    if not is_answer(released_cell):
        return copies[0]
    complete = [cell for cell in copies if not cell.too_long] or copies
    written = [cell for cell in complete if not cell.is_unchanged(released_cell)] or complete
    if released_cell.cell_type == "code":
        written = [cell for cell in written if cell.binds(exercise_of(released_cell))] or written
    return ([cell for cell in written if cell.position < check_position] or written)[-1]


def _own_cells(
    released: list[NotebookNode], cells: list[Cell], chosen: Mapping[int, Cell]
) -> tuple[dict[int, list[Cell]], list[str]]:
    """Group the student's own cells by the index of the released cell above them.

    Also return a sentence about those left out because they are too many.
    """
    used = {cell.position for cell in chosen.values()}
    added: dict[int, list[Cell]] = defaultdict(list)
    above, count, characters, too_many = BEFORE_FIRST, 0, 0, 0
    for cell in cells:
        index = cell.released_index
        if index is not None and cell.position in used:
            above = index
            if is_answer(released[index]):
                continue
        if not cell.text.strip() or (index is not None and cell.is_unchanged(released[index])):
            continue
        if cell.is_earlier and cell.kind == "markdown":
            continue
        if count == limits.ADDED_CELLS or characters + len(cell.text) > limits.ADDED_CHARACTERS:
            too_many += 1
            continue
        added[above].append(cell)
        count, characters = count + 1, characters + len(cell.text)
    left_out = (
        f"Of cells of your own, {limits.ADDED_CELLS} with {limits.ADDED_CHARACTERS:,} "
        f"characters are taken at most; {too_many} were left out."
    )
    return added, [left_out] if too_many else []


def _too_long(
    released: list[NotebookNode], cells: list[Cell], chosen: Mapping[int, Cell]
) -> list[str]:
    """Return sentences about cells that were left out because of their length."""
    code, text = limits.CODE_CELL_CHARACTERS, limits.MARKDOWN_CELL_CHARACTERS
    most = f"more than {code:,} characters of code or {text:,} of text"
    answers = [i for i, cell in chosen.items() if cell.too_long and is_answer(released[i])]
    sentences = [
        f"The answer cell of {exercise_of(released[i])} held {most}; what it held was not taken."
        for i in answers
    ]
    others = sum(cell.too_long for cell in cells) - len(answers)
    return sentences + [f"Cells of {most} ({others}) were left out."] * bool(others)


def _corrections_of_cell(
    released_cell: NotebookNode, copies: list[Cell], chosen: Cell | None
) -> list[str]:
    """Return sentences about what was corrected in an answer or check cell."""
    what = f"The {'check' if is_check(released_cell) else 'answer'} cell of {exercise_of(released_cell)}"
    if chosen is None:
        return [f"{what} was missing and was put back."]
    remarks = []
    if len(copies) > 1:
        rest = (
            "the first is used, the others count nothing"
            if is_check(released_cell)
            else "the last one before its check is graded, and one below it if that is not right"
        )
        remarks.append(f"{what} was there {len(copies)} times; {rest}.")
    if is_check(released_cell) and not chosen.is_unchanged(released_cell):
        remarks.append(f"{what} had been changed; the lesson's own decides.")
    if chosen.kind != released_cell.cell_type:
        remarks.append(f"{what} had been turned into another type of cell; it was turned back.")
    names = ("grade", "grade_id", "solution")  # not the points: the lesson's may have changed since
    settings = released_cell.metadata.nbgrader
    added_tags = [tag for tag in chosen.tags if tag not in released_cell.metadata.get("tags", [])]
    if added_tags or any(chosen.settings.get(name) != settings.get(name) for name in names):
        remarks.append(f"{what} had lost or changed its settings; they were put back.")
    return remarks


def _released_cell(
    released_cell: NotebookNode, answer: Cell | None, source: str | None = None
) -> NotebookNode:
    """Copy a released cell, with the text of the student's answer, or with `source` instead."""
    cell = from_dict(released_cell)
    if source is not None:
        cell.source = source
    elif answer is not None and not answer.too_long:
        is_text = cell.cell_type == "markdown"
        cell.source = with_comments_shown(answer.text) if is_text else answer.text
        if answer.pictures and is_text:
            cell.attachments = from_dict(answer.pictures)
    return cell


def _plain_cell(cell: Cell, cell_id: str) -> NotebookNode:
    if cell.kind == "code":
        return new_code_cell(cell.text, id=cell_id)
    pictures = {"attachments": from_dict(cell.pictures)} if cell.pictures else {}
    return new_markdown_cell(cell.text, id=cell_id, **pictures)
