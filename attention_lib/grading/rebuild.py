"""A submission put back together on the released notebook: the student's text, our notebook."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_code_cell, new_markdown_cell

START = -1  # the place of cells that stand before the first cell of the lesson


class ForeignNotebook(ValueError):
    """The submitted notebook has none of the lesson's answer cells."""


@dataclass
class Cell:
    """What is taken from one submitted cell."""

    position: int
    kind: str
    text: str
    cell_id: str | None
    marks: Mapping[str, Any]  # nbgrader's metadata
    tags: list[Any]
    pictures: dict[str, dict[str, str]]
    home: int | None = None  # the released cell that this is, or was made from

    @property
    def name(self) -> object:
        return self.marks.get("grade_id")


def rebuild(released: NotebookNode, submitted: Mapping[str, Any]) -> tuple[NotebookNode, list[str]]:
    """Put what a student wrote into the released notebook.

    Layout, metadata, points and check cells are those of the release. From the submission come
    the text of the answer cells and every other cell with text of its own, as a plain cell
    where it stood: cells that were added, and the student's version of cells of the lesson,
    after the lesson's own.

    Parameters
    ----------
    released
        The notebook that was given out.
    submitted
        A notebook as read from a file, of any state. It is not changed.

    Returns
    -------
    notebook, changes
        The notebook to run, and in plain words what was put right in it.

    Raises
    ------
    ForeignNotebook
        If there is none of the release's answer cells in the submission.
    """
    cells = list(_read_cells(submitted))
    _find_homes(released.cells, cells)
    taken, changes = _take(released.cells, cells)
    added = _added(released.cells, cells, taken)
    notebook = from_dict({**released, "cells": []})
    count = 0
    for place in range(START, len(released.cells)):
        if place != START:
            answer = taken.get(place) if _is_answer(released.cells[place]) else None
            notebook.cells.append(_released_cell(released.cells[place], answer))
        for cell in added.get(place, []):
            count += 1
            notebook.cells.append(_plain_cell(cell, f"added-{count}"))
    return notebook, changes


def _read_cells(submitted: Mapping[str, Any]) -> Iterator[Cell]:
    """Read the cells that can be read, whatever else there is."""
    cells = submitted.get("cells")
    for position, raw in enumerate(cells if isinstance(cells, list) else []):
        if not isinstance(raw, Mapping):
            continue
        metadata = raw.get("metadata")
        metadata = metadata if isinstance(metadata, Mapping) else {}
        marks, tags, cell_id = metadata.get("nbgrader"), metadata.get("tags"), raw.get("id")
        yield Cell(
            position=position,
            kind="code" if raw.get("cell_type") == "code" else "markdown",
            text=_text(raw.get("source")),
            cell_id=cell_id if isinstance(cell_id, str) else None,
            marks=marks if isinstance(marks, Mapping) else {},
            tags=tags if isinstance(tags, list) else [],
            pictures=_pictures(raw.get("attachments")),
        )


def _text(source: object) -> str:
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    # A lone surrogate, which JSON can hold, could not be written to a file again.
    return source.encode("utf-8", "replace").decode() if isinstance(source, str) else ""


def _pictures(attachments: object) -> dict[str, dict[str, str]]:
    """Keep the pictures that a student pasted into a Markdown cell."""
    if not isinstance(attachments, Mapping):
        return {}
    kept = {
        name: {
            mime: data
            for mime, data in bundle.items()
            if mime in ("image/png", "image/jpeg", "image/gif") and isinstance(data, str)
        }
        for name, bundle in attachments.items()
        if isinstance(name, str) and isinstance(bundle, Mapping)
    }
    return {name: bundle for name, bundle in kept.items() if bundle}


def _find_homes(released: list[NotebookNode], cells: list[Cell]) -> None:
    """Find for each submitted cell the released one it is: by name, then id, then text."""
    by_name = {_grade_id(cell): i for i, cell in enumerate(released) if _grade_id(cell)}
    by_id = {cell.get("id"): i for i, cell in enumerate(released)}
    for cell in cells:
        if isinstance(cell.name, str) and cell.name in by_name:
            cell.home = by_name[cell.name]
        elif cell.cell_id is not None:
            cell.home = by_id.get(cell.cell_id)
    homes = {cell.home for cell in cells}
    free = [i for i in range(len(released)) if i not in homes]
    for cell in cells:
        if cell.home is None:
            same = [i for i in free if _same_text(released[i].source, cell.text)]
            if same:
                cell.home = same[0]
                free.remove(same[0])
    for place in free:
        if _is_answer(released[place]) and released[place].cell_type == "code":
            _adopt(released[place], place, cells)


def _adopt(answer: NotebookNode, place: int, cells: list[Cell]) -> None:
    """Take cells that define what a missing answer cell should have for copies of it."""
    name = re.escape(_grade_id(answer))
    definition = re.compile(rf"^(def\s+{name}\b|{name}\s*=(?!=))", re.MULTILINE)
    for cell in cells:
        if cell.home is None and cell.kind == "code" and definition.search(cell.text):
            cell.home = place


def _take(released: list[NotebookNode], cells: list[Cell]) -> tuple[dict[int, Cell], list[str]]:
    """Choose the submitted cell that stands for each released one, and list what was amiss."""
    taken, changes, missing, edited = {}, [], 0, 0
    check_positions = {
        _exercise(released[cell.home]): cell.position
        for cell in reversed(cells)
        if cell.home is not None and _is_check(released[cell.home])
    }
    for place, own in enumerate(released):
        copies = [cell for cell in cells if cell.home == place]
        if copies:
            before = check_positions.get(_exercise(own), len(cells))
            taken[place] = _choose(own, copies, before)
        if _exercise(own):
            changes += _remarks(own, copies, taken.get(place))
        elif not copies:
            missing += 1
        elif not _same_text(own.source, taken[place].text):
            edited += 1
    if not any(_is_answer(released[place]) for place in taken):
        raise ForeignNotebook("it has none of this lesson's answer cells")
    if missing:
        changes.append(f"Missing cells of the lesson ({missing}) were put back.")
    if edited:
        changes.append(
            f"Changed cells of the lesson ({edited}): the lesson's own was run, then yours."
        )
    return taken, changes


def _choose(own: NotebookNode, copies: list[Cell], check_position: int) -> Cell:
    """Choose among copies of a cell; of an answer, the one that its check cell would have met."""
    if not _is_answer(own):
        return copies[0]
    written = [cell for cell in copies if not _same_text(own.source, cell.text)] or copies
    return ([cell for cell in written if cell.position < check_position] or written)[-1]


def _added(
    released: list[NotebookNode], cells: list[Cell], taken: Mapping[int, Cell]
) -> dict[int, list[Cell]]:
    """Sort the cells of the student's own by the released cell that they stand below."""
    used = {cell.position for cell in taken.values()}
    added: dict[int, list[Cell]] = {}
    place = START
    for cell in cells:
        own = None if cell.home is None else released[cell.home]
        if own is not None and cell.position in used:
            place = cell.home
            if _is_answer(own):
                continue
        untouched = own is not None and _same_text(own.source, cell.text)
        if cell.text.strip() and not untouched:
            added.setdefault(place, []).append(cell)
    return added


def _remarks(own: NotebookNode, copies: list[Cell], chosen: Cell | None) -> list[str]:
    """Say in plain words what was put right in an answer or check cell."""
    what = f"The {'check' if _is_check(own) else 'answer'} cell of {_exercise(own)}"
    if chosen is None:
        return [f"{what} was missing and was put back."]
    remarks = []
    if len(copies) > 1:
        rest = "the first stands" if _is_check(own) else "the last one before its check is graded"
        remarks.append(f"{what} was there {len(copies)} times; {rest}, the others count nothing.")
    if _is_check(own) and not _same_text(own.source, chosen.text):
        remarks.append(f"{what} had been changed; the lesson's own decides.")
    if chosen.kind != own.cell_type:
        remarks.append(f"{what} had been turned into another type of cell; it was turned back.")
    settings = ("grade", "grade_id", "points", "solution")
    ours = own.metadata.nbgrader
    if chosen.tags or any(chosen.marks.get(key) != ours.get(key) for key in settings):
        remarks.append(f"{what} had lost or changed its settings; they were put back.")
    return remarks


def _released_cell(own: NotebookNode, answer: Cell | None) -> NotebookNode:
    cell = from_dict(own)
    if answer is not None:
        cell.source = answer.text
        if answer.pictures and cell.cell_type == "markdown":
            cell.attachments = from_dict(answer.pictures)
    return cell


def _plain_cell(cell: Cell, cell_id: str) -> NotebookNode:
    if cell.kind == "code":
        return new_code_cell(cell.text, id=cell_id)
    pictures = {"attachments": from_dict(cell.pictures)} if cell.pictures else {}
    return new_markdown_cell(cell.text, id=cell_id, **pictures)


def _grade_id(cell: NotebookNode) -> str | None:
    return cell.metadata.get("nbgrader", {}).get("grade_id")


def _is_answer(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("solution"))


def _is_check(cell: NotebookNode) -> bool:
    return bool(_grade_id(cell)) and not _is_answer(cell)


def _exercise(cell: NotebookNode) -> str:
    """Return the name of the exercise that a cell belongs to, or nothing."""
    return (_grade_id(cell) or "").removeprefix("check_")


def _same_text(left: str, right: str) -> bool:
    """Compare texts as editors keep them: line ends and blanks at line ends may differ."""
    return [line.rstrip() for line in left.strip().splitlines()] == [
        line.rstrip() for line in right.strip().splitlines()
    ]
